//! What one broker does for its clients: it carries their calls to a browser and the answers back.
//!
//! Decides the order: the record is read afresh when a call comes in, after the client was told that the call goes out,
//! and again before an answer is released; the log is written before the browser hears of the call. It decides how long
//! a call waits for its turn, a browser and an answer. Who is admitted is `bridge::clients`', which browser is meant
//! `bridge::dispatch`'s. It does not know what a call means.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, timeout_at};

use super::browsers;
use super::connection::Writer;
use super::entry::Entry;
use crate::base::limits::{
    CLIENT_NAME_CHARS_MAX, CONNECT_WAIT_ASLEEP_MS, CONNECT_WAIT_MS, ELECT_PAUSE_MS, SETTLING_MS,
};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::bridge::broker::Core;
use crate::bridge::catalogue::{Scope, Tool};
use crate::bridge::clients::{Cord, End, OpenCall, Opened, Presence};
use crate::bridge::dispatch::Ask;
use crate::bridge::session::{InFlight, Unmet, Unsent, Watch};
use crate::role::records::Records;
use crate::trust::admission::Admitted;
use crate::wire::bridge::{Caller, Outcome, ProgressState};
use crate::wire::client::Client;
use crate::wire::json;

/// Shared by the broker's own client and by every connection.
pub struct Service {
    /// Clients and browsers.
    pub core: Core<Writer, Tie>,
    /// The person's record and the log.
    pub records: Arc<Records>,
    started: Instant,
}

/// One tool call.
#[derive(Clone)]
pub struct Call {
    /// What to do.
    pub tool: &'static Tool,
    /// The browser's name as the client gave it.
    pub browser: Option<String>,
    /// The tool's arguments.
    pub args: Map<String, Value>,
    /// What the client calls itself; empty if it did not say.
    pub name: String,
    /// Milliseconds for all of it.
    pub budget_ms: u32,
    /// Told where the call stands; what it does not take in is left out.
    pub progress: Option<mpsc::Sender<ProgressState>>,
}

/// The connection of a client: none for the one that this process serves itself.
#[derive(Clone, Default)]
pub struct Tie(pub Option<Arc<Notify>>);

impl Cord for Tie {
    fn cut(&self, _why: &Refusal) {
        self.0.iter().for_each(|cut| cut.notify_one());
    }
}

/// One attached client, on whose behalf calls are made while this lives.
pub struct Guest {
    presence: Presence<Tie>,
    key: String,
    image: String,
}

impl Guest {
    /// Which client of this broker.
    pub fn number(&self) -> u64 {
        self.presence.number()
    }

    /// Who asks, in the words of the bridge.
    fn caller(&self, admitted: &Admitted, name: &str) -> Caller {
        let name = if name.is_empty() { admitted.name() } else { name };
        Caller {
            key: self.key.clone(),
            name: shown(name, CLIENT_NAME_CHARS_MAX),
            image: self.image.clone(),
            verified: admitted.verified(),
        }
    }
}

impl Service {
    /// Nobody is attached; refuses while the record cannot be read.
    pub fn new(records: Arc<Records>) -> Result<Self, Refusal> {
        let known = records.trust.read()?;
        Ok(Self { core: Core::new(known), records, started: Instant::now() })
    }

    /// Reads the record afresh. Whatever it forbids has ended when this returns.
    pub fn learn(&self) -> Result<(), Refusal> {
        self.core.learn(self.records.trust.read())
    }

    /// Takes no new calls once the program's file was replaced on disk. Each server asks the same of itself at every call.
    pub fn make_room(&self) {
        if self.records.replaced().is_some() {
            self.core.clients.hand_over();
        }
    }

    /// Attaches a client if it is admitted now. `key` is the proven instance of its process: it names the client's state
    /// in the extension, also after another broker took over.
    pub fn enter(&self, client: Client, key: String, tie: Tie) -> Result<Guest, Refusal> {
        self.make_room();
        self.learn()?;
        let image = client.path().to_string();
        Ok(Guest { presence: self.core.clients.enter(client, tie)?, key, image })
    }

    /// Carries one call through. `telling` runs right before the call may go out. Dropping the future cancels the call at
    /// the browser.
    pub async fn carry(
        &self,
        guest: &Guest,
        call: Call,
        telling: impl AsyncFnOnce(),
    ) -> Result<Outcome, End> {
        let mut entry = Entry::new(&self.records, call.tool.name, &guest.key);
        let result = self.attempt(guest, call, telling, &mut entry).await;
        entry.end(&result);
        result
    }

    async fn attempt(
        &self,
        guest: &Guest,
        call: Call,
        telling: impl AsyncFnOnce(),
        entry: &mut Entry<'_>,
    ) -> Result<Outcome, End> {
        let deadline = Instant::now() + ms(call.budget_ms);
        self.learn().map_err(End::Refused)?;
        let bytes = call.args.values().map(json::weight).sum();
        let Opened { call: open, turn, end } = guest.presence.open(bytes)?;
        let answered = async {
            if call.tool.scope == Scope::Server {
                return Ok(browsers::list(&self.core.session.browsers()));
            }
            let caller = guest.caller(open.admitted(), &call.name);
            let ask = Ask::check(call.tool, call.browser, call.args, caller)?;
            timeout_at(deadline, turn).await.map_err(|_| no_turn())?;
            let flight =
                self.dispatch(ask, &open, call.progress.map(watch), deadline, telling, entry).await?;
            // At the deadline the request is dropped, which tells the browser to stop.
            timeout_at(deadline, flight).await.unwrap_or_else(|_| Err(Refusal::plain(Code::ResponseTimeout)))
        };
        let released = async {
            let answer = answered.await;
            self.learn()?;
            if open.release() { answer } else { pending().await }
        };
        tokio::select! {
            biased;
            end = end => Err(end.unwrap_or(End::Returned)),
            answer = released => answer.map_err(End::Refused),
        }
    }

    /// Sends the call to the one browser meant, as soon as there is one.
    async fn dispatch(
        &self,
        mut ask: Ask,
        open: &OpenCall<Tie>,
        watch: Option<Watch>,
        deadline: Instant,
        telling: impl AsyncFnOnce(),
        entry: &mut Entry<'_>,
    ) -> Result<InFlight<Writer>, Refusal> {
        let (mut patience, mut telling): (Option<Instant>, _) = (None, Some(telling));
        loop {
            match ask.open(&self.core.session, watch.clone(), self.now()) {
                Ok(mut flight) => {
                    if let Some(tell) = telling.take() {
                        timeout_at(deadline, tell()).await.map_err(|_| absent(None))?;
                    }
                    self.learn()?;
                    let left = left(deadline)?;
                    entry.begin(flight.id(), flight.generation())?;
                    match open.dispatch(|| ask.send(&mut flight, left)) {
                        // Its end is on the way.
                        None => pending().await,
                        Some(Ok(())) => return Ok(flight),
                        // Never sent, so it is safe to ask the next connection.
                        Some(Err(Unsent::Closed)) => {}
                        Some(Err(Unsent::Full)) => return Err(stuck(&flight.browser().identity.label)),
                    }
                }
                // Another broker may have had that browser a moment ago.
                Err(Unmet::Refused(refusal))
                    if refusal.code == Code::BrowserNotFound && self.now() < SETTLING_MS.into() =>
                {
                    sleep(ms(ELECT_PAUSE_MS)).await;
                }
                Err(Unmet::Refused(refusal)) => return Err(refusal),
                Err(Unmet::Absent { known, arrival }) => {
                    let wait = if known { CONNECT_WAIT_MS } else { CONNECT_WAIT_ASLEEP_MS };
                    let until = *patience.get_or_insert(deadline.min(Instant::now() + ms(wait)));
                    timeout_at(until, arrival).await.map_err(|_| absent(ask.target()))?;
                }
            }
        }
    }

    /// Milliseconds since this broker began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn watch(progress: mpsc::Sender<ProgressState>) -> Watch {
    Arc::new(move |state| {
        // Progress is a courtesy: a client that does not keep up misses some.
        let _ = progress.try_send(state);
    })
}

fn ms(milliseconds: u32) -> Duration {
    Duration::from_millis(milliseconds.into())
}

/// What is left of the budget, in milliseconds; with nothing left, nothing is sent.
fn left(deadline: Instant) -> Result<u32, Refusal> {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    match u32::try_from(left).unwrap_or(u32::MAX) {
        0 => Err(absent(None)),
        left => Ok(left),
    }
}

fn no_turn() -> Refusal {
    let sentence = "Other calls took all places until this one's time was over. Nothing was done; try again.";
    Refusal::new(Code::BrokerBusy, sentence)
}

fn absent(target: Option<&str>) -> Refusal {
    let general = Refusal::plain(Code::NotConnected);
    match target {
        None => general,
        Some(target) => Refusal::new(
            Code::NotConnected,
            format!(
                "The browser {target} is not connected. Open it with the genkan extension, or call list_browsers."
            ),
        ),
    }
}

fn stuck(label: &str) -> Refusal {
    Refusal::new(
        Code::ExtensionNotReady,
        format!(
            "The browser {label} does not take in what it was sent already. Nothing was done; try again later."
        ),
    )
}

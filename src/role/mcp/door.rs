//! The way from this server to the browsers: it is the broker, or relays to the process that is.
//!
//! Decides, before any traffic, whether the client may speak at all; then finds or becomes a broker, within one call, as
//! often as brokers come and go, and asks the next one only for what the last one certainly did not do. It refuses new
//! calls once it is ending or its own file was replaced on disk. Whoever carries a call out judges it again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::caller::Entrance;
use crate::base::limits::{ELECT_MS, ELECT_PAUSE_MS, HAND_OVER_MS, LAST_LINES_MS, PATH_SHOWN_CHARS_MAX};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::quoted;
use crate::bridge::clients::{End, ending};
use crate::os::lock::{Acquired, RunLock};
use crate::os::log;
use crate::os::runtime_dir::{Environment, RuntimeDir};
use crate::role::broker::{Broker, Call, Guest};
use crate::role::records::Records;
use crate::role::relay::{Relay, Unattached};
use crate::trust::admission::{self, Admitted};
use crate::trust::audit::{AuditKind, AuditOutcome, Surface};
use crate::wire::bridge::Outcome;
use crate::wire::client::Client;

/// Opens on first use and stays open.
pub struct Door {
    environment: Environment,
    entrance: Entrance,
    /// Names this process's client to brokers and browsers: random, so that nothing a client says can choose it.
    instance: String,
    records: OnceLock<Arc<Records>>,
    way: Mutex<Way>,
    running: watch::Sender<usize>,
    is_ending: AtomicBool,
    /// Why the calls that are under way end: a program that may not speak has joined the client.
    unwelcome: watch::Sender<Option<Refusal>>,
    /// Whether it is in the log that this client was let in.
    is_noted: AtomicBool,
}

#[derive(Clone)]
enum Way {
    None,
    /// Nobody could be found, at this time. Whoever waited meanwhile need not look again.
    Failed(Instant, Refusal),
    Own(Arc<Own>),
    Relayed(Arc<Relay>),
}

/// The broker of this process, and its client there.
struct Own {
    guest: Guest,
    broker: Arc<Broker>,
}

impl Door {
    /// A closed door.
    pub fn new(environment: Environment, entrance: Entrance, instance: String) -> Self {
        Self {
            environment,
            entrance,
            instance,
            records: OnceLock::new(),
            way: Mutex::new(Way::None),
            running: watch::Sender::new(0),
            is_ending: AtomicBool::new(false),
            unwelcome: watch::Sender::new(None),
            is_noted: AtomicBool::new(false),
        }
    }

    /// Measures the client and opens the way, so that browsers find it before the first call.
    pub async fn open(&self) -> Result<(), Refusal> {
        let client = self.entrance.at_start().await?;
        let judged = self.judge(&client);
        self.note_judged(&client, judged.as_ref().err())?;
        if !judged?.verified() {
            log::error(format_args!(
                "no client is paired yet, so any program of this user may use the browser; close the door in a terminal with \
                 `genkan pair-client --name NAME --exec {:?}`, or another client's path",
                client.path()
            ));
        }
        self.way(client, Instant::now() + ms(ELECT_MS)).await.map(drop)
    }

    /// Has one call carried out by whoever is the broker. Dropping the future calls it off.
    pub async fn call(&self, call: Call) -> Result<Outcome, Refusal> {
        let _running = Running::one_more(&self.running);
        let deadline = Instant::now() + ms(call.budget_ms);
        let client = self.admitted().await.inspect_err(|refusal| self.note_refused(&call, refusal))?;
        let mut joined = self.unwelcome.subscribe();
        let joined = async {
            let refusal = joined.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
            refusal.unwrap_or_else(ending)
        };
        tokio::select! {
            biased;
            refusal = joined => Err(refusal),
            answer = self.carry(client, call, deadline) => answer,
        }
    }

    async fn carry(&self, client: Client, call: Call, deadline: Instant) -> Result<Outcome, Refusal> {
        loop {
            if self.is_ending.load(Ordering::SeqCst) {
                return Err(ending());
            }
            match self.way(client.clone(), deadline).await? {
                Way::None | Way::Failed(..) => return Err(ending()),
                Way::Own(own) => match own.broker.call(&own.guest, call.clone()).await {
                    Ok(outcome) => return Ok(outcome),
                    Err(End::Refused(refusal)) => return Err(refusal),
                    Err(End::Returned) => return Err(ending()),
                },
                Way::Relayed(relay) => match relay.call(&call, deadline).await {
                    Some(answer) => return answer,
                    None => _ = timeout_at(deadline, self.forget(&relay)).await,
                },
            }
            if Instant::now() >= deadline {
                return Err(nobody());
            }
        }
    }

    /// Why this process must end although its client is still there, once that is so.
    pub fn replaced(&self) -> Option<Refusal> {
        let displaced = || match &*self.way.try_lock().ok()? {
            Way::Own(own) => own.broker.displaced(),
            Way::Relayed(_) | Way::None | Way::Failed(..) => None,
        };
        self.records.get()?.replaced().or_else(displaced)
    }

    /// The client has left: serves on while others are attached to this process, then returns.
    pub async fn leave(&self) {
        let way = std::mem::replace(&mut *self.way.lock().await, Way::None);
        if let Way::Own(own) = way {
            let broker = own.broker.clone();
            drop(own);
            broker.deserted().await;
            broker.hand_over().await;
        }
    }

    /// Ends although clients are there: no new calls; what was dispatched may end for a while.
    pub async fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        let way = self.way.lock().await.clone();
        let mut running = self.running.subscribe();
        let patience = match way {
            Way::Own(own) => {
                own.broker.hand_over().await;
                LAST_LINES_MS
            }
            Way::Relayed(_) => HAND_OVER_MS,
            Way::None | Way::Failed(..) => 0,
        };
        let _ = timeout(ms(patience), running.wait_for(|calls| *calls == 0)).await;
        // The last answers are on their way through the server to its output.
        sleep(ms(ELECT_PAUSE_MS)).await;
    }

    /// The client, if it may speak now. No broker hears of one that may not.
    async fn admitted(&self) -> Result<Client, Refusal> {
        if let Some(refusal) = self.records()?.replaced() {
            return Err(refusal);
        }
        let (client, more) = self.entrance.at_call().await?;
        if let Err(refusal) = self.judge(&client) {
            // Whoever has joined the client may read what is still to be answered.
            if more {
                self.note_judged(&client, Some(&refusal))?;
                self.unwelcome.send_replace(Some(refusal.clone()));
            }
            return Err(refusal);
        }
        // What could not be written down at the start is not served later.
        if !self.is_noted.load(Ordering::SeqCst) {
            self.note_judged(&client, None)?;
        }
        if more {
            self.enter_anew(&client).await?;
        }
        Ok(client)
    }

    /// The broker was told of another client. Whoever relays to this process stays.
    async fn enter_anew(&self, client: &Client) -> Result<(), Refusal> {
        let mut way = self.way.lock().await;
        *way = match &*way {
            Way::Own(own) => {
                let guest = own.broker.enter(client.clone(), self.instance.clone())?;
                Way::Own(Arc::new(Own { guest, broker: own.broker.clone() }))
            }
            Way::Relayed(_) | Way::None | Way::Failed(..) => Way::None,
        };
        Ok(())
    }

    // INVARIANT kill-4
    fn judge(&self, client: &Client) -> Result<Admitted, Refusal> {
        admission::decide(&self.records()?.trust.read()?, client)
    }

    fn note_judged(&self, client: &Client, refused: Option<&Refusal>) -> Result<(), Refusal> {
        let (kind, outcome) = match refused {
            None => (AuditKind::HarnessAdmit, AuditOutcome::Done),
            Some(_) => (AuditKind::HarnessRefuse, AuditOutcome::Refused),
        };
        self.records()?.note(kind, Surface::Core, outcome, |mut record| {
            record.code = refused.map(|refusal| refusal.code);
            record.cid = Some(self.instance.clone());
            let programs =
                client.holders().iter().map(|holder| quoted(&holder.image.path, PATH_SHOWN_CHARS_MAX));
            record.with_detail(&programs.collect::<Vec<_>>().join(", "))
        })?;
        self.is_noted.store(refused.is_none(), Ordering::SeqCst);
        Ok(())
    }

    fn note_refused(&self, call: &Call, refusal: &Refusal) {
        let note = |records: Arc<Records>| {
            records.note(AuditKind::ToolCall, Surface::Core, AuditOutcome::Refused, |mut record| {
                record.code = Some(refusal.code);
                record.tool = Some(call.tool.name.into());
                record.cid = Some(self.instance.clone());
                record
            })
        };
        if let Err(unwritten) = self.records().and_then(note) {
            log::error(format_args!("a refused call was not recorded: {unwritten}"));
        }
    }

    fn records(&self) -> Result<Arc<Records>, Refusal> {
        match self.records.get() {
            Some(records) => Ok(records.clone()),
            None => {
                let opened = Arc::new(Records::open(&self.environment)?);
                Ok(self.records.get_or_init(|| opened).clone())
            }
        }
    }

    /// The way as it stands; otherwise this process takes the lock or attaches to whoever has it.
    async fn way(&self, client: Client, deadline: Instant) -> Result<Way, Refusal> {
        let asked = Instant::now();
        let mut way = timeout_at(deadline, self.way.lock()).await.map_err(|_| nobody())?;
        let stands = match &*way {
            Way::Own(_) => true,
            Way::Relayed(relay) => relay.is_attached(),
            Way::Failed(when, refusal) if *when >= asked => return Err(refusal.clone()),
            Way::None | Way::Failed(..) => false,
        };
        if !stands {
            // The old one is gone before a new one comes.
            *way = Way::None;
            let elected = self.elect(client, deadline.min(Instant::now() + ms(ELECT_MS))).await;
            *way = elected.inspect_err(|refusal| *way = Way::Failed(Instant::now(), refusal.clone()))?;
        }
        Ok(way.clone())
    }

    async fn elect(&self, client: Client, until: Instant) -> Result<Way, Refusal> {
        let records = self.records()?;
        loop {
            let dir = RuntimeDir::resolve(&self.environment)?;
            let refusal = match RunLock::acquire(&dir, records.trust.place()?)? {
                Acquired::Held(lock) => {
                    let broker = Broker::open(dir, lock, records)?;
                    let guest = broker.enter(client, self.instance.clone())?;
                    return Ok(Way::Own(Arc::new(Own { guest, broker: Arc::new(broker) })));
                }
                Acquired::Busy { pid } => {
                    let place = records.trust.place()?;
                    let attaching = Relay::attach(&dir, place, client.clone(), self.instance.clone());
                    let attached = timeout_at(until, attaching).await;
                    match attached.unwrap_or_else(|_| Err(Unattached::Absent(nobody()))) {
                        Ok(relay) => return Ok(Way::Relayed(Arc::new(relay))),
                        Err(Unattached::Refused(refusal)) => return Err(refusal),
                        Err(Unattached::Absent(refusal)) => held_by(refusal, pid),
                    }
                }
            };
            if Instant::now() >= until || self.is_ending.load(Ordering::SeqCst) {
                return Err(refusal);
            }
            sleep(ms(ELECT_PAUSE_MS)).await;
        }
    }

    /// Another call may have found the next broker already.
    async fn forget(&self, relay: &Arc<Relay>) {
        let mut way = self.way.lock().await;
        if matches!(&*way, Way::Relayed(known) if Arc::ptr_eq(known, relay)) {
            *way = Way::None;
        }
    }
}

/// Counts a call while it runs.
struct Running<'a>(&'a watch::Sender<usize>);

impl<'a> Running<'a> {
    fn one_more(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|calls| *calls += 1);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

/// With the process that the person may have to end: a stopped one holds the door and answers nobody. A program reads
/// this, too, and must not take it for an order.
fn held_by(refusal: Refusal, pid: Option<u32>) -> Refusal {
    match pid {
        Some(pid) => Refusal::new(
            refusal.code,
            format!(
                "{} The door is held by process {pid}; if it hangs, only the person may end it.",
                refusal.message
            ),
        ),
        None => refusal,
    }
}

fn nobody() -> Refusal {
    Refusal::new(
        Code::BrokerBusy,
        "No genkan process took this call before its time was over. Nothing was done; try again.",
    )
}

fn ms(milliseconds: u32) -> Duration {
    Duration::from_millis(milliseconds.into())
}

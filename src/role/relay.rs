//! The way to a broker of another process: attach on behalf of our client, pass its calls on, and know which of them
//! may have been carried out when the broker is gone.
//!
//! Decides that a call is lost only if the broker had said that it goes out; any other can be asked of the next broker.
//! It refuses a broker that cannot prove itself or breaks the protocol. It does not know whether its client may make a
//! call: the broker judges that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::base::limits::{
    BRIDGE_LINE_BYTES_MAX, HANDSHAKE_LINE_BYTES_MAX, HANDSHAKE_MS, LAST_LINES_MS, SAFE_INTEGER_MAX,
    SECRET_BYTES,
};
use crate::base::refusal::{Code, Refusal};
use crate::os::runtime_dir::RuntimeDir;
use crate::os::socket::{ReadHalf, WriteHalf};
use crate::os::stdio::Incoming;
use crate::os::{OsRefusal, lock, log, random, socket};
use crate::role::broker::Call;
use crate::role::outbox::{Outbox, outbox};
use crate::wire::bridge::{BridgeResp, Outcome, ProgressState};
use crate::wire::client::Client;
use crate::wire::framing::Lines;
use crate::wire::handshake::{Dialer, DialerStep, HandshakeFault, Run};
use crate::wire::relay::{FromRelay, RelayCall, ToRelay};

type BrokerLines = Incoming<ReadHalf, Lines>;

/// An attachment to the broker of another process.
pub struct Relay {
    outbox: Outbox,
    calls: Arc<Mutex<Calls>>,
    reading: JoinHandle<()>,
}

/// The calls that the broker has not answered.
#[derive(Default)]
struct Calls {
    /// Nothing more will come.
    over: bool,
    last: u64,
    open: HashMap<u64, Open>,
}

struct Open {
    /// The broker has said that it goes out.
    dispatched: bool,
    fate: oneshot::Sender<Fate>,
    progress: Option<mpsc::Sender<ProgressState>>,
}

/// What became of a call.
enum Fate {
    Answered(Result<Outcome, Refusal>),
    /// It was never dispatched and never will be.
    Returned,
    Lost,
}

/// Why there is no attachment.
#[derive(Debug)]
pub enum Unattached {
    /// No broker answers just now, or it is ending: ask again soon.
    Absent(Refusal),
    /// The broker says no.
    Refused(Refusal),
}

impl From<OsRefusal> for Unattached {
    /// A broker that changes hands looks strange for a moment, so the same is asked again.
    fn from(refusal: OsRefusal) -> Self {
        Self::Absent(refusal.into())
    }
}

impl Relay {
    /// Attaches to whoever holds the lock. `instance` is random per process.
    pub async fn attach(
        dir: &RuntimeDir,
        records: [u8; SECRET_BYTES],
        client: Client,
        instance: String,
    ) -> Result<Self, Unattached> {
        // A broker writes its record before it listens.
        let (source, sink) = socket::dial(dir).await?.into_split();
        let record = lock::read(dir)?.ok_or_else(|| gone("the lock file was removed"))?;
        let lines = Incoming::new(source, Lines::new(HANDSHAKE_LINE_BYTES_MAX));
        let patience = Duration::from_millis(HANDSHAKE_MS.into());
        let run = Run { secret: record.secret, records };
        let shaken = timeout(patience, shake(lines, sink, run, client, instance)).await;
        let (lines, sink) =
            shaken.unwrap_or_else(|_| Err(gone("it did not finish the handshake in time")))?;
        let calls = Arc::new(Mutex::new(Calls::default()));
        let (outbox, queued) = outbox();
        let writer = queued.write_to(sink);
        let reading = tokio::spawn(read(lines, writer, calls.clone()));
        Ok(Self { outbox, calls, reading })
    }

    /// Whether the broker is still there.
    pub fn is_attached(&self) -> bool {
        !lock_of(&self.calls).over
    }

    /// Has one call carried out. `None`: it certainly was not, and another broker may be asked. Dropping the future
    /// calls it off.
    pub async fn call(&self, call: &Call, deadline: Instant) -> Option<Result<Outcome, Refusal>> {
        let (fate, answer) = oneshot::channel();
        let asked = Asked { relay: self, id: self.enlist(fate, call.progress.clone())? };
        let budget = deadline.saturating_duration_since(Instant::now()).as_millis();
        let frame = FromRelay::Call(RelayCall {
            id: asked.id,
            tool: call.tool.name.into(),
            browser: call.browser.clone(),
            args: call.args.clone(),
            name: call.name.clone(),
            budget: u32::try_from(budget).unwrap_or(u32::MAX),
        });
        self.outbox.send(&frame).ok()?;
        // The broker keeps the same deadline and answers at it; its words may take a moment.
        let patience = deadline + Duration::from_millis(LAST_LINES_MS.into());
        match timeout_at(patience, answer).await {
            Ok(Ok(Fate::Answered(answer))) => Some(answer),
            Ok(Ok(Fate::Returned) | Err(_)) => None,
            Ok(Ok(Fate::Lost)) => Some(Err(lost())),
            Err(_) => Some(Err(asked.unanswered())),
        }
    }

    fn enlist(
        &self,
        fate: oneshot::Sender<Fate>,
        progress: Option<mpsc::Sender<ProgressState>>,
    ) -> Option<u64> {
        let mut calls = lock_of(&self.calls);
        if calls.over || calls.last >= SAFE_INTEGER_MAX {
            return None;
        }
        calls.last += 1;
        let id = calls.last;
        calls.open.insert(id, Open { dispatched: false, fate, progress });
        Some(id)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// A call that was asked for. Dropping it calls it off if it is still open.
struct Asked<'a> {
    relay: &'a Relay,
    id: u64,
}

impl Asked<'_> {
    fn unanswered(&self) -> Refusal {
        let open = lock_of(&self.relay.calls).open.get(&self.id).map(|open| open.dispatched);
        match open {
            Some(false) => Refusal::new(
                Code::ResponseTimeout,
                "The genkan process that holds the browser door did not take this call in time. Nothing was done.",
            ),
            Some(true) | None => Refusal::plain(Code::ResponseTimeout),
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if lock_of(&self.relay.calls).open.remove(&self.id).is_some() {
            // A broker that takes in nothing is about to be lost.
            let _ = self.relay.outbox.send(&FromRelay::Cancel { id: self.id });
        }
    }
}

async fn shake(
    mut lines: BrokerLines,
    mut sink: WriteHalf,
    run: Run,
    client: Client,
    instance: String,
) -> Result<(BrokerLines, WriteHalf), Unattached> {
    let mut dialer = Dialer::relay(run, random::bytes32()?, instance, client);
    loop {
        let line = lines.next().await.map_err(gone)?.ok_or_else(|| gone("it closed the connection"))?;
        match dialer.on_line(&line).map_err(unproven)? {
            DialerStep::Send(line) => sink.write_all(&line).await.map_err(gone)?,
            DialerStep::Attached { generation, .. } => {
                log::info(format_args!("attached to the broker as client {generation}"));
                lines.splitter_mut().widen(BRIDGE_LINE_BYTES_MAX);
                return Ok((lines, sink));
            }
            DialerStep::Refused(refusal) if refusal.code == Code::BrokerBusy => {
                return Err(Unattached::Absent(refusal));
            }
            DialerStep::Refused(refusal) => return Err(Unattached::Refused(refusal)),
        }
    }
}

/// Hears the broker out. At the end every call that is open is lost or returned, by what the broker said of it last.
async fn read(mut lines: BrokerLines, mut writer: JoinHandle<()>, calls: Arc<Mutex<Calls>>) {
    let why = loop {
        let line = tokio::select! {
            line = lines.next() => line,
            _ = &mut writer => break "it no longer reads".to_string(),
        };
        match line {
            Ok(Some(line)) => match ToRelay::parse(&line) {
                Ok(frame) => lock_of(&calls).hear(frame),
                Err(fault) => break fault.to_string(),
            },
            Ok(None) => break "it closed the connection".into(),
            Err(fault) => break fault.to_string(),
        }
    };
    log::info(format_args!("the broker's link ended: {why}"));
    writer.abort();
    lock_of(&calls).end();
}

impl Calls {
    fn hear(&mut self, frame: ToRelay) {
        let id = frame.id();
        let fate = match frame {
            ToRelay::Dispatching { .. } => {
                return self.open.get_mut(&id).into_iter().for_each(|open| open.dispatched = true);
            }
            ToRelay::Reply(BridgeResp::Progress { state, .. }) => {
                let progress = self.open.get(&id).and_then(|open| open.progress.as_ref());
                // A client that does not keep up misses some.
                return progress.into_iter().for_each(|progress| _ = progress.try_send(state));
            }
            ToRelay::Returned { .. } => Fate::Returned,
            ToRelay::Reply(BridgeResp::Done { data, .. }) => Fate::Answered(Ok(data)),
            ToRelay::Reply(BridgeResp::Failed { error, .. }) => Fate::Answered(Err(error)),
        };
        if let Some(open) = self.open.remove(&id) {
            // Who called it off needs no answer.
            let _ = open.fate.send(fate);
        }
    }

    fn end(&mut self) {
        self.over = true;
        for (_, open) in self.open.drain() {
            let _ = open.fate.send(if open.dispatched { Fate::Lost } else { Fate::Returned });
        }
    }
}

fn lock_of(calls: &Mutex<Calls>) -> std::sync::MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A broker that judges by other records serves nobody who has ours; which of the two is the person's, only they can tell.
fn unproven(fault: HandshakeFault) -> Unattached {
    if fault != HandshakeFault::Records {
        return gone(fault);
    }
    Unattached::Refused(Refusal::new(
        Code::ClientNotAdmitted,
        "The genkan program that holds the browser door was started with another HOME or XDG folder than this one, so the \
             two do not share one list of clients. Start both clients with the same environment.",
    ))
}

fn lost() -> Refusal {
    Refusal::new(
        Code::ConnectionLost,
        "The genkan process that held the browser door ended during the call. The act may or may not have happened; read the \
         page before you repeat it.",
    )
}

fn gone(why: impl core::fmt::Display) -> Unattached {
    log::info(format_args!("the broker could not be reached: {why}"));
    Unattached::Absent(Refusal::new(
        Code::BrokerBusy,
        format!("The genkan process that holds the browser door could not be reached: {why}. Try again."),
    ))
}

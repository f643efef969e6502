//! The broker: the one process that holds lock and socket, and through which every call reaches a browser.
//!
//! Decides how long a call may wait for a browser and for its answer, and tells the browser to stop when nobody waits
//! any more. Refuses to run beside another broker. The order of gates is `bridge::dispatch`'s, the pairing
//! `bridge::session`'s; it does not know what a call means.

mod connection;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use crate::base::limits::{CONNECT_WAIT_ASLEEP_MS, CONNECT_WAIT_MS};
use crate::base::refusal::{Code, Refusal};
use crate::bridge::catalogue::Tool;
use crate::bridge::dispatch::Ask;
use crate::bridge::session::{BrowserRow, InFlight, Session, Unmet, Unsent, Watch};
use crate::os::lock::{Acquired, RunLock};
use crate::os::random;
use crate::os::runtime_dir::RuntimeDir;
use crate::os::socket::Listener;
use crate::wire::bridge::{Caller, Outcome, ProgressState};
use connection::{Doorway, Writer};

/// Holds the browser door while it lives.
pub struct Broker {
    session: Session<Writer>,
    started: Instant,
    accepting: AbortHandle,
    _lock: RunLock,
    // The socket's address goes through its descriptor.
    _dir: RuntimeDir,
}

/// One tool call.
pub struct Call {
    /// What to do.
    pub tool: &'static Tool,
    /// The browser's name as the client gave it.
    pub browser: Option<String>,
    /// The tool's arguments.
    pub args: Map<String, Value>,
    /// Who asks.
    pub caller: Caller,
    /// Milliseconds for all of it.
    pub budget_ms: u32,
    /// Told where the call stands; what it does not take in is left out.
    pub progress: Option<mpsc::Sender<ProgressState>>,
}

impl Broker {
    /// Takes lock and socket and lets browsers in. Must be called inside a tokio runtime.
    pub async fn open(dir: RuntimeDir) -> Result<Arc<Self>, Refusal> {
        let lock = match RunLock::acquire(&dir)? {
            Acquired::Held(lock) => lock,
            Acquired::Busy { pid } => return Err(busy(pid)),
        };
        let listener = Listener::bind(&dir, &lock)?;
        let (session, started) = (Session::default(), Instant::now());
        let doorway = Doorway::new(session.clone(), started, lock.secret(), random::bytes32);
        let accepting = tokio::spawn(doorway.keep_open(listener)).abort_handle();
        Ok(Arc::new(Self { session, started, accepting, _lock: lock, _dir: dir }))
    }

    /// The browsers attached now.
    pub fn browsers(&self) -> Vec<BrowserRow> {
        self.session.browsers()
    }

    /// Carries one call through. Dropping the future cancels it at the browser.
    pub async fn call(&self, call: Call) -> Result<Outcome, Refusal> {
        let start = Instant::now();
        let deadline = start + ms(call.budget_ms);
        let mut ask = Ask::check(call.tool, call.browser, call.args, call.caller)?;
        let watch = call.progress.map(watch);
        let mut patience: Option<Instant> = None;
        loop {
            match ask.open(&self.session, watch.clone(), self.now()) {
                Ok(mut open) => match ask.send(&mut open, left(deadline)?) {
                    Ok(()) => return answer(open, deadline).await,
                    // Never sent, so it is safe to ask the next connection.
                    Err(Unsent::Closed) => {}
                    Err(Unsent::Full) => return Err(stuck(&open.browser().identity.label)),
                },
                Err(Unmet::Refused(refusal)) => return Err(refusal),
                Err(Unmet::Absent { known, arrival }) => {
                    let wait = if known { CONNECT_WAIT_MS } else { CONNECT_WAIT_ASLEEP_MS };
                    let until = *patience.get_or_insert(deadline.min(Instant::now() + ms(wait)));
                    timeout_at(until, arrival).await.map_err(|_| absent(ask.target()))?;
                }
            }
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // Every connection ends with it.
        self.accepting.abort();
    }
}

async fn answer(open: InFlight<Writer>, deadline: Instant) -> Result<Outcome, Refusal> {
    // At the deadline the open call is dropped, which tells the browser to stop.
    timeout_at(deadline, open).await.unwrap_or_else(|_| Err(Refusal::plain(Code::ResponseTimeout)))
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

fn busy(pid: Option<u32>) -> Refusal {
    let who = pid.map_or_else(|| "Another process".into(), |pid| format!("Process {pid}"));
    Refusal::new(
        Code::BrokerBusy,
        format!(
            "{who} already holds genkan's browser door for another MCP client. Close that client, then try again."
        ),
    )
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

#[cfg(test)]
mod tests;

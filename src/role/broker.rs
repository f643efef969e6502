//! The broker: the one process that holds lock and socket, and through which every call reaches a browser.
//!
//! Decides how the door opens and how it closes: it refuses to run beside another broker, looks after the person's
//! record while it runs, and hands over before it ends. The order of a call is `service`'s, the pairing of answers
//! `bridge::session`'s, whose turn it is `bridge::clients`'. It does not know what a call means.

mod browsers;
mod connection;
mod entry;
mod relay;
mod service;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::base::identity::{LOCK_FILE, SOCKET_FILE};
use crate::base::limits::{HAND_OVER_MS, LAST_LINES_MS, TRUST_TICK_MS};
use crate::base::refusal::{Code, Refusal};
use crate::bridge::clients::End;
use crate::os::lock::RunLock;
use crate::os::random;
use crate::os::runtime_dir::RuntimeDir;
use crate::os::socket::Listener;
use crate::os::{OsRefusal, log};
use crate::role::records::Records;
use crate::wire::bridge::Outcome;
use crate::wire::client::Client;
use crate::wire::handshake::Run;
use connection::Doorway;
pub use service::{Call, Guest};
use service::{Service, Tie};

/// Holds the browser door while it lives.
pub struct Broker {
    service: Arc<Service>,
    accepting: Mutex<JoinHandle<()>>,
    watching: AbortHandle,
    open: watch::Sender<bool>,
    /// What makes this process the broker. The socket's address goes through the folder's descriptor.
    door: Arc<(RunLock, RuntimeDir)>,
}

impl Broker {
    /// Opens the socket to browsers and relays. Must be called inside a tokio runtime.
    pub fn open(dir: RuntimeDir, lock: RunLock, records: Arc<Records>) -> Result<Self, Refusal> {
        let service = Arc::new(Service::new(records)?);
        let listener = Listener::bind(&dir, &lock)?;
        let (open, stays_open) = watch::channel(true);
        let run = Run { secret: lock.secret(), records: service.records.trust.place()? };
        let doorway = Doorway::new(service.clone(), run, random::bytes32);
        let door = Arc::new((lock, dir));
        let bind = bind_anew(Arc::downgrade(&door));
        let accepting = Mutex::new(tokio::spawn(doorway.keep_open(listener, bind, stays_open)));
        // Weak, so that the lock is free as soon as the broker is dropped.
        let watching = tokio::spawn(look_after(service.clone(), Arc::downgrade(&door))).abort_handle();
        Ok(Self { service, accepting, watching, open, door })
    }

    /// Attaches the client of this process, if it is admitted now.
    pub fn enter(&self, client: Client, key: String) -> Result<Guest, Refusal> {
        self.service.enter(client, key, Tie::default())
    }

    /// Carries one call of this process's client through. Dropping the future cancels it at the browser.
    pub async fn call(&self, guest: &Guest, call: Call) -> Result<Outcome, End> {
        self.service.carry(guest, call, async || ()).await
    }

    /// Why this process is no longer the broker that others find, once that is so: another may hold the door beside it.
    pub fn displaced(&self) -> Option<Refusal> {
        let refusal = self.door.1.check().err()?;
        let sentence = format!("This process gives up the browser door and ends: {refusal}.");
        Some(Refusal::new(Code::BrokerBusy, sentence))
    }

    /// Resolves when the last client has left.
    pub async fn deserted(&self) {
        self.service.core.clients.closed().await;
    }

    /// Ends in good order: no new calls, what was not dispatched is given back, what was may end for a while, every
    /// client and browser hears how its calls ended. The lock is free once this value is dropped.
    pub async fn hand_over(&self) {
        self.open.send_replace(false);
        let clients = &self.service.core.clients;
        clients.hand_over();
        let end = Instant::now() + ms(HAND_OVER_MS);
        let _ = timeout_at(end, clients.quiet()).await;
        clients.close(&Refusal::plain(Code::ConnectionLost));
        self.service.core.session.detach_all();
        // What has its answer is still written down, which may take long on a busy disk, and then told.
        let end = end.max(Instant::now() + ms(LAST_LINES_MS));
        let _ = timeout_at(end, &mut *self.accepting.lock().await).await;
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // Every connection ends with it.
        self.accepting.get_mut().abort();
        self.watching.abort();
    }
}

/// Makes the socket anew where it is gone.
fn bind_anew(door: Weak<(RunLock, RuntimeDir)>) -> impl Fn(&Listener) -> Option<Listener> {
    let notice = Notice::default();
    move |listener| {
        let door = door.upgrade()?;
        if listener.is_in_place(&door.1) {
            return None;
        }
        notice.restored(&door.1.path_of(SOCKET_FILE), Listener::bind(&door.1, &door.0))
    }
}

/// Tells what was put back each time, and what cannot be put back once.
#[derive(Default)]
struct Notice(AtomicBool);

impl Notice {
    fn restored<T>(&self, path: &Path, outcome: Result<T, OsRefusal>) -> Option<T> {
        let has_failed = self.0.swap(outcome.is_err(), Ordering::Relaxed);
        match &outcome {
            Ok(_) => log::warn(format_args!("somebody changed {path:?}; it is put back")),
            Err(_) if has_failed => {}
            Err(refusal) => log::error(format_args!(
                "somebody changed {path:?}, and it cannot be put back, so nobody else finds this door: {refusal}"
            )),
        }
        outcome.ok()
    }
}

/// Looks for changes of the record, so that what it forbids ends although nothing new is asked for, and puts the lock
/// file back where somebody removed it, so that hosts and relays find the door.
async fn look_after(service: Arc<Service>, door: Weak<(RunLock, RuntimeDir)>) {
    let mut ticks = interval(ms(TRUST_TICK_MS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut seen, notice) = (None, Notice::default());
    loop {
        ticks.tick().await;
        if let Some(door) = door.upgrade()
            && let Some(restored) = door.0.restore(&door.1).transpose()
        {
            notice.restored(&door.1.path_of(LOCK_FILE), restored);
        }
        service.make_room();
        let stamp = service.records.trust.stamp();
        if seen.as_ref() != Some(&stamp) {
            seen = Some(stamp);
            // Why it cannot be read is told to whoever asks for something.
            let _ = service.learn();
        }
        if let Ok(door) = service.core.clients.standing() {
            service.core.session.links().iter().for_each(|link| link.tell(door));
        }
    }
}

fn ms(milliseconds: u32) -> Duration {
    Duration::from_millis(milliseconds.into())
}

#[cfg(test)]
mod tests;

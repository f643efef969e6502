//! The registry of attached browsers and of the calls they have not answered. It decides which browser a call goes
//! to, which reply belongs to which call, and what ends a call. It refuses replies of any other connection than the
//! one that was asked, late and repeated replies, browsers of another protocol version, and what exceeds its caps.
//! It does not know sockets, time beyond the `now` it is given, or what the calls mean.

use alloc::{collections::BTreeMap, format, string::String, sync::Arc, vec::Vec};
use core::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};
use serde::Serialize;

use crate::base::limits::{BROWSERS_MAX, CALLS_MAX, MISMATCH_RECENT_MS};
use crate::base::refusal::{Code, Refusal};
use crate::base::sync::{Filler, Mutex, Slot, slot};
use crate::bridge::target::{Identity, names};
use crate::wire::bridge::{
    BRIDGE_PROTOCOL_VERSION, BridgeReq, BridgeResp, Capability, Outcome, ProgressState,
};
use crate::wire::handshake::version_refusal;

/// The writing side of one connection. Its methods return at once and do not call back into the session.
pub trait Link: Clone {
    /// Queues a request.
    fn request(&self, request: &BridgeReq) -> Result<(), Unsent>;
    /// Queues the notice that nobody waits for this request any more.
    fn cancel(&self, id: u64);
    /// Ends the connection.
    fn close(&self);
}

/// Why a request was not queued, hence certainly never carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The browser does not keep up.
    Full,
    /// The connection is over.
    Closed,
}

/// What a browser says of itself when it attaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browser {
    /// Who it is.
    pub identity: Identity,
    /// The bridge protocol its extension speaks.
    pub bridge: u32,
    /// Its extension's release version.
    pub extension: String,
    /// What its extension offers now.
    pub capabilities: Vec<Capability>,
}

/// One attached browser, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrowserRow {
    /// What to write into `browser` to mean this one.
    pub browser: String,
    /// The kind of browser.
    pub label: String,
    /// Tells profiles of one browser apart.
    pub instance: String,
    /// Its extension's release version.
    pub extension: String,
    /// What its extension offers now.
    pub capabilities: Vec<Capability>,
}

/// How a call ended.
pub type Reply = Result<Outcome, Refusal>;

/// Told where a running call stands.
pub type Watch = Arc<dyn Fn(ProgressState) + Send + Sync>;

/// Why a call could not begin.
#[derive(Debug)]
pub enum Unmet {
    /// It may not.
    Refused(Refusal),
    /// No browser fits now. `arrival` resolves when one attaches or is refused; then ask again.
    Absent {
        /// Whether a browser that fits was ever attached here.
        known: bool,
        /// Resolves at the next change.
        arrival: Slot<()>,
    },
}

/// All connections and open calls of one broker. Clones share them.
pub struct Session<L>(Arc<Mutex<Registry<L>>>);

impl<L> Clone for Session<L> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Registry<L> {
    last_generation: u64,
    last_id: u64,
    seats: Vec<Seat<L>>,
    pending: BTreeMap<u64, Pending>,
    waiting: Vec<Filler<()>>,
    /// Browsers that were attached before, newest last.
    past: Vec<Identity>,
    mismatches: Vec<Mismatch>,
}

struct Seat<L> {
    generation: u64,
    browser: Browser,
    link: L,
}

struct Pending {
    generation: u64,
    reply: Filler<Reply>,
    watch: Option<Watch>,
}

struct Mismatch {
    identity: Identity,
    bridge: u32,
    extension: String,
    at: u64,
}

impl<L: Link> Default for Session<L> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Registry {
            last_generation: 0,
            last_id: 0,
            seats: Vec::new(),
            pending: BTreeMap::new(),
            waiting: Vec::new(),
            past: Vec::new(),
            mismatches: Vec::new(),
        })))
    }
}

impl<L: Link> Session<L> {
    /// Registers a browser and returns the generation of its connection. An earlier connection of the same
    /// browser is closed and its calls end as lost. `now` is in milliseconds.
    // INVARIANT session-5
    // INVARIANT session-10
    pub fn attach(&self, browser: Browser, link: L, now: u64) -> Result<u64, Refusal> {
        let (entered, awake) = self.0.with(|r| (r.enter(browser, link, now), mem::take(&mut r.waiting)));
        let entered = entered.map(|(generation, superseded)| {
            superseded.into_iter().for_each(Departed::leave);
            generation
        });
        for waiting in awake {
            // A call that gave up waiting is no failure.
            let _ = waiting.fill(());
        }
        entered
    }

    /// Ends a connection if it is still registered: closes it, and its calls end as lost.
    // INVARIANT session-6
    pub fn detach(&self, generation: u64) -> bool {
        self.0.with(|r| r.depart(generation)).map(Departed::leave).is_some()
    }

    /// Ends every connection that is registered now.
    pub fn detach_all(&self) {
        let departed: Vec<_> = self.0.with(|r| {
            let all: Vec<u64> = r.seats.iter().map(|seat| seat.generation).collect();
            all.into_iter().filter_map(|generation| r.depart(generation)).collect()
        });
        departed.into_iter().for_each(Departed::leave);
    }

    /// Chooses the browser that `target` names and opens a call to it. Nothing is sent yet.
    // INVARIANT session-1
    // INVARIANT session-8
    pub fn begin(&self, target: Option<&str>, watch: Option<Watch>, now: u64) -> Result<InFlight<L>, Unmet> {
        self.0.with(|r| {
            r.waiting.retain(|w| !w.is_abandoned());
            if r.pending.len() + r.waiting.len() >= CALLS_MAX {
                return Err(Unmet::Refused(Refusal::new(
                    Code::BrokerBusy,
                    format!("genkan already carries {CALLS_MAX} calls. Wait for one to end, then try again."),
                )));
            }
            match r.choose(target, now) {
                Ok(Some((generation, link, browser))) => {
                    let (filler, reply) = slot();
                    r.last_id += 1;
                    r.pending.insert(r.last_id, Pending { generation, reply: filler, watch });
                    let session = self.clone();
                    Ok(InFlight { session, id: r.last_id, generation, link, browser, reply, sent: false })
                }
                Ok(None) => {
                    let (filler, arrival) = slot();
                    r.waiting.push(filler);
                    Err(Unmet::Absent { known: r.past.iter().any(|b| b.fits(target)), arrival })
                }
                Err(refusal) => Err(Unmet::Refused(refusal)),
            }
        })
    }

    /// Takes what the connection `generation` answered. `false`: no call of that connection waits for it.
    // INVARIANT session-2
    // INVARIANT session-3
    pub fn resolve(&self, generation: u64, answer: BridgeResp) -> bool {
        let (id, reply) = match answer {
            BridgeResp::Done { id, data } => (id, Ok(data)),
            BridgeResp::Failed { id, error } => (id, Err(error)),
            BridgeResp::Progress { id, state } => return self.progress(generation, id, state),
        };
        let pending = self.0.with(|r| {
            let asked = r.asked(generation, id).is_some();
            asked.then(|| r.pending.remove(&id)).flatten()
        });
        // Who asked may leave at this very moment: the call has ended with this answer all the same.
        pending.map(|p| _ = p.reply.fill(reply)).is_some()
    }

    fn progress(&self, generation: u64, id: u64, state: ProgressState) -> bool {
        let watch = self.0.with(|r| r.asked(generation, id).map(|p| p.watch.clone()));
        watch.map(|watch| watch.iter().for_each(|tell| tell(state))).is_some()
    }

    /// The connections that are registered now.
    pub fn links(&self) -> Vec<L> {
        self.0.with(|r| r.seats.iter().map(|seat| seat.link.clone()).collect())
    }

    /// The attached browsers, in the order of attachment.
    pub fn browsers(&self) -> Vec<BrowserRow> {
        self.0.with(|r| {
            r.names(None)
                .into_iter()
                .zip(&r.seats)
                .map(|(browser, seat)| BrowserRow {
                    browser,
                    label: seat.browser.identity.label.clone(),
                    instance: seat.browser.identity.instance.clone(),
                    extension: seat.browser.extension.clone(),
                    capabilities: seat.browser.capabilities.clone(),
                })
                .collect()
        })
    }
}

impl<L: Link> Registry<L> {
    // INVARIANT session-8
    // INVARIANT session-9
    fn enter(&mut self, browser: Browser, link: L, now: u64) -> Result<(u64, Option<Departed<L>>), Refusal> {
        let identity = browser.identity.clone();
        self.mismatches.retain(|m| m.identity != identity && !m.is_over(now));
        if browser.bridge != BRIDGE_PROTOCOL_VERSION {
            let Browser { bridge, extension, .. } = browser;
            let mismatch = Mismatch { identity, bridge, extension, at: now };
            let refusal = mismatch.refusal();
            remember(&mut self.mismatches, mismatch);
            return Err(refusal);
        }
        let old = self.seats.iter().find(|s| s.browser.identity == identity).map(|s| s.generation);
        if old.is_none() && self.seats.len() >= BROWSERS_MAX {
            return Err(Refusal::new(
                Code::BrokerBusy,
                format!("genkan already serves {BROWSERS_MAX} browsers. Close one, then try again."),
            ));
        }
        let superseded = old.and_then(|generation| self.depart(generation));
        self.past.retain(|b| *b != identity);
        remember(&mut self.past, identity);
        self.last_generation += 1;
        self.seats.push(Seat { generation: self.last_generation, browser, link });
        Ok((self.last_generation, superseded))
    }

    fn depart(&mut self, generation: u64) -> Option<Departed<L>> {
        let at = self.seats.iter().position(|s| s.generation == generation)?;
        let calls = self.pending.extract_if(.., |_, p| p.generation == generation).map(|(_, p)| p).collect();
        Some(Departed { link: self.seats.remove(at).link, calls })
    }

    /// The one browser that fits, or `None` if it is worth waiting for one.
    // INVARIANT session-4
    fn choose(&self, target: Option<&str>, now: u64) -> Result<Option<(u64, L, Browser)>, Refusal> {
        let mut fitting = self.seats.iter().filter(|s| s.browser.identity.fits(target));
        if let Some(seat) = fitting.next() {
            return match fitting.next() {
                None => Ok(Some((seat.generation, seat.link.clone(), seat.browser.clone()))),
                Some(_) => Err(Refusal::new(
                    Code::BrowserAmbiguous,
                    format!(
                        "Several browsers fit; name one in `browser`: {}.",
                        self.names(target).join(", ")
                    ),
                )),
            };
        }
        if let Some(m) = self.mismatches.iter().find(|m| m.identity.fits(target) && !m.is_over(now)) {
            return Err(m.refusal());
        }
        if self.seats.is_empty() || self.past.iter().any(|b| b.fits(target)) {
            return Ok(None);
        }
        Err(Refusal::new(
            Code::BrowserNotFound,
            format!("No connected browser has that name. Connected: {}.", self.names(None).join(", ")),
        ))
    }

    /// Names of the attached browsers that fit, each good for one browser only.
    fn names(&self, target: Option<&str>) -> Vec<String> {
        let all: Vec<&Identity> = self.seats.iter().map(|s| &s.browser.identity).collect();
        names(&all).into_iter().zip(all).filter(|(_, b)| b.fits(target)).map(|(name, _)| name).collect()
    }

    fn asked(&self, generation: u64, id: u64) -> Option<&Pending> {
        self.pending.get(&id).filter(|p| p.generation == generation)
    }
}

/// Adds to a list of browsers that stays as short as the list of those attached; the oldest is forgotten.
fn remember<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= BROWSERS_MAX {
        list.remove(0);
    }
    list.push(item);
}

impl Mismatch {
    fn is_over(&self, now: u64) -> bool {
        now.saturating_sub(self.at) >= u64::from(MISMATCH_RECENT_MS)
    }

    fn refusal(&self) -> Refusal {
        version_refusal(self.bridge, &self.extension)
    }
}

/// What left the registry; told after the lock is free.
struct Departed<L> {
    link: L,
    calls: Vec<Pending>,
}

impl<L: Link> Departed<L> {
    fn leave(self) {
        self.link.close();
        for call in self.calls {
            // A call dropped in between needs no answer.
            let _ = call.reply.fill(Err(Refusal::plain(Code::ConnectionLost)));
        }
    }
}

/// One open call: a future of its reply. Dropping it frees its place, and the browser is told to stop.
pub struct InFlight<L: Link> {
    session: Session<L>,
    id: u64,
    generation: u64,
    link: L,
    browser: Browser,
    reply: Slot<Reply>,
    sent: bool,
}

impl<L: Link> InFlight<L> {
    /// The call's id: greater than every earlier one of this session.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The connection it goes over.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The browser that was chosen.
    pub fn browser(&self) -> &Browser {
        &self.browser
    }

    /// Sends the request under this call's id. A connection that turns out to be over is detached.
    pub fn send(&mut self, request: &mut BridgeReq) -> Result<(), Unsent> {
        request.id = self.id;
        let sent = self.link.request(request);
        match sent {
            Ok(()) => self.sent = true,
            Err(Unsent::Closed) => {
                self.session.detach(self.generation);
            }
            Err(Unsent::Full) => {}
        }
        sent
    }
}

impl<L: Link> Future for InFlight<L>
where
    Self: Unpin,
{
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        Pin::new(&mut self.reply)
            .poll(cx)
            .map(|reply| reply.unwrap_or_else(|| Err(Refusal::plain(Code::ConnectionLost))))
    }
}

impl<L: Link> Drop for InFlight<L> {
    // INVARIANT session-7
    fn drop(&mut self) {
        let open = self.session.0.with(|r| r.pending.remove(&self.id));
        if open.is_some() && self.sent {
            self.link.cancel(self.id);
        }
    }
}

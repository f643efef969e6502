//! Loom explores every interleaving of the shipping clients and core of one broker: who enters while it ends, what is
//! sent while it hands over, and what a changed record ends. Each test is named for the race it rules out. Beside each
//! runs a twin with one critical section cut in two, which loom must catch; the same twin uncut must pass.
//! What it does not know: sockets, files and tokio.
#![cfg(genkan_loom)]
// A test says what is wrong by panicking.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use genkan::base::limits::CLIENT_CALLS_MAX;
use genkan::base::refusal::Refusal;
use genkan::base::sync::Slot;
use genkan::bridge::broker::Core;
use genkan::bridge::clients::{Cord, End, OpenCall, Opened, Presence};
use genkan::bridge::session::{Browser, Link, Unsent};
use genkan::bridge::target::Identity;
use genkan::trust::state::TrustState;
use genkan::wire::bridge::{BRIDGE_PROTOCOL_VERSION, BridgeReq};
use genkan::wire::client::{Client, Holder, Image, Sha256};
use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

#[path = "clients_twin.rs"]
mod clients_twin;
#[path = "explore.rs"]
mod explore;
use clients_twin::{Cut, Twin};
use explore::{expect_found, explore};

/// What the models ask of a broker: the shipping one and the twin.
pub(crate) trait Subject: Clone + Send + 'static {
    type Seat: Send;
    type Call: Send;
    /// Calls that one client may have in flight.
    const PLACES: usize;
    fn new(cut: Option<Cut>) -> Self;
    /// Attaches a client; dropping the seat detaches it.
    fn enter(&self) -> Option<Self::Seat>;
    /// Opens a call; `None` if that is refused.
    fn open(seat: &Self::Seat) -> Option<Self::Call>;
    fn turn(call: &mut Self::Call) -> Slot<()>;
    fn dispatch(call: &Self::Call, send: impl FnOnce()) -> bool;
    fn release(call: &Self::Call) -> bool;
    /// Whether the call was ended from outside.
    fn has_ended(call: &mut Self::Call) -> bool;
    fn hand_over(&self);
    /// The record as it becomes: everything stopped, or nobody on the list.
    fn learn(&self, killed: bool);
    fn attach_browser(&self) -> bool;
    fn browsers(&self) -> usize;
}

/// Cuts and sends nothing.
#[derive(Clone)]
pub(crate) struct Nowhere;

impl Cord for Nowhere {
    fn cut(&self, _: &Refusal) {}
}

impl Link for Nowhere {
    fn request(&self, _: &BridgeReq) -> Result<(), Unsent> {
        Ok(())
    }
    fn cancel(&self, _: u64) {}
    fn close(&self) {}
}

type Shipping = Core<Nowhere, Nowhere>;

pub(crate) struct Call {
    call: OpenCall<Nowhere>,
    turn: Option<Slot<()>>,
    end: Slot<End>,
}

pub(crate) fn is_ready<T>(slot: &mut Slot<T>) -> bool {
    let polled = pin!(slot).poll(&mut Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(Some(_)))
}

impl Subject for Shipping {
    type Seat = Presence<Nowhere>;
    type Call = Call;
    const PLACES: usize = CLIENT_CALLS_MAX;

    fn new(_: Option<Cut>) -> Self {
        Core::new(TrustState::first_run())
    }

    fn enter(&self) -> Option<Self::Seat> {
        self.clients.enter(client(), Nowhere).ok()
    }

    fn open(seat: &Self::Seat) -> Option<Call> {
        let Opened { call, turn, end } = seat.open(0).ok()?;
        Some(Call { call, turn: Some(turn), end })
    }

    fn turn(call: &mut Call) -> Slot<()> {
        call.turn.take().unwrap()
    }

    fn dispatch(call: &Call, send: impl FnOnce()) -> bool {
        call.call.dispatch(send).is_some()
    }

    fn release(call: &Call) -> bool {
        call.call.release()
    }

    fn has_ended(call: &mut Call) -> bool {
        is_ready(&mut call.end)
    }

    fn hand_over(&self) {
        self.clients.hand_over();
    }

    fn learn(&self, killed: bool) {
        let first = TrustState::first_run();
        let state = match killed {
            true => TrustState { epoch: 1, killed, engaged: 1, ..first },
            false => TrustState { epoch: 1, clients: Some(Vec::new()), ..first },
        };
        Core::learn(self, Ok(state)).unwrap();
    }

    fn attach_browser(&self) -> bool {
        let identity = Identity { label: "chrome".into(), instance: "0".repeat(32) };
        let (bridge, extension) = (BRIDGE_PROTOCOL_VERSION, String::new());
        self.attach(Browser { identity, bridge, extension, capabilities: vec![] }, Nowhere, 0).is_ok()
    }

    fn browsers(&self) -> usize {
        self.session.browsers().len()
    }
}

fn client() -> Client {
    let (path, sha256) = ("/c".into(), Sha256([1; 32]));
    let image = Image { path, device: 1, inode: 1, sha256, package: false, signer: None, replaced: false };
    Client::new(vec![Holder { pid: 7, image, interpreter: false, script: None }]).unwrap()
}

/// The shipping code passes, so does the twin uncut, and loom finds the cut.
macro_rules! races {
    ($($race:ident, $cut:expr;)*) => { $(mod $race {
        use super::*;
        #[test]
        fn cannot_happen() {
            let executions = explore(stringify!($race), None, || super::$race::<Shipping>(None));
            assert!(executions > 1, "nothing raced");
        }
        #[test]
        fn is_found_in_the_twin() {
            let run = |cut| explore(stringify!($race), None, move || super::$race::<Twin>(cut));
            expect_found(concat!(stringify!($race), "::is_found_in_the_twin"), $cut, run);
        }
    })* };
}

races! {
    a_client_enters_a_broker_that_has_closed, Cut::LeaveLooksThenCloses;
    a_call_is_given_back_and_sent, Cut::DispatchLooksThenSends;
    a_call_is_sent_after_its_client_was_revoked, Cut::DispatchLooksThenSends;
    an_answer_and_a_revocation_both_win, Cut::ReleaseChecksThenRemoves;
    a_browser_stays_attached_under_the_kill_switch, Cut::AttachLooksThenEnters;
    a_free_place_is_given_to_nobody, Cut::OpenLooksThenWaits;
}

/// The last client leaves while another enters: either the broker stays open for it, or it is closed and refuses.
fn a_client_enters_a_broker_that_has_closed<S: Subject>(cut: Option<Cut>) {
    let broker = S::new(cut);
    let last = broker.enter().unwrap();
    let left = thread::spawn(move || drop(last));
    let seat = broker.enter();
    left.join().unwrap();
    assert_eq!(broker.enter().is_some(), seat.is_some());
}

/// A broker hands over while a call is dispatched: it is sent here, or given back for the next one, and never both.
fn a_call_is_given_back_and_sent<S: Subject>(cut: Option<Cut>) {
    let broker = S::new(cut);
    let seat = broker.enter().unwrap();
    let mut call = S::open(&seat).unwrap();
    let other = broker.clone();
    let handed_over = thread::spawn(move || other.hand_over());
    let sent = S::dispatch(&call, || ());
    handed_over.join().unwrap();
    assert!(sent != S::has_ended(&mut call));
    assert!(S::open(&seat).is_none() && broker.enter().is_none());
}

/// Once a record that revokes the client is learnt, its call is not sent.
fn a_call_is_sent_after_its_client_was_revoked<S: Subject>(cut: Option<Cut>) {
    let broker = S::new(cut);
    let seat = broker.enter().unwrap();
    let mut call = S::open(&seat).unwrap();
    let learnt = Arc::new(AtomicBool::new(false));
    let (other, told) = (broker.clone(), learnt.clone());
    let revoked = thread::spawn(move || {
        other.learn(false);
        told.store(true, Ordering::SeqCst);
    });
    S::dispatch(&call, || assert!(!learnt.load(Ordering::SeqCst), "sent for a revoked client"));
    revoked.join().unwrap();
    assert!(S::has_ended(&mut call) && !S::release(&call) && S::open(&seat).is_none());
}

/// An answer is released, or the call ended with the revocation; never both, and one of them.
fn an_answer_and_a_revocation_both_win<S: Subject>(cut: Option<Cut>) {
    let broker = S::new(cut);
    let seat = broker.enter().unwrap();
    let mut call = S::open(&seat).unwrap();
    assert!(S::dispatch(&call, || ()));
    let other = broker.clone();
    let revoked = thread::spawn(move || other.learn(false));
    let released = S::release(&call);
    revoked.join().unwrap();
    assert!(released != S::has_ended(&mut call));
}

/// A browser attaches while everything is stopped: afterwards none is attached.
fn a_browser_stays_attached_under_the_kill_switch<S: Subject>(cut: Option<Cut>) {
    let broker = S::new(cut);
    let other = broker.clone();
    let killed = thread::spawn(move || other.learn(true));
    broker.attach_browser();
    killed.join().unwrap();
    assert_eq!(broker.browsers(), 0);
    assert!(!broker.attach_browser());
}

/// A call ends while another looks for a place: the place is given to it.
fn a_free_place_is_given_to_nobody<S: Subject>(cut: Option<Cut>) {
    let broker = S::new(cut);
    let seat = broker.enter().unwrap();
    let mut running: Vec<S::Call> = (0..S::PLACES).map(|_| S::open(&seat).unwrap()).collect();
    let first = running.pop().unwrap();
    let ended = thread::spawn(move || drop(first));
    let mut next = S::open(&seat).unwrap();
    assert_eq!(block_on(S::turn(&mut next)), Some(()));
    ended.join().unwrap();
    drop((running, next));
}

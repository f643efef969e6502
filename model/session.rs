//! Loom explores every interleaving of the shipping session and slot, within the stated bounds. Each test is named
//! for the race it rules out and prints how many executions it took. Beside each runs a twin: a tiny session with one
//! critical section cut in two, which loom must catch; the same session uncut must pass.
//! What it does not know: sockets, timers and tokio, none of which the session sees.
#![cfg(genkan_loom)]
// A test says what is wrong by panicking.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use genkan::base::refusal::Code;
use genkan::base::sync::{Filler, Slot, slot};
use genkan::bridge::session::{Browser, InFlight, Link, Reply, Session, Unmet, Unsent};
use genkan::bridge::target::Identity;
use genkan::wire::bridge::{BRIDGE_PROTOCOL_VERSION, BridgeReq, BridgeResp, Caller, Outcome};
use loom::future::block_on;
use loom::thread;

#[path = "explore.rs"]
mod explore;
#[path = "twin.rs"]
mod twin;
use explore::{expect_found, explore};
use twin::{Cut, Twin};

/// What the models ask of a session: the shipping one and the twin.
pub(crate) trait Subject: Clone + Send + 'static {
    type Call: Send + Future<Output = End> + Unpin;
    fn new(cut: Option<Cut>) -> Self;
    /// The same browser each time; returns the connection's generation and what its writer is told.
    fn attach(&self) -> (u64, Log);
    fn detach(&self, generation: u64) -> bool;
    /// Opens and sends a call; `Err` is what to wait for when nobody is attached.
    fn begin(&self) -> Result<(u64, Self::Call), Slot<()>>;
    fn answer(&self, generation: u64, id: u64) -> bool;
    fn attached(&self) -> usize;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Answered,
    Lost,
}

/// What one connection's writer was told. Not a loom object: it only counts.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Told>);

#[derive(Default)]
pub(crate) struct Told {
    cancelled: AtomicUsize,
    closed: AtomicUsize,
    requests: Mutex<Vec<u64>>,
}

impl Log {
    fn cancelled(&self) -> usize {
        self.0.cancelled.load(Ordering::SeqCst)
    }
    fn closed(&self) -> usize {
        self.0.closed.load(Ordering::SeqCst)
    }
}

impl Link for Log {
    fn request(&self, request: &BridgeReq) -> Result<(), Unsent> {
        self.0.requests.lock().unwrap().push(request.id);
        Ok(())
    }
    fn cancel(&self, _: u64) {
        self.0.cancelled.fetch_add(1, Ordering::SeqCst);
    }
    fn close(&self) {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) struct Shipping(InFlight<Log>);

impl Future for Shipping {
    type Output = End;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<End> {
        Pin::new(&mut self.0).poll(cx).map(end)
    }
}

fn end(reply: Reply) -> End {
    match reply {
        Ok(_) => End::Answered,
        Err(refusal) => {
            assert_eq!(refusal.code, Code::ConnectionLost);
            End::Lost
        }
    }
}

impl Subject for Session<Log> {
    type Call = Shipping;

    fn new(_: Option<Cut>) -> Self {
        Session::default()
    }

    fn attach(&self) -> (u64, Log) {
        let identity = Identity { label: "chrome".into(), instance: "0".repeat(32) };
        let (bridge, extension) = (BRIDGE_PROTOCOL_VERSION, String::new());
        let log = Log::default();
        let browser = Browser { identity, bridge, extension, capabilities: vec![] };
        (Session::attach(self, browser, log.clone(), 0).unwrap(), log)
    }

    fn detach(&self, generation: u64) -> bool {
        Session::detach(self, generation)
    }

    fn begin(&self) -> Result<(u64, Shipping), Slot<()>> {
        match Session::begin(self, None, None, 0) {
            Ok(mut call) => {
                call.send(&mut request()).unwrap();
                Ok((call.id(), Shipping(call)))
            }
            Err(Unmet::Absent { arrival, .. }) => Err(arrival),
            Err(Unmet::Refused(refusal)) => panic!("{refusal}"),
        }
    }

    fn answer(&self, generation: u64, id: u64) -> bool {
        let data = Outcome { text: String::new(), structured: None, image: None };
        self.resolve(generation, BridgeResp::Done { id, data })
    }

    fn attached(&self) -> usize {
        self.browsers().len()
    }
}

fn request() -> BridgeReq {
    let caller = Caller { key: String::new(), name: String::new(), image: String::new(), verified: false };
    let (op, args) = (String::new(), serde_json::Map::new());
    BridgeReq { id: 0, op, browser: None, args, caller, deadline: 0 }
}

/// The shipping session passes, so does the twin uncut, and loom finds the cut.
macro_rules! races {
    ($($race:ident, $preemptions:expr, $cut:expr;)*) => { $(mod $race {
        use super::*;
        #[test]
        fn cannot_happen() {
            let executions = explore(stringify!($race), $preemptions, || super::$race::<Session<Log>>(None));
            assert!(executions > 1, "nothing raced");
        }
        #[test]
        fn is_found_in_the_twin() {
            let run = |cut| explore(stringify!($race), $preemptions, move || super::$race::<Twin>(cut));
            expect_found(concat!(stringify!($race), "::is_found_in_the_twin"), $cut, run);
        }
    })* };
}

races! {
    a_reply_and_a_cancel_both_win, None, Cut::CancelChecksThenRemoves;
    a_call_outlives_its_connection, None, Cut::BeginChoosesThenRegisters;
    a_superseded_call_is_never_told, None, Cut::SupersedeDrainsThenReplaces;
    an_arrival_is_missed, None, Cut::BeginLooksThenWaits;
    two_calls_share_a_number, None, Cut::NumberIsReadThenWritten;
    two_connections_of_one_browser_stay, None, Cut::SupersedeRemovesThenEnters;
    an_old_connection_ends_its_successor, None, Cut::DetachLooksThenRemoves;
    two_replies_both_count, None, Cut::AnswerChecksThenRemoves;
    a_reply_and_a_supersede_both_win, None, Cut::AnswerChecksThenRemoves;
    a_reply_a_cancel_and_a_loss_all_meet, Some(3), Cut::CancelChecksThenRemoves;
}

/// Either the reply counts and nothing is cancelled, or the cancel goes out, once, and the reply does not count.
fn a_reply_and_a_cancel_both_win<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (generation, log) = session.attach();
    let (id, call) = session.begin().ok().unwrap();
    let browser = session.clone();
    let replied = thread::spawn(move || browser.answer(generation, id));
    drop(call);
    let replied = replied.join().unwrap();
    assert_eq!(log.cancelled(), usize::from(!replied));
}

/// A call that begins while its connection ends is either not begun or told that it is lost.
fn a_call_outlives_its_connection<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (generation, _log) = session.attach();
    let other = session.clone();
    let ended = thread::spawn(move || other.detach(generation));
    if let Ok((_, call)) = session.begin() {
        assert_eq!(block_on(call), End::Lost);
    }
    assert!(ended.join().unwrap());
}

/// A call begun while its browser attaches anew belongs to one of the two connections and ends with it.
fn a_superseded_call_is_never_told<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (_, first) = session.attach();
    let other = session.clone();
    let second = thread::spawn(move || other.attach());
    let begun = session.begin();
    let (generation, _log) = second.join().unwrap();
    assert_eq!(first.closed(), 1);
    if let Ok((id, call)) = begun {
        let answered = session.answer(generation, id);
        assert_eq!(block_on(call), if answered { End::Answered } else { End::Lost });
    }
}

/// Who finds no browser is woken by the one that attaches meanwhile.
fn an_arrival_is_missed<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let other = session.clone();
    let arrived = thread::spawn(move || other.attach());
    if let Err(arrival) = session.begin() {
        assert_eq!(block_on(arrival), Some(()));
        assert!(session.begin().is_ok());
    }
    arrived.join().unwrap();
}

/// Calls begun at once have different numbers.
fn two_calls_share_a_number<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (_, _log) = session.attach();
    let other = session.clone();
    let theirs = thread::spawn(move || other.begin().ok().unwrap().0);
    let (mine, _call) = session.begin().ok().unwrap();
    assert_ne!(mine, theirs.join().unwrap());
}

/// Of two attachments of one browser at once, one stays and the other is closed, once.
fn two_connections_of_one_browser_stay<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let other = session.clone();
    let theirs = thread::spawn(move || other.attach());
    let (mine, my_log) = session.attach();
    let (their, their_log) = theirs.join().unwrap();
    assert_eq!(session.attached(), 1);
    assert_eq!((my_log.closed(), their_log.closed()), if mine > their { (0, 1) } else { (1, 0) });
}

/// The end of a connection does not touch the connection that took its place.
fn an_old_connection_ends_its_successor<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (first, first_log) = session.attach();
    let other = session.clone();
    let ended = thread::spawn(move || other.detach(first));
    let (_, second_log) = session.attach();
    ended.join().unwrap();
    assert_eq!(session.attached(), 1);
    assert_eq!((first_log.closed(), second_log.closed()), (1, 0));
}

/// Of two answers to one call, one counts.
fn two_replies_both_count<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (generation, _log) = session.attach();
    let (id, call) = session.begin().ok().unwrap();
    let other = session.clone();
    let theirs = thread::spawn(move || other.answer(generation, id));
    let mine = session.answer(generation, id);
    assert!(mine != theirs.join().unwrap());
    assert_eq!(block_on(call), End::Answered);
}

/// A call whose browser answers while it attaches anew ends in the one way that the answer was told.
fn a_reply_and_a_supersede_both_win<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (generation, _log) = session.attach();
    let (id, call) = session.begin().ok().unwrap();
    let other = session.clone();
    let replied = thread::spawn(move || other.answer(generation, id));
    session.attach();
    let replied = replied.join().unwrap();
    assert_eq!(block_on(call), if replied { End::Answered } else { End::Lost });
}

/// Whatever ends the call first, at most one cancel goes out, and none for a call that was answered.
fn a_reply_a_cancel_and_a_loss_all_meet<S: Subject>(cut: Option<Cut>) {
    let session = S::new(cut);
    let (generation, log) = session.attach();
    let (id, call) = session.begin().ok().unwrap();
    let (browser, end) = (session.clone(), session.clone());
    let replied = thread::spawn(move || browser.answer(generation, id));
    let ended = thread::spawn(move || end.detach(generation));
    drop(call);
    let replied = replied.join().unwrap();
    assert!(ended.join().unwrap());
    assert!(log.cancelled() + usize::from(replied) <= 1);
    assert_eq!(log.closed(), 1);
}

mod a_value_is_given_but_nobody_wakes {
    use super::*;

    fn race<F: Send + 'static, S: Future<Output = Option<u8>>>(
        (filler, slot): (F, S),
        fill: fn(F, u8) -> Result<(), u8>,
    ) {
        let filled = thread::spawn(move || fill(filler, 7));
        assert_eq!(block_on(slot), Some(7));
        assert_eq!(filled.join().unwrap(), Ok(()));
    }

    #[test]
    fn cannot_happen() {
        let executions = explore("a_value_is_given_but_nobody_wakes", None, || race(slot(), Filler::fill));
        assert!(executions > 1, "nothing raced");
    }

    #[test]
    fn is_found_in_the_twin() {
        expect_found(
            "a_value_is_given_but_nobody_wakes::is_found_in_the_twin",
            Cut::PollLooksThenLeavesItsWaker,
            |cut| {
                explore("a_value_is_given_but_nobody_wakes", None, move || {
                    race(twin::slot(cut), twin::Filler::fill)
                })
            },
        );
    }
}

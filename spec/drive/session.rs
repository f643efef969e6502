//! Drives the real session with random steps beside its reference machine and compares everything that shows after
//! each. It also drives twins that each break one promise, and demands that the comparison notices.
// A test says what is wrong by panicking.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use genkan::base::limits::{BROWSERS_MAX, CALLS_MAX, MISMATCH_RECENT_MS};
use genkan::base::refusal::Code;
use genkan::base::sync::Slot;
use genkan::bridge::session::{Browser, InFlight, Link, Session, Unmet, Unsent};
use genkan::bridge::target::Identity;
use genkan::wire::bridge::{
    BRIDGE_PROTOCOL_VERSION, BridgeReq, BridgeResp, Caller, Capability, Outcome, ProgressState,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

#[path = "../session.rs"]
mod reference;
use reference::{Caps, End, Machine, Seen, Step, Target, Wait, Who};

const CAPS: Caps = Caps { browsers: BROWSERS_MAX, calls: CALLS_MAX, mismatch_ms: MISMATCH_RECENT_MS as u64 };

/// Generates steps; the machine itself is the state.
struct Plan;

fn who() -> impl Strategy<Value = Who> {
    (0..3u8, 0..7u8)
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        Just(Target::Any),
        (0..4u8).prop_map(Target::Label),
        (0..8u8).prop_map(Target::Instance),
        (0..4u8, 0..8u8).prop_map(|(l, i)| Target::Both(l, i)),
    ]
}

/// Starts: nothing there; all seats but one taken; all calls but two open.
fn start(kind: u8) -> Machine {
    let mut machine = Machine::new(CAPS);
    let attach = |who| Step::Attach { who, right_version: true };
    if kind == 1 {
        (0..BROWSERS_MAX as u8 - 1).for_each(|n| machine.step(attach((n % 3, n / 3))));
    }
    if kind == 2 {
        machine.step(attach((0, 0)));
        (0..CALLS_MAX - 2).for_each(|_| machine.step(Step::Begin { target: Target::Any, send: true }));
    }
    machine
}

impl ReferenceStateMachine for Plan {
    type State = Machine;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Machine> {
        prop_oneof![6 => Just(0), 1 => Just(1), 1 => Just(2)].prop_map(start).boxed()
    }

    fn transitions(state: &Machine) -> BoxedStrategy<Step> {
        let (calls, connections, waits) = (state.calls.len(), state.connections.len(), state.waits.len());
        // Mostly the newest; one past the end is a number never given out.
        let call = (0..=calls.min(6)).prop_map(move |back| calls - back);
        let connection = (0..=connections.min(4)).prop_map(move |back| connections - back);
        let asked: Vec<usize> = state.calls.iter().map(|c| c.connection).collect();
        let right = call.clone().prop_map(move |n| (n, asked.get(n).copied().unwrap_or(connections)));
        let any = (call.clone(), connection.clone());
        prop_oneof![
            6 => (who(), prop::bool::weighted(0.8))
                .prop_map(|(who, right_version)| Step::Attach { who, right_version }),
            2 => connection.prop_map(|connection| Step::Detach { connection }),
            9 => (target(), prop::bool::weighted(0.8)).prop_map(|(target, send)| Step::Begin { target, send }),
            3 => right.clone().prop_map(|(call, connection)| Step::Answer { call, connection }),
            2 => any.clone().prop_map(|(call, connection)| Step::Answer { call, connection }),
            1 => right.prop_map(|(call, connection)| Step::Progress { call, connection }),
            1 => any.prop_map(|(call, connection)| Step::Progress { call, connection }),
            4 => call.prop_map(|call| Step::Drop { call }),
            1 => (0..=waits).prop_map(|wait| Step::GiveUp { wait }),
            2 => prop::sample::select(vec![1, 1_000, CAPS.mismatch_ms - 1, CAPS.mismatch_ms])
                .prop_map(|ms| Step::Tick { ms }),
        ]
        .boxed()
    }

    fn apply(mut state: Machine, step: &Step) -> Machine {
        state.step(*step);
        state
    }
}

/// Breaks that the comparison must notice, each against a promise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    AnswersOfAnyConnectionCount,
    LateAnswersCount,
    GuessesAmongSeveral,
    EveryAttachIsANewBrowser,
    EndingAReplacedConnectionEndsItsSuccessor,
    ForgetsToCancel,
    CancelsWhatWasNeverSent,
    ForgetsMismatches,
    ReportsProgressToNobody,
}

/// What the connection's writer was told.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<WireLog>>);

#[derive(Default)]
struct WireLog {
    cancels: Vec<u64>,
    closed: usize,
    deaf: bool,
}

impl Wire {
    /// A failed comparison poisons it, and unwinding still cancels calls.
    fn log(&self) -> MutexGuard<'_, WireLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link for Wire {
    fn request(&self, _: &BridgeReq) -> Result<(), Unsent> {
        Ok(())
    }
    fn cancel(&self, id: u64) {
        let mut log = self.log();
        if !log.deaf {
            log.cancels.push(id);
        }
    }
    fn close(&self) {
        self.log().closed += 1;
    }
}

/// One call as its caller sees it.
struct Caught {
    id: u64,
    connection: usize,
    flight: Option<InFlight<Wire>>,
    progress: Arc<AtomicUsize>,
    end: Option<End>,
}

struct World {
    fault: Fault,
    session: Session<Wire>,
    now: u64,
    wires: Vec<(u64, Wire)>,
    calls: Vec<Caught>,
    waits: Vec<(Option<Slot<()>>, Wait)>,
    twins: u32,
}

fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn instance(n: u8) -> String {
    format!("{n:04x}").repeat(8)
}

fn label(n: u8) -> String {
    format!("browser-{n}")
}

fn request() -> BridgeReq {
    let caller = Caller { key: "k".into(), name: "n".into(), image: "/i".into(), verified: false };
    BridgeReq {
        id: 0,
        op: "tab_list".into(),
        browser: None,
        args: serde_json::Map::new(),
        caller,
        deadline: 1,
    }
}

impl World {
    fn new(fault: Fault) -> Self {
        World {
            fault,
            session: Session::default(),
            now: 0,
            wires: vec![],
            calls: vec![],
            waits: vec![],
            twins: 0,
        }
    }

    fn step(&mut self, step: Step) -> Seen {
        match step {
            Step::Attach { who, right_version } => self.attach(who, right_version),
            Step::Detach { connection } => self.detach(connection),
            Step::Begin { target, send } => self.begin(target, send),
            Step::Answer { call, connection } => {
                let data = Outcome { text: "done".into(), structured: None, image: None };
                let counted = self.answer(call, connection, |id| BridgeResp::Done { id, data });
                Seen::Counted(counted || self.fault == Fault::LateAnswersCount)
            }
            Step::Progress { call, connection } => {
                let state = ProgressState::Acting;
                Seen::Counted(self.answer(call, connection, |id| BridgeResp::Progress { id, state }))
            }
            Step::Drop { call } => {
                if let Some(it) = self.calls.get_mut(call) {
                    let open = it.flight.take().is_some() && it.end.is_none();
                    it.end = it.end.or(open.then_some(End::Dropped));
                }
                Seen::Nothing
            }
            Step::GiveUp { wait } => {
                if let Some(it) = self.waits.get_mut(wait).filter(|w| w.1 == Wait::Waiting) {
                    *it = (None, Wait::GivenUp);
                }
                Seen::Nothing
            }
            Step::Tick { ms } => {
                self.now += ms;
                Seen::Nothing
            }
        }
    }

    fn attach(&mut self, (l, i): Who, right_version: bool) -> Seen {
        let mut identity = Identity { label: label(l), instance: instance(i) };
        if self.fault == Fault::EveryAttachIsANewBrowser {
            self.twins += 1;
            identity.instance.push_str(&self.twins.to_string());
        }
        let bridge = BRIDGE_PROTOCOL_VERSION + u32::from(!right_version);
        let capabilities = vec![Capability::TabControl];
        let browser = Browser { identity, bridge, extension: "1".into(), capabilities };
        let wire = Wire::default();
        wire.log().deaf = self.fault == Fault::ForgetsToCancel;
        match self.session.attach(browser, wire.clone(), self.now) {
            Ok(generation) => {
                self.wires.push((generation, wire));
                Seen::Attached
            }
            Err(refusal) => seen(refusal.code),
        }
    }

    fn detach(&mut self, connection: usize) -> Seen {
        let generation = self.generation(connection);
        let mut ended = self.session.detach(generation);
        if self.fault == Fault::EndingAReplacedConnectionEndsItsSuccessor && !ended {
            ended = self.session.detach(generation + 1);
        }
        Seen::Counted(ended)
    }

    fn begin(&mut self, target: Target, send: bool) -> Seen {
        let mut target = match target {
            Target::Any => None,
            Target::Label(l) => Some(label(l)),
            Target::Instance(i) => Some(instance(i)),
            Target::Both(l, i) => Some(format!("{}#{}", label(l), instance(i))),
        };
        let progress = Arc::new(AtomicUsize::new(0));
        let told = progress.clone();
        let deaf = self.fault == Fault::ReportsProgressToNobody;
        let watch = Arc::new(move |_| {
            told.fetch_add(usize::from(!deaf), Ordering::Relaxed);
        });
        let forgets = u64::from(self.fault == Fault::ForgetsMismatches) * CAPS.mismatch_ms;
        let mut begun = self.session.begin(target.as_deref(), Some(watch.clone()), self.now + forgets);
        let ambiguous =
            matches!(&begun, Err(Unmet::Refused(refusal)) if refusal.code == Code::BrowserAmbiguous);
        if self.fault == Fault::GuessesAmongSeveral && ambiguous {
            target = self.session.browsers().first().map(|row| row.browser.clone());
            begun = self.session.begin(target.as_deref(), Some(watch), self.now);
        }
        match begun {
            Ok(mut flight) => {
                if send || self.fault == Fault::CancelsWhatWasNeverSent {
                    flight.send(&mut request()).unwrap();
                }
                let connection = self.wires.iter().position(|w| w.0 == flight.generation()).unwrap();
                let (id, flight) = (flight.id(), Some(flight));
                self.calls.push(Caught { id, connection, flight, progress, end: None });
                Seen::Begun { connection }
            }
            Err(Unmet::Absent { known, arrival }) => {
                self.waits.push((Some(arrival), Wait::Waiting));
                Seen::Waits { known }
            }
            Err(Unmet::Refused(refusal)) => seen(refusal.code),
        }
    }

    fn answer(&mut self, call: usize, connection: usize, make: impl FnOnce(u64) -> BridgeResp) -> bool {
        let id = self.calls.get(call).map_or(u64::MAX, |c| c.id);
        let mut generation = self.generation(connection);
        if self.fault == Fault::AnswersOfAnyConnectionCount {
            generation = self.calls.get(call).map_or(generation, |c| self.generation(c.connection));
        }
        self.session.resolve(generation, make(id))
    }

    fn generation(&self, connection: usize) -> u64 {
        self.wires.get(connection).map_or(u64::MAX - 1, |w| w.0)
    }

    /// Reads every slot that became ready.
    fn settle(&mut self) {
        for call in self.calls.iter_mut().filter(|c| c.end.is_none()) {
            call.end = call.flight.as_mut().and_then(poll).map(|reply| match reply {
                Ok(_) => End::Answered,
                Err(refusal) => {
                    assert_eq!(refusal.code, Code::ConnectionLost);
                    End::Lost
                }
            });
        }
        for (slot, wait) in self.waits.iter_mut().filter(|w| w.1 == Wait::Waiting) {
            if slot.as_mut().and_then(poll).is_some() {
                *wait = Wait::Woken;
            }
        }
    }

    fn compare(&self, machine: &Machine) {
        for (n, ((_, wire), expected)) in self.wires.iter().zip(&machine.connections).enumerate() {
            let log = wire.log();
            assert_eq!(log.closed, usize::from(!expected.open), "connection {n} closed");
            let cancels: Vec<usize> =
                log.cancels.iter().map(|id| self.calls.iter().position(|c| c.id == *id).unwrap()).collect();
            assert_eq!(cancels, expected.cancelled, "cancels on connection {n}");
        }
        assert!(self.calls.windows(2).all(|w| w[0].id < w[1].id), "numbers rise");
        for (n, (call, expected)) in self.calls.iter().zip(&machine.calls).enumerate() {
            assert_eq!(call.end, expected.end, "end of call {n}");
            assert_eq!(call.progress.load(Ordering::Relaxed), expected.progress, "progress of call {n}");
        }
        let waits: Vec<Wait> = self.waits.iter().map(|w| w.1).collect();
        assert_eq!(waits, machine.waits);
        let rows: Vec<(String, String)> =
            self.session.browsers().into_iter().map(|row| (row.label, row.instance)).collect();
        let open: Vec<_> = machine.open().map(|(_, c)| (label(c.who.0), instance(c.who.1))).collect();
        assert_eq!(rows, open, "attached browsers");
    }
}

fn seen(code: Code) -> Seen {
    let known = [
        (Code::BrowserAmbiguous, Seen::Ambiguous),
        (Code::BrowserNotFound, Seen::NotFound),
        (Code::ProtocolMismatch, Seen::Mismatch),
        (Code::BrokerBusy, Seen::Busy),
    ];
    known.into_iter().find(|row| row.0 == code).unwrap_or_else(|| panic!("unexpected {code:?}")).1
}

/// The real session, or with a fault its twin.
struct Driven<const FAULT: usize>;

const FAULTS: [Fault; 10] = [
    Fault::None,
    Fault::AnswersOfAnyConnectionCount,
    Fault::LateAnswersCount,
    Fault::GuessesAmongSeveral,
    Fault::EveryAttachIsANewBrowser,
    Fault::EndingAReplacedConnectionEndsItsSuccessor,
    Fault::ForgetsToCancel,
    Fault::CancelsWhatWasNeverSent,
    Fault::ForgetsMismatches,
    Fault::ReportsProgressToNobody,
];

impl<const FAULT: usize> StateMachineTest for Driven<FAULT> {
    type SystemUnderTest = World;
    type Reference = Plan;

    fn init_test(machine: &Machine) -> World {
        let mut world = World::new(FAULTS[FAULT]);
        for step in &machine.steps {
            world.step(*step);
        }
        world
    }

    fn apply(mut world: World, machine: &Machine, step: Step) -> World {
        assert_eq!(world.step(step), machine.last, "{step:?}");
        world.settle();
        world
    }

    fn check_invariants(world: &World, machine: &Machine) {
        world.compare(machine);
    }
}

prop_state_machine! {
    #![proptest_config(Config { cases: 512, failure_persistence: None, ..Config::default() })]

    // SHOWS session-1, session-2, session-3, session-4, session-5, session-6, session-7, session-8, session-9, session-10
    #[test]
    fn the_session_keeps_its_promises(sequential 1..80 => Driven<0>);
}

fn the_comparison_notices<const FAULT: usize>() {
    let config = Config { cases: 512, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let found = TestRunner::new(config).run(&Plan::sequential_strategy(1..80), |(machine, steps, _)| {
        Driven::<FAULT>::test_sequential(Config::default(), machine, steps, None);
        Ok(())
    });
    assert!(matches!(found, Err(TestError::Fail(..))), "{:?} went unnoticed", FAULTS[FAULT]);
}

macro_rules! twins {
    ($($name:ident $fault:literal)*) => { $(#[test] fn $name() { the_comparison_notices::<$fault>(); })* };
}

twins! {
    a_twin_that_takes_answers_of_any_connection_is_noticed 1
    a_twin_that_counts_late_answers_is_noticed 2
    a_twin_that_guesses_among_several_is_noticed 3
    a_twin_that_never_supersedes_is_noticed 4
    a_twin_that_ends_the_successor_is_noticed 5
    a_twin_that_forgets_to_cancel_is_noticed 6
    a_twin_that_cancels_what_was_never_sent_is_noticed 7
    a_twin_that_forgets_mismatches_is_noticed 8
    a_twin_that_reports_no_progress_is_noticed 9
}

/// The end of a broker: not a step of the machine, because nothing comes after it.
#[test]
fn at_the_end_every_connection_is_closed_and_every_call_lost() {
    let session = Session::<Wire>::default();
    let wires: Vec<Wire> = (0..3).map(|_| Wire::default()).collect();
    for (n, wire) in (0..).zip(&wires) {
        let identity = Identity { label: label(n), instance: instance(n) };
        let (bridge, capabilities) = (BRIDGE_PROTOCOL_VERSION, vec![Capability::TabControl]);
        let browser = Browser { identity, bridge, extension: "1".into(), capabilities };
        session.attach(browser, wire.clone(), 0).unwrap();
    }
    let flights: Vec<_> =
        (0..3).map(|n| session.begin(Some(&label(n)), None, 0).unwrap_or_else(|_| panic!("{n}"))).collect();
    session.detach_all();
    assert!(session.browsers().is_empty() && wires.iter().all(|wire| wire.log().closed == 1));
    for mut flight in flights {
        let Poll::Ready(Err(lost)) = pin!(&mut flight).poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("still open")
        };
        assert_eq!(lost.code, Code::ConnectionLost);
    }
}

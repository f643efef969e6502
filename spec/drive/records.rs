//! Drives the real store, on real files, with random steps beside its reference machine, and compares what each step
//! returns and what lies in both files after it. It also drives twins that each break one promise, and demands that the
//! comparison notices. At the end it prints how often each step met each case; none may be missing.
// A test says what is wrong by panicking.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm
)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use genkan::base::refusal::{Code, Refusal};
use genkan::os::runtime_dir::Environment;
use genkan::os::state_dir::StateDir;
use genkan::os::trust_store::{Hold, TrustStore};
use genkan::trust::state::TrustState;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

#[path = "../records.rs"]
mod reference;
use reference::{CASES, Case, Machine, Mark, Record, Seen, Step, Trust};

/// Generates steps; the machine itself is the state.
struct Plan;

/// Steps that lead to each case.
fn start(case: Case) -> Machine {
    use Step::*;
    let steps: &[Step] = match case {
        Case::FirstRun => &[],
        Case::Good => &[List],
        Case::Killed => &[List, Engage],
        Case::HeldInMemory => &[List, EngageUnwritten],
        Case::Stopped => &[List, EngageLocked],
        Case::AheadOfMark => &[List, CutShort],
        Case::BehindMark => &[List, Keep, Engage, PutBack(0)],
        Case::Gone => &[List, RemoveRecord],
        Case::Damaged => &[List, DamageRecord(None)],
        Case::Loose => &[List, Loosen],
        Case::Newer => &[List, MakeNewer],
        Case::DamagedMark => &[List, DamageMark(None)],
    };
    let mut machine = Machine::new();
    steps.iter().for_each(|step| machine.step(*step));
    assert_eq!(machine.case(), case);
    machine
}

impl ReferenceStateMachine for Plan {
    type State = Machine;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Machine> {
        prop::sample::select(&CASES[..]).prop_map(start).boxed()
    }

    fn transitions(state: &Machine) -> BoxedStrategy<Step> {
        let kept = state.kept.len();
        let says = || prop::option::of(0..40_u64);
        prop_oneof![
            16 => prop::sample::select(vec![
                Step::Read,
                Step::List,
                Step::Decline,
                Step::Engage,
                Step::Release,
                Step::EngageLocked,
                Step::EngageUnwritten,
                Step::CutShort,
                Step::Recover,
                Step::Restart,
                Step::Keep,
                Step::RemoveRecord,
                Step::RemoveMark,
                Step::Loosen,
                Step::MakeNewer,
            ]),
            2 => (0..kept.max(1)).prop_map(Step::PutBack),
            1 => says().prop_map(Step::DamageRecord),
            1 => says().prop_map(Step::DamageMark),
        ]
        .boxed()
    }

    fn apply(mut state: Machine, step: &Step) -> Machine {
        state.step(*step);
        state
    }
}

fn kind(step: Step) -> &'static str {
    match step {
        Step::Read => "read",
        Step::List => "list",
        Step::Decline => "decline",
        Step::Engage => "engage",
        Step::Release => "release",
        Step::EngageLocked => "engage-locked",
        Step::EngageUnwritten => "engage-unwritten",
        Step::CutShort => "cut-short",
        Step::Recover => "recover",
        Step::Restart => "restart",
        Step::Keep => "keep",
        Step::PutBack(_) => "put-back",
        Step::RemoveRecord => "remove-record",
        Step::RemoveMark => "remove-mark",
        Step::DamageRecord(_) => "damage-record",
        Step::DamageMark(_) => "damage-mark",
        Step::Loosen => "loosen",
        Step::MakeNewer => "make-newer",
    }
}

const KINDS: usize = 18;

/// Breaks that the comparison must notice, each against a promise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    DamageIsAFirstRun,
    TheMarkIsForgotten,
    TheMarkIsNotHealed,
    MemoryForgets,
    RefusedChangesAreWritten,
    RecoveryStartsOver,
    RecoveryReplacesTheNewer,
    TheStopIsForgotten,
    AReadEpochIsForgotten,
}

const FAULTS: [Fault; 10] = [
    Fault::None,
    Fault::DamageIsAFirstRun,
    Fault::TheMarkIsForgotten,
    Fault::TheMarkIsNotHealed,
    Fault::MemoryForgets,
    Fault::RefusedChangesAreWritten,
    Fault::RecoveryStartsOver,
    Fault::RecoveryReplacesTheNewer,
    Fault::TheStopIsForgotten,
    Fault::AReadEpochIsForgotten,
];

struct World {
    fault: Fault,
    home: tempfile::TempDir,
    store: TrustStore,
    kept: Vec<Vec<u8>>,
    case: Case,
}

fn environment(home: &Path) -> Environment {
    Environment {
        xdg_state_home: Some(home.join("state").into()),
        xdg_data_home: Some(home.join("data").into()),
        ..Environment::default()
    }
}

fn open(home: &Path) -> TrustStore {
    TrustStore::open(&environment(home)).unwrap().with_patience(Duration::ZERO)
}

fn trust(state: &TrustState) -> Trust {
    assert!(state.clients.as_ref().is_none_or(Vec::is_empty));
    let TrustState { epoch, killed, engaged, ref clients } = *state;
    Trust { epoch, killed, engaged, list: clients.is_some() }
}

fn seen(outcome: Result<TrustState, Refusal>) -> Seen {
    match outcome {
        Ok(state) => Seen::State(trust(&state)),
        Err(refusal) => match refusal.code {
            Code::BridgeKilled => Seen::Closed,
            Code::UserDenied | Code::InvalidArgument => Seen::Declined,
            _ => Seen::Unwritten,
        },
    }
}

fn held(hold: Hold) -> Seen {
    match hold {
        Hold::Recorded(state, _) => seen(Ok(*state)),
        Hold::Stop(refusal) | Hold::Memory(refusal) => seen(Err(refusal)),
    }
}

fn decline() -> Refusal {
    Refusal::plain(Code::UserDenied)
}

impl World {
    fn new(fault: Fault) -> Self {
        // What a power failure does to a disk is not asked here.
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let store = open(home.path());
        World { fault, home, store, kept: vec![], case: Case::FirstRun }
    }

    fn record(&self) -> PathBuf {
        self.home.path().join("state/genkan/trust.json")
    }

    fn mark(&self) -> PathBuf {
        self.home.path().join("data/genkan/trust.epoch")
    }

    fn step(&mut self, step: Step) -> Seen {
        let mark = std::fs::read(self.mark()).ok();
        if self.fault == Fault::TheStopIsForgotten && step == Step::Restart {
            self.forget_stop();
        }
        if self.fault == Fault::AReadEpochIsForgotten {
            self.store = open(self.home.path());
        }
        let seen = match step {
            Step::Read => match seen(self.store.read()) {
                Seen::Closed if self.fault == Fault::DamageIsAFirstRun => {
                    Seen::State(trust(&TrustState::first_run()))
                }
                seen => seen,
            },
            Step::List => seen(self.store.change(|state| {
                state.clients = Some(vec![]);
                Ok(())
            })),
            Step::Decline => seen(self.store.change(|_| {
                if self.fault == Fault::RefusedChangesAreWritten { Ok(()) } else { Err(decline()) }
            })),
            Step::Engage => held(self.store.engage_within(Duration::ZERO)),
            Step::Release => seen(self.store.change(|state| {
                let killed = std::mem::replace(&mut state.killed, false);
                if killed { Ok(()) } else { Err(decline()) }
            })),
            Step::EngageLocked => {
                let busy = StateDir::open(&environment(self.home.path())).unwrap();
                let _lock = busy.lock(Duration::ZERO).unwrap();
                assert!(matches!(self.store.engage_within(Duration::ZERO), Hold::Stop(_)));
                Seen::Unwritten
            }
            Step::EngageUnwritten => {
                let (dir, aside) = (self.home.path().join("state/genkan"), self.home.path().join("aside"));
                std::fs::rename(&dir, &aside).unwrap();
                assert!(matches!(self.store.engage_within(Duration::ZERO), Hold::Memory(_)));
                std::fs::rename(&aside, &dir).unwrap();
                if self.fault == Fault::MemoryForgets {
                    self.store = open(self.home.path());
                }
                Seen::Unwritten
            }
            Step::CutShort => {
                let seen = seen(self.store.change(|_| Ok(())));
                self.lay(&self.mark(), mark.as_deref());
                self.store = open(self.home.path());
                if seen == Seen::Closed { seen } else { Seen::Nothing }
            }
            Step::Recover => self.recover(),
            Step::Restart => {
                self.store = open(self.home.path());
                Seen::Nothing
            }
            _ => self.meddle(step),
        };
        match self.fault {
            Fault::TheMarkIsForgotten => self.lay(&self.mark(), None),
            Fault::TheMarkIsNotHealed if step == Step::Read => self.lay(&self.mark(), mark.as_deref()),
            _ => {}
        }
        seen
    }

    fn recover(&self) -> Seen {
        let is_newer = self.case == Case::Newer;
        match self.fault {
            Fault::RecoveryStartsOver if seen(self.store.read()) == Seen::Closed && !is_newer => {
                self.lay(&self.record(), None);
                self.lay(&self.mark(), None);
                held(open(self.home.path()).engage_within(Duration::ZERO))
            }
            Fault::RecoveryReplacesTheNewer if is_newer => {
                self.lay(&self.record(), Some(b"x"));
                seen(self.store.recover())
            }
            _ => seen(self.store.recover()),
        }
    }

    /// What others do to the files.
    fn meddle(&mut self, step: Step) -> Seen {
        let record = std::fs::read(self.record()).unwrap_or_default();
        let is_good = String::from_utf8_lossy(&record).contains("\"version\":1") && !self.is_loose();
        match step {
            Step::Keep if is_good => self.kept.push(record),
            Step::PutBack(n) => {
                if let Some(kept) = self.kept.get(n) {
                    self.lay(&self.record(), Some(kept));
                }
            }
            Step::RemoveRecord => self.lay(&self.record(), None),
            Step::RemoveMark => self.lay(&self.mark(), None),
            Step::DamageRecord(says) => self.lay(&self.record(), Some(damage(says).as_bytes())),
            Step::DamageMark(says) => self.lay(&self.mark(), Some(damage(says).as_bytes())),
            Step::Loosen if is_good => {
                std::fs::set_permissions(self.record(), std::fs::Permissions::from_mode(0o644)).unwrap();
            }
            Step::MakeNewer if is_good => {
                let text = String::from_utf8(record).unwrap().replace("\"version\":1", "\"version\":2");
                self.lay(&self.record(), Some(text.as_bytes()));
            }
            _ => {}
        }
        Seen::Nothing
    }

    fn stops(&self) -> [PathBuf; 2] {
        ["stop", ".stop.taken"].map(|name| self.record().with_file_name(name))
    }

    fn forget_stop(&self) {
        self.stops().iter().for_each(|path| self.lay(path, None));
    }

    fn is_loose(&self) -> bool {
        std::fs::metadata(self.record()).is_ok_and(|file| file.permissions().mode() & 0o777 != 0o600)
    }

    fn lay(&self, path: &Path, bytes: Option<&[u8]>) {
        let _ = std::fs::remove_file(path);
        if let Some(bytes) = bytes {
            std::fs::write(path, bytes).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn compare(&self, machine: &Machine) {
        let (record, loose) = match machine.record {
            Record::Missing => (None, false),
            Record::Good(trust) => (Some(text(trust, 1)), false),
            Record::Loose(trust) => (Some(text(trust, 1)), true),
            Record::Newer(trust) => (Some(text(trust, 2)), false),
            Record::Damaged(says) => (Some(damage(says)), false),
        };
        let mark = match machine.mark {
            Mark::Missing => None,
            Mark::At(epoch) => Some(format!("{{\"epoch\":{epoch},\"version\":1}}\n")),
            Mark::Damaged(says) => Some(damage(says)),
        };
        assert_eq!(
            (std::fs::read_to_string(self.record()).ok(), self.is_loose()),
            (record, loose),
            "the record"
        );
        assert_eq!(std::fs::read_to_string(self.mark()).ok(), mark, "the mark");
        assert_eq!(self.stops().iter().any(|path| path.exists()), machine.stop, "the stop");
    }
}

fn damage(says: Option<u64>) -> String {
    says.map_or("x".into(), |epoch| format!("{{\"epoch\":{epoch}}}\n"))
}

fn text(Trust { epoch, killed, engaged, list }: Trust, version: u64) -> String {
    let clients = if list { "[]" } else { "null" };
    format!(
        "{{\"clients\":{clients},\"engaged\":{engaged},\"epoch\":{epoch},\"killed\":{killed},\"version\":{version}}}\n"
    )
}

/// How often each step met each case.
static TRIED: Mutex<BTreeMap<(Case, &'static str), usize>> = Mutex::new(BTreeMap::new());

/// The real store, or with a fault its twin.
struct Driven<const FAULT: usize>;

impl<const FAULT: usize> StateMachineTest for Driven<FAULT> {
    type SystemUnderTest = World;
    type Reference = Plan;

    fn init_test(machine: &Machine) -> World {
        let mut world = World::new(FAULTS[FAULT]);
        for step in &machine.steps {
            world.step(*step);
        }
        world.case = machine.case();
        world
    }

    fn apply(mut world: World, machine: &Machine, step: Step) -> World {
        if world.fault == Fault::None {
            *TRIED.lock().unwrap().entry((world.case, kind(step))).or_default() += 1;
        }
        assert_eq!(world.step(step), machine.last, "{step:?} in {:?}: {:?}", world.case, machine.steps);
        world.case = machine.case();
        world
    }

    fn check_invariants(world: &World, machine: &Machine) {
        world.compare(machine);
    }
}

fn drive<const FAULT: usize>(config: Config) -> Result<(), String> {
    let outcome = TestRunner::new(config).run(&Plan::sequential_strategy(1..40), |(machine, steps, _)| {
        Driven::<FAULT>::test_sequential(Config::default(), machine, steps, None);
        Ok(())
    });
    outcome.map_err(|error| match error {
        TestError::Fail(..) | TestError::Abort(_) => error.to_string(),
    })
}

fn config() -> Config {
    Config { cases: 4_096, failure_persistence: None, ..Config::default() }
}

// SHOWS records-4, records-5, records-6, records-7, records-8, records-9, records-12
#[test]
fn the_trust_record_keeps_its_promises_in_every_case_and_step() {
    drive::<0>(config()).unwrap();
    let tried = TRIED.lock().unwrap();
    let mut kinds: Vec<&str> = tried.keys().map(|(_, kind)| *kind).collect();
    kinds.sort();
    kinds.dedup();
    print!("{:16}", "");
    CASES.iter().for_each(|case| print!(" {:>12}", format!("{case:?}")));
    println!();
    for kind in kinds {
        print!("{kind:16}");
        CASES.iter().for_each(|case| print!(" {:>12}", tried.get(&(*case, kind)).unwrap_or(&0)));
        println!();
    }
    println!("{} of {} pairs of case and step tried", tried.len(), CASES.len() * KINDS);
    assert_eq!(tried.len(), CASES.len() * KINDS, "a pair was never tried");
}

fn the_comparison_notices<const FAULT: usize>() {
    let found = drive::<FAULT>(Config { max_shrink_iters: 0, ..config() });
    assert!(found.is_err(), "{:?} went unnoticed", FAULTS[FAULT]);
}

macro_rules! twins {
    ($($name:ident $fault:literal)*) => { $(#[test] fn $name() { the_comparison_notices::<$fault>(); })* };
}

twins! {
    a_twin_that_takes_damage_for_a_first_run_is_noticed 1
    a_twin_that_forgets_the_mark_is_noticed 2
    a_twin_that_does_not_heal_the_mark_is_noticed 3
    a_twin_whose_memory_forgets_is_noticed 4
    a_twin_that_writes_refused_changes_is_noticed 5
    a_twin_whose_recovery_starts_over_is_noticed 6
    a_twin_that_replaces_a_newer_record_is_noticed 7
    a_twin_that_forgets_the_stop_is_noticed 8
    a_twin_that_forgets_what_it_has_read_is_noticed 9
}

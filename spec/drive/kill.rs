//! Drives the kill switch beside its reference machine: the library over real files, and the built program with a person
//! at a real terminal. It also drives twins that each break one promise, and demands that the comparison notices.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unreachable,
    clippy::wildcard_enum_match_arm,
    dead_code,
    reason = "a test says what is wrong by panicking, and shares its stage with others"
)]

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use genkan::base::refusal::{Code, Refusal};
use genkan::os::runtime_dir::Environment;
use genkan::os::trust_store::{Hold, TrustStore};
use genkan::trust::admission::{Admitted, decide, recheck};
use genkan::trust::kill::{Engaged, release};
use genkan::trust::pairing::pair;
use genkan::trust::presence::{Candidate, Grant};
use genkan::trust::state::{Anchor, ScriptRule, TrustState};
use genkan::wire::client::{Client, Holder, Image, Sha256};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

mod observer;
#[path = "../../adversarial/person.rs"]
mod person;
#[path = "../kill.rs"]
mod reference;
#[path = "../../adversarial/stage.rs"]
mod stage;
mod tour;

use observer::Observer;
use person::Person;
use reference::{Machine, STEPS, Seen, Standing, Step};
use stage::{HANG, Home, Host, done};
use tour::{Walked, histories};

impl Walked for Machine {
    type Step = Step;
    type Standing = Standing;

    fn step(&mut self, step: Step) {
        self.step(step);
    }

    fn standing(&self) -> Standing {
        self.standing()
    }
}

/// Something that the machine is compared with.
trait World {
    fn step(&mut self, step: Step) -> Seen;
    /// Epoch and switch; nothing if the record cannot be used.
    fn record(&mut self) -> Option<(u64, bool)>;
}

fn compare(world: &mut impl World, history: &[Step]) -> Result<(), String> {
    let mut machine = Machine::default();
    for step in history {
        machine.step(*step);
        let seen = world.step(*step);
        if seen != machine.last {
            return Err(format!("{:?} showed {seen:?}, not {:?}", machine.steps, machine.last));
        }
        let record = world.record();
        if record != machine.record() {
            return Err(format!("{:?} left {record:?}, not {:?}", machine.steps, machine.record()));
        }
    }
    Ok(())
}

/// Breaks that the comparison must notice, each against a promise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    AdmitsWhileOn,
    EngagingAgainIsRefused,
    AReleaseRevivesCalls,
    AnyWordsRelease,
    AReleaseIgnoresLaterEngagements,
    AnotherChangeReleases,
    ARestartReleases,
    DamageCountsAsOff,
    DamageRefusesEngaging,
    TheStopIsLostInAChange,
    AQuestionBeforeAStopReleases,
    ASoundRecordCanBeRecovered,
    RecoveryLeavesItOff,
    AnEpochIsUsedTwice,
}

const FAULTS: [Fault; 14] = [
    Fault::AdmitsWhileOn,
    Fault::EngagingAgainIsRefused,
    Fault::AReleaseRevivesCalls,
    Fault::AnyWordsRelease,
    Fault::AReleaseIgnoresLaterEngagements,
    Fault::AnotherChangeReleases,
    Fault::ARestartReleases,
    Fault::DamageCountsAsOff,
    Fault::DamageRefusesEngaging,
    Fault::TheStopIsLostInAChange,
    Fault::AQuestionBeforeAStopReleases,
    Fault::ASoundRecordCanBeRecovered,
    Fault::RecoveryLeavesItOff,
    Fault::AnEpochIsUsedTwice,
];

/// The library over real files.
struct Library {
    fault: Fault,
    temp: tempfile::TempDir,
    store: TrustStore,
    question: Option<Grant>,
    call: Option<Admitted>,
    repeats: u64,
}

impl Library {
    fn new(fault: Fault) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = TrustStore::open(&Self::environment(&temp)).unwrap();
        let library = Self { fault, temp, store, question: None, call: None, repeats: 0 };
        library.pair("client", 1);
        library
    }

    fn environment(temp: &tempfile::TempDir) -> Environment {
        let place = |name: &str| Some(temp.path().join(name).into_os_string());
        Environment { home: place("home"), xdg_runtime_dir: place("run"), ..Environment::default() }
    }

    fn pair(&self, name: &str, byte: u8) {
        let candidate = Candidate {
            name: name.into(),
            anchor: Anchor::Hash { sha256: Sha256([byte; 32]) },
            image: "/bin/client".into(),
            script: ScriptRule::Native,
        };
        let present = Grant::Pair(candidate.clone()).answered(&candidate.phrase()).unwrap();
        self.store.change(|state| pair(state, &present, candidate, 1)).unwrap();
    }

    fn read(&self) -> Result<TrustState, Refusal> {
        let off = TrustState { epoch: 1, ..TrustState::first_run() };
        self.store
            .read()
            .or_else(|refusal| if self.fault == Fault::DamageCountsAsOff { Ok(off) } else { Err(refusal) })
    }

    fn change(&self, change: impl FnOnce(&mut TrustState) -> Result<(), Refusal>) -> Seen {
        match self.store.change(change) {
            Ok(_) => Seen::Done,
            Err(_) => Seen::Refused,
        }
    }

    fn engage(&mut self) -> Seen {
        if self.fault == Fault::EngagingAgainIsRefused && self.store.read().is_ok_and(|state| state.killed) {
            return Seen::Refused;
        }
        match self.store.engage_within(Duration::ZERO) {
            Hold::Recorded(_, Engaged::Already) => Seen::Already,
            Hold::Stop(_) if self.fault == Fault::DamageRefusesEngaging => Seen::Refused,
            Hold::Recorded(_, Engaged::Now) | Hold::Stop(_) => Seen::Done,
            Hold::Memory(refusal) => panic!("{refusal}"),
        }
    }

    fn ask(&mut self) -> Seen {
        self.question = None;
        match self.store.settled().and_then(|_| self.read()) {
            Err(_) => Seen::Refused,
            Ok(state) if !state.killed => Seen::Already,
            Ok(state) => {
                self.question = Some(Grant::Release { engaged: state.engaged });
                Seen::Done
            }
        }
    }

    fn answer(&mut self, words: Option<&str>) -> Seen {
        let Some(mut grant) = self.question.take() else { return Seen::Nothing };
        let phrase = grant.phrase();
        let words = if self.fault == Fault::AnyWordsRelease { &phrase } else { words.unwrap_or(&phrase) };
        if self.fault == Fault::AReleaseIgnoresLaterEngagements {
            grant = Grant::Release { engaged: self.store.read().map_or(0, |state| state.engaged) };
        }
        if self.fault == Fault::AQuestionBeforeAStopReleases {
            self.forget_stop();
            self.restart();
        }
        let Ok(present) = grant.answered(words) else { return Seen::Refused };
        self.change(|state| release(state, &present))
    }

    fn force_off(&self) {
        let Ok(state) = self.store.read() else { return };
        let present = Grant::Release { engaged: state.engaged }.answered("release the kill switch").unwrap();
        let _ = self.store.change(|state| release(state, &present));
    }

    fn judged(&self, judged: Result<Admitted, Refusal>) -> Result<Admitted, Seen> {
        judged.map_err(|refusal| {
            assert_eq!(refusal.code, Code::BridgeKilled, "{refusal}");
            Seen::Killed
        })
    }

    fn begin(&mut self) -> Seen {
        let state = self.read().map(|state| {
            let killed = state.killed && self.fault != Fault::AdmitsWhileOn;
            TrustState { killed, ..state }
        });
        match self.judged(state.and_then(|state| decide(&state, &client()))) {
            Ok(admitted) => {
                self.call = Some(admitted);
                Seen::Done
            }
            Err(seen) => seen,
        }
    }

    fn end(&mut self) -> Seen {
        let Some(call) = self.call.take() else { return Seen::Nothing };
        let judged = self.read().and_then(|state| match self.fault {
            Fault::AReleaseRevivesCalls => decide(&state, &client()),
            _ => recheck(&call, &state, &client()),
        });
        self.judged(judged).map_or_else(|seen| seen, |_| Seen::Done)
    }

    fn recover(&mut self) -> Seen {
        if self.fault == Fault::ASoundRecordCanBeRecovered && self.store.read().is_ok() {
            self.damage();
        }
        match self.store.recover() {
            Err(_) => Seen::Already,
            Ok(_) => {
                self.pair("client", 1);
                if self.fault == Fault::RecoveryLeavesItOff {
                    self.force_off();
                }
                Seen::Done
            }
        }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.temp.path().join("home/.local/state/genkan").join(name)
    }

    fn damage(&self) {
        std::fs::write(self.file("trust.json"), "{").unwrap();
    }

    fn restart(&mut self) {
        self.store = TrustStore::open(&Self::environment(&self.temp)).unwrap();
    }

    fn forget_stop(&self) {
        ["stop", ".stop.taken"].iter().for_each(|name| drop(std::fs::remove_file(self.file(name))));
    }
}

fn client() -> Client {
    let image = Image {
        path: "/bin/client".into(),
        device: 1,
        inode: 1,
        sha256: Sha256([1; 32]),
        package: false,
        signer: None,
        replaced: false,
    };
    Client::new(vec![Holder { pid: 2, image, interpreter: false, script: None }]).unwrap()
}

impl World for Library {
    fn step(&mut self, step: Step) -> Seen {
        match step {
            Step::Engage => self.engage(),
            Step::Stop => {
                std::fs::write(self.file("stop"), "").unwrap();
                Seen::Done
            }
            Step::Ask => self.ask(),
            Step::Yes => self.answer(None),
            Step::OtherWords => self.answer(Some("yes")),
            Step::Change => {
                if self.fault == Fault::TheStopIsLostInAChange {
                    self.forget_stop();
                    self.restart();
                }
                if self.store.read().is_err() {
                    return self.change(|_| Ok(()));
                }
                self.pair("other", 7);
                self.repeats += u64::from(self.fault == Fault::AnEpochIsUsedTwice);
                if self.fault == Fault::AnotherChangeReleases {
                    self.force_off();
                }
                Seen::Done
            }
            Step::Restart => {
                self.restart();
                if self.fault == Fault::ARestartReleases {
                    self.force_off();
                }
                Seen::Done
            }
            Step::Damage => {
                self.damage();
                Seen::Done
            }
            Step::Recover => self.recover(),
            Step::Begin => self.begin(),
            Step::End => self.end(),
        }
    }

    fn record(&mut self) -> Option<(u64, bool)> {
        self.read().ok().map(|state| (state.epoch - self.repeats, state.killed))
    }
}

fn random() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(prop::sample::select(STEPS.to_vec()), 1..40)
}

// SHOWS kill-1, kill-2, kill-3, kill-4, kill-5, kill-6, kill-7, kill-8, kill-9
#[test]
fn the_library_keeps_its_promises_in_every_standing() {
    let (all, met) = histories::<Machine>(&STEPS, 40);
    assert!(met.is_full(&STEPS));
    println!("{} histories of the library:\n{}", all.len(), met.matrix(&STEPS));
    for history in &all {
        compare(&mut Library::new(Fault::None), history).unwrap();
    }
}

#[test]
fn the_library_keeps_its_promises_in_random_histories() {
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&random(), |history| {
            compare(&mut Library::new(Fault::None), &history).map_err(TestCaseError::fail)
        })
        .unwrap();
}

#[test]
fn every_twin_that_breaks_a_promise_is_noticed() {
    let (all, _) = histories::<Machine>(&STEPS, 40);
    for fault in FAULTS {
        let found = all.iter().find_map(|history| compare(&mut Library::new(fault), history).err());
        println!("{fault:?}: {}", found.expect("noticed"));
    }
}

/// Between two looks at who was told first.
const SOON: Duration = Duration::from_millis(5);

/// The built program: commands of a person at a terminal, a client that calls, and a browser that answers late.
struct Program {
    // Ended in this order: the client last, so that nothing is left over.
    question: Option<Person>,
    host: Host,
    observer: Observer,
    home: Home,
    asked: u64,
    /// The client's number of the call under way, and the browser's.
    call: Option<(u64, u64)>,
}

impl Program {
    fn new() -> Self {
        let home = Home::new();
        let observer = Observer::starts(home.command(&[]));
        let host = Host::greeted(&home);
        let program = Self { question: None, host, observer, home, asked: 0, call: None };
        program.pair("client");
        program
    }

    /// Refused at once, or heard by the browser.
    fn begin(&mut self) -> Seen {
        self.asked += 1;
        // A tab of its own: calls on one tab would wait for each other.
        self.observer.asks(self.asked, "tab_focus", &json!({ "tabId": self.asked }));
        let end = Instant::now() + HANG;
        while Instant::now() < end {
            if let Some(text) = self.observer.heard(self.asked) {
                assert!(text.starts_with("BRIDGE_KILLED"), "{text}");
                return Seen::Killed;
            }
            if let Some(frame) = self.host.hear_within(SOON).filter(|frame| frame.get("op").is_some()) {
                self.call = Some((self.asked, frame["id"].as_u64().unwrap()));
                return Seen::Done;
            }
        }
        panic!("neither refused nor heard")
    }

    fn end(&mut self) -> Seen {
        let Some((asked, id)) = self.call.take() else { return Seen::Nothing };
        self.host.say(&done(id, "fine"));
        match self.observer.hears(asked).as_str() {
            "fine" => Seen::Done,
            text => {
                assert!(text.starts_with("BRIDGE_KILLED"), "{text}");
                Seen::Killed
            }
        }
    }

    fn pair(&self, name: &str) {
        let own = std::env::current_exe().unwrap();
        let (code, text) = self.agreed(&["pair-client", "--name", name, "--exec", own.to_str().unwrap()]);
        assert_eq!(code, 0, "{text}");
    }

    fn agreed(&self, words: &[&str]) -> (i32, String) {
        let mut person = Person::runs(&self.home.command(words));
        if person.asked_for().is_some() {
            person.agrees();
        }
        person.ends()
    }

    fn trust(&self) -> std::path::PathBuf {
        self.home.path().join(".local/state/genkan/trust.json")
    }

    fn stop(&self) -> Seen {
        std::fs::write(self.trust().with_file_name("stop"), "").unwrap();
        Seen::Done
    }

    fn engage(&self) -> Seen {
        let output = self.home.command(&["kill"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        match output.status.code() {
            Some(0) if said.contains("was on already") => Seen::Already,
            Some(0) => Seen::Done,
            code => panic!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    fn ask(&mut self) -> Seen {
        self.question = None;
        let mut person = Person::runs(&self.home.command(&["unkill"]));
        if person.asked_for().is_some() {
            self.question = Some(person);
            return Seen::Done;
        }
        match person.ends() {
            (0, text) if text.contains("is off") => Seen::Already,
            (_, text) => {
                assert!(text.contains("genkan recover-trust"), "it says how to recover: {text}");
                Seen::Refused
            }
        }
    }

    fn answer(&mut self, words: Option<&str>) -> Seen {
        let Some(mut person) = self.question.take() else { return Seen::Nothing };
        match words {
            Some(words) => person.types(words),
            None => person.agrees(),
        }
        match person.ends() {
            (0, _) => Seen::Done,
            (_, _) => Seen::Refused,
        }
    }
}

impl World for Program {
    fn step(&mut self, step: Step) -> Seen {
        match step {
            Step::Engage => self.engage(),
            Step::Stop => self.stop(),
            Step::Ask => self.ask(),
            Step::Yes => self.answer(None),
            Step::OtherWords => self.answer(Some("yes")),
            Step::Change => {
                match self.agreed(&["pair-client", "--name", "other", "--hash", &"07".repeat(32)]) {
                    (0, _) => Seen::Done,
                    _ => Seen::Refused,
                }
            }
            // Every command is a process of its own.
            Step::Restart => Seen::Done,
            Step::Damage => {
                std::fs::write(self.trust(), "{").unwrap();
                std::fs::set_permissions(self.trust(), std::fs::Permissions::from_mode(0o600)).unwrap();
                Seen::Done
            }
            Step::Recover => match self.agreed(&["recover-trust"]) {
                (0, text) if text.contains("is sound") => Seen::Already,
                (0, _) => {
                    self.pair("client");
                    Seen::Done
                }
                (code, text) => panic!("{code}: {text}"),
            },
            Step::Begin => self.begin(),
            Step::End => self.end(),
        }
    }

    fn record(&mut self) -> Option<(u64, bool)> {
        let output = self.home.command(&["list-clients", "--json"]).output().unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).ok()?;
        Some((value["epoch"].as_u64()?, value["killed"].as_bool()?))
    }
}

// SHOWS kill-1, kill-2, kill-3, kill-4, kill-5, kill-6, kill-7, kill-8, kill-9
#[test]
fn the_program_keeps_its_promises_in_every_standing() {
    let (all, met) = histories::<Machine>(&STEPS, 40);
    assert!(met.is_full(&STEPS));
    println!("{} histories of the program:\n{}", all.len(), met.matrix(&STEPS));
    for history in &all {
        compare(&mut Program::new(), history).unwrap();
    }
}

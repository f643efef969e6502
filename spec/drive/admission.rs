//! Drives admission beside its reference machine: the library, and the built program with real files and processes. It
//! also drives twins that each break one promise, and demands that the comparison notices.
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

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkan::base::refusal::{Code, Refusal};
use genkan::trust::admission::{Admitted, decide, recheck};
use genkan::trust::pairing::{pair, pause, resume, revoke};
use genkan::trust::presence::{Candidate, Grant};
use genkan::trust::state::{Anchor, ScriptRule, TrustState};
use genkan::wire::client::{self as measured, Holder, Image, Script, Sha256};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

mod observer;
#[path = "../../adversarial/person.rs"]
mod person;
#[path = "../admission.rs"]
mod reference;
#[path = "../../adversarial/stage.rs"]
mod stage;
mod tour;

use observer::Observer;
use person::Person;

use reference::{Client, File, Machine, Rule, Seen, Standing, Step, steps};
use serde_json::{Value, json};
use stage::Home;
use tour::{Walked, histories};

/// Something that the machine is compared with.
trait World {
    fn step(&mut self, step: Step) -> Seen;
    /// Names in the order of the list and whether each is paused; nothing while there is no list.
    fn listed(&mut self) -> Option<Vec<(u8, bool)>>;
    fn epoch(&mut self) -> u64;
}

/// One step of both; what differs is said.
fn both(world: &mut impl World, machine: &mut Machine, step: Step) -> Result<(), String> {
    machine.step(step);
    let seen = Some(world.step(step));
    if seen != machine.last {
        return Err(format!("{:?} showed {seen:?}, not {:?}", machine.steps, machine.last));
    }
    let (found, expected) = ((world.listed(), world.epoch()), (machine.listed(), machine.epoch));
    if found != expected {
        return Err(format!("{:?} left {found:?}, not {expected:?}", machine.steps));
    }
    Ok(())
}

fn compare(world: &mut impl World, history: &[Step]) -> Result<(), String> {
    let mut machine = Machine::default();
    history.iter().try_for_each(|step| both(world, &mut machine, *step))
}

/// Breaks that the comparison must notice, each against a promise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OneCoveredProcessIsEnough,
    AnEpochIsSkipped,
    NoListAdmitsNobody,
    EverybodyCountsAsVerified,
    AnEmptyListIsNoList,
    AChangedFileIsAStranger,
    CallsSurviveRevoking,
    CallsSurviveARevokedAndRepeatedPairing,
    ThePauseOfAnotherEntryIsOverlooked,
    AnInterpreterIsNative,
    AnyScriptDoesForExactlyOne,
    TheQuestionBindsNothing,
    AnyWordsPair,
    RevokingTakesAYes,
    TheDoorStaysOpenForWhoeverIsIn,
}

const FAULTS: [Fault; 15] = [
    Fault::OneCoveredProcessIsEnough,
    Fault::AnEpochIsSkipped,
    Fault::NoListAdmitsNobody,
    Fault::EverybodyCountsAsVerified,
    Fault::AnEmptyListIsNoList,
    Fault::AChangedFileIsAStranger,
    Fault::CallsSurviveRevoking,
    Fault::CallsSurviveARevokedAndRepeatedPairing,
    Fault::ThePauseOfAnotherEntryIsOverlooked,
    Fault::AnInterpreterIsNative,
    Fault::AnyScriptDoesForExactlyOne,
    Fault::TheQuestionBindsNothing,
    Fault::AnyWordsPair,
    Fault::RevokingTakesAYes,
    Fault::TheDoorStaysOpenForWhoeverIsIn,
];

/// The library alone: no file, no clock.
#[derive(Clone)]
struct Library {
    fault: Fault,
    state: TrustState,
    versions: [u8; 5],
    question: Option<Grant>,
    call: Option<(Client, Admitted)>,
    skipped: u64,
}

fn path(file: File) -> String {
    format!("/{file:?}")
}

impl Library {
    fn new(fault: Fault) -> Self {
        let state = TrustState::first_run();
        Self { fault, state, versions: [0; 5], question: None, call: None, skipped: 0 }
    }

    fn hash(&self, file: File) -> Sha256 {
        let mut hash = [file as u8; 32];
        hash[0] = self.versions[file as usize];
        Sha256(hash)
    }

    fn script(&self, file: File) -> Script {
        Script { path: path(file), sha256: self.hash(file) }
    }

    fn holder(&self, file: File, script: Option<File>) -> Holder {
        let image = Image {
            path: path(file),
            device: 1,
            inode: 1,
            sha256: self.hash(file),
            package: false,
            signer: None,
            replaced: false,
        };
        let interpreter = file == File::Interpreter && self.fault != Fault::AnInterpreterIsNative;
        Holder {
            pid: 2,
            image,
            interpreter,
            script: script.filter(|_| interpreter).map(|file| self.script(file)),
        }
    }

    fn client(&self, client: Client) -> measured::Client {
        let interpreter = |script| vec![self.holder(File::Interpreter, script)];
        let mut holders = match client {
            Client::A => vec![self.holder(File::A, None)],
            Client::B => vec![self.holder(File::B, None)],
            Client::AAndB => vec![self.holder(File::A, None), self.holder(File::B, None)],
            Client::Scripted => interpreter(Some(File::Script)),
            Client::OtherScripted if self.fault == Fault::AnyScriptDoesForExactlyOne => {
                interpreter(Some(File::Script))
            }
            Client::OtherScripted => interpreter(Some(File::OtherScript)),
            Client::Scriptless => interpreter(None),
        };
        if self.fault == Fault::OneCoveredProcessIsEnough {
            holders.truncate(1);
        }
        measured::Client::new(holders).unwrap()
    }

    fn candidate(&self, name: u8, rule: Rule) -> Candidate {
        let (file, script) = match rule {
            Rule::Native(file) => (file, ScriptRule::Native),
            Rule::Any => (File::Interpreter, ScriptRule::Any),
            Rule::Exactly(script) => {
                let Script { path, sha256 } = self.script(script);
                (File::Interpreter, ScriptRule::Exactly { path, sha256 })
            }
        };
        let anchor = Anchor::Hash { sha256: self.hash(file) };
        Candidate { name: name_of(name), anchor, image: path(file), script }
    }

    fn change(&mut self, change: impl FnOnce(&mut TrustState) -> Result<(), Refusal>) -> Seen {
        match self.state.changed(change) {
            Ok(state) => {
                self.state = state;
                if self.fault == Fault::AnEpochIsSkipped {
                    self.skipped += 1;
                }
                if self.fault == Fault::AnEmptyListIsNoList
                    && self.state.clients.as_ref().is_some_and(Vec::is_empty)
                {
                    self.state.clients = None;
                }
                Seen::Done
            }
            Err(_) => Seen::Refused,
        }
    }

    fn yes(&mut self, words: Option<&str>) -> Seen {
        let Some(grant) = self.question.take() else { return Seen::Nothing };
        let Grant::Pair(shown) = grant.clone() else { unreachable!("only pairings stand open") };
        let phrase = grant.phrase();
        let words = if self.fault == Fault::AnyWordsPair { &phrase } else { words.unwrap_or(&phrase) };
        let Ok(present) = grant.answered(words) else { return Seen::Refused };
        let (name, rule) = (number(&shown.name), rule_of(&shown));
        let measured = match self.fault {
            Fault::TheQuestionBindsNothing => shown,
            _ => self.candidate(name, rule),
        };
        self.change(|state| pair(state, &present, measured, 1))
    }

    fn resume(&mut self, name: u8) -> Seen {
        match self.state.entry(&name_of(name)) {
            None => Seen::Refused,
            Some(entry) if !entry.paused => Seen::Nothing,
            Some(entry) => {
                let grant = Grant::Resume { name: name_of(name), epoch: entry.epoch };
                let phrase = grant.phrase();
                let present = grant.answered(&phrase).unwrap();
                self.change(|state| resume(state, &present))
            }
        }
    }

    /// The state as the decision sees it.
    fn seen_state(&self) -> TrustState {
        let mut state = self.state.clone();
        match self.fault {
            Fault::NoListAdmitsNobody => state.clients = Some(state.clients.unwrap_or_default()),
            Fault::ThePauseOfAnotherEntryIsOverlooked => {
                if let Some(list) = &mut state.clients {
                    let open: Vec<_> = list.iter().filter(|entry| !entry.paused).cloned().collect();
                    list.retain(|entry| !open.iter().any(|other| other.image == entry.image && entry.paused));
                }
            }
            _ => {}
        }
        state
    }

    fn judged(&self, judged: &Result<Admitted, Refusal>) -> Seen {
        match judged {
            Ok(admitted) => Seen::Admitted {
                verified: admitted.verified() || self.fault == Fault::EverybodyCountsAsVerified,
            },
            Err(refusal) => {
                seen(if self.fault == Fault::AChangedFileIsAStranger && refusal.code == Code::ClientChanged {
                    Code::ClientNotAdmitted
                } else {
                    refusal.code
                })
            }
        }
    }

    fn end(&mut self) -> Seen {
        let Some((client, before)) = self.call.take() else { return Seen::Nothing };
        let (state, measured) = (self.seen_state(), self.client(client));
        let judged = recheck(&before, &state, &measured);
        match self.fault {
            Fault::CallsSurviveRevoking if before.verified() => Seen::Admitted { verified: true },
            Fault::CallsSurviveARevokedAndRepeatedPairing => {
                self.judged(&decide(&state, &measured).map_err(|refusal| {
                    let withdrawn = refusal.code == Code::ClientNotAdmitted && before.verified();
                    if withdrawn { Refusal::plain(Code::ClientRevoked) } else { refusal }
                }))
            }
            Fault::TheDoorStaysOpenForWhoeverIsIn if !before.verified() => Seen::Admitted { verified: false },
            _ => self.judged(&judged),
        }
    }
}

fn name_of(name: u8) -> String {
    format!("n{name}")
}

fn number(name: &str) -> u8 {
    name.trim_start_matches('n').parse().unwrap()
}

fn rule_of(shown: &Candidate) -> Rule {
    match &shown.script {
        ScriptRule::Any => Rule::Any,
        ScriptRule::Exactly { .. } => Rule::Exactly(File::Script),
        ScriptRule::Native if shown.image == path(File::A) => Rule::Native(File::A),
        ScriptRule::Native => Rule::Native(File::B),
    }
}

fn seen(code: Code) -> Seen {
    let known = [
        (Code::ClientNotAdmitted, Seen::Stranger),
        (Code::ClientChanged, Seen::Changed),
        (Code::ClientPaused, Seen::Paused),
        (Code::ClientRevoked, Seen::Revoked),
    ];
    known.into_iter().find(|row| row.0 == code).unwrap_or_else(|| panic!("unexpected {code:?}")).1
}

impl World for Library {
    fn step(&mut self, step: Step) -> Seen {
        match step {
            Step::Ask(name, rule) => {
                self.question = Some(Grant::Pair(self.candidate(name, rule)));
                Seen::Done
            }
            Step::Yes => self.yes(None),
            Step::OtherWords => self.yes(Some("yes")),
            Step::Revoke(_) if self.fault == Fault::RevokingTakesAYes => Seen::Refused,
            Step::Revoke(name) => self.change(|state| revoke(state, &name_of(name))),
            Step::Pause(name) => self.change(|state| pause(state, &name_of(name))),
            Step::Resume(name) => self.resume(name),
            Step::Update(file) => {
                self.versions[file as usize] += 1;
                Seen::Done
            }
            Step::Begin(client) => {
                let judged = decide(&self.seen_state(), &self.client(client));
                let seen = self.judged(&judged);
                if let Ok(admitted) = judged {
                    self.call = Some((client, admitted));
                }
                seen
            }
            Step::End => self.end(),
        }
    }

    fn listed(&mut self) -> Option<Vec<(u8, bool)>> {
        let list = self.state.clients.as_ref()?;
        Some(list.iter().map(|entry| (number(&entry.name), entry.paused)).collect())
    }

    fn epoch(&mut self) -> u64 {
        self.state.epoch + self.skipped
    }
}

fn random() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(prop::sample::select(steps()), 1..60)
}

// SHOWS admission-1, admission-2, admission-3, admission-4, admission-5, admission-6, admission-7, admission-8
// SHOWS admission-9, admission-10, admission-11
#[test]
fn the_library_keeps_its_promises_in_every_standing() {
    let steps = steps();
    let mut met: BTreeMap<Standing, Vec<usize>> = BTreeMap::new();
    let start = (Machine::default(), Library::new(Fault::None));
    let (mut known, mut open) = (BTreeSet::from([start.0.key()]), vec![start]);
    let mut taken = 0;
    while let Some((machine, library)) = open.pop() {
        for (column, step) in steps.iter().enumerate() {
            let (mut machine, mut library) = (machine.clone(), library.clone());
            met.entry(machine.standing(Client::A)).or_insert_with(|| vec![0; steps.len()])[column] += 1;
            both(&mut library, &mut machine, *step).unwrap();
            taken += 1;
            if known.insert(machine.key()) {
                open.push((machine, library));
            }
        }
    }
    println!(
        "{} states, {} steps in each, {taken} taken; how client A stands, by step:",
        known.len(),
        steps.len()
    );
    steps.iter().enumerate().for_each(|(n, step)| println!("{:>3} {step:?}", n + 1));
    for (standing, counts) in &met {
        assert!(counts.iter().all(|count| *count > 0), "{standing:?}");
        println!("{standing:?}: {counts:?}");
    }
    assert_eq!(met.len(), 6, "every way in which a client can stand");
}

#[test]
fn the_library_keeps_its_promises_in_random_histories() {
    let config = Config { cases: 2_048, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&random(), |history| {
            compare(&mut Library::new(Fault::None), &history).map_err(TestCaseError::fail)
        })
        .unwrap();
}

#[test]
fn every_twin_that_breaks_a_promise_is_noticed() {
    for fault in FAULTS {
        let config =
            Config { cases: 4_096, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
        let found = TestRunner::new(config).run(&random(), |history| {
            compare(&mut Library::new(fault), &history).map_err(TestCaseError::fail)
        });
        assert!(found.is_err(), "{fault:?} went unnoticed");
    }
}

/// For the built program: how client A stands, and whether a question stands open and still fits. Every step costs
/// processes, so not every state is met, but every step in each of these.
impl Walked for Machine {
    type Step = Step;
    type Standing = (Standing, Option<bool>);

    fn step(&mut self, step: Step) {
        self.step(step);
    }

    fn standing(&self) -> Self::Standing {
        (self.standing(Client::A), self.key().2.map(|(_, _, fits)| fits))
    }
}

/// The built program: commands of a person at a terminal, and clients of small programs at both ends of its pipes.
struct Program {
    question: Option<Person>,
    home: Home,
    versions: [u8; 5],
}

/// Passes lines on, with what every system has.
const FORWARD: &str = "while IFS= read -r line; do printf '%s\\n' \"$line\"; done\n";

impl Program {
    fn new() -> Self {
        let program = Self { question: None, home: Home::new(), versions: [0; 5] };
        [File::A, File::B, File::Script, File::OtherScript].iter().for_each(|file| program.write(*file));
        program
    }

    fn path(&self, file: File) -> PathBuf {
        match file {
            File::Interpreter => std::fs::canonicalize("/bin/sh").unwrap(),
            File::A | File::B | File::Script | File::OtherScript => {
                self.home.path().join(format!("{file:?}"))
            }
        }
    }

    /// A file of its own bytes: a program is a copy of one that passes on what it reads, a script does the same.
    fn write(&self, file: File) {
        let mark = format!("#{file:?} {}\n", self.versions[file as usize]);
        let bytes = match file {
            File::Script | File::OtherScript => format!("{FORWARD}{mark}").into_bytes(),
            File::A | File::B | File::Interpreter => {
                [std::fs::read("/bin/cat").unwrap(), mark.into_bytes()].concat()
            }
        };
        let fresh = self.home.path().join("fresh");
        std::fs::write(&fresh, bytes).unwrap();
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(fresh, self.path(file)).unwrap();
    }

    fn runs(&self, file: File) -> Command {
        Command::new(self.path(file))
    }

    fn script(&self, words: &[&Path]) -> Command {
        let mut command = self.runs(File::Interpreter);
        command.args(words);
        command
    }

    /// What writes to the server and what reads from it.
    fn ends(&self, client: Client) -> [Command; 2] {
        let scripted = |file| [self.script(&[&self.path(file)]), self.script(&[&self.path(file)])];
        match client {
            Client::A => [self.runs(File::A), self.runs(File::A)],
            Client::B => [self.runs(File::B), self.runs(File::B)],
            Client::AAndB => [self.runs(File::A), self.runs(File::B)],
            Client::Scripted => scripted(File::Script),
            Client::OtherScripted => scripted(File::OtherScript),
            Client::Scriptless => [(); 2].map(|()| self.script(&[Path::new("-c"), Path::new(FORWARD)])),
        }
    }

    fn begin(&mut self, client: Client) -> Seen {
        let verified = self.listed().is_some();
        let [writes, reads] = self.ends(client);
        let mut observer = Observer::starts_behind(self.home.command(&[]), writes, reads);
        observer.asks(1, "list_browsers", &json!({}));
        let text = observer.hears(1);
        let known = [
            ("CLIENT_NOT_ADMITTED", Seen::Stranger),
            ("CLIENT_CHANGED", Seen::Changed),
            ("CLIENT_PAUSED", Seen::Paused),
        ];
        match known.into_iter().find(|(code, _)| text.starts_with(code)) {
            Some((_, seen)) => seen,
            None => {
                assert!(text.contains("No browser is connected"), "{text}");
                Seen::Admitted { verified }
            }
        }
    }

    fn ask(&mut self, name: u8, rule: Rule) -> Seen {
        let (file, script) = match rule {
            Rule::Native(file) => (file, vec![]),
            Rule::Any => (File::Interpreter, vec!["--any-script".to_string()]),
            Rule::Exactly(script) => {
                (File::Interpreter, vec!["--script".to_string(), self.path(script).display().to_string()])
            }
        };
        let (name, path) = (name_of(name), self.path(file).display().to_string());
        let mut words = vec!["pair-client", "--name", &name, "--exec", &path];
        words.extend(script.iter().map(String::as_str));
        let mut person = Person::runs(&self.home.command(&words));
        assert!(person.asked_for().is_some(), "{}", person.text());
        self.question = Some(person);
        Seen::Done
    }

    fn answer(&mut self, words: Option<&str>) -> Seen {
        let Some(mut person) = self.question.take() else { return Seen::Nothing };
        match words {
            Some(words) => person.types(words),
            None => person.agrees(),
        }
        if person.ends().0 == 0 { Seen::Done } else { Seen::Refused }
    }

    fn runs_alone(&self, words: &[&str]) -> Seen {
        let output = self.home.command(words).output().unwrap();
        if output.status.success() { Seen::Done } else { Seen::Refused }
    }

    fn resume(&self, name: &str) -> Seen {
        let mut person = Person::runs(&self.home.command(&["pause-client", name, "--resume"]));
        let asked = person.asked_for().is_some();
        if asked {
            person.agrees();
        }
        match person.ends().0 {
            0 if asked => Seen::Done,
            0 => Seen::Nothing,
            _ => Seen::Refused,
        }
    }

    fn record(&self) -> Value {
        let output = self.home.command(&["list-clients", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl World for Program {
    fn step(&mut self, step: Step) -> Seen {
        match step {
            Step::Ask(name, rule) => self.ask(name, rule),
            Step::Yes => self.answer(None),
            Step::OtherWords => self.answer(Some("yes")),
            Step::Revoke(name) => self.runs_alone(&["revoke-client", &name_of(name)]),
            Step::Pause(name) => self.runs_alone(&["pause-client", &name_of(name)]),
            Step::Resume(name) => self.resume(&name_of(name)),
            Step::Update(file) => {
                self.versions[file as usize] += 1;
                self.write(file);
                Seen::Done
            }
            Step::Begin(client) => self.begin(client),
            Step::End => unreachable!("what is under way is driven in adversarial/many_clients.rs"),
        }
    }

    fn listed(&mut self) -> Option<Vec<(u8, bool)>> {
        let record = self.record();
        let clients = record["clients"].as_array()?.iter();
        let listed = clients.map(|entry| (number(entry["name"].as_str().unwrap()), entry["paused"] == true));
        (record["door"] == "paired").then(|| listed.collect())
    }

    fn epoch(&mut self) -> u64 {
        self.record()["epoch"].as_u64().unwrap()
    }
}

// SHOWS admission-1, admission-3, admission-4, admission-5, admission-7, admission-8, admission-9, admission-10
#[test]
fn the_program_keeps_its_promises_in_every_standing() {
    let steps: Vec<Step> = steps().into_iter().filter(|step| *step != Step::End).collect();
    let (all, met) = histories::<Machine>(&steps, 60);
    assert!(met.is_full(&steps));
    println!("{} histories of the program:\n{}", all.len(), met.matrix(&steps));
    for history in &all {
        compare(&mut Program::new(), history).unwrap();
    }
}

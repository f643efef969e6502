//! Drives the policy beside its reference machine: every field in every direction, and long histories. It also drives
//! twins that each break one promise, and demands that the comparison notices.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking"
)]

use genkan::base::refusal::Refusal;
use genkan::trust::policy::{Field, Overlay, Policy, PolicyDoc, PolicyValues, Ratchet, Rollback};
use genkan::wire::json;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

#[path = "../policy.rs"]
mod reference;

use reference::{Change, FIELDS, Gives, Machine, Seen, Step, VALUES};

/// Breaks that the comparison must notice, each against a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// policy-2
    RestrictingMayLoosen,
    /// policy-3
    AGrantGivesBackTheRest,
    /// policy-4
    TheBrowserForgetsWhatItApplied,
    /// policy-4
    TheBrowserTakesAnOlderRevision,
    /// policy-5
    PuttingBackNeedsNobody,
    /// policy-1
    WhatWasTakenAwayIsLost,
}

/// The library, with documents as the bytes that are kept and sent.
struct Library {
    fault: Fault,
    docs: Vec<Vec<u8>>,
    policy: Policy,
    browser: Ratchet,
}

impl Library {
    fn new(fault: Fault) -> Self {
        Self { fault, docs: Vec::new(), policy: Policy::default(), browser: Ratchet::default() }
    }

    fn step(&mut self, step: &Step) -> Seen {
        let done = match step {
            Step::Restrict(change) => self.restrict(&overlay(change)),
            Step::Grant(change) => self.before().granting(&overlay(change)).map(|doc| self.sign(&doc)),
            Step::Rollback(n) => match self.docs.get(*n).map(|bytes| PolicyDoc::parse(bytes).unwrap()) {
                None => return Seen::Nothing,
                Some(doc) => self.roll_back(&doc),
            },
            Step::Push => self.push(self.policy.clone()),
            Step::PushBare => match self.policy.baseline().cloned() {
                None => return Seen::Nothing,
                Some(doc) => self.push(Policy::new(Some(doc), Overlay::default()).unwrap()),
            },
            Step::PushOld(n) => match self.docs.get(*n).map(|bytes| PolicyDoc::parse(bytes).unwrap()) {
                None => return Seen::Nothing,
                Some(doc) => self.push(Policy::new(Some(doc), Overlay::default()).unwrap()),
            },
        };
        if done.is_ok() { Seen::Done } else { Seen::Refused }
    }

    fn before(&self) -> Policy {
        if self.fault == Fault::AGrantGivesBackTheRest {
            return Policy::new(self.policy.baseline().cloned(), Overlay::default()).unwrap();
        }
        self.policy.clone()
    }

    fn restrict(&mut self, change: &Overlay) -> Result<(), Refusal> {
        let restricted = self.policy.restricted(change);
        if self.fault == Fault::RestrictingMayLoosen && restricted.is_err() {
            return self.policy.granting(change).map(|doc| self.sign(&doc));
        }
        self.policy = restricted?;
        Ok(())
    }

    fn roll_back(&mut self, doc: &PolicyDoc) -> Result<(), Refusal> {
        match self.policy.rolling_back(doc)? {
            Rollback::Grant(_) if self.fault == Fault::PuttingBackNeedsNobody => {}
            Rollback::Grant(doc) => self.sign(&doc),
            Rollback::Free(overlay) => {
                self.policy = Policy::new(self.policy.baseline().cloned(), overlay).unwrap();
            }
        }
        Ok(())
    }

    fn sign(&mut self, doc: &PolicyDoc) {
        let bytes = doc.written();
        self.policy = Policy::new(Some(PolicyDoc::parse(&bytes).unwrap()), Overlay::default()).unwrap();
        self.docs.push(bytes);
    }

    fn push(&mut self, mut pushed: Policy) -> Result<(), Refusal> {
        let before = match self.fault {
            Fault::TheBrowserForgetsWhatItApplied => Ratchet::default(),
            Fault::TheBrowserTakesAnOlderRevision => {
                let applied = self.browser.applied(&pushed);
                let older =
                    applied.as_ref().err().is_some_and(|why| why.message.contains("was applied here"));
                if older { Ratchet::default() } else { self.browser.clone() }
            }
            Fault::WhatWasTakenAwayIsLost => {
                pushed = Policy::new(pushed.baseline().cloned(), Overlay::default()).unwrap();
                self.browser.clone()
            }
            Fault::None
            | Fault::RestrictingMayLoosen
            | Fault::AGrantGivesBackTheRest
            | Fault::PuttingBackNeedsNobody => self.browser.clone(),
        };
        self.browser = before.applied(&pushed)?;
        Ok(())
    }

    fn shown(&self) -> ([Gives; FIELDS], [Gives; FIELDS], usize) {
        let revision = self.policy.baseline().map_or(0, |doc| usize::try_from(doc.revision()).unwrap());
        (gives(&self.policy.effective()), gives(self.browser.values()), revision)
    }
}

/// The value of a field that gives this much.
fn value(field: usize, gives: Gives) -> Value {
    match (field, gives) {
        (0..4, _) => (gives == 1).into(),
        (4..10, _) => (gives == 0).into(),
        (10, 0b00) => 60_000.into(),
        (10, 0b01) => 3_600_000.into(),
        (10, _) => 0.into(),
        (11..14, 0b00) => 1_000.into(),
        (11..14, 0b01) => [60_000, 30_000, 45_000][field - 11].into(),
        (11..14, _) => 86_400_000.into(),
        (_, _) => {
            let off = ["page_eval", "tab_close"].into_iter().enumerate();
            off.filter(|(bit, _)| gives & (1 << bit) == 0).map(|(_, name)| name).collect()
        }
    }
}

fn overlay(change: &Change) -> Overlay {
    let members =
        change.iter().map(|(field, gives)| (Field::ALL[*field].name().into(), value(*field, *gives)));
    json::typed(json::written(&Value::Object(members.collect())).as_bytes()).unwrap()
}

fn gives(values: &PolicyValues) -> [Gives; FIELDS] {
    let written = json::parse(json::written(values).as_bytes()).unwrap();
    std::array::from_fn(|field| {
        let found = &written[Field::ALL[field].name()];
        let gives = VALUES[field].iter().find(|gives| value(field, **gives) == *found);
        *gives.unwrap_or_else(|| panic!("{} is {found}", Field::ALL[field].name()))
    })
}

fn compare(fault: Fault, history: &[Step]) -> Result<(), String> {
    let (mut library, mut machine) = (Library::new(fault), Machine::default());
    for (n, step) in history.iter().enumerate() {
        let (seen, expected) = (library.step(step), machine.step(step));
        let (found, holds) = (library.shown(), (machine.holds, machine.in_browser, machine.revision()));
        if (seen, found) != (expected, holds) {
            return Err(format!("{:?}: {seen:?} {found:?}, not {expected:?} {holds:?}", &history[..=n]));
        }
    }
    Ok(())
}

/// Every field from each of its values to each, the other fields left out or given, by every way that there is.
fn enumerated() -> Vec<Vec<Step>> {
    let mut histories = Vec::new();
    for (field, values) in VALUES.iter().enumerate() {
        let other = (field + 1) % FIELDS;
        let loose = VALUES[other][VALUES[other].len() - 1];
        for before in *values {
            for next in *values {
                let given = vec![(field, *next)];
                for change in [Vec::new(), given.clone(), [given, vec![(other, loose)]].concat()] {
                    let begin =
                        [Step::Restrict(change.clone()), Step::Grant(vec![(field, *before)]), Step::Push];
                    for way in [Step::Restrict(change.clone()), Step::Grant(change.clone())] {
                        let back =
                            [Step::Push, Step::PushBare, Step::Rollback(0), Step::Push, Step::PushOld(0)];
                        let again = [Step::Grant(vec![(other, loose)]), Step::Grant(change.clone())];
                        let missed =
                            [Step::Restrict(vec![(other, 0)]), Step::Push, Step::PushBare, Step::PushOld(1)];
                        histories.push([&begin[..], &[way], &back, &again, &missed].concat());
                    }
                }
            }
        }
    }
    histories
}

fn histories() -> impl Strategy<Value = Vec<Step>> {
    let one = (0..FIELDS).prop_flat_map(|field| (Just(field), proptest::sample::select(VALUES[field])));
    let change = proptest::collection::vec(one, 0..3);
    let step = prop_oneof![
        3 => change.clone().prop_map(Step::Restrict),
        3 => change.prop_map(Step::Grant),
        1 => (0..6usize).prop_map(Step::Rollback),
        2 => Just(Step::Push),
        1 => Just(Step::PushBare),
        1 => (0..6usize).prop_map(Step::PushOld),
    ];
    proptest::collection::vec(step, 1..24)
}

fn first_difference(fault: Fault) -> Result<(), String> {
    enumerated().iter().try_for_each(|history| compare(fault, history))?;
    let mut runner = TestRunner::new(Config { cases: 4_096, failure_persistence: None, ..Config::default() });
    let run = runner.run(&histories(), |history| compare(fault, &history).map_err(TestCaseError::fail));
    run.map_err(|error| error.to_string())
}

// SHOWS policy-1, policy-2, policy-3, policy-4, policy-5, policy-6
#[test]
fn the_policy_keeps_its_promises_for_every_field_in_every_direction_and_in_long_histories() {
    first_difference(Fault::None).unwrap();
    println!("policy: {} enumerated histories and 4096 generated ones", enumerated().len());
}

// SHOWS policy-6
#[test]
fn what_an_honest_host_pushes_is_applied_however_much_the_browser_missed() {
    let mut runner = TestRunner::new(Config { cases: 1_024, failure_persistence: None, ..Config::default() });
    let run = runner.run(&histories(), |history| {
        let mut library = Library::new(Fault::None);
        let is_honest = |step: &&Step| !matches!(step, Step::PushBare | Step::PushOld(_));
        history.iter().filter(is_honest).for_each(|step| _ = library.step(step));
        prop_assert_eq!(library.step(&Step::Push), Seen::Done);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_twin_that_breaks_a_promise_is_noticed() {
    for fault in [
        Fault::RestrictingMayLoosen,
        Fault::AGrantGivesBackTheRest,
        Fault::TheBrowserForgetsWhatItApplied,
        Fault::TheBrowserTakesAnOlderRevision,
        Fault::PuttingBackNeedsNobody,
        Fault::WhatWasTakenAwayIsLost,
    ] {
        assert!(first_difference(fault).is_err(), "{fault:?} was not noticed");
    }
}

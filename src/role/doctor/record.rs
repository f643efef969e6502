//! What the trust record says: whether everything is stopped, and who may speak.
//!
//! Decides that what the person chose, a switch that is on or a list of nobody, is told with its remedy and is no problem of the
//! set-up; a record that cannot be read is one. Makes nothing where no record was ever written.

use super::report::Finding;
use crate::os::runtime_dir::Environment;
use crate::os::state_dir::StateDir;
use crate::os::trust_store::TrustStore;
use crate::trust::state::{ClientEntry, TrustState};

const OPEN: &str =
    "no list yet, so any program that runs as you may speak; `genkan pair-client` closes the door";

/// The findings, or the one reason why there are none.
pub fn findings(environment: &Environment) -> Vec<Finding> {
    let subject = "trust record";
    let path = match StateDir::locate(environment) {
        Ok(path) => path,
        Err(refusal) => return vec![super::refused(subject, &refusal)],
    };
    if std::fs::symlink_metadata(&path).is_err() {
        return vec![Finding::note("clients", "open", OPEN)];
    }
    match TrustStore::open(environment).and_then(|store| store.read()) {
        Ok(state) => vec![switch(&state), clients(state.clients.as_deref())],
        Err(refusal) => vec![
            Finding::problem(subject, "refused", &refusal.message)
                .remedy("do what the line above says, then look again")
                .at(&path),
        ],
    }
}

fn switch(state: &TrustState) -> Finding {
    let subject = "kill switch";
    if !state.killed {
        return Finding::ok(subject, "off");
    }
    let detail = format!("on since epoch {}: every call is refused and browsers are cut off", state.engaged);
    Finding::note(subject, "engaged", &detail).remedy("release it with `genkan unkill` in a terminal")
}

fn clients(list: Option<&[ClientEntry]>) -> Finding {
    let subject = "clients";
    match list {
        None => Finding::note(subject, "open", OPEN),
        Some([]) => Finding::note(subject, "nobody", "nobody is paired, so nobody may speak")
            .remedy("pair your client with `genkan pair-client` in a terminal"),
        Some(list) => {
            let paused = list.iter().filter(|entry| entry.paused).count();
            Finding::ok(subject, &format!("{} paired, {paused} of them paused", list.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(state: &TrustState) -> (Finding, Finding) {
        (switch(state), clients(state.clients.as_deref()))
    }

    #[test]
    fn a_switch_that_is_on_and_a_list_of_nobody_are_told_and_are_no_problems_of_the_set_up() {
        let (off, open) = of(&TrustState::first_run());
        assert!(off.is_ok() && !open.is_ok() && !open.is_problem());
        let (on, nobody) = of(&TrustState::recovered(3).unwrap());
        assert!([&on, &nobody].iter().all(|finding| !finding.is_ok() && !finding.is_problem()));
    }

    #[test]
    fn where_nothing_was_ever_recorded_nothing_is_made() {
        let temp = tempfile::tempdir().unwrap();
        let environment = Environment { home: Some(temp.path().into()), ..Environment::default() };
        assert!(!findings(&environment).iter().any(Finding::is_problem));
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
        TrustStore::open(&environment).unwrap().engage_within(Duration::ZERO);
        assert!(!findings(&environment).iter().any(Finding::is_problem));
        std::fs::write(StateDir::locate(&environment).unwrap().join("trust.json"), "{}").unwrap();
        assert!(findings(&environment).iter().any(Finding::is_problem));
    }
}

//! The kill switch in the record: anyone may engage it, and only a person's own yes releases it.
//!
//! Decides what engaging and releasing change. Refuses a release without the proof that the person was asked about
//! exactly that. Nothing else clears it: no time, no restart, no other change of the record. It does not know who must
//! stop; every enforcement point learns that from the record.

use super::presence::{Grant, Present};
use super::state::TrustState;
use crate::base::refusal::{Code, Refusal};

/// What engaging changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engaged {
    /// It was off and is on.
    Now,
    /// It was on already.
    Already,
}

/// Engages the switch. Never refused.
pub fn engage(state: &mut TrustState) {
    // INVARIANT kill-2
    state.killed = true;
    state.engaged = state.epoch;
}

/// Releases the switch, for a person who was asked exactly that.
pub fn release(state: &mut TrustState, present: &Present) -> Result<(), Refusal> {
    if !state.killed {
        return Err(Refusal::new(Code::InvalidArgument, "The kill switch is off already."));
    }
    // INVARIANT kill-4, kill-5, kill-6
    if *present.grant() != (Grant::Release { engaged: state.engaged }) {
        return Err(Refusal::new(
            Code::UserDenied,
            "The kill switch was engaged again after the question, or the question was another one, so it stays on.",
        ));
    }
    state.killed = false;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engaged(state: &TrustState) -> TrustState {
        let changed = state.changed(|state| {
            engage(state);
            Ok(())
        });
        changed.unwrap()
    }

    fn asked(state: &TrustState) -> Present {
        Grant::Release { engaged: state.engaged }.answered("release the kill switch").unwrap()
    }

    #[test]
    fn engaging_needs_nobody_and_releasing_needs_the_person() {
        let on = engaged(&TrustState::first_run());
        assert!(on.killed);
        let other = Grant::Recover.answered("recover").unwrap();
        assert_eq!(on.changed(|state| release(state, &other)).unwrap_err().code, Code::UserDenied);
        let off = on.changed(|state| release(state, &asked(&on))).unwrap();
        assert!(!off.killed && off.engaged == on.engaged);
        assert_eq!(
            off.changed(|state| release(state, &asked(&off))).unwrap_err().code,
            Code::InvalidArgument
        );
    }

    #[test]
    fn an_engagement_after_the_question_stays() {
        let first = engaged(&TrustState::first_run());
        let present = asked(&first);
        let second = engaged(&first);
        assert_eq!(second.changed(|state| release(state, &present)).unwrap_err().code, Code::UserDenied);
    }

    #[test]
    fn other_words_release_nothing() {
        for typed in ["", "y", "yes", "release", "RELEASE THE KILL SWITCH", "release the kill switch now"] {
            let grant = Grant::Release { engaged: 1 };
            assert_eq!(grant.answered(typed).unwrap_err().code, Code::UserDenied, "{typed}");
        }
    }

    #[test]
    fn no_other_change_of_the_record_releases() {
        let on = engaged(&TrustState { epoch: 1, clients: Some(vec![]), ..TrustState::first_run() });
        assert!(on.changed(|_| Ok(())).unwrap().killed);
    }
}

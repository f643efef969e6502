//! Changes of the list of paired clients.
//!
//! Decides what pairing, revoking, pausing and resuming write. Refuses a pairing or a resumption that is not exactly
//! what the person was shown. Withdrawing takes no yes: anyone may take power away.

use alloc::format;

use super::presence::{Candidate, Grant, Present};
use super::state::{ClientEntry, TrustState};
use crate::base::limits::{CLIENTS_MAX, SAFE_INTEGER_MAX};
use crate::base::refusal::{Code, Refusal};

/// Writes an entry for a client that was measured again after the person's yes. An entry of the same name is replaced.
pub fn pair(
    state: &mut TrustState,
    present: &Present,
    measured: Candidate,
    now_ms: u64,
) -> Result<(), Refusal> {
    let shown = match present.grant() {
        Grant::Pair(candidate) => candidate,
        Grant::Release { .. } | Grant::Resume { .. } | Grant::Recover => return Err(another_question()),
    };
    // INVARIANT admission-9, admission-10
    if *shown != measured {
        return Err(Refusal::new(
            Code::ClientChanged,
            "The program changed between the question and the entry, so it was not paired. Look at it again, then repeat the command.",
        ));
    }
    let epoch = state.epoch;
    let list = state.clients.get_or_insert_default();
    list.retain(|entry| entry.name != measured.name);
    if list.len() >= CLIENTS_MAX {
        return Err(Refusal::new(
            Code::InvalidArgument,
            format!(
                "There are {CLIENTS_MAX} paired clients already. Revoke one with `genkan revoke-client NAME`."
            ),
        ));
    }
    let Candidate { name, anchor, image, script } = measured;
    let paired_ms = now_ms.min(SAFE_INTEGER_MAX);
    list.push(ClientEntry { name, anchor, image, script, paused: false, epoch, paired_ms });
    Ok(())
}

/// Removes an entry. The list stays, even when it is empty: it then admits nobody.
pub fn revoke(state: &mut TrustState, name: &str) -> Result<(), Refusal> {
    find(state, name)?;
    state.clients.iter_mut().for_each(|list| list.retain(|entry| entry.name != name));
    Ok(())
}

/// Suspends an entry.
pub fn pause(state: &mut TrustState, name: &str) -> Result<(), Refusal> {
    let epoch = state.epoch;
    let entry = find(state, name)?;
    if entry.paused {
        return Err(Refusal::new(Code::InvalidArgument, format!("The client {name} is paused already.")));
    }
    entry.paused = true;
    entry.epoch = epoch;
    Ok(())
}

/// Lets a suspended entry count again, if it is still the one that the person was shown.
pub fn resume(state: &mut TrustState, present: &Present) -> Result<(), Refusal> {
    let (name, shown) = match present.grant() {
        Grant::Resume { name, epoch } => (name, *epoch),
        Grant::Release { .. } | Grant::Pair(_) | Grant::Recover => return Err(another_question()),
    };
    let epoch = state.epoch;
    let entry = find(state, name)?;
    if entry.epoch != shown || !entry.paused {
        return Err(Refusal::new(
            Code::ClientChanged,
            format!(
                "The entry of {name} changed after it was shown, so it was not resumed. Look again, then repeat the command."
            ),
        ));
    }
    entry.paused = false;
    entry.epoch = epoch;
    Ok(())
}

fn find<'a>(state: &'a mut TrustState, name: &str) -> Result<&'a mut ClientEntry, Refusal> {
    let entry = state.clients.iter_mut().flatten().find(|entry| entry.name == name);
    entry.ok_or_else(|| {
        Refusal::new(
            Code::InvalidArgument,
            format!("No client is paired under the name {name:?}. `genkan list-clients` shows which are."),
        )
    })
}

fn another_question() -> Refusal {
    Refusal::new(Code::UserDenied, "The person was asked something else, so nothing was changed.")
}

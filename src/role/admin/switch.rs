//! The kill switch at the command line, and the way out of a damaged record.

use std::time::Duration;

use super::super::records;
use super::grant::{Asked, grant};
use super::{now_ms, print, warn};
use crate::base::limits::{ENGAGE_LOCK_MS, TRUST_TICK_MS};
use crate::base::refusal::Refusal;
use crate::os::audit_log::AuditLog;
use crate::os::runtime_dir::Environment;
use crate::os::trust_store::{Hold, TrustStore};
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};
use crate::trust::kill::{self, Engaged};
use crate::trust::presence::Grant;

/// One in which every process looks at the record, and one in which it cuts what it holds.
const SETTLED: Duration = Duration::from_millis(2 * TRUST_TICK_MS as u64);

/// For another process that holds a lock: the stop holds meanwhile.
const PATIENCE: Duration = Duration::from_millis(ENGAGE_LOCK_MS as u64);

/// Engages. Nothing is asked, and no log is waited for first.
pub fn kill(environment: &Environment) -> Result<(), Refusal> {
    let hold = TrustStore::open(environment).map(|store| store.engage_within(PATIENCE));
    note(environment, &hold);
    let on = match hold.map_err(|refusal| not_on(&refusal))? {
        // A command ends at once, so what would hold in its memory alone is worth nothing.
        Hold::Memory(refusal) => return Err(not_on(&refusal)),
        Hold::Recorded(_, Engaged::Now) => {
            "The kill switch is on: every call is refused and browsers are cut off."
        }
        Hold::Recorded(_, Engaged::Already) => "The kill switch was on already.",
        Hold::Stop(refusal) => {
            warn(&refusal);
            "The kill switch is on, by a stop file beside the record, which could not be written: every call is refused and browsers are cut off."
        }
    };
    std::thread::sleep(SETTLED);
    if let Some(refusal) = records::elsewhere(environment) {
        let sentence = format!("The kill switch is on for this environment alone. {}", refusal.message);
        return Err(Refusal::new(refusal.code, sentence));
    }
    print(&format!("{on}\nOnly you can release it, with `genkan unkill`.\n"));
    Ok(())
}

/// The log comes second, and that it could not be written is said and changes nothing.
fn note(environment: &Environment, hold: &Result<Hold, Refusal>) {
    let (outcome, code) = match hold {
        Ok(Hold::Recorded(_, Engaged::Now)) => (AuditOutcome::Done, None),
        Ok(Hold::Recorded(_, Engaged::Already)) => (AuditOutcome::Unchanged, None),
        Ok(Hold::Stop(refusal)) => (AuditOutcome::Done, Some(refusal.code)),
        Ok(Hold::Memory(refusal)) | Err(refusal) => (AuditOutcome::Failed, Some(refusal.code)),
    };
    let mut record = AuditRecord::new(now_ms(), AuditKind::KillEngage, Surface::Cli, outcome);
    record.code = code;
    let written = AuditLog::append_done(environment, PATIENCE, &record);
    // Where the switch is not on, that is what the person must hear.
    if let (Err(refusal), Ok(Hold::Recorded(..) | Hold::Stop(_))) = (written, hold) {
        warn(&refusal);
    }
}

fn not_on(refusal: &Refusal) -> Refusal {
    let sentence = format!(
        "The kill switch is NOT on. {} Close the browser, mend that, then run `genkan kill` again.",
        refusal.message
    );
    Refusal::new(refusal.code, sentence)
}

/// Releases, if the person says so.
pub fn unkill(environment: &Environment) -> Result<(), Refusal> {
    let store = TrustStore::open(environment)?;
    let state = store.settled()?;
    if !state.killed {
        print("The kill switch is off.\n");
        return Ok(());
    }
    let who = match state.clients.as_deref() {
        None => "any program that runs as you: no list of clients exists".into(),
        Some([]) => "nobody: no client is paired".into(),
        Some(clients) => clients.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", "),
    };
    let asked = Asked {
        kind: AuditKind::KillRelease,
        detail: &format!("engaged in epoch {}", state.engaged),
        question: &format!("Release the kill switch?\n\n  May speak then   {who}\n"),
        grant: Grant::Release { engaged: state.engaged },
    };
    grant(environment, asked, |present| store.change(|state| kill::release(state, present)))?;
    print("The kill switch is off.\n");
    Ok(())
}

/// Replaces a record that cannot be used.
pub fn recover(environment: &Environment) -> Result<(), Refusal> {
    let store = TrustStore::open(environment)?;
    let damage = match store.read().and_then(|state| state.changed(|_| Ok(()))) {
        Ok(_) => {
            print("The trust record is sound; nothing to recover.\n");
            return Ok(());
        }
        Err(damage) => damage.message,
    };
    let asked = Asked {
        kind: AuditKind::KillEngage,
        detail: "replace the trust record",
        question: &format!(
            "Replace the trust record?\n\n  Why          {damage}\n  Afterwards   the kill switch is on and nobody is paired; pair your clients again, then `genkan unkill`\n"
        ),
        grant: Grant::Recover,
    };
    grant(environment, asked, |_| store.recover())?;
    print(
        "The trust record is new: the kill switch is on and nobody is paired.\nPair your clients with `genkan pair-client`, then `genkan unkill`.\n",
    );
    Ok(())
}

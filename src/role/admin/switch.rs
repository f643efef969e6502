//! The kill switch at the command line, and the way out of a damaged record.

use std::time::Duration;

use super::grant::{Asked, grant};
use super::{now_ms, print, warn};
use crate::base::limits::TRUST_TICK_MS;
use crate::base::refusal::{Code, Refusal};
use crate::os::audit_log::AuditLog;
use crate::os::runtime_dir::Environment;
use crate::os::trust_store::TrustStore;
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};
use crate::trust::kill::{self, Engaged};
use crate::trust::presence::Grant;

/// One in which every process looks at the record, and one in which it cuts what it holds.
const SETTLED: Duration = Duration::from_millis(2 * TRUST_TICK_MS as u64);

/// Engages. Nothing is asked, and no log is waited for first.
pub fn kill(environment: &Environment) -> Result<(), Refusal> {
    let engaged = engage(environment);
    let outcome = match &engaged {
        Ok(Engaged::Now) => AuditOutcome::Done,
        Ok(Engaged::Already) => AuditOutcome::Unchanged,
        Err(_) => AuditOutcome::Failed,
    };
    let mut record = AuditRecord::new(now_ms(), AuditKind::KillEngage, Surface::Cli, outcome);
    record.code = engaged.as_ref().err().map(|refusal| refusal.code);
    let written = AuditLog::open(environment).and_then(|log| log.append(&record));
    let engaged = match engaged {
        Ok(engaged) => engaged,
        Err(refusal) => {
            written.unwrap_or_else(|unwritten| warn(&unwritten));
            return Err(refusal);
        }
    };
    std::thread::sleep(SETTLED);
    print(match engaged {
        Engaged::Now => {
            "The kill switch is on: every call is refused and browsers are cut off.\nOnly you can release it, with `genkan unkill`.\n"
        }
        Engaged::Already => {
            "The kill switch was on already.\nOnly you can release it, with `genkan unkill`.\n"
        }
    });
    written
}

/// A command ends at once, so what would hold in its memory alone is worth nothing.
fn engage(environment: &Environment) -> Result<Engaged, Refusal> {
    let mut engaged = Engaged::Already;
    let written = TrustStore::open(environment).and_then(|store| {
        store.change(|state| {
            engaged = kill::engage(state);
            Ok(())
        })
    });
    written.map(|_| engaged).map_err(|refusal| {
        // An unusable record stops everything by itself.
        if refusal.code == Code::BridgeKilled {
            return refusal;
        }
        let sentence = format!(
            "The kill switch is NOT on. {} Close the browser, mend that, then run `genkan kill` again.",
            refusal.message
        );
        Refusal::new(refusal.code, sentence)
    })
}

/// Releases, if the person says so.
pub fn unkill(environment: &Environment) -> Result<(), Refusal> {
    let store = TrustStore::open(environment)?;
    let state = store.read()?;
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
    let damage = match store.read() {
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

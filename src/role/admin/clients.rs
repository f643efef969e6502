//! Pairing, withdrawing, suspending and showing clients.

use std::time::Duration;

use super::grant::{Asked, grant};
use super::identity::{counts_as, measure};
use super::table::{Table, facts, utc};
use super::{now_ms, print};
use crate::base::limits::RECORD_LOCK_MS;
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::os::audit_log::AuditLog;
use crate::os::runtime_dir::Environment;
use crate::os::trust_store::TrustStore;
use crate::role::argv::Pairing;
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};
use crate::trust::pairing;
use crate::trust::presence::Grant;
use crate::trust::state::{Anchor, ClientEntry, ScriptRule, TrustState};
use crate::wire::json;

/// Lets a client in, if the person says so.
pub fn pair(environment: &Environment, wanted: &Pairing) -> Result<(), Refusal> {
    let store = TrustStore::open(environment)?;
    let state = store.read()?;
    let measured = measure(wanted)?;
    let mut question = format!("Pair this client?\n\n{}", facts(&measured.facts()));
    if let Some(before) = state.entry(&wanted.name) {
        question.push_str(&facts(&[("Replaces", identity(before))]));
    }
    if state.clients.is_none() {
        question.push_str(
            "\nIt is the first: it closes the door. Programs that are not paired are cut off at once.\n",
        );
    }
    for warning in measured.warnings() {
        question.push_str(&format!("\nMind: {warning}\n"));
    }
    let detail = measured.detail();
    let asked = Asked {
        kind: AuditKind::PairClient,
        detail: &detail,
        question: &question,
        grant: Grant::Pair(measured.candidate.clone()),
    };
    grant(environment, asked, |present| {
        store.change(|state| {
            let again = measure(wanted)?;
            if again.sha256 != measured.sha256 {
                return Err(Refusal::new(
                    Code::ClientChanged,
                    "The program's file changed between the question and the entry, so it was not paired. Look at it again, then repeat the command.",
                ));
            }
            pairing::pair(state, present, again.candidate, now_ms())
        })
    })?;
    print(&format!("Paired: {}.\n", wanted.name));
    Ok(())
}

/// Takes a client's access.
pub fn revoke(environment: &Environment, name: &str) -> Result<(), Refusal> {
    let mut twins = Vec::new();
    withdraw(environment, name, "revoked", |state| {
        twins = twins_of(state, name);
        pairing::revoke(state, name)
    })?;
    print(&format!("Revoked: {name}. What it had under way ends within a moment.\n"));
    for twin in twins {
        print(&format!(
            "The same program is still paired as {twin}; `genkan revoke-client {twin}` revokes that, too.\n"
        ));
    }
    Ok(())
}

/// Other entries that let in the same program.
fn twins_of(state: &TrustState, name: &str) -> Vec<String> {
    let Some(one) = state.entry(name) else { return Vec::new() };
    let others = state.clients.iter().flatten().filter(|other| other.name != name && other.is_twin(one));
    others.map(|other| other.name.clone()).collect()
}

/// Suspends a client.
pub fn pause(environment: &Environment, name: &str) -> Result<(), Refusal> {
    withdraw(environment, name, "paused", |state| pairing::pause(state, name))?;
    print(&format!("Paused: {name}. `genkan pause-client {name} --resume` lets it go on.\n"));
    Ok(())
}

/// Taking power away waits for no log; that it could not be written is said afterwards.
fn withdraw(
    environment: &Environment,
    name: &str,
    how: &str,
    change: impl FnOnce(&mut TrustState) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let changed = TrustStore::open(environment).and_then(|store| store.change(change));
    let outcome = match &changed {
        Ok(_) => AuditOutcome::Done,
        Err(refusal) if refusal.code == Code::InvalidArgument => AuditOutcome::Refused,
        Err(_) => AuditOutcome::Failed,
    };
    let mut record = AuditRecord::new(now_ms(), AuditKind::RevokeClient, Surface::Cli, outcome);
    record.code = changed.as_ref().err().map(|refusal| refusal.code);
    let patience = Duration::from_millis(RECORD_LOCK_MS.into());
    let written = AuditLog::append_done(environment, patience, &record.with_detail(&format!("{how} {name}")));
    // Where nothing was done, that is what the person must hear.
    changed.and(written)
}

/// Lets a suspended client go on, if the person says so.
pub fn resume(environment: &Environment, name: &str) -> Result<(), Refusal> {
    let store = TrustStore::open(environment)?;
    let state = store.read()?;
    let entry = match state.entry(name) {
        Some(entry) if entry.paused => entry,
        Some(_) => {
            print(&format!("The client {name} is not paused.\n"));
            return Ok(());
        }
        None => {
            return Err(Refusal::new(
                Code::InvalidArgument,
                format!("No client is paired under the name {name}. `genkan list-clients` shows which are."),
            ));
        }
    };
    let asked = Asked {
        kind: AuditKind::PairClient,
        detail: &format!("resume {name}: {}", identity(entry)),
        question: &format!(
            "Let this client go on?\n\n{}",
            facts(&[("Name", name.into()), ("Is", identity(entry))])
        ),
        grant: Grant::Resume { name: name.into(), epoch: entry.epoch },
    };
    grant(environment, asked, |present| store.change(|state| pairing::resume(state, present)))?;
    print(&format!("Goes on: {name}.\n"));
    Ok(())
}

/// Shows who is paired.
pub fn list(environment: &Environment, json: bool) -> Result<(), Refusal> {
    let state = TrustStore::open(environment)?.read()?;
    if json {
        let clients = state.clients.as_deref().unwrap_or_default();
        let value = serde_json::json!({
            "door": state.door(), "killed": state.killed, "epoch": state.epoch, "clients": clients,
        });
        print(&format!("{}\n", json::written(&value)));
        return Ok(());
    }
    if state.killed {
        print("The kill switch is on: until `genkan unkill` nobody may speak, whatever stands below.\n");
    }
    let Some(clients) = &state.clients else {
        print(
            "No list of clients exists: any program that runs as you may speak.\n`genkan pair-client` makes one and closes the door.\n",
        );
        return Ok(());
    };
    if clients.is_empty() {
        print("Nobody is paired, so nobody may speak.\n");
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "STATE", "PAIRED (UTC)", "PROGRAM"]);
    for entry in clients {
        let state = if entry.paused { "paused" } else { "may speak" };
        table.row([entry.name.clone(), state.into(), utc(entry.paired_ms), identity(entry)]);
    }
    print(&table.text());
    Ok(())
}

/// An entry in one line.
fn identity(entry: &ClientEntry) -> String {
    let path = if entry.image.is_empty() { "any path".into() } else { shown(&entry.image, usize::MAX) };
    let anchor = match &entry.anchor {
        Anchor::Hash { sha256 } => format!("SHA-256 {}", sha256.short()),
        Anchor::Signer { .. } => counts_as(&entry.anchor),
        Anchor::Package { .. } => "system package".into(),
    };
    match &entry.script {
        ScriptRule::Native => format!("{path} ({anchor})"),
        ScriptRule::Any => format!("{path} ({anchor}) with ANY script"),
        ScriptRule::Exactly { path: script, sha256 } => {
            format!("{path} ({anchor}) with {} (SHA-256 {})", shown(script, usize::MAX), sha256.short())
        }
    }
}

//! Who may speak: the one decision, over the record as it is now and the client as the kernel measured it.
//!
//! Admits a client only if the kill switch is off and every process that holds our input or output is covered by an
//! entry that is not paused; where no list exists yet, it admits and says so. Refuses everything else with the reason
//! and the remedy. It takes the measurement as given: that what was measured is what runs is for the kernel's side.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::state::{Anchor, ClientEntry, ScriptRule, TrustState};
use crate::base::limits::{CLIENT_NAME_CHARS_MAX, PATH_SHOWN_CHARS_MAX};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::wire::client::{Client, Holder};

/// That a client was admitted, in one epoch, under certain entries. Made by [`decide`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    epoch: u64,
    name: String,
    /// Name and epoch of the entry of each holder; none while the door was open.
    entries: Vec<(String, u64)>,
    verified: bool,
}

impl Admitted {
    /// The entry that covers the holder shown to people; `None` while the door was open.
    pub fn entry(&self) -> Option<&str> {
        self.entries.first().map(|(name, _)| name.as_str())
    }

    /// What to call the client: its entry's name, else its image's file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is on the list.
    pub fn verified(&self) -> bool {
        self.verified
    }
}

/// Judges a client against the record as it is now.
pub fn decide(state: &TrustState, client: &Client) -> Result<Admitted, Refusal> {
    // INVARIANT kill-1
    if state.killed {
        return Err(Refusal::plain(Code::BridgeKilled));
    }
    // INVARIANT admission-3, admission-4
    let Some(list) = &state.clients else {
        let name = shown(client.name(), CLIENT_NAME_CHARS_MAX);
        return Ok(Admitted { epoch: state.epoch, name, entries: Vec::new(), verified: false });
    };
    let mut entries = Vec::new();
    // INVARIANT admission-1
    for holder in client.holders() {
        let entry = covering(list, holder)?;
        entries.push((entry.name.clone(), entry.epoch));
    }
    let name = entries.first().map(|(name, _)| name.clone()).unwrap_or_default();
    Ok(Admitted { epoch: state.epoch, name, entries, verified: true })
}

/// Judges anew a client that was admitted before something was begun for it. Whatever the person withdrew in between
/// stays withdrawn for what was begun, even if the same was granted again since.
pub fn recheck(before: &Admitted, state: &TrustState, client: &Client) -> Result<Admitted, Refusal> {
    // INVARIANT admission-2
    if state.epoch < before.epoch {
        return Err(Refusal::new(
            Code::BridgeKilled,
            "The trust record is older than the one this call was allowed by, so nothing is allowed. `genkan doctor` says more.",
        ));
    }
    // INVARIANT kill-3
    if state.engaged > before.epoch && !state.killed {
        return Err(Refusal::new(
            Code::BridgeKilled,
            "The kill switch was engaged while this was under way, so it is void. The switch is released again: ask anew.",
        ));
    }
    // INVARIANT admission-6, admission-11
    let withdrawn = |refusal: &Refusal| before.verified && refusal.code == Code::ClientNotAdmitted;
    let now = decide(state, client)
        .map_err(|refusal| if withdrawn(&refusal) { revoked(before) } else { refusal })?;
    if before.verified && now.entries != before.entries { Err(revoked(before)) } else { Ok(now) }
}

fn revoked(before: &Admitted) -> Refusal {
    let sentence = format!(
        "The person withdrew the access of the client {} since this was begun. Do not try again; only `genkan pair-client` lets it in.",
        before.name
    );
    Refusal::new(Code::ClientRevoked, sentence)
}

/// The entry that covers a holder. A pause holds whatever other entry would cover it too.
fn covering<'a>(list: &'a [ClientEntry], holder: &Holder) -> Result<&'a ClientEntry, Refusal> {
    let mut covering = list.iter().filter(|entry| covers(entry, holder));
    let Some(first) = covering.next() else { return Err(uncovered(list, holder)) };
    // INVARIANT admission-7
    match core::iter::once(first).chain(covering).find(|entry| entry.paused) {
        None => Ok(first),
        Some(paused) => Err(Refusal::new(
            Code::ClientPaused,
            format!(
                "The person paused the client {0}. `genkan pause-client {0} --resume`, typed by the person, lets it go on.",
                paused.name
            ),
        )),
    }
}

fn covers(entry: &ClientEntry, holder: &Holder) -> bool {
    is_anchored(&entry.anchor, holder) && is_scripted(&entry.script, holder)
}

fn is_anchored(anchor: &Anchor, holder: &Holder) -> bool {
    let image = &holder.image;
    match anchor {
        Anchor::Hash { sha256 } => image.sha256 == *sha256,
        Anchor::Signer { signer } => image.signer.as_ref() == Some(signer),
        // What was replaced on disk no longer has its owner's word for its path.
        Anchor::Package { path } => image.package && !image.replaced && image.path == *path,
    }
}

// INVARIANT admission-8
fn is_scripted(rule: &ScriptRule, holder: &Holder) -> bool {
    match rule {
        ScriptRule::Native => !holder.interpreter,
        ScriptRule::Any => true,
        ScriptRule::Exactly { path, sha256 } => {
            holder.script.as_ref().is_some_and(|script| script.path == *path && script.sha256 == *sha256)
        }
    }
}

/// Why no entry covers this holder: the nearest miss, and what the person can do.
fn uncovered(list: &[ClientEntry], holder: &Holder) -> Refusal {
    let path = path(&holder.image.path);
    // INVARIANT admission-5
    let changed =
        list.iter().find(|entry| entry.image == holder.image.path && !is_anchored(&entry.anchor, holder));
    if let Some(entry) = changed {
        return Refusal::new(Code::ClientChanged, changed_sentence(entry, holder));
    }
    if let Some((entry, was)) = changed_script(list, holder) {
        let sentence = format!(
            "The script of the client {} changed since it was paired: {was}. If the person updated it, they pair it again with `genkan pair-client`.",
            entry.name,
        );
        return Refusal::new(Code::ClientChanged, sentence);
    }
    let sentence = match list.iter().find(|entry| is_anchored(&entry.anchor, holder)) {
        Some(entry) => format!(
            "{path} is paired as {}, but it is an interpreter and that pairing does not cover {}. The person can pair the script with `genkan pair-client --script`.",
            entry.name,
            holder.script.as_ref().map_or("what it runs now".to_string(), |script| self::path(&script.path)),
        ),
        None => format!(
            "{path} (process {}) is not on the list of paired clients. The person can pair it with `genkan pair-client`.",
            holder.pid
        ),
    };
    Refusal::new(Code::ClientNotAdmitted, sentence)
}

fn changed_sentence(entry: &ClientEntry, holder: &Holder) -> String {
    let was = match &entry.anchor {
        Anchor::Hash { sha256 } => format!("its SHA-256 was {sha256}"),
        Anchor::Signer { signer } => format!("it was signed by {}", shown(signer, PATH_SHOWN_CHARS_MAX)),
        Anchor::Package { .. } if holder.image.replaced => {
            return format!(
                "{} was replaced on disk while it ran, so its package no longer vouches for it (client {}, SHA-256 of what runs {}). Start it again.",
                path(&holder.image.path),
                entry.name,
                holder.image.sha256
            );
        }
        Anchor::Package { .. } => "it could be written by root alone".to_string(),
    };
    format!(
        "{} changed since it was paired as {}: {was}, now its SHA-256 is {}. If the person updated it, they accept it with `genkan pair-client --name {}`.",
        path(&holder.image.path),
        entry.name,
        holder.image.sha256,
        entry.name
    )
}

/// An entry for this image whose script has the same path and other bytes.
fn changed_script<'a>(list: &'a [ClientEntry], holder: &Holder) -> Option<(&'a ClientEntry, String)> {
    let script = holder.script.as_ref()?;
    list.iter().filter(|entry| is_anchored(&entry.anchor, holder)).find_map(|entry| match &entry.script {
        ScriptRule::Exactly { path: at, sha256 } if *at == script.path => {
            Some((entry, format!("the SHA-256 of {} was {sha256}, now it is {}", path(at), script.sha256)))
        }
        ScriptRule::Exactly { .. } | ScriptRule::Native | ScriptRule::Any => None,
    })
}

fn path(path: &str) -> String {
    shown(path, PATH_SHOWN_CHARS_MAX)
}

#[cfg(test)]
mod tests;

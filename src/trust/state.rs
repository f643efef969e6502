//! What the person decided about clients and the kill switch: one record, one rising epoch.
//!
//! Decides what a well-formed record is: bounds, unique names, absolute paths, epochs that fit together. Refuses any
//! other, whole. It does not know where the record lies, nor whether it is the newest: the store does.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use crate::base::identity::TRUST_FILE;
use crate::base::limits::{
    CLIENT_NAME_CHARS_MAX, CLIENT_PATH_BYTES_MAX, CLIENTS_MAX, SAFE_INTEGER_MAX, SIGNER_BYTES_MAX,
    TRUST_FILE_BYTES_MAX,
};
use crate::base::refusal::{Code, Refusal};
use crate::wire::bridge::Door;
use crate::wire::client::Sha256;
use crate::wire::record::{Record, Rung};

/// No machine changes its record so often: a record that says so was made to leave no epoch for the next change.
const EPOCH_END: u64 = 1 << 52;

/// The record. Every decision starts from a fresh read of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustState {
    /// Rises by one with every change, and never falls.
    pub epoch: u64,
    /// Whether the kill switch is on.
    pub killed: bool,
    /// The epoch in which the switch was last engaged; 0 if never. What was under way then is void, even after a release.
    pub engaged: u64,
    /// Paired clients. `None`: there is no list yet and the door is open. An empty list admits nobody.
    #[serde(deserialize_with = "present")]
    pub clients: Option<Vec<ClientEntry>>,
}

/// One paired client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientEntry {
    /// The person's name for it; unique in the list.
    pub name: String,
    /// What must hold of an image for this entry to cover it.
    pub anchor: Anchor,
    /// Path of the image as shown at pairing; empty if the person gave only an anchor.
    pub image: String,
    /// What must hold of an interpreter's script.
    pub script: ScriptRule,
    /// Whether the person suspended it.
    pub paused: bool,
    /// The epoch in which this entry was written. A name that is revoked and paired again is another entry.
    pub epoch: u64,
    /// When it was paired, in milliseconds of the wall clock. Shown, never compared.
    pub paired_ms: u64,
}

/// What identifies an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Anchor {
    /// Exactly these bytes, wherever they lie.
    Hash {
        /// Of the whole file.
        sha256: Sha256,
    },
    /// Whatever this signer signed, where the kernel checks signatures.
    Signer {
        /// As the system names it.
        signer: String,
    },
    /// Whatever the system's packages keep at this path: it and everything above it can be written by root alone.
    Package {
        /// Of the image.
        path: String,
    },
}

/// What an entry says about scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScriptRule {
    /// The image is a program of its own. An interpreter is not covered.
    Native,
    /// An interpreter that runs exactly this script.
    Exactly {
        /// Of the script.
        path: String,
        /// Of the script's bytes.
        sha256: Sha256,
    },
    /// An interpreter with any script: everything that it can run. Chosen in words at pairing, never by default.
    Any,
}

impl Record for TrustState {
    const NAME: &'static str = TRUST_FILE;
    const FIRST_VERSION: u32 = 1;
    const MIGRATIONS: &'static [Rung] = &[];
    const BYTES_MAX: usize = TRUST_FILE_BYTES_MAX;

    fn check(&self) -> Result<(), String> {
        Self::check(self)
    }
}

impl TrustState {
    /// The state of a machine on which nothing was decided yet.
    pub fn first_run() -> Self {
        Self { epoch: 0, killed: false, engaged: 0, clients: None }
    }

    /// What stands in for a record that was lost or damaged: the switch is on and nobody is paired.
    ///
    /// `beyond` is the highest epoch that was ever seen; the new one is greater, so that nothing decided before counts.
    pub fn recovered(beyond: u64) -> Result<Self, Refusal> {
        let epoch = next(beyond)?;
        Ok(Self { epoch, killed: true, engaged: epoch, clients: Some(Vec::new()) })
    }

    /// The state after one change: the change is whole and well formed in the next epoch, or there is none.
    pub fn changed(&self, change: impl FnOnce(&mut Self) -> Result<(), Refusal>) -> Result<Self, Refusal> {
        let mut state = self.clone();
        // INVARIANT admission-2
        state.epoch = next(self.epoch)?;
        let epoch = state.epoch;
        change(&mut state)?;
        if state.epoch != epoch {
            return Err(Refusal::new(Code::InternalError, "A change of the trust record moved its epoch."));
        }
        state.check().map_err(|fault| {
            Refusal::new(Code::InvalidArgument, format!("This is not recorded: {fault}."))
        })?;
        Ok(state)
    }

    /// Whether records are counted so far.
    pub fn counts(epoch: u64) -> Result<(), String> {
        let counts = epoch < EPOCH_END;
        if counts { Ok(()) } else { Err("its epoch is beyond any that genkan counts to".into()) }
    }

    /// Whether unpaired clients may enter.
    pub fn door(&self) -> Door {
        match self.clients {
            None => Door::Open,
            Some(_) => Door::Paired,
        }
    }

    /// The entry with this name.
    pub fn entry(&self, name: &str) -> Option<&ClientEntry> {
        self.clients.iter().flatten().find(|entry| entry.name == name)
    }

    /// What is wrong with it; the record's loader refuses such a record as damaged.
    pub fn check(&self) -> Result<(), String> {
        Self::counts(self.epoch)?;
        if self.engaged > self.epoch || (self.killed && self.engaged == 0) {
            return Err("its epochs do not fit together".into());
        }
        let clients = self.clients.as_deref().unwrap_or_default();
        if clients.len() > CLIENTS_MAX {
            return Err(format!("it names more than {CLIENTS_MAX} clients"));
        }
        for (index, entry) in clients.iter().enumerate() {
            entry.check(self.epoch)?;
            if clients.iter().take(index).any(|other| other.name == entry.name) {
                return Err(format!("it names the client {} twice", entry.name));
            }
        }
        Ok(())
    }
}

impl ClientEntry {
    /// Whether both let in the same program: each would without the other.
    pub fn is_twin(&self, other: &Self) -> bool {
        self.anchor == other.anchor && (self.script == other.script || self.script == ScriptRule::Any)
    }

    fn check(&self, epoch: u64) -> Result<(), String> {
        let anchored = match &self.anchor {
            Anchor::Hash { .. } => self.image.is_empty() || is_path(&self.image),
            Anchor::Signer { signer } => is_signer(signer) && (self.image.is_empty() || is_path(&self.image)),
            Anchor::Package { path } => is_path(path) && self.image == *path,
        };
        let scripted = match &self.script {
            ScriptRule::Native | ScriptRule::Any => true,
            ScriptRule::Exactly { path, .. } => is_path(path),
        };
        let numbered = (1..=epoch).contains(&self.epoch) && self.paired_ms <= SAFE_INTEGER_MAX;
        if !is_client_name(&self.name) {
            Err("a client's name takes 1 to 64 letters, digits and . _ -, and starts with a letter or digit"
                .into())
        } else if anchored && scripted && numbered {
            Ok(())
        } else {
            Err(format!("the entry of {} is out of bounds", self.name))
        }
    }
}

/// Whether a text can name a client: safe to show, to type and to tell from others.
pub fn is_client_name(text: &str) -> bool {
    (1..=CLIENT_NAME_CHARS_MAX).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Whether a text can be the path of an image or a script, as the kernel reports one.
pub fn is_path(text: &str) -> bool {
    text.len() <= CLIENT_PATH_BYTES_MAX && !text.contains('\0') && is_absolute(text)
}

/// `/…`, or a drive or share of Windows.
fn is_absolute(text: &str) -> bool {
    let drive = |text: &str| {
        let mut chars = text.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic())
            && chars.next() == Some(':')
            && chars.next() == Some('\\')
    };
    text.starts_with('/') || text.starts_with("\\\\") || drive(text)
}

fn is_signer(text: &str) -> bool {
    (1..=SIGNER_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn next(epoch: u64) -> Result<u64, Refusal> {
    let next = epoch.checked_add(1).filter(|next| TrustState::counts(*next).is_ok());
    next.ok_or_else(|| {
        let sentence = "The trust record was set to the last epoch there is, so it cannot be changed. Replace it with \
                        `genkan recover-trust`.";
        Refusal::new(Code::InternalError, sentence)
    })
}

/// The member must be there, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<ClientEntry>>, D::Error> {
    Option::deserialize(from)
}

#[cfg(test)]
mod tests;

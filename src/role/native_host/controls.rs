//! The person's controls as one browser's host serves them: kill switch, audit log, list of clients.
//!
//! Decides from a fresh read of the trust record, every time: whether a request may pass to the browser, and what the
//! extension is told. Whatever cannot be read refuses. Engaging needs nobody and waits for no log. Refuses events whose
//! kind, outcome or tool the extension may not report. It does not know the port or the socket.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::base::limits::{
    AUDIT_ENTRIES_DEFAULT, ENGAGE_LOCK_MS, LABEL_BYTES_MAX, NM_OUT_BYTES_MAX, SAFE_INTEGER_MAX,
};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::bridge::catalogue;
use crate::os::audit_log::AuditLog;
use crate::os::log;
use crate::os::runtime_dir::Environment;
use crate::os::trust_store::{Hold, Stamp, TrustStore};
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};
use crate::trust::kill::Engaged;
use crate::trust::state::{Anchor, ClientEntry, ScriptRule, TrustState};
use crate::wire::control::{AnchorKind, AuditEntry, No, PairedClient, ToExtension, Yes};
use crate::wire::json;

/// Bytes that a frame needs beside the records in it.
const FRAME_BYTES: usize = 16_384;

/// What the extension reports.
pub struct Event {
    pub kind: String,
    pub outcome: Option<String>,
    pub tool: Option<String>,
    pub name: Option<String>,
    pub detail: Option<String>,
    pub cid: Option<String>,
}

pub struct Controls {
    environment: Environment,
    /// Opened again until it works: a record that cannot be reached refuses everything until then.
    store: Result<TrustStore, Refusal>,
    /// Why an engagement holds in this process alone.
    warning: Option<String>,
    seen: Option<Stamp>,
    told: Option<ToExtension>,
}

impl Controls {
    pub fn new(environment: Environment) -> Self {
        let store = TrustStore::open(&environment);
        Self { environment, store, warning: None, seen: None, told: None }
    }

    /// Whether a request may pass to the browser now.
    pub fn may_pass(&self) -> Result<(), Refusal> {
        if self.state()?.killed { Err(Refusal::plain(Code::BridgeKilled)) } else { Ok(()) }
    }

    /// Where the kill switch stands, to be told at once.
    pub fn standing(&mut self) -> ToExtension {
        self.seen = self.store.as_ref().ok().map(TrustStore::stamp);
        let told = self.look(false);
        self.told = Some(told.clone());
        told
    }

    /// Where it stands, for whoever asks before an act.
    pub fn asked(&self) -> ToExtension {
        self.look(true)
    }

    fn look(&self, asked: bool) -> ToExtension {
        match self.state() {
            Ok(TrustState { killed, epoch, engaged, .. }) => {
                let warning = self.warning.clone().filter(|_| killed);
                ToExtension::KillKnown { ok: Yes, killed, epoch, engaged, warning, asked }
            }
            Err(error) => ToExtension::KillUnknown { ok: No, error, asked },
        }
    }

    /// What must be told because the record changed since it was told last.
    pub fn news(&mut self) -> Option<ToExtension> {
        if self.store.is_err() {
            self.store = TrustStore::open(&self.environment);
        }
        let stamp = self.store.as_ref().ok().map(TrustStore::stamp);
        if stamp.is_some() && stamp == self.seen {
            return None;
        }
        let before = self.told.take();
        let now = self.standing();
        (before.as_ref() != Some(&now)).then_some(now)
    }

    /// Engages the kill switch, and says where it stands then. What it waits for is within the time of an exchange.
    pub fn engage(&mut self) -> ToExtension {
        let patience = Duration::from_millis(ENGAGE_LOCK_MS.into());
        let hold = self.store.as_ref().map_err(Clone::clone).map(|store| store.engage_within(patience));
        let (outcome, refusal) = match hold {
            Ok(Hold::Recorded(_, Engaged::Now)) => (AuditOutcome::Done, None),
            Ok(Hold::Recorded(_, Engaged::Already)) => (AuditOutcome::Unchanged, None),
            Ok(Hold::Stop(refusal)) => (AuditOutcome::Done, Some(refusal)),
            Ok(Hold::Memory(refusal)) => (AuditOutcome::Failed, Some(here_alone(&refusal))),
            Err(refusal) => (AuditOutcome::Failed, Some(refusal)),
        };
        let mut record = AuditRecord::new(now_ms(), AuditKind::KillEngage, Surface::Extension, outcome);
        record.code = refusal.as_ref().map(|refusal| refusal.code);
        self.warning = refusal.map(|refusal| refusal.message);
        if let Some(warning) = &self.warning {
            log::error(format_args!("{warning}"));
        }
        if let Err(unwritten) = self.log().and_then(|log| log.with_patience(patience).append(&record)) {
            log::error(format_args!("the kill switch was engaged, but {unwritten}"));
        }
        self.standing()
    }

    /// Records what the extension saw. An event that it may not report is refused.
    pub fn record(&self, event: &Event) -> Result<(), Refusal> {
        let record = record_of(event).ok_or_else(|| {
            Refusal::new(Code::InvalidArgument, "The extension reported an event that is not its to report.")
        })?;
        self.log()?.append(&record)
    }

    /// A control frame came from the broker's side, where none belongs. It is dropped, and that is recorded.
    pub fn note_injection(&self, tag: &str) {
        let words = format!("dropped a control frame ({tag}) that came over the socket");
        log::warn(format_args!("{words}"));
        let record =
            AuditRecord::new(now_ms(), AuditKind::AttachRefuse, Surface::Host, AuditOutcome::Refused);
        if let Err(unwritten) = self.log().and_then(|log| log.append(&record.with_detail(&words))) {
            log::error(format_args!("{unwritten}"));
        }
    }

    /// The newest records of the audit log, as many as one frame carries.
    pub fn records(&self, limit: Option<u32>) -> ToExtension {
        let limit = usize::try_from(limit.unwrap_or(AUDIT_ENTRIES_DEFAULT)).unwrap_or(usize::MAX);
        let read = self.log().and_then(|log| Ok((log.read(limit)?, log.path())));
        match read {
            Ok((tail, path)) => {
                let all = tail.records.len();
                let entries = fitting(tail.records.iter().map(entry_of).collect());
                let older = tail.older || entries.len() < all;
                ToExtension::AuditRead {
                    ok: Yes,
                    entries,
                    older,
                    path: shown(&path.to_string_lossy(), 1_024),
                }
            }
            Err(error) => ToExtension::AuditUnread { ok: No, error },
        }
    }

    /// The paired clients.
    pub fn clients(&self) -> ToExtension {
        match self.state() {
            Ok(state) => {
                let clients = state.clients.iter().flatten().map(client_of).collect();
                ToExtension::ClientList { ok: Yes, enrolled: state.clients.is_some(), clients }
            }
            Err(error) => ToExtension::ClientsUnread { ok: No, error },
        }
    }

    fn state(&self) -> Result<TrustState, Refusal> {
        self.store.as_ref().map_err(Clone::clone)?.read()
    }

    fn log(&self) -> Result<AuditLog, Refusal> {
        AuditLog::open(&self.environment)
    }
}

/// Whether everything is stopped, or cannot be shown not to be.
pub fn stopped(environment: &Environment) -> bool {
    TrustStore::open(environment).and_then(|store| store.read()).map_or(true, |state| state.killed)
}

fn here_alone(refusal: &Refusal) -> Refusal {
    let sentence = format!(
        "The kill switch is on in this process alone and ends with it, because it could not be recorded. {}",
        refusal.message
    );
    Refusal::new(Code::BridgeKilled, sentence)
}

/// The record of an event, if the extension may report it. A word of its own that is not known here makes it none.
fn record_of(event: &Event) -> Option<AuditRecord> {
    let kind = AuditKind::of_extension(&event.kind)?;
    let outcome = match event.outcome.as_deref() {
        None | Some("shown") => AuditOutcome::Begun,
        Some("allowed") => AuditOutcome::Done,
        Some("denied" | "timeout" | "void") => AuditOutcome::Refused,
        Some("closed") => AuditOutcome::Cancelled,
        Some(_) => return None,
    };
    let tool = match &event.tool {
        Some(name) => Some(catalogue::tool(name)?.name.into()),
        None => None,
    };
    let cid = event.cid.as_ref();
    if cid.is_some_and(|cid| {
        cid.len() > LABEL_BYTES_MAX || !cid.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }) {
        return None;
    }
    let words: Vec<_> = [&event.detail, &event.name].into_iter().flatten().map(String::as_str).collect();
    let mut record =
        AuditRecord::new(now_ms(), kind, Surface::Extension, outcome).with_detail(&words.join(", for "));
    record.tool = tool;
    record.cid = cid.cloned();
    Some(record)
}

fn entry_of(record: &AuditRecord) -> AuditEntry {
    let word = |value: Option<String>| value.filter(|text| !text.is_empty());
    AuditEntry {
        ts_ms: record.ts_ms,
        event_kind: record.event_kind.name().into(),
        surface: name_of(&record.surface),
        outcome: record.outcome.as_ref().map(name_of),
        code: record.code.as_ref().map(name_of),
        tool: word(record.tool.clone()),
        detail: word(record.detail.clone()),
    }
}

/// The newest entries that fit into one frame.
fn fitting(mut entries: Vec<AuditEntry>) -> Vec<AuditEntry> {
    let mut room = NM_OUT_BYTES_MAX - FRAME_BYTES;
    let fit = entries.iter().rev().take_while(|entry| {
        let size = json::written(entry).len() + 1;
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    let fit = fit.count();
    entries.split_off(entries.len() - fit)
}

fn client_of(entry: &ClientEntry) -> PairedClient {
    PairedClient {
        name: entry.name.clone(),
        image: shown(&entry.image, PATH_CHARS),
        anchor: match &entry.anchor {
            Anchor::Hash { .. } => AnchorKind::Hash,
            Anchor::Signer { .. } => AnchorKind::Signer,
            Anchor::Package { .. } => AnchorKind::Package,
        },
        script: match &entry.script {
            ScriptRule::Exactly { path, .. } => Some(shown(path, PATH_CHARS)),
            ScriptRule::Native | ScriptRule::Any => None,
        },
        any_script: entry.script == ScriptRule::Any,
        paused: entry.paused,
        paired_ms: entry.paired_ms,
    }
}

/// Characters of a path in the list; all of it stays far below one frame.
const PATH_CHARS: usize = 512;

/// The name under which a closed word is written.
fn name_of(word: &impl serde::Serialize) -> String {
    json::written(word).trim_matches('"').into()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(SAFE_INTEGER_MAX).min(SAFE_INTEGER_MAX)
}

#[cfg(test)]
mod tests;

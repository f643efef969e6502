//! What a serving process stands on: the person's record, the log, and its own image.
//!
//! Decides how a record of the log is dated, and whether the person's commands work on the records by which the broker
//! judges. Refuses to serve where either cannot be opened. It does not know who asks.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::identity::LOCK_FILE;
use crate::base::refusal::{Code, Refusal};
use crate::os::audit_log::AuditLog;
use crate::os::lock;
use crate::os::own_image::OwnImage;
use crate::os::runtime_dir::{Environment, RuntimeDir};
use crate::os::trust_store::TrustStore;
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};

/// Why what the person decides in this process's records does not reach the process that holds the browser door.
pub fn elsewhere(environment: &Environment) -> Option<Refusal> {
    let dir = RuntimeDir::locate(environment).ok().filter(|path| path.is_dir())?;
    let pid = RuntimeDir::resolve(environment).and_then(|dir| lock::holder(&dir)).ok().flatten()?;
    let theirs = RuntimeDir::resolve(environment).and_then(|dir| lock::read(&dir)).ok().flatten();
    let ours = TrustStore::open(environment).and_then(|store| store.place()).ok();
    let sentence = match theirs {
        Some(record) if Some(record.records) == ours => return None,
        Some(_) => format!(
            "Process {pid} holds the browser door and judges by another record: it was started with another HOME or XDG \
             folder than this command, which does not reach it. Run this command with its environment, or end that process."
        ),
        None => format!(
            "Process {pid} holds the browser door, and {:?} does not say by which record it judges, so this command may not \
             reach it. End that process, and run this command again.",
            dir.join(LOCK_FILE)
        ),
    };
    Some(Refusal::new(Code::BridgeKilled, sentence))
}

/// One per process.
#[derive(Debug)]
pub struct Records {
    /// Read afresh for every decision.
    pub trust: TrustStore,
    log: AuditLog,
    image: Option<OwnImage>,
}

impl Records {
    /// Opens both.
    pub fn open(environment: &Environment) -> Result<Self, Refusal> {
        let (trust, log) = (TrustStore::open(environment)?, AuditLog::open(environment)?);
        Ok(Self { trust, log, image: OwnImage::of_this_process() })
    }

    /// Writes one line of the log; `fill` adds what this kind has.
    pub fn note(
        &self,
        kind: AuditKind,
        surface: Surface,
        outcome: AuditOutcome,
        fill: impl FnOnce(AuditRecord) -> AuditRecord,
    ) -> Result<(), Refusal> {
        self.log.append(&fill(AuditRecord::new(now_ms(), kind, surface, outcome)))
    }

    /// Why this process takes no new calls, if its file was replaced on disk.
    pub fn replaced(&self) -> Option<Refusal> {
        let image = self.image.as_ref().filter(|image| image.is_replaced())?;
        Some(Refusal::new(
            Code::BrokerBusy,
            format!(
                "{} was replaced on disk, so this process of the old one ends. Start genkan anew in this client.",
                image.path().display()
            ),
        ))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

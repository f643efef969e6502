//! The trust record on disk: read afresh for every decision, changed under a lock, marked outside its own folder.
//!
//! Decides which record counts. Missing with no mark is a first run; damaged, of another version, missing although a
//! mark says that there was one, and older than its mark all refuse every decision and every change, and nothing but
//! [`TrustStore::recover`] mends them. A kill switch that could not be written holds in the memory of this process. Does
//! not know what a client may do: that is decided from the state it returns.
//!
//! The mark is raised only after the record is durable, so a record ahead of its mark is a change that was cut short
//! after it counted: the mark is healed. Where the mark was removed or rolled back together with the record, nothing
//! here can tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::files::Seen;
use super::private_dir::{DirLock, PrivateDir};
use super::private_file;
use super::records::{self, RecordRefusal};
use super::runtime_dir::Environment;
use super::state_dir::StateDir;
use super::{OsRefusal, log};
use crate::base::identity::{EPOCH_MARK_FILE, TRUST_FILE};
use crate::base::limits::{EPOCH_MARK_BYTES_MAX, RECORD_LOCK_MS, TRUST_FILE_BYTES_MAX};
use crate::base::refusal::{Code, Refusal};
use crate::trust::kill::{self, Engaged};
use crate::trust::state::TrustState;
use crate::wire::json;
use crate::wire::record::{Record, Rung};

/// The store. A process opens it once and clones it: what holds only in memory must hold everywhere in it.
#[derive(Clone, Debug)]
pub struct TrustStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: StateDir,
    /// `None`: no home is known, and so no place for a mark.
    mark: Option<PrivateDir>,
    patience: Duration,
    latch: Latch,
    warned: AtomicBool,
}

/// The highest epoch that was ever durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EpochMark {
    epoch: u64,
}

impl Record for EpochMark {
    const NAME: &'static str = EPOCH_MARK_FILE;
    const FIRST_VERSION: u32 = 1;
    const MIGRATIONS: &'static [Rung] = &[];
    const BYTES_MAX: usize = EPOCH_MARK_BYTES_MAX;

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// What can be seen of the record without reading it; unequal stamps mean: read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    record: Option<Seen>,
    mark: Option<Seen>,
    latched: bool,
}

/// Why no record counts.
enum Damage {
    Mark(RecordRefusal),
    Record(RecordRefusal),
    Missing { mark: u64 },
    Older { epoch: u64, mark: u64 },
}

/// A record that counts.
struct Found {
    state: TrustState,
    /// The mark does not say so yet.
    unmarked: bool,
}

impl TrustStore {
    /// Opens both folders, making them if they are missing.
    pub fn open(environment: &Environment) -> Result<Self, Refusal> {
        let open = || {
            let dir = StateDir::open(environment)?;
            let mark = match environment.data_parent() {
                Ok(parent) => Some(PrivateDir::below(&parent, true)?),
                Err(OsRefusal::NoHome) => None,
                Err(refusal) => return Err(refusal),
            };
            let patience = Duration::from_millis(RECORD_LOCK_MS.into());
            Ok(Inner { dir, mark, patience, latch: Latch::default(), warned: AtomicBool::new(false) })
        };
        let inner = open().map_err(|refusal| {
            Refusal::new(
                Code::BridgeKilled,
                format!("There is no place to read the trust record from, so nothing is allowed: {refusal}."),
            )
        })?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// How long this store waits for another process that is changing the record, before anyone else uses it.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.patience = patience;
        }
        self
    }

    /// The record as it is now.
    // INVARIANT kill-7
    pub fn read(&self) -> Result<TrustState, Refusal> {
        let latched = self.inner.latch.engaged();
        let Found { mut state, unmarked } = self.inner.inspect().map_err(|damage| damage.refusal())?;
        if unmarked {
            self.inner.heal();
        }
        // INVARIANT records-9
        if state.killed {
            self.inner.latch.written(latched);
        } else if self.inner.latch.holds() {
            state.killed = true;
            // As the next change will write it, so that everything begun before is void.
            state.engaged = state.epoch.saturating_add(1);
        }
        Ok(state)
    }

    /// Makes one change durable, in the next epoch, while nobody else changes anything. After an error the change did
    /// not happen, or, where only the disk's last word is missing, may be lost again with the power.
    pub fn change(
        &self,
        change: impl FnOnce(&mut TrustState) -> Result<(), Refusal>,
    ) -> Result<TrustState, Refusal> {
        let inner = &*self.inner;
        // INVARIANT records-5
        let lock = inner.dir.lock(inner.patience).map_err(|refusal| unwritten(&refusal))?;
        let latched = inner.latch.engaged();
        let before = inner.inspect().map_err(|damage| damage.refusal())?.state;
        let next = before.changed(|state| {
            if inner.latch.holds() {
                kill::engage(state);
            }
            change(state)
        })?;
        inner.write(&lock, &next).inspect_err(|_| {
            if next.killed {
                inner.latch.engage();
            }
        })?;
        // Whatever was held in memory went through this change: it is in the record now, or was released in it.
        inner.latch.written(latched);
        Ok(next)
    }

    /// Engages the kill switch. If that cannot be written, it holds in this process all the same, and the error says so.
    pub fn engage(&self) -> Result<(TrustState, Engaged), Refusal> {
        let mut engaged = Engaged::Already;
        let written = self.change(|state| {
            engaged = kill::engage(state);
            Ok(())
        });
        match written {
            Ok(state) => Ok((state, engaged)),
            Err(refusal) => {
                self.inner.latch.engage();
                Err(Refusal::new(
                    Code::BridgeKilled,
                    format!(
                        "The kill switch is on in this process alone and ends with it, because it could not be recorded. {}",
                        refusal.message
                    ),
                ))
            }
        }
    }

    /// Replaces a record that cannot be used: the switch on, nobody paired, and an epoch above everything that can still
    /// be read. Refused while the record is good, and where a newer genkan wrote it.
    pub fn recover(&self) -> Result<TrustState, Refusal> {
        let inner = &*self.inner;
        let lock = inner.dir.lock(inner.patience).map_err(|refusal| unwritten(&refusal))?;
        let latched = inner.latch.engaged();
        if let Some(newer) = inner.newer() {
            return Err(newer.refusal());
        }
        // INVARIANT kill-8
        if inner.inspect().is_ok() {
            let sentence = "The trust record is not damaged, so there is nothing to recover.";
            return Err(Refusal::new(Code::InvalidArgument, sentence));
        }
        // INVARIANT records-8
        let beyond = inner.highest_epoch().map_err(|refusal| unwritten(&refusal))?;
        let state = TrustState::recovered(beyond)?;
        inner.write(&lock, &state)?;
        // A mark that stays unreadable would refuse the recovered record too.
        inner.raise(&lock, state.epoch).map_err(|refusal| unwritten(&refusal))?;
        inner.latch.written(latched);
        Ok(state)
    }

    /// Names the folders of the record and its mark: alike in two processes only if they read the same record.
    pub fn place(&self) -> Result<[u8; 32], Refusal> {
        let inner = &*self.inner;
        let unknown = |refusal: OsRefusal| Refusal::new(Code::InternalError, format!("{refusal}."));
        let mut place = Sha256::new();
        for dir in [Some(&*inner.dir), inner.mark.as_ref()].into_iter().flatten() {
            let (device, inode) = dir.identity().map_err(unknown)?;
            place.update(device.to_be_bytes());
            place.update(inode.to_be_bytes());
        }
        Ok(place.finalize().into())
    }

    /// A cheap look at whether anything changed.
    pub fn stamp(&self) -> Stamp {
        let inner = &*self.inner;
        Stamp {
            record: stamp(&inner.dir, TRUST_FILE),
            mark: inner.mark.as_ref().and_then(|dir| stamp(dir, EPOCH_MARK_FILE)),
            latched: inner.latch.holds(),
        }
    }
}

impl Inner {
    /// The mark first: records are written before their marks, so an honest record read later is never behind it.
    fn inspect(&self) -> Result<Found, Damage> {
        let mark = match &self.mark {
            Some(dir) => records::read::<EpochMark>(dir).map_err(Damage::Mark)?.map_or(0, |mark| mark.epoch),
            None => 0,
        };
        // INVARIANT records-6, records-7
        match records::read::<TrustState>(&self.dir).map_err(Damage::Record)? {
            None if mark == 0 => Ok(Found { state: TrustState::first_run(), unmarked: false }),
            None => Err(Damage::Missing { mark }),
            Some(state) if state.epoch < mark => Err(Damage::Older { epoch: state.epoch, mark }),
            Some(state) => Ok(Found { unmarked: self.mark.is_some() && mark < state.epoch, state }),
        }
    }

    fn write(&self, lock: &DirLock, state: &TrustState) -> Result<(), Refusal> {
        records::write(&self.dir, lock, state).map_err(|refusal| unwritten(&refusal))?;
        if let Err(refusal) = self.raise(lock, state.epoch) {
            self.warn(&refusal);
        }
        Ok(())
    }

    fn raise(&self, lock: &DirLock, epoch: u64) -> Result<(), RecordRefusal> {
        match &self.mark {
            Some(dir) => records::write(dir, lock, &EpochMark { epoch }),
            None => Ok(()),
        }
    }

    /// Marks a record whose writer was cut short. It counts either way; until this works, one put back is not noticed.
    fn heal(&self) {
        let healed = || {
            let Some(lock) = DirLock::try_take(&self.dir)? else { return Ok(()) };
            let Ok(Found { state, unmarked: true }) = self.inspect() else { return Ok(()) };
            // Its writer may not have seen it durable.
            private_file::sync(&self.dir, TRUST_FILE)?;
            self.raise(&lock, state.epoch)
        };
        if let Err(refusal) = healed() {
            self.warn(&refusal);
        }
    }

    /// Once: decisions are many.
    fn warn(&self, refusal: &RecordRefusal) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            log::warn(format_args!(
                "the newest trust record cannot be marked, so an older one put back now would not be noticed: {refusal}"
            ));
        }
    }

    /// What a newer genkan wrote; it knows more than we do.
    fn newer(&self) -> Option<Damage> {
        let is_newer = |refusal: &RecordRefusal| matches!(refusal, RecordRefusal::Newer { .. });
        let record = records::read::<TrustState>(&self.dir).err().filter(is_newer).map(Damage::Record);
        let mark =
            || records::read::<EpochMark>(self.mark.as_ref()?).err().filter(is_newer).map(Damage::Mark);
        record.or_else(mark)
    }

    /// The highest epoch that either file still says, be it damaged or open to others: it can only raise the next one.
    /// A file that the system does not read might say a higher one, so nothing is decided without it.
    fn highest_epoch(&self) -> Result<u64, OsRefusal> {
        let record = epoch_in(&self.dir, TRUST_FILE, TRUST_FILE_BYTES_MAX)?;
        let mark = match &self.mark {
            Some(dir) => epoch_in(dir, EPOCH_MARK_FILE, EPOCH_MARK_BYTES_MAX)?,
            None => None,
        };
        Ok(record.max(mark).unwrap_or(0))
    }
}

fn epoch_in(dir: &PrivateDir, name: &str, max: usize) -> Result<Option<u64>, OsRefusal> {
    let bytes = match private_file::salvage(dir, name, max) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(refusal @ OsRefusal::Io { .. }) => return Err(refusal),
        // No plain file: it says nothing.
        Err(_) => return Ok(None),
    };
    Ok(json::parse(&bytes).ok().and_then(|value| value.get("epoch")?.as_u64()))
}

impl Damage {
    fn refusal(&self) -> Refusal {
        let recover = "Only the person can set this right, with `genkan recover-trust`";
        let sentence = match self {
            Self::Mark(refusal @ RecordRefusal::Newer { .. })
            | Self::Record(refusal @ RecordRefusal::Newer { .. }) => {
                format!("{refusal}. Update genkan")
            }
            Self::Mark(refusal) => {
                format!("The mark of the newest trust record cannot be used: {refusal}. {recover}")
            }
            Self::Record(refusal) => format!("The trust record cannot be used: {refusal}. {recover}"),
            Self::Missing { mark } => format!(
                "The trust record is gone, although its mark says that there was one with epoch {mark}. {recover}"
            ),
            Self::Older { epoch, mark } => format!(
                "The trust record was replaced by an older one: it has epoch {epoch}, and its mark says {mark}. {recover}"
            ),
        };
        Refusal::new(Code::BridgeKilled, format!("Nothing is allowed. {sentence}."))
    }
}

fn unwritten(refusal: &dyn core::fmt::Display) -> Refusal {
    Refusal::new(Code::InternalError, format!("The trust record could not be written safely: {refusal}."))
}

fn stamp(dir: &PrivateDir, name: &str) -> Option<Seen> {
    private_file::seen_at(dir, name).ok()?
}

/// How often the switch was engaged in memory alone, and up to which of these the record has taken it over.
#[derive(Debug, Default)]
struct Latch {
    engaged: AtomicU64,
    written: AtomicU64,
}

impl Latch {
    fn engage(&self) {
        self.engaged.fetch_add(1, Ordering::SeqCst);
    }

    fn engaged(&self) -> u64 {
        self.engaged.load(Ordering::SeqCst)
    }

    /// Everything up to `count`, taken before the record was read, is in the record.
    fn written(&self, count: u64) {
        self.written.fetch_max(count, Ordering::SeqCst);
    }

    fn holds(&self) -> bool {
        self.written.load(Ordering::SeqCst) < self.engaged()
    }
}

#[cfg(test)]
mod tests;

//! The trust record on disk: read afresh for every decision, changed under a lock, marked outside its own folder.
//!
//! Decides which record counts. Missing with no mark is a first run; damaged, of another version, missing although a
//! mark says that there was one, and older than its mark all refuse every decision and every change, and nothing but
//! [`TrustStore::recover`] mends them. A kill switch that could not be written is held by the [`stop`] for every process,
//! and by the memory of this one. Does not know what a client may do: that is decided from the state it returns.
//!
//! The mark is raised only after the record is durable, so a record ahead of its mark is a change that was cut short
//! after it counted: the mark is healed. Where the mark was removed or rolled back together with the record, a process
//! that has read the newer one still knows; one that starts afterwards cannot tell.

mod stop;

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
use crate::base::identity::{EPOCH_MARK_FILE, STOP_FILE, TRUST_FILE};
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
    /// The highest epoch that counted in this process.
    highest: AtomicU64,
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
        TrustState::counts(self.epoch)
    }
}

/// What can be seen of the record without reading it; unequal stamps mean: read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    record: Option<Seen>,
    mark: Option<Seen>,
    in_place: bool,
    stopped: bool,
}

/// Why no record counts.
enum Damage {
    Folder(OsRefusal),
    Mark(RecordRefusal),
    Record(RecordRefusal),
    Missing(Before),
    Older { epoch: u64, before: Before },
}

/// An epoch that counted before, and who knows.
#[derive(Clone, Copy)]
enum Before {
    Marked(u64),
    /// The mark says less.
    Read(u64),
}

/// What holds the kill switch on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The record.
    Recorded(Box<TrustState>, Engaged),
    /// The stop, for every process that uses this record, because the record could not be written.
    Stop(Refusal),
    /// The memory of this process alone, because neither could be written.
    Memory(Refusal),
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
            let (latch, highest, warned) = (Latch::default(), AtomicU64::new(0), AtomicBool::new(false));
            Ok(Inner { dir, mark, patience, latch, highest, warned })
        };
        let inner = open().map_err(|refusal| {
            Refusal::new(
                Code::BridgeKilled,
                format!("There is no place to read the trust record from, so this process allows nothing: {refusal}."),
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
        let inner = &*self.inner;
        let Found { mut state, unmarked } = inner.look().map_err(|damage| damage.refusal())?;
        if unmarked {
            inner.heal();
        }
        // INVARIANT records-9
        if inner.latch.holds(&state) && !state.killed {
            state.killed = true;
            // As the next change will write it, so that everything begun before is void.
            state.engaged = state.epoch.saturating_add(1);
        }
        Ok(state)
    }

    /// The record, after whatever else holds the switch on is in it: nothing but the person's answer can be missing then.
    pub fn settled(&self) -> Result<TrustState, Refusal> {
        let stop = || stop::stands(&self.inner.dir).map_err(|refusal| unwritten(&refusal));
        let state = self.read()?;
        if !stop()? && !self.inner.latch.is_engaged() {
            return Ok(state);
        }
        let state = self.change(|_| Ok(()))?;
        if !stop()? {
            return Ok(state);
        }
        let path = self.inner.dir.path_of(STOP_FILE);
        let sentence =
            format!("The kill switch was engaged again just now, or {path:?} cannot be removed; try again.");
        Err(Refusal::new(Code::BridgeKilled, sentence))
    }

    /// Makes one change durable, in the next epoch, while nobody else changes anything. After an error the change did
    /// not happen, or, where only the disk's last word is missing, may be lost again with the power.
    pub fn change(
        &self,
        change: impl FnOnce(&mut TrustState) -> Result<(), Refusal>,
    ) -> Result<TrustState, Refusal> {
        self.change_within(self.inner.patience, change)
    }

    fn change_within(
        &self,
        patience: Duration,
        change: impl FnOnce(&mut TrustState) -> Result<(), Refusal>,
    ) -> Result<TrustState, Refusal> {
        let inner = &*self.inner;
        // INVARIANT records-5
        let lock = inner.dir.lock(patience).map_err(|refusal| unwritten(&refusal))?;
        let stopped = stop::take(&inner.dir, &lock).map_err(|refusal| unwritten(&refusal))?;
        let before = inner.inspect().map_err(|damage| damage.refusal())?.state;
        let is_held = inner.latch.holds(&before) || stopped;
        let next = before.changed(|state| {
            if is_held {
                kill::engage(state);
            }
            change(state)
        })?;
        inner.write(&lock, &next).inspect_err(|_| {
            if next.killed {
                inner.latch.engage(next.epoch);
            }
        })?;
        inner.clear_stop(&lock);
        Ok(next)
    }

    /// Engages the kill switch. It holds in this process before anything is waited for, and in every other as soon as the
    /// stop lies there. `patience` is for whoever changes the record now.
    pub fn engage_within(&self, patience: Duration) -> Hold {
        let before = self.read().ok();
        let is_on = before.as_ref().is_some_and(|state| state.killed);
        let engaged = if is_on { Engaged::Already } else { Engaged::Now };
        self.inner.latch.engage(before.map_or(Latch::UNKNOWN, |state| state.epoch.saturating_add(1)));
        let stop = stop::put(&self.inner.dir);
        let written = self.change_within(patience, |state| {
            kill::engage(state);
            Ok(())
        });
        match (written, stop) {
            (Ok(state), _) => Hold::Recorded(Box::new(state), engaged),
            (Err(refusal), Err(_)) => Hold::Memory(refusal),
            (Err(refusal), Ok(())) => {
                if let Err(unsettled) = stop::settle(&self.inner.dir) {
                    log::warn(format_args!("the stop may be lost with the power: {unsettled}"));
                }
                Hold::Stop(refusal)
            }
        }
    }

    /// Replaces a record that cannot be used: the switch on, nobody paired, and an epoch above everything that can still
    /// be read. Refused while the record is good, and where a newer genkan wrote it.
    pub fn recover(&self) -> Result<TrustState, Refusal> {
        let inner = &*self.inner;
        let lock = inner.dir.lock(inner.patience).map_err(|refusal| unwritten(&refusal))?;
        if let Some(newer) = inner.newer() {
            return Err(newer.refusal());
        }
        stop::take(&inner.dir, &lock).map_err(|refusal| unwritten(&refusal))?;
        // INVARIANT kill-8
        if inner.inspect().is_ok_and(|found| found.state.changed(|_| Ok(())).is_ok()) {
            let sentence = "The trust record is not damaged, so there is nothing to recover.";
            return Err(Refusal::new(Code::InvalidArgument, sentence));
        }
        // INVARIANT records-8
        let beyond = inner.highest_epoch().map_err(|refusal| unwritten(&refusal))?;
        let state = TrustState::recovered(beyond)?;
        inner.write(&lock, &state)?;
        // What blocked the way is behind us.
        inner.highest.store(state.epoch, Ordering::SeqCst);
        // A mark that stays unreadable would refuse the recovered record too.
        inner.raise(&lock, state.epoch).map_err(|refusal| unwritten(&refusal))?;
        inner.clear_stop(&lock);
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
            in_place: inner.in_place().is_ok(),
            stopped: inner.latch.is_engaged() || stop::stands(&inner.dir).unwrap_or(true),
        }
    }
}

impl Inner {
    /// Whether both folders are still what other processes find at their paths.
    fn in_place(&self) -> Result<(), OsRefusal> {
        self.dir.check()?;
        self.mark.as_ref().map_or(Ok(()), PrivateDir::check)
    }

    /// The record, once it is seen whether a stop stands beside it. What it says of one that was taken over while we
    /// looked counts.
    // INVARIANT kill-9
    fn look(&self) -> Result<Found, Damage> {
        let stopped = stop::stands(&self.dir).map_err(Damage::Folder)?;
        let found = self.inspect()?;
        if !stopped || found.state.killed {
            return Ok(found);
        }
        if !stop::stands(&self.dir).map_err(Damage::Folder)? {
            return self.inspect();
        }
        self.latch.engage(found.state.epoch.saturating_add(1));
        Ok(found)
    }

    /// The mark first: records are written before their marks, so an honest record read later is never behind it.
    fn inspect(&self) -> Result<Found, Damage> {
        // INVARIANT records-12
        self.in_place().map_err(Damage::Folder)?;
        let read = self.highest.load(Ordering::SeqCst);
        let mark = match &self.mark {
            Some(dir) => records::read::<EpochMark>(dir).map_err(Damage::Mark)?.map_or(0, |mark| mark.epoch),
            None => 0,
        };
        let before = if read > mark { Before::Read(read) } else { Before::Marked(mark) };
        // INVARIANT records-6, records-7
        let state = match records::read::<TrustState>(&self.dir).map_err(Damage::Record)? {
            None if before.epoch() == 0 => TrustState::first_run(),
            None => return Err(Damage::Missing(before)),
            Some(state) if state.epoch < before.epoch() => {
                return Err(Damage::Older { epoch: state.epoch, before });
            }
            Some(state) => state,
        };
        self.highest.fetch_max(state.epoch, Ordering::SeqCst);
        Ok(Found { unmarked: self.mark.is_some() && mark < state.epoch, state })
    }

    /// What it held is in the record now.
    fn clear_stop(&self, lock: &DirLock) {
        if let Err(refusal) = stop::clear(&self.dir, lock) {
            log::warn(format_args!("the kill switch stays on: {refusal}"));
        }
    }

    fn write(&self, lock: &DirLock, state: &TrustState) -> Result<(), Refusal> {
        records::write(&self.dir, lock, state).map_err(|refusal| unwritten(&refusal))?;
        self.highest.fetch_max(state.epoch, Ordering::SeqCst);
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
        // One beyond which nothing can be counted was put there to block the way out.
        let counts = |epoch: &u64| TrustState::recovered(*epoch).is_ok();
        let epochs = [record, mark, Some(self.highest.load(Ordering::SeqCst))];
        Ok(epochs.into_iter().flatten().filter(counts).max().unwrap_or(0))
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

impl Before {
    fn epoch(self) -> u64 {
        match self {
            Self::Marked(epoch) | Self::Read(epoch) => epoch,
        }
    }
}

impl core::fmt::Display for Before {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Marked(epoch) => write!(f, "its mark says epoch {epoch}"),
            Self::Read(epoch) => write!(f, "this process has read epoch {epoch}"),
        }
    }
}

impl Damage {
    fn refusal(&self) -> Refusal {
        let or_recover = ", or replace the record with `genkan recover-trust`";
        let sentence = match self {
            Self::Folder(refusal) => {
                return nothing(&format!(
                    "The folder of the trust record or of its mark cannot be used: {refusal}"
                ));
            }
            Self::Mark(refusal @ RecordRefusal::Newer { .. })
            | Self::Record(refusal @ RecordRefusal::Newer { .. }) => {
                return nothing(&format!("{refusal}. Update genkan"));
            }
            Self::Mark(RecordRefusal::Unreadable(refusal)) => {
                return nothing(&format!(
                    "The mark of the newest trust record cannot be used: {refusal}{or_recover}"
                ));
            }
            Self::Record(RecordRefusal::Unreadable(refusal)) => {
                return nothing(&format!("The trust record cannot be used: {refusal}{or_recover}"));
            }
            Self::Mark(refusal) => {
                format!("The mark of the newest trust record cannot be used: {refusal}")
            }
            Self::Record(refusal) => format!("The trust record cannot be used: {refusal}"),
            Self::Missing(before) => {
                format!("The trust record is gone, although there was one: {before}")
            }
            Self::Older { epoch, before } => {
                format!("The trust record was replaced by an older one: it has epoch {epoch}, and {before}")
            }
        };
        let anew = match self {
            Self::Missing(Before::Read(_)) | Self::Older { before: Before::Read(_), .. } => {
                ", and then by starting every program that uses genkan anew"
            }
            Self::Folder(_) | Self::Mark(_) | Self::Record(_) | Self::Missing(_) | Self::Older { .. } => "",
        };
        nothing(&format!("{sentence}. Only the person can set this right, with `genkan recover-trust`{anew}"))
    }
}

fn nothing(why: &str) -> Refusal {
    Refusal::new(Code::BridgeKilled, format!("Nothing is allowed. {why}."))
}

fn unwritten(refusal: &dyn core::fmt::Display) -> Refusal {
    Refusal::new(Code::InternalError, format!("The trust record could not be written safely: {refusal}."))
}

fn stamp(dir: &PrivateDir, name: &str) -> Option<Seen> {
    private_file::seen_at(dir, name).ok()?
}

/// What this process has seen of the switch beside the record: that it was asked to engage it, or that a stop stood there.
/// It holds until the record says that the switch was engaged after that, whoever may have removed the stop since.
#[derive(Debug, Default)]
struct Latch {
    /// Holds while the record was last engaged before this epoch; 0 for nothing, [`Latch::UNKNOWN`] until the record can
    /// be read.
    since: AtomicU64,
}

impl Latch {
    const UNKNOWN: u64 = u64::MAX;

    /// Holds until the record was engaged in this epoch or after it.
    fn engage(&self, since: u64) {
        self.since.fetch_max(since, Ordering::SeqCst);
    }

    fn is_engaged(&self) -> bool {
        self.since.load(Ordering::SeqCst) != 0
    }

    /// Whether it holds against this record, which was read after whatever engaged it.
    fn holds(&self, state: &TrustState) -> bool {
        let next = state.epoch.saturating_add(1);
        let known = self.since.compare_exchange(Self::UNKNOWN, next, Ordering::SeqCst, Ordering::SeqCst);
        let since = if known.is_ok() { next } else { self.since.load(Ordering::SeqCst) };
        if since == 0 || since > state.engaged {
            return since != 0;
        }
        // Unless it was engaged anew meanwhile.
        let _ = self.since.compare_exchange(since, 0, Ordering::SeqCst, Ordering::SeqCst);
        self.is_engaged()
    }
}

#[cfg(test)]
mod tests;

//! The audit log on disk: one strict JSON line a record, bounded, written before what it records is done.
//!
//! Decides that a record is in the log whole or not at all, and what stays when the log is full: the newest lines of
//! each class, so that no amount of refusals or traffic pushes out who was granted what. A record that cannot be written
//! is an error, and whoever asked must then not act. Grants and refusals are on the disk when `append` returns; traffic
//! is with the kernel, which survives the death of every process of ours but not of the machine. Lines of any other
//! form are counted where the log is read, and dropped when it is full. A folder that was moved away is not written to:
//! nobody would find there what was recorded. Where another process holds the lock and does not let go, one record waits
//! for it and those after that are refused at once. Do not append inside a change of the trust record: both take the
//! same lock.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::private_dir::{Access, DirLock};
use super::private_file;
use super::runtime_dir::Environment;
use super::state_dir::StateDir;
use super::{OsRefusal, log};
use crate::base::identity::AUDIT_FILE;
use crate::base::limits::{AUDIT_BYTES_MAX, AUDIT_CLASS_BYTES_MAX, RECORD_LOCK_MS};
use crate::base::refusal::{Code, Refusal};
use crate::trust::audit::{AuditRecord, Class};

/// The log.
#[derive(Clone, Debug)]
pub struct AuditLog {
    dir: Arc<StateDir>,
    patience: Duration,
    /// Whether the last wait for the lock was in vain.
    is_stuck: Arc<AtomicBool>,
}

/// Records that were read, oldest first.
#[derive(Debug, Default)]
pub struct Tail {
    /// What was asked for.
    pub records: Vec<AuditRecord>,
    /// Whether the log holds lines before these, or lost some since the last look.
    pub older: bool,
    /// Lines among them that are no records.
    pub damaged: usize,
    /// Where to go on reading.
    pub end: Position,
}

/// A place in the log that outlives its compaction.
#[derive(Debug, Default)]
pub struct Position {
    file: Option<File>,
    offset: u64,
    last: Vec<u8>,
}

impl AuditLog {
    /// Opens the state directory, making it if it is missing.
    pub fn open(environment: &Environment) -> Result<Self, Refusal> {
        StateDir::open(environment).map(Self::of).map_err(|refusal| unrecorded(&refusal))
    }

    fn of(dir: StateDir) -> Self {
        let patience = Duration::from_millis(RECORD_LOCK_MS.into());
        Self { dir: Arc::new(dir), patience, is_stuck: Arc::default() }
    }

    /// Writes one record of what waited for no log. The error says that it was done all the same.
    pub fn append_done(
        environment: &Environment,
        patience: Duration,
        record: &AuditRecord,
    ) -> Result<(), Refusal> {
        let log = StateDir::open(environment).map(|dir| Self::of(dir).with_patience(patience));
        let line = line_of(record)?;
        let written = log.and_then(|log| log.write(record.class(), &line));
        written.map_err(|refusal| {
            let sentence = format!("This is done, but it could not be recorded in the audit log: {refusal}.");
            Refusal::new(Code::InternalError, sentence)
        })
    }

    /// How long one record waits for another process that holds the lock.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Where the log lies, for people.
    pub fn path(&self) -> PathBuf {
        self.dir.path_of(AUDIT_FILE)
    }

    /// Writes one record. After an error it is not in the log, and what it records must not be done.
    pub fn append(&self, record: &AuditRecord) -> Result<(), Refusal> {
        self.write(record.class(), &line_of(record)?).map_err(|refusal| unrecorded(&refusal))
    }

    /// The newest records, at most `limit`.
    pub fn read(&self, limit: usize) -> Result<Tail, Refusal> {
        let mut position = Position::default();
        let bytes = self.fresh(&mut position).map_err(|refusal| unread(&refusal))?;
        let mut tail = Tail::default();
        let mut lines = lines(&bytes).rev();
        while tail.records.len() < limit
            && let Some(line) = lines.next()
        {
            match AuditRecord::parse(line) {
                Ok(record) => tail.records.push(record),
                Err(_) => tail.damaged += 1,
            }
        }
        tail.older = lines.next().is_some();
        tail.records.reverse();
        tail.end = position;
        Ok(tail)
    }

    /// What came after a position, which is moved on. `older` then says that some of it was compacted away unseen, or that
    /// the log was cut or replaced. Refuses once the folder is not at its path any more: nothing would come to it.
    pub fn since(&self, position: &mut Position) -> Result<Tail, Refusal> {
        let mut tail = Tail::default();
        let mut take = |bytes: &[u8]| {
            for line in lines(bytes) {
                match AuditRecord::parse(line) {
                    Ok(record) => tail.records.push(record),
                    Err(_) => tail.damaged += 1,
                }
            }
        };
        let mut gap = false;
        let mut look = || {
            self.dir.check()?;
            let known = position.file.is_some();
            if let Some(bytes) = position.more(self)? {
                take(&bytes);
            }
            if position.is_current(self)? {
                return Ok(());
            }
            // Another file has the name. It starts with what was kept of the old one.
            let last = std::mem::take(&mut position.last);
            let bytes = self.fresh(position)?;
            let seen = end_of_last(&bytes, &last);
            gap = known && !last.is_empty() && seen.is_none();
            take(bytes.get(seen.unwrap_or(0)..).unwrap_or_default());
            Ok(())
        };
        look().map_err(|refusal: OsRefusal| unread(&refusal))?;
        tail.older = gap;
        Ok(tail)
    }

    fn write(&self, class: Class, line: &[u8]) -> Result<(), OsRefusal> {
        self.dir.check()?;
        // INVARIANT records-10
        let lock = self.lock()?;
        let Some((file, seen)) = private_file::open(&self.dir, AUDIT_FILE, Access::Append)? else {
            return private_file::replace(&self.dir, &lock, AUDIT_FILE, line);
        };
        let size = self.drop_torn(&file, seen.size)?;
        if size + line.len() as u64 > AUDIT_BYTES_MAX as u64 {
            return self.compact(&lock, &file, line);
        }
        let written = private_file::append(&file, line).and_then(|()| match class {
            Class::Grants | Class::Refusals => file.sync_data(),
            Class::Traffic => Ok(()),
        });
        written.map_err(|error| {
            // What is half there would be taken for damage; what is whole but not on the disk, for recorded.
            let _ = file.set_len(size);
            OsRefusal::io("write", &self.path(), error)
        })
    }

    fn lock(&self) -> Result<DirLock, OsRefusal> {
        let patience = if self.is_stuck.load(Ordering::Relaxed) { Duration::ZERO } else { self.patience };
        let lock = self.dir.lock(patience);
        self.is_stuck.store(matches!(lock, Err(OsRefusal::Locked { .. })), Ordering::Relaxed);
        lock
    }

    /// Cuts off what a writer left that was killed in the middle of a line: it was never a record. Returns the size.
    fn drop_torn(&self, file: &File, size: u64) -> Result<u64, OsRefusal> {
        let path = self.path();
        let end = match size.checked_sub(1) {
            Some(last) => private_file::byte_at(&path, file, last)?,
            None => b'\n',
        };
        if end == b'\n' {
            return Ok(size);
        }
        let whole = whole(&private_file::read_open(&path, file, AUDIT_BYTES_MAX)?).len() as u64;
        file.set_len(whole).map_err(|error| OsRefusal::io("mend", &path, error))?;
        log::info(format_args!("cut {} bytes of an unfinished line from the end of {path:?}", size - whole));
        Ok(whole)
    }

    /// Keeps the newest lines of each class, and the new line.
    fn compact(&self, lock: &DirLock, file: &File, line: &[u8]) -> Result<(), OsRefusal> {
        let bytes = private_file::read_open(&self.path(), file, AUDIT_BYTES_MAX)?;
        // INVARIANT records-11
        let mut kept = kept(&bytes, AUDIT_CLASS_BYTES_MAX);
        kept.extend_from_slice(line);
        private_file::replace(&self.dir, lock, AUDIT_FILE, &kept)
    }

    /// The file that has the name now, from its start; moves the position to its end.
    fn fresh(&self, position: &mut Position) -> Result<Vec<u8>, OsRefusal> {
        *position = Position {
            file: private_file::open(&self.dir, AUDIT_FILE, Access::Read)?.map(|(file, _)| file),
            ..Position::default()
        };
        Ok(position.more(self)?.unwrap_or_default())
    }
}

impl Position {
    /// Whole lines that were added to the file; `None` where the file is shorter than it was.
    fn more(&mut self, log: &AuditLog) -> Result<Option<Vec<u8>>, OsRefusal> {
        let Some(file) = &self.file else { return Ok(None) };
        let bytes = private_file::read_open(&log.path(), file, AUDIT_BYTES_MAX)?;
        let whole = whole(&bytes);
        let from = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let Some(more) = whole.get(from..) else {
            self.file = None;
            return Ok(None);
        };
        if let Some(last) = lines(more).next_back() {
            self.last = last.to_vec();
        }
        self.offset = whole.len() as u64;
        Ok(Some(more.to_vec()))
    }

    /// Whether its file still has the log's name.
    fn is_current(&self, log: &AuditLog) -> Result<bool, OsRefusal> {
        let named = private_file::seen_at(&log.dir, AUDIT_FILE)?.map(|seen| seen.file);
        let ours = match &self.file {
            Some(file) => Some(private_file::seen(&log.path(), file)?.file),
            None => None,
        };
        Ok(named == ours)
    }
}

/// The newest lines of each class within `class_max` bytes, in their order. What is no record is not kept.
fn kept(bytes: &[u8], class_max: usize) -> Vec<u8> {
    let mut room = [class_max; Class::ALL.len()];
    let mut full = [false; Class::ALL.len()];
    let mut kept: Vec<&[u8]> = lines(bytes)
        .rev()
        .filter(|line| {
            let Ok(record) = AuditRecord::parse(line) else { return false };
            let class = record.class() as usize;
            let (Some(room), Some(full)) = (room.get_mut(class), full.get_mut(class)) else { return false };
            match room.checked_sub(line.len() + 1) {
                // Nothing older than a line that did not fit: a class has no holes.
                Some(left) if !*full => {
                    *room = left;
                    true
                }
                _ => {
                    *full = true;
                    false
                }
            }
        })
        .collect();
    kept.reverse();
    kept.into_iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}

/// Everything up to the last LF.
fn whole(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or_default()
}

fn lines(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Where the last line equal to `line` ends.
fn end_of_last(bytes: &[u8], line: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    for found in whole(bytes).split_inclusive(|byte| *byte == b'\n').rev() {
        if found.strip_suffix(b"\n") == Some(line) {
            return Some(end);
        }
        end -= found.len();
    }
    None
}

/// Only what would be read again is written.
fn line_of(record: &AuditRecord) -> Result<Vec<u8>, Refusal> {
    let line = record.line();
    match AuditRecord::parse(line.as_bytes()) {
        Ok(_) => Ok((line + "\n").into_bytes()),
        Err(_) => Err(Refusal::new(Code::InternalError, "A record for the audit log is out of bounds.")),
    }
}

fn unrecorded(refusal: &OsRefusal) -> Refusal {
    let sentence = format!("This cannot be recorded in the audit log, so it is not done: {refusal}.");
    Refusal::new(Code::InternalError, sentence)
}

fn unread(refusal: &OsRefusal) -> Refusal {
    Refusal::new(Code::InternalError, format!("The audit log cannot be read: {refusal}."))
}

#[cfg(test)]
mod tests;

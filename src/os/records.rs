//! Versioned records in private directories: the one loader and the one writer.
//!
//! Decides what a failed read means. A record that is not there, one that cannot be read, one that is damaged and one
//! of another version are four different things, and only the first is `None`. Does not know what to do about any of them.

use super::OsRefusal;
use super::private_dir::{DirLock, PrivateDir};
use super::private_file;
use crate::wire::record::{self, Record, RecordFault};

/// Why a record that is there cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordRefusal {
    /// The file is not as ours must be, or the system would not read it.
    Unreadable(OsRefusal),
    /// Its bytes are no record.
    Corrupt {
        /// Which file.
        path: std::path::PathBuf,
        /// What is wrong.
        fault: RecordFault,
    },
    /// It was written by a newer program.
    Newer {
        /// Which file.
        path: std::path::PathBuf,
        /// Both versions.
        fault: RecordFault,
    },
    /// No rung reaches down to it.
    TooOld {
        /// Which file.
        path: std::path::PathBuf,
        /// Both versions.
        fault: RecordFault,
    },
}

impl core::fmt::Display for RecordRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Unreadable(refusal) => write!(f, "{refusal}"),
            Self::Corrupt { path, fault } => write!(f, "{path:?} is damaged: {fault}"),
            Self::Newer { path, fault } | Self::TooOld { path, fault } => {
                write!(f, "{path:?} is of another version: {fault}")
            }
        }
    }
}

impl core::error::Error for RecordRefusal {}

impl From<OsRefusal> for RecordRefusal {
    fn from(refusal: OsRefusal) -> Self {
        Self::Unreadable(refusal)
    }
}

/// Reads a record; `None` only if there is no such file.
pub fn read<R: Record>(dir: &PrivateDir) -> Result<Option<R>, RecordRefusal> {
    // INVARIANT records-4
    let Some(bytes) = private_file::read(dir, R::NAME, R::BYTES_MAX)? else { return Ok(None) };
    let path = dir.path_of(R::NAME);
    match record::parse(&bytes) {
        Ok(record) => Ok(Some(record)),
        Err(fault @ RecordFault::Newer { .. }) => Err(RecordRefusal::Newer { path, fault }),
        Err(fault @ RecordFault::TooOld { .. }) => Err(RecordRefusal::TooOld { path, fault }),
        Err(
            fault @ (RecordFault::TooLarge
            | RecordFault::Json(_)
            | RecordFault::Form
            | RecordFault::NoVersion
            | RecordFault::Rung { .. }
            | RecordFault::Rule(_)),
        ) => Err(RecordRefusal::Corrupt { path, fault }),
    }
}

/// Puts a record in the place of the one before it and waits until it is on the disk.
pub fn write<R: Record>(dir: &PrivateDir, lock: &DirLock, record: &R) -> Result<(), RecordRefusal> {
    let written = record::written(record)
        .map_err(|fault| RecordRefusal::Corrupt { path: dir.path_of(R::NAME), fault })?;
    Ok(private_file::replace(dir, lock, R::NAME, &written)?)
}

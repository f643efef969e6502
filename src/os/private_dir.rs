//! A directory that is ours alone, held open: what lies in it is reached through what is open.
//!
//! Decides what such a directory must be: ours, closed to others, no link in its last component, and below one that
//! nobody else can rearrange. Whatever is swapped at its path afterwards is never taken for it, and [`PrivateDir::check`]
//! notices. Does not know what it is for.

pub(super) mod flock;
#[cfg_attr(unix, path = "private_dir/unix.rs")]
#[cfg_attr(windows, path = "private_dir/windows.rs")]
pub(super) mod system;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::OsRefusal;
use crate::base::identity::DIR_NAME;
pub use flock::DirLock;

/// An open directory: ours alone, no link.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    pub(super) open: system::OpenDir,
}

/// What a file in it is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reading.
    Read,
    /// Reading what a plain file says, whoever may have written it.
    Salvage,
    /// Reading, adding at the end, and cutting off from there.
    Append,
}

impl PrivateDir {
    /// Makes our directory below `parent` if it is missing, and checks it. `parent` itself is made only if it is ours to make.
    pub(super) fn below(parent: &Path, ours_to_make: bool) -> Result<Self, OsRefusal> {
        if ours_to_make {
            system::make_all(parent).map_err(|error| OsRefusal::io("make", parent, error))?;
        }
        let path = parent.join(DIR_NAME);
        Ok(Self { open: system::OpenDir::below(parent, &path)?, path })
    }

    /// The directory's path, for people. Files are reached through the open directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses once it is open to others, or is no longer what its path names: other processes then work elsewhere.
    pub fn check(&self) -> Result<(), OsRefusal> {
        self.open.check(&self.path)
    }

    /// Device and inode, or volume and index: the same for the same directory only.
    pub fn identity(&self) -> Result<(u64, u64), OsRefusal> {
        self.open.identity(&self.path)
    }

    /// The path of a file in it, for people.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Keeps every other process and thread that asks for this lock out; refused with the holder's pid when it does not let go in time.
    pub fn lock(&self, patience: Duration) -> Result<DirLock, OsRefusal> {
        DirLock::take(self, patience)
    }

    /// Waits until what was renamed or made here is on the disk.
    pub(super) fn sync(&self) -> Result<(), OsRefusal> {
        self.open.sync(&self.path)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for PrivateDir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.open.as_fd()
    }
}

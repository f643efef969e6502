//! A directory that is ours alone, held open: what lies in it is reached through the descriptor.
//!
//! Decides what such a directory must be: ours, 0700, no symlink in its last component, and below one that nobody else
//! can rearrange. Whatever is swapped at its path afterwards changes nothing. Does not know what it is for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::OsRefusal;
use super::flock::DirLock;
use crate::base::identity::DIR_NAME;

const PRIVATE: u32 = 0o700;

/// An open directory: 0700, ours, no symlink.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    fd: OwnedFd,
}

impl PrivateDir {
    /// Makes our directory below `parent` if it is missing, and checks it. `parent` itself is made only if it is ours to make.
    pub(super) fn below(parent: &Path, ours_to_make: bool) -> Result<Self, OsRefusal> {
        if ours_to_make {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(PRIVATE);
            builder.create(parent).map_err(|error| OsRefusal::io("make", parent, error))?;
        }
        let path = parent.join(DIR_NAME);
        let parent_fd = open_parent(parent)?;
        let made = match rustix::fs::mkdirat(&parent_fd, DIR_NAME, Mode::from_raw_mode(PRIVATE as _)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(OsRefusal::io("make", &path, error)),
        };
        let fd = open_dir(&parent_fd, Path::new(DIR_NAME), &path)?;
        if made {
            // The umask may have taken bits that we need.
            rustix::fs::fchmod(&fd, Mode::from_raw_mode(PRIVATE as _))
                .map_err(|error| OsRefusal::io("protect", &path, error))?;
        }
        check_private(&path, &stat(&fd, &path)?)?;
        Ok(Self { path, fd })
    }

    /// The directory's path, for people. Files are reached through the descriptor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, for people.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Keeps every other process and thread that asks for this lock out; refused with the holder's pid when it does not let go in time.
    pub fn lock(&self, patience: Duration) -> Result<DirLock, OsRefusal> {
        DirLock::take(&self.fd, &self.path, patience)
    }

    /// Waits until what was renamed or made here is on the disk.
    pub(super) fn sync(&self) -> Result<(), OsRefusal> {
        rustix::fs::fsync(&self.fd).map_err(|error| OsRefusal::io("make durable", &self.path, error))
    }
}

impl AsFd for PrivateDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Our effective user id.
pub fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether a directory is there and ours alone.
pub(super) fn is_private(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .ok()
        .and_then(|fd| stat(&fd, path).ok())
        .is_some_and(|stat| check_private(path, &stat).is_ok())
}

/// A directory above ours may be shared (`/run/user`, a home), but nobody else may be able to swap what lies in it.
fn open_parent(path: &Path) -> Result<OwnedFd, OsRefusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| OsRefusal::io("open", path, error))?;
    let stat = stat(&fd, path)?;
    if stat.st_uid != our_uid() && stat.st_uid != 0 {
        return Err(OsRefusal::Foreign { path: path.into(), owner: stat.st_uid });
    }
    let (others_write, sticky) = (stat.st_mode & 0o022 != 0, stat.st_mode & 0o1000 != 0);
    if others_write && !sticky {
        return Err(OsRefusal::ParentUnsafe { path: path.into() });
    }
    Ok(fd)
}

fn open_dir(parent: &OwnedFd, name: &Path, path: &Path) -> Result<OwnedFd, OsRefusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => OsRefusal::NotADirectory { path: path.into() },
        other => OsRefusal::io("open", path, other),
    })
}

fn stat(fd: &OwnedFd, path: &Path) -> Result<Stat, OsRefusal> {
    rustix::fs::fstat(fd).map_err(|error| OsRefusal::io("examine", path, error))
}

/// Permission bits.
#[allow(clippy::useless_conversion, reason = "16 bits wide on macOS")]
pub(super) fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

fn check_private(path: &Path, stat: &Stat) -> Result<(), OsRefusal> {
    if stat.st_uid != our_uid() {
        return Err(OsRefusal::Foreign { path: path.into(), owner: stat.st_uid });
    }
    let mode = mode_of(stat);
    if mode & 0o777 != PRIVATE {
        return Err(OsRefusal::TooOpen { path: path.into(), mode, wanted: PRIVATE });
    }
    Ok(())
}

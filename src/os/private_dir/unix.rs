//! Directories by descriptor, what lies in them by `openat`: modes, owners and links as the descriptor itself says.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::super::OsRefusal;
use super::super::files::Seen;
use super::super::user::our_uid;
use super::Access;
use crate::base::identity::DIR_NAME;

const PRIVATE_DIR: u32 = 0o700;
/// A file can be replaced between two of our system calls, but not for ever.
const ATTEMPTS: usize = 64;
const PRIVATE_FILE: u32 = 0o600;

#[derive(Debug)]
pub struct OpenDir(OwnedFd);

/// An open directory of its own: a lock belongs to it, and two threads must not share it.
#[derive(Debug)]
pub struct Lock(OwnedFd);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing it would not do: a process forked meanwhile has the lock too until it becomes another program.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

impl AsFd for OpenDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl OpenDir {
    pub fn below(parent: &Path, path: &Path) -> Result<Self, OsRefusal> {
        let parent = open_parent(parent)?;
        let made = match rustix::fs::mkdirat(&parent, DIR_NAME, mode(PRIVATE_DIR)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(OsRefusal::io("make", path, error)),
        };
        let fd = open_dir(&parent, Path::new(DIR_NAME), path)?;
        if made {
            protect(&fd, PRIVATE_DIR, path)?;
        }
        check_private(path, &stat(&fd, path)?)?;
        Ok(Self(fd))
    }

    pub fn file(&self, name: &str, path: &Path, access: Access) -> Result<Option<(File, Seen)>, OsRefusal> {
        let direction = match access {
            Access::Read | Access::Salvage => OFlags::RDONLY,
            Access::Append => OFlags::RDWR | OFlags::APPEND,
        };
        // NONBLOCK, or a planted FIFO would hold us here.
        let flags = direction | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
                Ok(fd) => File::from(fd),
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
                    return Err(OsRefusal::NotAPlainFile { path: path.into() });
                }
                Err(error) => return Err(OsRefusal::io("open", path, error)),
            };
            let stat = stat(&file, path)?;
            // Replaced since it was opened: what has the name now is what counts.
            if stat.st_nlink == 0 {
                continue;
            }
            match access {
                Access::Read | Access::Append => check_file(path, &stat)?,
                Access::Salvage => check_plain(path, &stat)?,
            }
            return Ok(Some((file, of_stat(&stat))));
        }
        Err(OsRefusal::io("open", path, Errno::BUSY))
    }

    pub fn make(&self, name: &str, path: &Path) -> Result<Option<File>, OsRefusal> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, name, flags, mode(PRIVATE_FILE)) {
            Ok(fd) => protect(&fd, PRIVATE_FILE, path).map(|()| Some(File::from(fd))),
            Err(Errno::EXIST) => Ok(None),
            Err(error) => Err(OsRefusal::io("make", path, error)),
        }
    }

    pub fn seen(&self, name: &str, path: &Path) -> Result<Option<Seen>, OsRefusal> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(of_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(OsRefusal::io("examine", path, error)),
        }
    }

    pub fn rename(&self, from: &str, to: &str, path: &Path) -> Result<(), OsRefusal> {
        rustix::fs::renameat(&self.0, from, &self.0, to)
            .map_err(|error| OsRefusal::io("replace", path, error))
    }

    pub fn remove(&self, name: &str, path: &Path) -> Result<(), OsRefusal> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(OsRefusal::io("remove", path, error)),
        }
    }

    pub fn sync(&self, path: &Path) -> Result<(), OsRefusal> {
        rustix::fs::fsync(&self.0).map_err(|error| OsRefusal::io("make durable", path, error))
    }

    /// Refuses once the directory is no longer ours alone, or another thing or none has its path.
    pub fn check(&self, path: &Path) -> Result<(), OsRefusal> {
        let held = stat(&self.0, path)?;
        check_private(path, &held)?;
        match rustix::fs::statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino) => Ok(()),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Err(OsRefusal::Moved { path: path.into() }),
            Err(error) => Err(OsRefusal::io("examine", path, error)),
        }
    }

    pub fn identity(&self, path: &Path) -> Result<(u64, u64), OsRefusal> {
        let stat = rustix::fs::fstat(&self.0).map_err(|error| OsRefusal::io("examine", path, error))?;
        Ok((stat.st_dev as u64, stat.st_ino))
    }

    pub fn try_lock(&self, path: &Path) -> Result<Option<Lock>, OsRefusal> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, ".", flags, Mode::empty())
            .map_err(|error| OsRefusal::io("open", path, error))?;
        loop {
            return match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => Ok(Some(Lock(fd))),
                Err(Errno::WOULDBLOCK) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(error) => Err(OsRefusal::io("lock", path, error)),
            };
        }
    }
}

pub fn seen(file: &File, path: &Path) -> Result<Seen, OsRefusal> {
    stat(file, path).map(|stat| of_stat(&stat))
}

/// Writes at the end of a file that was opened to be appended to: the kernel finds the end.
pub fn append(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

pub fn make_all(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(path)
}

/// Whether a directory is there and ours alone.
#[cfg(not(target_os = "macos"))]
pub fn is_private(path: &Path) -> bool {
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
    let (others_write, sticky) = (mode_of(&stat) & 0o022 != 0, mode_of(&stat) & 0o1000 != 0);
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

/// The umask may have taken bits that we need.
fn protect(fd: &OwnedFd, bits: u32, path: &Path) -> Result<(), OsRefusal> {
    rustix::fs::fchmod(fd, mode(bits)).map_err(|error| OsRefusal::io("protect", path, error))
}

fn check_private(path: &Path, stat: &Stat) -> Result<(), OsRefusal> {
    if stat.st_uid != our_uid() {
        return Err(OsRefusal::Foreign { path: path.into(), owner: stat.st_uid });
    }
    let mode = mode_of(stat);
    if mode & 0o777 != PRIVATE_DIR {
        return Err(OsRefusal::TooOpen { path: path.into(), mode, wanted: PRIVATE_DIR });
    }
    Ok(())
}

fn check_plain(path: &Path, stat: &Stat) -> Result<(), OsRefusal> {
    let plain = FileType::from_raw_mode(stat.st_mode).is_file();
    if plain { Ok(()) } else { Err(OsRefusal::NotAPlainFile { path: path.into() }) }
}

fn check_file(path: &Path, stat: &Stat) -> Result<(), OsRefusal> {
    check_plain(path, stat)?;
    let (path, mode) = (path.to_path_buf(), mode_of(stat));
    if stat.st_nlink != 1 {
        Err(OsRefusal::NotAPlainFile { path })
    } else if stat.st_uid != our_uid() {
        Err(OsRefusal::Foreign { path, owner: stat.st_uid })
    } else if mode & 0o177 != 0 {
        Err(OsRefusal::TooOpen { path, mode, wanted: PRIVATE_FILE })
    } else {
        Ok(())
    }
}

fn stat(fd: impl AsFd, path: &Path) -> Result<Stat, OsRefusal> {
    rustix::fs::fstat(fd).map_err(|error| OsRefusal::io("examine", path, error))
}

#[allow(clippy::unnecessary_cast, reason = "of other widths on macOS")]
fn of_stat(stat: &Stat) -> Seen {
    let nanos = |seconds: i64, nanos: i128| i128::from(seconds) * 1_000_000_000 + nanos;
    Seen {
        file: (stat.st_dev as u64, stat.st_ino as u64),
        size: stat.st_size as u64,
        changed: [
            nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i128),
            nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i128),
        ],
    }
}

/// Permission bits.
#[allow(clippy::useless_conversion, reason = "16 bits wide on macOS")]
fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

#[allow(clippy::unnecessary_cast, reason = "16 bits wide on macOS")]
fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as rustix::fs::RawMode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_let_go_is_free_although_a_forked_process_still_has_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = OpenDir::below(temp.path(), &temp.path().join(DIR_NAME)).unwrap();
        let lock = dir.try_lock(temp.path()).unwrap().unwrap();
        // What a fork has: another descriptor of the same description.
        let _forked = lock.0.try_clone().unwrap();
        assert!(dir.try_lock(temp.path()).unwrap().is_none());
        drop(lock);
        assert!(dir.try_lock(temp.path()).unwrap().is_some());
    }
}

//! Files of ours inside a private directory: read within a bound, replaced whole.
//!
//! Decides what such a file must be: a plain file with one name, ours, closed to others; nothing else is opened, and a
//! planted FIFO or device holds nobody. A file is replaced by a fresh one, created exclusively, made durable and renamed
//! over the old one, so that a reader at any instant, and the disk after any crash, has the old or the new one. Does
//! not know what the bytes mean.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::OsRefusal;
use super::flock::DirLock;
use super::private_dir::{PrivateDir, mode_of, our_uid};

const PRIVATE: u32 = 0o600;

/// Opens a file that is as ours must be; `None` if there is none.
pub(super) fn open(dir: &PrivateDir, name: &str, access: OFlags) -> Result<Option<File>, OsRefusal> {
    let path = dir.path_of(name);
    // NONBLOCK, or a planted FIFO would hold us here.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(OsRefusal::NotAPlainFile { path }),
        Err(error) => return Err(OsRefusal::io("open", &path, error)),
    };
    check(&path, &stat(&path, &file)?)?;
    Ok(Some(file))
}

/// A file's content; `None` if there is no such file. One above `max` bytes is refused.
pub(super) fn read(dir: &PrivateDir, name: &str, max: usize) -> Result<Option<Vec<u8>>, OsRefusal> {
    match open(dir, name, OFlags::RDONLY)? {
        Some(file) => read_open(&dir.path_of(name), &file, max).map(Some),
        None => Ok(None),
    }
}

/// The content of an open file.
pub(super) fn read_open(path: &Path, file: &File, max: usize) -> Result<Vec<u8>, OsRefusal> {
    let too_large = || OsRefusal::TooLarge { path: path.into() };
    let size = usize::try_from(stat(path, file)?.st_size).map_err(|_| too_large())?;
    if size > max {
        return Err(too_large());
    }
    // One more than the file had a moment ago, to see its end without another call.
    let mut bytes = vec![0; size + 1];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(OsRefusal::io("read", path, error)),
        }
    }
    bytes.truncate(length);
    if length > max { Err(too_large()) } else { Ok(bytes) }
}

/// Puts `bytes` in a file's place and waits until they are on the disk. The lock keeps every other writer out.
///
/// After an error the old file stands, or, where only the last flush failed, the new one does and may not survive a
/// power failure.
pub(super) fn replace(dir: &PrivateDir, _lock: &DirLock, name: &str, bytes: &[u8]) -> Result<(), OsRefusal> {
    let fresh = format!(".{name}.new");
    // What a crash left, or what somebody put there; under the lock it is nobody's work in progress.
    match rustix::fs::unlinkat(dir, &fresh, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(OsRefusal::io("remove", &dir.path_of(&fresh), error)),
    }
    let written = write_new(dir, &fresh, bytes).and_then(|()| {
        rustix::fs::renameat(dir, &fresh, dir, name)
            .map_err(|error| OsRefusal::io("replace", &dir.path_of(name), error))
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(dir, &fresh, AtFlags::empty());
    }
    written?;
    dir.sync()
}

/// Waits until a file and its name are on the disk.
pub(super) fn sync(dir: &PrivateDir, name: &str) -> Result<(), OsRefusal> {
    if let Some(file) = open(dir, name, OFlags::RDONLY)? {
        file.sync_all().map_err(|error| OsRefusal::io("make durable", &dir.path_of(name), error))?;
    }
    dir.sync()
}

/// Makes an empty file of ours; `None` if there is something of that name.
fn make(dir: &PrivateDir, name: &str, access: OFlags) -> Result<Option<File>, OsRefusal> {
    let path = dir.path_of(name);
    let flags = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made: OwnedFd = match rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(PRIVATE as _)) {
        Ok(fd) => fd,
        Err(Errno::EXIST) => return Ok(None),
        Err(error) => return Err(OsRefusal::io("make", &path, error)),
    };
    // The umask may have taken bits that we need.
    rustix::fs::fchmod(&made, Mode::from_raw_mode(PRIVATE as _))
        .map_err(|error| OsRefusal::io("protect", &path, error))?;
    Ok(Some(File::from(made)))
}

pub(super) fn stat(path: &Path, file: &File) -> Result<Stat, OsRefusal> {
    rustix::fs::fstat(file).map_err(|error| OsRefusal::io("examine", path, error))
}

fn write_new(dir: &PrivateDir, name: &str, bytes: &[u8]) -> Result<(), OsRefusal> {
    let path = dir.path_of(name);
    let mut file =
        make(dir, name, OFlags::WRONLY)?.ok_or_else(|| OsRefusal::io("make", &path, Errno::EXIST))?;
    file.write_all(bytes).map_err(|error| OsRefusal::io("write", &path, error))?;
    file.sync_all().map_err(|error| OsRefusal::io("make durable", &path, error))
}

fn check(path: &Path, stat: &Stat) -> Result<(), OsRefusal> {
    let (path, mode) = (path.to_path_buf(), mode_of(stat));
    if !FileType::from_raw_mode(stat.st_mode).is_file() || stat.st_nlink != 1 {
        Err(OsRefusal::NotAPlainFile { path })
    } else if stat.st_uid != our_uid() {
        Err(OsRefusal::Foreign { path, owner: stat.st_uid })
    } else if mode & 0o177 != 0 {
        Err(OsRefusal::TooOpen { path, mode, wanted: PRIVATE })
    } else {
        Ok(())
    }
}

//! `run.lock`: who is the broker, and the secret of its run.
//!
//! Decides that exactly one process holds the lock: a kernel `flock` for the life of the process, so a dead holder's
//! file is free at once and no pid is ever signalled or believed for that. Refuses a file that is a symlink, FIFO,
//! directory, hard link, foreign, readable by others or oversized. Does not know whether a holder is sane.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::OsRefusal;
use super::random;
use super::runtime_dir::{RuntimeDir, mode_of, our_uid};
use crate::base::identity::LOCK_FILE;
use crate::base::limits::{LOCK_FILE_BYTES_MAX, SECRET_BYTES};

const PRIVATE: u32 = 0o600;
/// The file can vanish or appear between two of our system calls; each attempt starts afresh.
const ATTEMPTS: usize = 8;

/// What the lock file says.
#[derive(Clone, PartialEq, Eq)]
pub struct LockRecord {
    /// The holder as it named itself; for people only.
    pub pid: u32,
    /// The secret of its run.
    pub secret: [u8; SECRET_BYTES],
}

impl core::fmt::Debug for LockRecord {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LockRecord").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// The outcome of asking for the lock.
#[derive(Debug)]
pub enum Acquired {
    /// We are the broker.
    Held(RunLock),
    /// Another process is.
    Busy {
        /// Its pid as the file says; `None` while it is still writing.
        pid: Option<u32>,
    },
}

/// Proof that this process holds the lock; released when dropped.
#[derive(Debug)]
pub struct RunLock {
    record: LockRecord,
    _file: File,
}

impl RunLock {
    /// Takes the lock if nobody holds it, and writes a fresh secret.
    pub fn acquire(dir: &RuntimeDir) -> Result<Acquired, OsRefusal> {
        for _ in 0..ATTEMPTS {
            let Some(file) = open(dir, OFlags::RDWR)? else {
                make(dir)?;
                continue;
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_still_named(dir, &file)? => return Ok(Acquired::Held(Self::write(dir, file)?)),
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Ok(Acquired::Busy { pid: read(dir)?.map(|record| record.pid) });
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(OsRefusal::io("lock", &dir.path_of(LOCK_FILE), error)),
            }
        }
        Err(OsRefusal::io("lock", &dir.path_of(LOCK_FILE), Errno::BUSY))
    }

    /// What peers of this run must know.
    pub fn secret(&self) -> [u8; SECRET_BYTES] {
        self.record.secret
    }

    fn write(dir: &RuntimeDir, file: File) -> Result<Self, OsRefusal> {
        let record = LockRecord { pid: std::process::id(), secret: random::bytes32()? };
        let written = || {
            let text = to_text(&record);
            file.write_all_at(&text, 0)?;
            file.set_len(text.len() as u64)
        };
        written().map_err(|error| OsRefusal::io("write", &dir.path_of(LOCK_FILE), error))?;
        Ok(Self { record, _file: file })
    }
}

/// What the lock file says now; `None` if there is none, or none complete. Says nothing about whether it is held.
pub fn read(dir: &RuntimeDir) -> Result<Option<LockRecord>, OsRefusal> {
    let Some(file) = open(dir, OFlags::RDONLY)? else { return Ok(None) };
    let mut bytes = vec![0; LOCK_FILE_BYTES_MAX + 1];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(OsRefusal::io("read", &dir.path_of(LOCK_FILE), error)),
        }
    }
    match bytes.get(..length) {
        Some([]) => Ok(None),
        Some(text) if length <= LOCK_FILE_BYTES_MAX => {
            from_text(text).map(Some).ok_or(OsRefusal::Corrupt { path: dir.path_of(LOCK_FILE) })
        }
        _ => Err(OsRefusal::TooLarge { path: dir.path_of(LOCK_FILE) }),
    }
}

/// The process that holds the lock, by the kernel's word; `None` if nobody does.
#[cfg(target_os = "linux")]
pub fn holder(dir: &RuntimeDir) -> Result<Option<u32>, OsRefusal> {
    let Some(file) = open(dir, OFlags::RDONLY)? else { return Ok(None) };
    let inode = stat(dir, file.as_fd())?.st_ino.to_string();
    let locks = std::path::Path::new("/proc/locks");
    let table = std::fs::read_to_string(locks).map_err(|error| OsRefusal::io("read", locks, error))?;
    Ok(table.lines().find_map(|line| flock_holder(line, &inode)))
}

/// Without a kernel table we ask by trying; a broker that starts in that instant would see us as the holder.
#[cfg(not(target_os = "linux"))]
pub fn holder(dir: &RuntimeDir) -> Result<Option<u32>, OsRefusal> {
    let Some(file) = open(dir, OFlags::RDONLY)? else { return Ok(None) };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(_) => Ok(read(dir)?.map(|record| record.pid)),
    }
}

/// One row: `1: FLOCK ADVISORY WRITE pid major:minor:inode 0 EOF`.
#[cfg(target_os = "linux")]
fn flock_holder(line: &str, inode: &str) -> Option<u32> {
    let mut fields = line.split_whitespace().skip(1);
    let (kind, _, mode, pid, file) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let ours = kind == "FLOCK" && mode == "WRITE" && file.rsplit(':').next() == Some(inode);
    if ours { pid.parse().ok() } else { None }
}

fn open(dir: &RuntimeDir, access: OFlags) -> Result<Option<File>, OsRefusal> {
    // NONBLOCK, or a planted FIFO would hold us here.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, LOCK_FILE, flags, Mode::empty()) {
        Ok(fd) => check(dir, &stat(dir, fd.as_fd())?).map(|()| Some(File::from(fd))),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
            Err(OsRefusal::NotAPlainFile { path: dir.path_of(LOCK_FILE) })
        }
        Err(error) => Err(OsRefusal::io("open", &dir.path_of(LOCK_FILE), error)),
    }
}

fn make(dir: &RuntimeDir) -> Result<(), OsRefusal> {
    let path = dir.path_of(LOCK_FILE);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made: OwnedFd = match rustix::fs::openat(dir, LOCK_FILE, flags, Mode::from_raw_mode(PRIVATE)) {
        Ok(fd) => fd,
        Err(Errno::EXIST) => return Ok(()),
        Err(error) => return Err(OsRefusal::io("make", &path, error)),
    };
    // The umask may have taken bits that we need.
    rustix::fs::fchmod(&made, Mode::from_raw_mode(PRIVATE))
        .map_err(|error| OsRefusal::io("protect", &path, error))
}

fn check(dir: &RuntimeDir, stat: &Stat) -> Result<(), OsRefusal> {
    let path = dir.path_of(LOCK_FILE);
    let mode = mode_of(stat);
    if !FileType::from_raw_mode(stat.st_mode).is_file() || stat.st_nlink != 1 {
        Err(OsRefusal::NotAPlainFile { path })
    } else if stat.st_uid != our_uid() {
        Err(OsRefusal::Foreign { path, owner: stat.st_uid })
    } else if mode & 0o177 != 0 {
        Err(OsRefusal::TooOpen { path, mode, wanted: PRIVATE })
    } else if stat.st_size > LOCK_FILE_BYTES_MAX as i64 {
        Err(OsRefusal::TooLarge { path })
    } else {
        Ok(())
    }
}

/// A lock on a file that was deleted meanwhile would exclude nobody.
fn is_still_named(dir: &RuntimeDir, file: &File) -> Result<bool, OsRefusal> {
    let ours = stat(dir, file.as_fd())?;
    match rustix::fs::statat(dir, LOCK_FILE, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(OsRefusal::io("examine", &dir.path_of(LOCK_FILE), error)),
    }
}

fn stat(dir: &RuntimeDir, fd: std::os::fd::BorrowedFd<'_>) -> Result<Stat, OsRefusal> {
    rustix::fs::fstat(fd).map_err(|error| OsRefusal::io("examine", &dir.path_of(LOCK_FILE), error))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockText {
    pid: u32,
    secret: String,
}

fn to_text(record: &LockRecord) -> Vec<u8> {
    let text = LockText { pid: record.pid, secret: random::hex(&record.secret) };
    serde_json::to_vec(&text).unwrap_or_default()
}

fn from_text(text: &[u8]) -> Option<LockRecord> {
    let LockText { pid, secret } = serde_json::from_slice(text).ok()?;
    Some(LockRecord { pid, secret: random::from_hex(&secret)? })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::runtime_dir::Environment;
    use super::*;

    fn fresh() -> (tempfile::TempDir, RuntimeDir) {
        let temp = tempfile::tempdir().unwrap();
        let environment = Environment { xdg_runtime_dir: Some(temp.path().into()), ..Environment::default() };
        let dir = RuntimeDir::resolve(&environment).unwrap();
        (temp, dir)
    }

    fn held(dir: &RuntimeDir) -> RunLock {
        match RunLock::acquire(dir).unwrap() {
            Acquired::Held(lock) => lock,
            Acquired::Busy { pid } => panic!("held by {pid:?}"),
        }
    }

    #[test]
    fn a_second_holder_is_told_who_the_first_is() {
        let (_temp, dir) = fresh();
        let first = held(&dir);
        let us = std::process::id();
        assert!(matches!(RunLock::acquire(&dir).unwrap(), Acquired::Busy { pid } if pid == Some(us)));
        assert_eq!(holder(&dir).unwrap(), Some(us));
        assert_eq!(read(&dir).unwrap().unwrap().secret, first.secret());
    }

    #[test]
    fn a_released_lock_is_taken_over_with_a_new_secret() {
        let (_temp, dir) = fresh();
        let old = held(&dir).secret();
        assert_eq!(holder(&dir).unwrap(), None);
        assert_ne!(held(&dir).secret(), old);
    }

    #[test]
    fn a_lock_on_a_deleted_file_excludes_nobody_so_the_new_file_is_locked() {
        let (_temp, dir) = fresh();
        let file = open(&dir, OFlags::RDWR).unwrap();
        assert!(file.is_none());
        make(&dir).unwrap();
        let file = open(&dir, OFlags::RDWR).unwrap().unwrap();
        std::fs::remove_file(dir.path_of(LOCK_FILE)).unwrap();
        assert!(!is_still_named(&dir, &file).unwrap());
        make(&dir).unwrap();
        assert!(!is_still_named(&dir, &file).unwrap());
    }

    #[test]
    fn what_is_no_plain_private_file_is_refused() {
        let (temp, dir) = fresh();
        let path = dir.path_of(LOCK_FILE);
        let refused = || RunLock::acquire(&dir).unwrap_err();
        let plain = OsRefusal::NotAPlainFile { path: path.clone() };

        symlink(temp.path().join("target"), &path).unwrap();
        assert_eq!(refused(), plain);
        std::fs::remove_file(&path).unwrap();

        std::fs::create_dir(&path).unwrap();
        assert_eq!(refused(), plain);
        std::fs::remove_dir(&path).unwrap();

        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(PRIVATE)).unwrap();
        assert_eq!(refused(), plain);
        assert_eq!(read(&dir).unwrap_err(), plain);
        std::fs::remove_file(&path).unwrap();

        std::fs::write(&path, "{}").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(refused(), OsRefusal::TooOpen { mode: 0o644, .. }));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::hard_link(&path, temp.path().join("second")).unwrap();
        assert_eq!(refused(), plain);
    }

    #[test]
    fn an_oversized_or_foreign_text_is_refused_and_an_empty_one_is_no_record() {
        let (_temp, dir) = fresh();
        drop(held(&dir));
        let path = dir.path_of(LOCK_FILE);
        std::fs::write(&path, vec![b' '; LOCK_FILE_BYTES_MAX + 1]).unwrap();
        assert!(matches!(read(&dir).unwrap_err(), OsRefusal::TooLarge { .. }));
        for bad in ["{}", "{\"pid\":1,\"secret\":\"00\"}", "{\"pid\":1,\"pid\":2,\"secret\":\"\"}", "[1]"] {
            std::fs::write(&path, bad).unwrap();
            assert!(matches!(read(&dir).unwrap_err(), OsRefusal::Corrupt { .. }), "{bad}");
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(read(&dir).unwrap(), None);
    }
}

//! The kernel's lock on a directory, which has no file of its own that somebody could delete from under its holder.
//!
//! Decides that one holder at a time works in a directory: whoever can still reach what lies there, by whatever name,
//! meets the same lock. The kernel frees it when its holder dies. Nobody waits for ever: a holder that was stopped is
//! named instead. It knows nothing of what is done under it. On Windows, which has no such lock, a file that nobody else
//! may open, and so nobody may delete, stands for it.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::OsRefusal;
use super::{PrivateDir, system};

/// Between two attempts; a holder usually needs a few milliseconds.
const PAUSE: Duration = Duration::from_micros(250);

/// The lock on a directory; released when dropped.
#[derive(Debug)]
pub struct DirLock {
    _held: system::Lock,
}

impl DirLock {
    /// Takes the lock, if its holder lets go in time.
    pub fn take(dir: &PrivateDir, patience: Duration) -> Result<Self, OsRefusal> {
        let start = Instant::now();
        loop {
            match Self::try_take(dir)? {
                Some(lock) => return Ok(lock),
                None if start.elapsed() < patience => std::thread::sleep(PAUSE),
                None => return Err(OsRefusal::Locked { path: dir.path().into(), holder: holder(dir)? }),
            }
        }
    }

    /// Takes the lock if nobody holds it.
    pub fn try_take(dir: &PrivateDir) -> Result<Option<Self>, OsRefusal> {
        Ok(dir.open.try_lock(dir.path())?.map(|held| Self { _held: held }))
    }
}

/// The process that holds a directory's lock, by the kernel's word; `None` if nobody does or the kernel does not say.
#[cfg(target_os = "linux")]
pub fn holder(dir: &PrivateDir) -> Result<Option<u32>, OsRefusal> {
    let inode = rustix::fs::fstat(dir)
        .map_err(|error| OsRefusal::io("examine", dir.path(), error))?
        .st_ino
        .to_string();
    let locks = Path::new("/proc/locks");
    let table = std::fs::read_to_string(locks).map_err(|error| OsRefusal::io("read", locks, error))?;
    Ok(table.lines().find_map(|line| row_holder(line, &inode)))
}

/// No kernel table says it here.
#[cfg(not(target_os = "linux"))]
pub fn holder(_dir: &PrivateDir) -> Result<Option<u32>, OsRefusal> {
    Ok(None)
}

/// One row: `1: FLOCK ADVISORY WRITE pid major:minor:inode 0 EOF`.
#[cfg(target_os = "linux")]
fn row_holder(line: &str, inode: &str) -> Option<u32> {
    let mut fields = line.split_whitespace().skip(1);
    let (kind, _, mode, pid, file) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let ours = kind == "FLOCK" && mode == "WRITE" && file.rsplit(':').next() == Some(inode);
    // A holder outside our pid namespace shows as 0.
    if ours { pid.parse().ok().filter(|pid| *pid != 0) } else { None }
}

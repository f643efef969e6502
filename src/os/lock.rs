//! `run.lock`: who is the broker, and the secret of its run.
//!
//! Decides that exactly one process is the broker of a runtime directory: a kernel lock on the directory itself, for
//! the life of the process. So a dead holder's directory is free at once, deleting the file frees nothing, and no pid is
//! ever signalled or believed for that. Refuses a file that is a symlink, FIFO, directory, hard link, foreign, readable
//! by others or oversized. Does not know whether a holder is sane.

use super::OsRefusal;
use super::private_dir::{Access, DirLock};
use super::runtime_dir::RuntimeDir;
use super::{private_file, random};
use crate::base::identity::LOCK_FILE;
use crate::base::limits::{LOCK_FILE_BYTES_MAX, SECRET_BYTES};
pub use crate::wire::lock::LockRecord;

/// The outcome of asking for the lock.
#[derive(Debug)]
pub enum Acquired {
    /// We are the broker.
    Held(RunLock),
    /// Another process is.
    Busy {
        /// Its pid as the kernel says, else as the file does.
        pid: Option<u32>,
    },
}

/// Proof that this process holds the lock; released when dropped.
#[derive(Debug)]
pub struct RunLock {
    record: LockRecord,
    lock: DirLock,
}

impl RunLock {
    /// Takes the lock if nobody holds it, and writes a fresh secret.
    /// `records` names the records by which this process judges.
    pub fn acquire(dir: &RuntimeDir, records: [u8; 32]) -> Result<Acquired, OsRefusal> {
        let Some(lock) = DirLock::try_take(dir.private())? else {
            let written = || read(dir).ok().flatten().map(|record| record.pid);
            return Ok(Acquired::Busy { pid: holder(dir).ok().flatten().or_else(written) });
        };
        // What lies there and is not ours is refused, not swept aside.
        private_file::open(dir.private(), LOCK_FILE, Access::Read)?;
        let record = LockRecord { pid: std::process::id(), secret: random::bytes32()?, records };
        let held = Self { record, lock };
        held.write(dir)?;
        Ok(Acquired::Held(held))
    }

    /// What peers of this run must know.
    pub fn secret(&self) -> [u8; SECRET_BYTES] {
        self.record.secret
    }

    /// Puts the file back if it is no longer as we wrote it: the lock holds without it, but nobody finds the door.
    /// `None` where that was not needed.
    pub fn restore(&self, dir: &RuntimeDir) -> Result<Option<()>, OsRefusal> {
        if read(dir).is_ok_and(|found| found.as_ref() == Some(&self.record)) {
            return Ok(None);
        }
        self.write(dir).map(Some)
    }

    fn write(&self, dir: &RuntimeDir) -> Result<(), OsRefusal> {
        private_file::replace(dir.private(), &self.lock, LOCK_FILE, self.record.written().as_bytes())
    }
}

/// What the lock file says now; `None` if there is none. Says nothing about whether it is held.
pub fn read(dir: &RuntimeDir) -> Result<Option<LockRecord>, OsRefusal> {
    match private_file::read(dir.private(), LOCK_FILE, LOCK_FILE_BYTES_MAX)?.as_deref() {
        None | Some([]) => Ok(None),
        Some(text) => {
            LockRecord::parse(text).map(Some).map_err(|_| OsRefusal::Corrupt { path: dir.path_of(LOCK_FILE) })
        }
    }
}

/// The process that holds the lock, by the kernel's word; `None` if nobody does.
#[cfg(target_os = "linux")]
pub fn holder(dir: &RuntimeDir) -> Result<Option<u32>, OsRefusal> {
    super::private_dir::flock::holder(dir.private())
}

/// Without a kernel table we ask by trying; a broker that starts in that instant would see us as the holder.
#[cfg(not(target_os = "linux"))]
pub fn holder(dir: &RuntimeDir) -> Result<Option<u32>, OsRefusal> {
    match DirLock::try_take(dir.private())? {
        Some(_) => Ok(None),
        None => Ok(read(dir)?.map(|record| record.pid)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::Mode;

    use super::super::runtime_dir::Environment;
    use super::*;

    fn fresh() -> (tempfile::TempDir, RuntimeDir) {
        let temp = tempfile::tempdir().unwrap();
        let environment = Environment { xdg_runtime_dir: Some(temp.path().into()), ..Environment::default() };
        let dir = RuntimeDir::resolve(&environment).unwrap();
        (temp, dir)
    }

    fn held(dir: &RuntimeDir) -> RunLock {
        match RunLock::acquire(dir, [1; 32]).unwrap() {
            Acquired::Held(lock) => lock,
            Acquired::Busy { pid } => panic!("held by {pid:?}"),
        }
    }

    #[test]
    fn a_second_holder_is_told_who_the_first_is() {
        let (_temp, dir) = fresh();
        let first = held(&dir);
        let us = std::process::id();
        assert!(
            matches!(RunLock::acquire(&dir, [1; 32]).unwrap(), Acquired::Busy { pid } if pid == Some(us))
        );
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
    fn t065_deleting_the_lock_file_frees_nothing_and_the_holder_puts_it_back() {
        let (_temp, dir) = fresh();
        let first = held(&dir);
        assert_eq!(first.restore(&dir), Ok(None));
        std::fs::remove_file(dir.path_of(LOCK_FILE)).unwrap();
        let us = std::process::id();
        assert!(
            matches!(RunLock::acquire(&dir, [1; 32]).unwrap(), Acquired::Busy { pid } if pid == Some(us))
        );
        assert_eq!(read(&dir).unwrap(), None, "whoever was turned away wrote nothing");
        assert_eq!(first.restore(&dir), Ok(Some(())));
        assert_eq!(read(&dir).unwrap().unwrap().secret, first.secret());
        std::fs::remove_file(dir.path_of(LOCK_FILE)).unwrap();
        drop(first);
        drop(held(&dir));
    }

    #[test]
    fn what_is_no_plain_private_file_is_refused() {
        let (temp, dir) = fresh();
        let path = dir.path_of(LOCK_FILE);
        let refused = || RunLock::acquire(&dir, [1; 32]).unwrap_err();
        let plain = OsRefusal::NotAPlainFile { path: path.clone() };

        symlink(temp.path().join("target"), &path).unwrap();
        assert_eq!(refused(), plain);
        std::fs::remove_file(&path).unwrap();

        std::fs::create_dir(&path).unwrap();
        assert_eq!(refused(), plain);
        std::fs::remove_dir(&path).unwrap();

        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(0o600)).unwrap();
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

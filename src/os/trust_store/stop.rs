//! The stop: a file in the state folder that engages the kill switch without a lock, a record or room on the disk.
//!
//! Decides that the switch is on while anything has one of its two names. Whoever changes the record takes the stop over:
//! it gets the second name, the record says that the switch is on, and only then the second name goes. So a stop that is
//! put while another is taken over is never lost. Does not know why it was put.
//!
//! A reader looks for the stop before it reads the record, and for the first name before the second: a stop that it
//! misses is in the record that it reads then.

use super::super::OsRefusal;
use super::super::private_dir::{DirLock, PrivateDir};
use super::super::private_file;
use crate::base::identity::STOP_FILE;

const TAKEN: &str = ".stop.taken";

/// Whether one stands.
pub fn stands(dir: &PrivateDir) -> Result<bool, OsRefusal> {
    Ok(private_file::seen_at(dir, STOP_FILE)?.is_some() || private_file::seen_at(dir, TAKEN)?.is_some())
}

/// Puts one, where every other process looks for it. After an error one may stand all the same.
pub fn put(dir: &PrivateDir) -> Result<(), OsRefusal> {
    dir.check()?;
    // One that lies there already will be in a record that is yet to be written.
    dir.open.make(STOP_FILE, &dir.path_of(STOP_FILE)).map(drop)
}

/// Waits until one that was put is on the disk, where no record will say the same.
pub fn settle(dir: &PrivateDir) -> Result<(), OsRefusal> {
    dir.sync()
}

/// Begins to take over whatever stands, and says whether anything does.
pub fn take(dir: &PrivateDir, _lock: &DirLock) -> Result<bool, OsRefusal> {
    if private_file::seen_at(dir, STOP_FILE)?.is_some() {
        dir.open.rename(STOP_FILE, TAKEN, &dir.path_of(STOP_FILE))?;
        return Ok(true);
    }
    Ok(private_file::seen_at(dir, TAKEN)?.is_some())
}

/// Removes what was taken over, now that the record says so.
pub fn clear(dir: &PrivateDir, _lock: &DirLock) -> Result<(), OsRefusal> {
    dir.open.remove(TAKEN, &dir.path_of(TAKEN))
}

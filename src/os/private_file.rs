//! Files of ours inside a private directory: read within a bound, replaced whole.
//!
//! Decides what such a file must be: a plain file with one name, ours, closed to others; nothing else is opened, and a
//! planted FIFO or device holds nobody. A file is replaced by a fresh one, created exclusively, made durable and renamed
//! over the old one, so that a reader at any instant, and the disk after any crash, has the old or the new one. Does
//! not know what the bytes mean.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::OsRefusal;
use super::files::{self, Seen};
use super::private_dir::{Access, DirLock, PrivateDir, system};

/// Opens a file that is as ours must be, and says what was seen of it then; `None` if there is none.
pub(super) fn open(dir: &PrivateDir, name: &str, access: Access) -> Result<Option<(File, Seen)>, OsRefusal> {
    dir.open.file(name, &dir.path_of(name), access)
}

/// The content of a plain file, whoever may have written it.
pub(super) fn salvage(dir: &PrivateDir, name: &str, max: usize) -> Result<Option<Vec<u8>>, OsRefusal> {
    match open(dir, name, Access::Salvage)? {
        Some((file, seen)) => read_up_to(&dir.path_of(name), &file, seen.size, max).map(Some),
        None => Ok(None),
    }
}

/// A file's content; `None` if there is no such file. One above `max` bytes is refused.
pub(super) fn read(dir: &PrivateDir, name: &str, max: usize) -> Result<Option<Vec<u8>>, OsRefusal> {
    match open(dir, name, Access::Read)? {
        Some((file, seen)) => read_up_to(&dir.path_of(name), &file, seen.size, max).map(Some),
        None => Ok(None),
    }
}

/// The content of an open file.
pub(super) fn read_open(path: &Path, file: &File, max: usize) -> Result<Vec<u8>, OsRefusal> {
    read_up_to(path, file, seen(path, file)?.size, max)
}

fn read_up_to(path: &Path, file: &File, size: u64, max: usize) -> Result<Vec<u8>, OsRefusal> {
    let too_large = || OsRefusal::TooLarge { path: path.into() };
    let size = usize::try_from(size).map_err(|_| too_large())?;
    if size > max {
        return Err(too_large());
    }
    // One more than the file had a moment ago, to see its end without another call.
    let mut bytes = vec![0; size + 1];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match files::read_at(file, rest, length as u64) {
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
    dir.open.remove(&fresh, &dir.path_of(&fresh))?;
    // INVARIANT records-1
    let written =
        write_new(dir, &fresh, bytes).and_then(|()| dir.open.rename(&fresh, name, &dir.path_of(name)));
    if written.is_err() {
        let _ = dir.open.remove(&fresh, &dir.path_of(&fresh));
    }
    written?;
    dir.sync()
}

/// Waits until a file and its name are on the disk.
pub(super) fn sync(dir: &PrivateDir, name: &str) -> Result<(), OsRefusal> {
    if let Some((file, _)) = open(dir, name, Access::Read)? {
        file.sync_all().map_err(|error| OsRefusal::io("make durable", &dir.path_of(name), error))?;
    }
    dir.sync()
}

/// Adds bytes to the end of a file that was opened for that.
pub(super) fn append(file: &File, bytes: &[u8]) -> std::io::Result<()> {
    system::append(file, bytes)
}

/// One byte of an open file.
pub(super) fn byte_at(path: &Path, file: &File, offset: u64) -> Result<u8, OsRefusal> {
    let mut byte = [0];
    loop {
        let error = match files::read_at(file, &mut byte, offset) {
            Ok(0) => std::io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => return Ok(byte[0]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        return Err(OsRefusal::io("read", path, error));
    }
}

/// What can be seen of an open file.
pub(super) fn seen(path: &Path, file: &File) -> Result<Seen, OsRefusal> {
    system::seen(file, path)
}

/// What can be seen of whatever has this name; `None` if nothing has.
pub(super) fn seen_at(dir: &PrivateDir, name: &str) -> Result<Option<Seen>, OsRefusal> {
    dir.open.seen(name, &dir.path_of(name))
}

fn write_new(dir: &PrivateDir, name: &str, bytes: &[u8]) -> Result<(), OsRefusal> {
    let path = dir.path_of(name);
    let taken = || OsRefusal::io("make", &path, std::io::ErrorKind::AlreadyExists);
    let mut file = dir.open.make(name, &path)?.ok_or_else(taken)?;
    file.write_all(bytes).map_err(|error| OsRefusal::io("write", &path, error))?;
    file.sync_all().map_err(|error| OsRefusal::io("make durable", &path, error))
}

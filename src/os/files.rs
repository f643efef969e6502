//! Files that are written whole or not at all.
//!
//! Decides how a file is replaced: a fresh file under a random name, created exclusively in the same folder, made
//! durable, then renamed over the old one. A symlink at the old name is replaced, never followed. Reads are bounded.

use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::{OsRefusal, random};

/// Replaces a file's content and mode; makes missing folders for us alone.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), OsRefusal> {
    let folder = path.parent().unwrap_or(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| OsRefusal::io("make", folder, error))?;
    let fresh = folder.join(format!(".genkan-{}", random::hex(&random::bytes32()?)));
    let written = write_new(&fresh, bytes, mode).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written.map_err(|error| OsRefusal::io("write", path, error))
}

/// A file's content if there is such a file; refuses one above `max` bytes.
pub fn read(path: &Path, max: usize) -> Result<Option<Vec<u8>>, OsRefusal> {
    // NONBLOCK, or a planted FIFO would hold us here.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OsRefusal::io("open", path, error)),
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|error| OsRefusal::io("read", path, error))?;
    if bytes.len() > max { Err(OsRefusal::TooLarge { path: path.into() }) } else { Ok(Some(bytes)) }
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    // The umask may have taken bits that we need.
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_nothing_is_left_behind() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b/file");
        replace(&path, b"one", 0o600).unwrap();
        replace(&path, b"two", 0o700).unwrap();
        assert_eq!(read(&path, 3).unwrap().unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn t056_a_planted_symlink_is_replaced_and_never_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (victim, path) = (temp.path().join("victim"), temp.path().join("file"));
        std::fs::write(&victim, "theirs").unwrap();
        symlink(&victim, &path).unwrap();
        replace(&path, b"ours", 0o600).unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"theirs");
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
        assert!(write_new(&path, b"again", 0o600).is_err(), "an existing name is refused");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("folder");
        std::fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"x", 0o600).is_err());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn reading_is_bounded_and_a_missing_file_is_no_error() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        assert_eq!(read(&path, 3).unwrap(), None);
        std::fs::write(&path, "four").unwrap();
        assert!(matches!(read(&path, 3), Err(OsRefusal::TooLarge { .. })));
    }
}

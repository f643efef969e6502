//! Files that are written whole or not at all.
//!
//! Decides how a file is replaced: a fresh file under a random name, created exclusively in the same folder, made
//! durable, then renamed over the old one. A symlink at the old name is replaced, never followed. Reads are bounded.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use super::{OsRefusal, random};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be read.
    Read,
    /// To be run.
    Run,
}

/// Replaces a file's content, for us alone; makes missing folders for us alone.
pub fn replace(path: &Path, bytes: &[u8], purpose: Purpose) -> Result<(), OsRefusal> {
    let folder = path.parent().unwrap_or(path);
    let mut builder = DirBuilder::new();
    private_folders(&mut builder);
    builder.recursive(true).create(folder).map_err(|error| OsRefusal::io("make", folder, error))?;
    let fresh = folder.join(format!(".genkan-{}", random::hex(&random::bytes32()?)));
    let written = write_new(&fresh, bytes, purpose).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written.map_err(|error| OsRefusal::io("write", path, error))
}

/// A file's content if there is such a file; refuses one above `max` bytes.
pub fn read(path: &Path, max: usize) -> Result<Option<Vec<u8>>, OsRefusal> {
    let mut options = File::options();
    never_waiting(&mut options);
    let file = match options.read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OsRefusal::io("open", path, error)),
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|error| OsRefusal::io("read", path, error))?;
    if bytes.len() > max { Err(OsRefusal::TooLarge { path: path.into() }) } else { Ok(Some(bytes)) }
}

/// Device and inode, or volume and index: the same for the same file only.
#[cfg(unix)]
pub fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Device and inode, or volume and index: the same for the same file only.
#[cfg(windows)]
pub fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::windows::fs::OpenOptionsExt;
    let file =
        super::windows::files::open(path, File::options().access_mode(0), super::windows::files::SHARED)?;
    super::windows::files::nature(&file).map(|nature| (nature.volume, nature.index))
}

fn write_new(path: &Path, bytes: &[u8], purpose: Purpose) -> std::io::Result<()> {
    let mut file = make_new(path, purpose)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn make_new(path: &Path, purpose: Purpose) -> std::io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let mode = match purpose {
        Purpose::Read => 0o600,
        Purpose::Run => 0o700,
    };
    let file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    // The umask may have taken bits that we need.
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(file)
}

/// Whatever we may reach we may also run there.
#[cfg(windows)]
fn make_new(path: &Path, _purpose: Purpose) -> std::io::Result<File> {
    let made = super::windows::files::make_file(path, super::windows::files::SHARED)?;
    made.ok_or_else(|| std::io::ErrorKind::AlreadyExists.into())
}

#[cfg(unix)]
fn private_folders(builder: &mut DirBuilder) {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
}

/// Folders below the person's own are theirs by inheritance.
#[cfg(windows)]
fn private_folders(_builder: &mut DirBuilder) {}

/// A planted FIFO would hold us in the opening.
#[cfg(unix)]
fn never_waiting(options: &mut OpenOptions) {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
}

/// No name in a folder stands for something that waits.
#[cfg(windows)]
fn never_waiting(_options: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_nothing_is_left_behind() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b/file");
        replace(&path, b"one", Purpose::Read).unwrap();
        replace(&path, b"two", Purpose::Run).unwrap();
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
        replace(&path, b"ours", Purpose::Read).unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"theirs");
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
        assert!(write_new(&path, b"again", Purpose::Read).is_err(), "an existing name is refused");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("folder");
        std::fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"x", Purpose::Read).is_err());
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

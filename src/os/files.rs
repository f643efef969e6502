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

/// What can be seen of a file without reading it: as long as this stands, so does its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Device and inode, or volume and index: the same for the same file only.
    pub file: (u64, u64),
    /// Its size.
    pub size: u64,
    /// When its content last changed, and when anything about it did (on Windows: when it was made), in the system's
    /// finest unit.
    pub changed: [i128; 2],
}

impl Seen {
    /// An open file.
    #[cfg(unix)]
    pub fn of(file: &File) -> std::io::Result<Self> {
        file.metadata().map(|file| Self::of_metadata(&file))
    }

    /// Whatever has this path; a link as itself.
    #[cfg(unix)]
    pub fn at(path: &Path) -> std::io::Result<Self> {
        std::fs::symlink_metadata(path).map(|file| Self::of_metadata(&file))
    }

    #[cfg(unix)]
    fn of_metadata(file: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            file: (file.dev(), file.ino()),
            size: file.size(),
            changed: [nanos(file.mtime(), file.mtime_nsec()), nanos(file.ctime(), file.ctime_nsec())],
        }
    }

    /// An open file.
    #[cfg(windows)]
    pub fn of(file: &File) -> std::io::Result<Self> {
        let nature = super::windows::files::nature(file)?;
        Ok(Self { file: (nature.volume, nature.index), size: nature.size, changed: nature.changed })
    }

    /// Whatever has this path; a link as itself.
    #[cfg(windows)]
    pub fn at(path: &Path) -> std::io::Result<Self> {
        use std::os::windows::fs::OpenOptionsExt;
        // No access at all is enough to look, and keeps nobody out.
        let mut options = File::options();
        options.access_mode(0);
        Self::of(&super::windows::files::open(path, &mut options, super::windows::files::SHARED)?)
    }
}

/// Reads a part of a file, wherever others read.
#[cfg(unix)]
pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

/// Reads a part of a file, wherever others read.
#[cfg(windows)]
pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
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

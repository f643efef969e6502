//! Directories that are pinned while they are held open, what lies in them by path; access as its lists say.
//!
//! A directory that is open without leave to remove it can be neither renamed nor removed, and nothing above it can, so
//! that its path means the same directory for as long as we run.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;

use super::super::OsRefusal;
use super::super::files::Seen;
use super::super::windows::files::{self, Nature, PINNED, SHARED};
use super::super::windows::security::{self, Object};
use super::Access;

/// Only its being open counts; it stays empty.
const LOCK: &str = ".lock";
/// It may be removed between our attempts to open and to make it.
const LOCK_ATTEMPTS: usize = 8;
/// Nobody else may open it.
const ALONE: u32 = 0;

#[derive(Debug)]
pub struct OpenDir {
    path: PathBuf,
    pinned: File,
}

/// A file that nobody else can open.
pub type Lock = File;

impl OpenDir {
    pub fn below(_parent: &Path, path: &Path) -> Result<Self, OsRefusal> {
        files::make_folder(path).map_err(|error| OsRefusal::io("make", path, error))?;
        let pinned = files::open(path, File::options().read(true), PINNED)
            .map_err(|error| OsRefusal::io("open", path, error))?;
        let nature = nature(&pinned, path)?;
        if !nature.folder || !nature.plain {
            return Err(OsRefusal::NotADirectory { path: path.into() });
        }
        check_ours_alone(&pinned, path)?;
        Ok(Self { path: path.into(), pinned })
    }

    pub fn file(&self, _name: &str, path: &Path, access: Access) -> Result<Option<(File, Seen)>, OsRefusal> {
        let mut options = File::options();
        match access {
            Access::Read | Access::Salvage => options.read(true),
            // Leave to append only would be none to cut off what was never whole.
            Access::Append => options.read(true).write(true),
        };
        match files::open(path, &mut options, SHARED) {
            Ok(file) => {
                match access {
                    Access::Read | Access::Append => check_file(&file, path)?,
                    Access::Salvage => check_plain(&file, path)?,
                }
                let seen = seen(&file, path)?;
                Ok(Some((file, seen)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(OsRefusal::io("open", path, error)),
        }
    }

    pub fn make(&self, _name: &str, path: &Path) -> Result<Option<File>, OsRefusal> {
        files::make_file(path, SHARED).map_err(|error| OsRefusal::io("make", path, error))
    }

    pub fn seen(&self, _name: &str, path: &Path) -> Result<Option<Seen>, OsRefusal> {
        match Seen::at(path) {
            Ok(seen) => Ok(Some(seen)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(OsRefusal::io("examine", path, error)),
        }
    }

    pub fn rename(&self, from: &str, _to: &str, path: &Path) -> Result<(), OsRefusal> {
        files::rename(&self.path.join(from), path).map_err(|error| OsRefusal::io("replace", path, error))
    }

    pub fn remove(&self, _name: &str, path: &Path) -> Result<(), OsRefusal> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(OsRefusal::io("remove", path, error)),
            _ => Ok(()),
        }
    }

    /// Renaming waited until it was on the disk.
    pub fn sync(&self, _path: &Path) -> Result<(), OsRefusal> {
        Ok(())
    }

    /// Pinned, so that only its access list can have changed.
    pub fn check(&self, path: &Path) -> Result<(), OsRefusal> {
        check_ours_alone(&self.pinned, path)
    }

    pub fn identity(&self, path: &Path) -> Result<(u64, u64), OsRefusal> {
        nature(&self.pinned, path).map(|nature| (nature.volume, nature.index))
    }

    pub fn try_lock(&self, path: &Path) -> Result<Option<Lock>, OsRefusal> {
        let lock = self.path.join(LOCK);
        let refusal = |error| OsRefusal::io("lock", path, error);
        for _ in 0..LOCK_ATTEMPTS {
            let taken = match files::open(&lock, File::options().read(true).write(true), ALONE) {
                Err(error) if error.kind() == ErrorKind::NotFound => files::make_file(&lock, ALONE),
                other => other.map(Some),
            };
            match taken {
                Ok(Some(file)) => return check_file(&file, &lock).map(|()| Some(file)),
                Ok(None) => {}
                Err(error) if is_held(&error) => return Ok(None),
                Err(error) => return Err(refusal(error)),
            }
        }
        Err(refusal(ErrorKind::ResourceBusy.into()))
    }
}

pub fn seen(file: &File, path: &Path) -> Result<Seen, OsRefusal> {
    Seen::of(file).map_err(|error| OsRefusal::io("examine", path, error))
}

/// Writes at the end. Whoever appends holds the directory's lock, so the end stays where it is.
pub fn append(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    file.write_all(bytes)
}

/// What lies below the person's own folders is theirs by inheritance.
pub fn make_all(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

fn is_held(error: &io::Error) -> bool {
    error.raw_os_error().map(i32::cast_unsigned) == Some(ERROR_SHARING_VIOLATION)
}

fn nature(file: &File, path: &Path) -> Result<Nature, OsRefusal> {
    files::nature(file).map_err(|error| OsRefusal::io("examine", path, error))
}

fn check_plain(file: &File, path: &Path) -> Result<(), OsRefusal> {
    let nature = nature(file, path)?;
    let plain = !nature.folder && nature.plain;
    if plain { Ok(()) } else { Err(OsRefusal::NotAPlainFile { path: path.into() }) }
}

fn check_file(file: &File, path: &Path) -> Result<(), OsRefusal> {
    check_plain(file, path)?;
    if nature(file, path)?.names != 1 {
        return Err(OsRefusal::NotAPlainFile { path: path.into() });
    }
    check_ours_alone(file, path)
}

fn check_ours_alone(file: &File, path: &Path) -> Result<(), OsRefusal> {
    let refusal = |error| OsRefusal::io("examine", path, error);
    let reach = security::reach(file.as_handle(), Object::File).map_err(refusal)?;
    if reach.owner != security::our_sid().map_err(refusal)? {
        return Err(OsRefusal::Foreign { path: path.into(), owner: reach.owner });
    }
    match reach.stranger {
        Some(who) => Err(OsRefusal::Reachable { path: path.into(), who }),
        None => Ok(()),
    }
}

//! Running files: their hash, whether they are a system package's, and our own.
//!
//! Decides what a file's identity is: device and inode of an open descriptor, and the hash of what was read through it.
//! A file that changes while it is read, is larger than the bound or no plain file is refused. A hash is computed once
//! for each state of a file in this process. It does not know what a good image is.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use sha2::Digest as _;

use super::system::Process;
use crate::base::limits::IMAGE_FILE_BYTES_MAX;
use crate::os::OsRefusal;
use crate::os::files::{self, Seen};
use crate::wire::client::{Image, Sha256};

const PIECE: usize = 256 * 1024;
/// A client, its script and our own image, measured at several times; the oldest gives way.
const DIGESTS_MAX: usize = 64;
#[cfg(unix)]
const ROOT: u32 = 0;
#[cfg(unix)]
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A file that a process runs, open.
#[derive(Debug)]
pub struct Running {
    /// Its path as the kernel names it, without the mark of a deleted file.
    pub path: PathBuf,
    /// The file itself.
    pub file: File,
}

/// Measures one running file.
pub fn measure(running: &Running) -> Result<Image, OsRefusal> {
    let (sha256, state) = digest(&running.file, &running.path)?;
    Ok(Image {
        path: text(&running.path),
        device: state.file.0,
        inode: state.file.1,
        sha256,
        package: is_package(&running.path, &state),
        signer: None,
        replaced: !lies_at(&running.path, &state),
    })
}

/// The hash of a whole file, read through its open descriptor.
pub fn hash(file: &File, path: &Path) -> Result<Sha256, OsRefusal> {
    digest(file, path).map(|(sha256, _)| sha256)
}

fn digest(file: &File, path: &Path) -> Result<(Sha256, Seen), OsRefusal> {
    static KNOWN: Mutex<Vec<(Seen, Sha256)>> = Mutex::new(Vec::new());
    let refusal = |error| OsRefusal::io("measure", path, error);
    let before = file.metadata().map_err(refusal)?;
    if !before.is_file() || before.len() > IMAGE_FILE_BYTES_MAX {
        return Err(OsRefusal::Unmeasured { what: shown(path), why: "it is no file of a program".into() });
    }
    let state = Seen::of(file).map_err(refusal)?;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, sha256)) = known().iter().find(|(one, _)| *one == state) {
        return Ok((*sha256, state));
    }
    let sha256 = read_through(file, state.size).map_err(refusal)?;
    if Seen::of(file).map_err(refusal)? != state {
        return Err(OsRefusal::Unmeasured { what: shown(path), why: "it changed while it was read".into() });
    }
    let mut known = known();
    if known.len() >= DIGESTS_MAX {
        known.remove(0);
    }
    known.push((state, sha256));
    Ok((sha256, state))
}

fn read_through(file: &File, size: u64) -> std::io::Result<Sha256> {
    let mut hasher = sha2::Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < size {
        match files::read_at(file, &mut piece, at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                hasher.update(piece.get(..length).unwrap_or_default());
                at += length as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Sha256(hasher.finalize().into()))
}

/// Whether a path leads to a file, as seen from here.
fn lies_at(path: &Path, state: &Seen) -> bool {
    Seen::at(path).is_ok_and(|found| found.file == state.file)
}

/// Root's own, with every folder above it, and writable by nobody else: what a package manager installed. Asked of the
/// path as *we* see it, because a process may have arranged other files at the same path for itself.
#[cfg(unix)]
fn is_package(path: &Path, state: &Seen) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_roots = |part: &Path| {
        std::fs::symlink_metadata(part).is_ok_and(|file| {
            file.uid() == ROOT && file.mode() & WRITABLE_BY_OTHERS == 0 && !file.is_symlink()
        })
    };
    path.is_absolute() && path.ancestors().all(is_roots) && lies_at(path, state)
}

/// What an installer left there may be changed by every administrator's program, so nothing is taken for a package.
#[cfg(windows)]
fn is_package(_path: &Path, _state: &Seen) -> bool {
    false
}

/// A path for people and for comparing; what is not UTF-8 in it can equal no path that is.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn shown(path: &Path) -> String {
    format!("{path:?}")
}

/// The file that this process runs.
#[derive(Debug)]
pub struct Own {
    path: PathBuf,
    identity: (u64, u64),
    sha256: Sha256,
}

impl Own {
    /// Where it lay when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its hash.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// Whether its path leads to another file by now, or to none: an update, whose new program should take over.
    pub fn replaced(&self) -> bool {
        Seen::at(&self.path).ok().map(|found| found.file) != Some(self.identity)
    }

    /// Whether it and everything above it is root's alone.
    pub fn is_package(&self) -> bool {
        Seen::at(&self.path).is_ok_and(|found| is_package(&self.path, &found)) && !self.replaced()
    }

    /// Whether an open file is this very one: the same inode, and the same bytes.
    pub fn is(&self, other: &Running) -> Result<bool, OsRefusal> {
        let (device, inode) =
            Seen::of(&other.file).map_err(|error| OsRefusal::io("measure", &other.path, error))?.file;
        Ok(self.has_identity(device, inode) && hash(&other.file, &other.path)? == self.sha256)
    }

    /// Whether device and inode are this file's. It is open in this process for good, so no other file can have them.
    pub fn has_identity(&self, device: u64, inode: u64) -> bool {
        self.identity == (device, inode)
    }

    fn open() -> Result<Self, OsRefusal> {
        let running = Process::own()?.running()?;
        let (sha256, state) = digest(&running.file, &running.path)?;
        let Running { path, .. } = running;
        Ok(Self { path, identity: state.file, sha256 })
    }
}

/// This process's own file, opened and hashed at the first call. The kernel keeps what we run from being written to.
pub fn own() -> Result<&'static Own, OsRefusal> {
    static OWN: OnceLock<Result<Own, OsRefusal>> = OnceLock::new();
    OWN.get_or_init(Own::open).as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn running(path: &Path) -> Running {
        Running { path: path.into(), file: File::open(path).unwrap() }
    }

    #[test]
    fn a_file_is_what_it_was_opened_as_even_when_another_takes_its_path() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("program");
        std::fs::write(&path, "old").unwrap();
        let file = running(&path);
        let before = measure(&file).unwrap();
        assert!(!before.replaced);
        std::fs::write(temp.path().join("new"), "new").unwrap();
        std::fs::rename(temp.path().join("new"), &path).unwrap();
        let after = measure(&file).unwrap();
        assert!(after.replaced);
        assert_eq!((after.sha256, after.inode), (before.sha256, before.inode));
        assert_ne!(measure(&running(&path)).unwrap().sha256, before.sha256);
    }

    #[test]
    fn a_hash_is_of_the_bytes_and_known_bytes_changed_in_place_are_hashed_anew() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("program");
        std::fs::write(&path, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(measure(&running(&path)).unwrap().sha256, Sha256::from_hex(abc).unwrap());
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        // The clock that stamps files moves in steps.
        let changed = || std::fs::metadata(&path).map(|file| (file.ctime(), file.ctime_nsec())).unwrap();
        let first = changed();
        while changed() == first {
            File::options().write(true).open(&path).unwrap().write_all(b"abd").unwrap();
        }
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_ne!(measure(&running(&path)).unwrap().sha256, Sha256::from_hex(abc).unwrap());
    }

    #[test]
    fn a_folder_or_device_is_no_image() {
        for path in ["/", "/dev/null"] {
            assert!(
                matches!(measure(&running(Path::new(path))), Err(OsRefusal::Unmeasured { .. })),
                "{path}"
            );
        }
    }

    #[test]
    fn a_package_is_roots_alone_from_the_root_down_and_reached_by_no_link() {
        let is = |path: &Path| is_package(path, &Seen::at(path).unwrap());
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        assert!(is(&shell), "{shell:?}");
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("program");
        std::fs::write(&path, "x").unwrap();
        assert!(!is(&path), "below /tmp, which all may write to");
        if Path::new("/bin").is_symlink() {
            let link = Path::new("/bin").join(shell.file_name().unwrap());
            let state = Seen::of(&File::open(&link).unwrap()).unwrap();
            assert!(!is_package(&link, &state), "a link may be turned");
        }
        let other = Seen::at(&path).unwrap();
        assert!(!is_package(&shell, &other), "another file than the one at the path");
        symlink(&shell, temp.path().join("link")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is(&path));
    }

    #[test]
    fn our_own_image_is_ours_and_no_copy_of_it_is() {
        let own = own().unwrap();
        assert!(!own.replaced());
        assert_eq!(own.path(), std::env::current_exe().unwrap());
        let temp = tempfile::tempdir().unwrap();
        let copy = temp.path().join("copy");
        std::fs::copy(own.path(), &copy).unwrap();
        assert!(own.is(&running(own.path())).unwrap());
        assert!(!own.is(&running(&copy)).unwrap());
        assert_eq!(hash(&File::open(&copy).unwrap(), &copy).unwrap(), own.sha256());
    }
}

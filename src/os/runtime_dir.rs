//! Where the lock and the socket lie, and which directory is safe to hold them.
//!
//! Decides the directory: `$XDG_RUNTIME_DIR/genkan`; on Linux, where MCP clients often pass only HOME, then
//! `/run/user/UID/genkan` if that directory is ours and 0700, then `genkan` in the cache directory; on macOS then
//! `~/Library/Application Support/genkan`. Refuses a directory that is not ours, not 0700, or reached through a
//! symlink in its last component. Everything later is done relative to the descriptor opened here, so a directory
//! swapped afterwards changes nothing. Does not know what the files mean.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::OsRefusal;
use crate::base::identity::DIR_NAME;

const PRIVATE: u32 = 0o700;

/// The environment variables that choose directories, read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `HOME`.
    pub home: Option<OsString>,
    /// `XDG_RUNTIME_DIR`.
    pub xdg_runtime_dir: Option<OsString>,
    /// `XDG_CACHE_HOME`.
    pub xdg_cache_home: Option<OsString>,
    /// `XDG_DATA_HOME`.
    pub xdg_data_home: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<OsString>,
}

impl Environment {
    /// This process's variables; an empty one counts as unset.
    pub fn of_this_process() -> Self {
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            home: read("HOME"),
            xdg_runtime_dir: read("XDG_RUNTIME_DIR"),
            xdg_cache_home: read("XDG_CACHE_HOME"),
            xdg_data_home: read("XDG_DATA_HOME"),
            xdg_config_home: read("XDG_CONFIG_HOME"),
        }
    }

    /// Where wrappers lie.
    pub fn data_dir(&self) -> Result<PathBuf, OsRefusal> {
        Ok(self.xdg_or_home("XDG_DATA_HOME", &self.xdg_data_home, ".local/share")?.join(DIR_NAME))
    }

    /// Where browsers look for manifests.
    pub fn config_dir(&self) -> Result<PathBuf, OsRefusal> {
        self.xdg_or_home("XDG_CONFIG_HOME", &self.xdg_config_home, ".config")
    }

    fn cache_dir(&self) -> Result<PathBuf, OsRefusal> {
        self.xdg_or_home("XDG_CACHE_HOME", &self.xdg_cache_home, ".cache")
    }

    fn home(&self) -> Result<PathBuf, OsRefusal> {
        let home = self.home.as_ref().ok_or(OsRefusal::NoHome)?;
        absolute("HOME", home)
    }

    fn xdg_or_home(
        &self,
        variable: &'static str,
        value: &Option<OsString>,
        below_home: &str,
    ) -> Result<PathBuf, OsRefusal> {
        match value {
            Some(value) => absolute(variable, value),
            None => Ok(self.home()?.join(below_home)),
        }
    }
}

/// The open runtime directory: 0700, ours, no symlink.
#[derive(Debug)]
pub struct RuntimeDir {
    path: PathBuf,
    fd: OwnedFd,
}

impl RuntimeDir {
    /// Chooses, makes and checks the directory.
    pub fn resolve(environment: &Environment) -> Result<Self, OsRefusal> {
        let parent = Parent::of(environment)?;
        if parent.ours_to_make {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(PRIVATE);
            builder.create(&parent.path).map_err(|error| OsRefusal::io("make", &parent.path, error))?;
        }
        Self::below(&parent.path)
    }

    /// Where the directory is or would be; makes nothing.
    pub fn locate(environment: &Environment) -> Result<PathBuf, OsRefusal> {
        Ok(Parent::of(environment)?.path.join(DIR_NAME))
    }

    /// The directory's path, for people. Files are reached through the descriptor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, for people.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file's path through our own descriptor: as short as a socket address must be, and bound to the checked directory.
    #[cfg(target_os = "linux")]
    pub fn address_of(&self, name: &str) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    /// Without `/proc` the address is the plain path, so a directory swapped by the same user is followed.
    #[cfg(not(target_os = "linux"))]
    pub fn address_of(&self, name: &str) -> PathBuf {
        self.path_of(name)
    }

    fn below(parent: &Path) -> Result<Self, OsRefusal> {
        let path = parent.join(DIR_NAME);
        let parent_fd = open_parent(parent)?;
        let made = match rustix::fs::mkdirat(&parent_fd, DIR_NAME, Mode::from_raw_mode(PRIVATE)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(OsRefusal::io("make", &path, error)),
        };
        let fd = open_dir(&parent_fd, Path::new(DIR_NAME), &path)?;
        if made {
            // The umask may have taken bits that we need.
            rustix::fs::fchmod(&fd, Mode::from_raw_mode(PRIVATE))
                .map_err(|error| OsRefusal::io("protect", &path, error))?;
        }
        check_private(&path, &stat(&fd, &path)?)?;
        Ok(Self { path, fd })
    }
}

impl AsFd for RuntimeDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The directory above ours. A runtime directory that the environment names must exist; a home's folders may not yet.
struct Parent {
    path: PathBuf,
    ours_to_make: bool,
}

impl Parent {
    fn of(environment: &Environment) -> Result<Self, OsRefusal> {
        if let Some(dir) = &environment.xdg_runtime_dir {
            return Ok(Self { path: absolute("XDG_RUNTIME_DIR", dir)?, ours_to_make: false });
        }
        if cfg!(target_os = "macos") {
            let path = environment.home()?.join("Library/Application Support");
            return Ok(Self { path, ours_to_make: true });
        }
        let run = PathBuf::from(format!("/run/user/{}", our_uid()));
        if is_private(&run) {
            return Ok(Self { path: run, ours_to_make: false });
        }
        Ok(Self { path: environment.cache_dir()?, ours_to_make: true })
    }
}

/// Our effective user id.
pub fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn absolute(variable: &'static str, value: &OsString) -> Result<PathBuf, OsRefusal> {
    let path = PathBuf::from(value);
    let clean = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    if clean { Ok(path) } else { Err(OsRefusal::NotAbsolute { variable, path }) }
}

/// A directory above ours may be shared (`/run/user`, a home), but nobody else may be able to swap what lies in it.
fn open_parent(path: &Path) -> Result<OwnedFd, OsRefusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| OsRefusal::io("open", path, error))?;
    let stat = stat(&fd, path)?;
    if stat.st_uid != our_uid() && stat.st_uid != 0 {
        return Err(OsRefusal::Foreign { path: path.into(), owner: stat.st_uid });
    }
    let (others_write, sticky) = (stat.st_mode & 0o022 != 0, stat.st_mode & 0o1000 != 0);
    if others_write && !sticky {
        return Err(OsRefusal::ParentUnsafe { path: path.into() });
    }
    Ok(fd)
}

fn open_dir(parent: &OwnedFd, name: &Path, path: &Path) -> Result<OwnedFd, OsRefusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => OsRefusal::NotADirectory { path: path.into() },
        other => OsRefusal::io("open", path, other),
    })
}

fn stat(fd: &OwnedFd, path: &Path) -> Result<Stat, OsRefusal> {
    rustix::fs::fstat(fd).map_err(|error| OsRefusal::io("examine", path, error))
}

/// Permission bits.
#[allow(clippy::useless_conversion, reason = "16 bits wide on macOS")]
pub(super) fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

fn check_private(path: &Path, stat: &Stat) -> Result<(), OsRefusal> {
    if stat.st_uid != our_uid() {
        return Err(OsRefusal::Foreign { path: path.into(), owner: stat.st_uid });
    }
    let mode = mode_of(stat);
    if mode & 0o777 != PRIVATE {
        return Err(OsRefusal::TooOpen { path: path.into(), mode, wanted: PRIVATE });
    }
    Ok(())
}

fn is_private(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .ok()
        .and_then(|fd| stat(&fd, path).ok())
        .is_some_and(|stat| check_private(path, &stat).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with_runtime(dir: &Path) -> Environment {
        Environment { xdg_runtime_dir: Some(dir.into()), ..Environment::default() }
    }

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_directory_is_made_private() {
        let temp = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::resolve(&with_runtime(temp.path())).unwrap();
        assert_eq!(dir.path(), temp.path().join("genkan"));
        assert_eq!(std::fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn relative_and_climbing_paths_are_refused() {
        for bad in ["run", "/tmp/../tmp", "./x"] {
            let refusal = RuntimeDir::resolve(&with_runtime(Path::new(bad))).unwrap_err();
            assert!(matches!(refusal, OsRefusal::NotAbsolute { variable: "XDG_RUNTIME_DIR", .. }), "{bad}");
        }
    }

    #[test]
    fn a_symlink_a_file_and_an_open_directory_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let (elsewhere, ours) = (temp.path().join("elsewhere"), temp.path().join("genkan"));
        std::fs::create_dir(&elsewhere).unwrap();
        chmod(&elsewhere, 0o700);
        symlink(&elsewhere, &ours).unwrap();
        let resolve = || RuntimeDir::resolve(&with_runtime(temp.path())).unwrap_err();
        assert_eq!(resolve(), OsRefusal::NotADirectory { path: ours.clone() });
        std::fs::remove_file(&ours).unwrap();
        std::fs::write(&ours, "").unwrap();
        assert_eq!(resolve(), OsRefusal::NotADirectory { path: ours.clone() });
        std::fs::remove_file(&ours).unwrap();
        std::fs::create_dir(&ours).unwrap();
        chmod(&ours, 0o777);
        assert!(matches!(resolve(), OsRefusal::TooOpen { mode: 0o777, .. }));
    }

    #[test]
    fn a_parent_that_others_can_rearrange_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        chmod(temp.path(), 0o777);
        let refusal = RuntimeDir::resolve(&with_runtime(temp.path())).unwrap_err();
        assert_eq!(refusal, OsRefusal::ParentUnsafe { path: temp.path().into() });
        chmod(temp.path(), 0o1777);
        assert!(RuntimeDir::resolve(&with_runtime(temp.path())).is_ok());
    }

    #[test]
    fn without_any_home_the_answer_is_a_refusal() {
        assert_eq!(Environment::default().data_dir().unwrap_err(), OsRefusal::NoHome);
    }
}

//! Where the lock and the socket lie, and which directory is safe to hold them.
//!
//! Decides the directory: `$XDG_RUNTIME_DIR/genkan`; on Linux, where MCP clients often pass only HOME, then
//! `/run/user/UID/genkan` if that directory is ours and 0700, then `genkan` in the cache directory; on macOS then
//! `~/Library/Caches/genkan`; on Windows `%LOCALAPPDATA%\Temp\genkan`. Refuses a directory that is not private. Does not know what the files mean.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf, Prefix};

use super::OsRefusal;
use super::private_dir::PrivateDir;
#[cfg(unix)]
pub use super::user::our_uid;
use crate::base::identity::DIR_NAME;

/// Below the home, on macOS.
const APPLICATION_SUPPORT: &str = "Library/Application Support";

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
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<OsString>,
    /// `LOCALAPPDATA`, on Windows.
    pub local_app_data: Option<OsString>,
    /// `APPDATA`, on Windows.
    pub app_data: Option<OsString>,
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
            xdg_state_home: read("XDG_STATE_HOME"),
            local_app_data: read("LOCALAPPDATA"),
            app_data: read("APPDATA"),
        }
    }

    /// Where the epoch mark lies.
    pub fn data_dir(&self) -> Result<PathBuf, OsRefusal> {
        Ok(self.data_parent()?.join(DIR_NAME))
    }

    /// The folder above [`Self::data_dir`].
    pub(super) fn data_parent(&self) -> Result<PathBuf, OsRefusal> {
        if cfg!(windows) {
            return known("APPDATA", &self.app_data);
        }
        self.xdg_or_home("XDG_DATA_HOME", &self.xdg_data_home, ".local/share")
    }

    /// The folder above that of records.
    pub(super) fn state_parent(&self) -> Result<PathBuf, OsRefusal> {
        if cfg!(windows) {
            return self.local_dir();
        }
        if cfg!(target_os = "macos") && self.xdg_state_home.is_none() {
            return Ok(self.home()?.join(APPLICATION_SUPPORT));
        }
        self.xdg_or_home("XDG_STATE_HOME", &self.xdg_state_home, ".local/state")
    }

    /// Where lies what a manifest names, or the manifest itself where the registry names it.
    pub fn wrapper_dir(&self) -> Result<PathBuf, OsRefusal> {
        if cfg!(windows) {
            Ok(self.local_dir()?.join(DIR_NAME))
        } else if cfg!(target_os = "macos") {
            Ok(self.home()?.join(".genkan"))
        } else {
            self.data_dir()
        }
    }

    /// Where browsers look for manifests, unless in the registry.
    pub fn config_dir(&self) -> Result<PathBuf, OsRefusal> {
        if cfg!(target_os = "macos") {
            return Ok(self.home()?.join(APPLICATION_SUPPORT));
        }
        self.xdg_or_home("XDG_CONFIG_HOME", &self.xdg_config_home, ".config")
    }

    /// Where programs of this machine's user keep what stays on this machine, on Windows.
    fn local_dir(&self) -> Result<PathBuf, OsRefusal> {
        known("LOCALAPPDATA", &self.local_app_data)
    }

    #[cfg(all(unix, not(target_os = "macos")))]
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
    dir: PrivateDir,
}

impl RuntimeDir {
    /// Chooses, makes and checks the directory.
    pub fn resolve(environment: &Environment) -> Result<Self, OsRefusal> {
        let parent = Parent::of(environment)?;
        Ok(Self { dir: PrivateDir::below(&parent.path, parent.ours_to_make)? })
    }

    /// Where the directory is or would be; makes nothing.
    pub fn locate(environment: &Environment) -> Result<PathBuf, OsRefusal> {
        Ok(Parent::of(environment)?.path.join(DIR_NAME))
    }

    /// The directory's path, for people. Files are reached through the descriptor.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The path of a file in it, for people.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.dir.path_of(name)
    }

    /// A file's path through our own descriptor: as short as a socket address must be, and bound to the checked directory.
    #[cfg(target_os = "linux")]
    pub fn address_of(&self, name: &str) -> PathBuf {
        use std::os::fd::{AsFd, AsRawFd};
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.dir.as_fd().as_raw_fd()))
    }

    /// Without `/proc` the address is the plain path, so a directory swapped by the same user is followed.
    #[cfg(all(unix, not(target_os = "linux")))]
    pub fn address_of(&self, name: &str) -> PathBuf {
        self.path_of(name)
    }

    /// Refuses once it is open to others, or is no longer what its path names.
    pub fn check(&self) -> Result<(), OsRefusal> {
        self.dir.check()
    }

    pub(super) fn private(&self) -> &PrivateDir {
        &self.dir
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for RuntimeDir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// The directory above ours. A runtime directory that the environment names must exist; a home's folders may not yet.
struct Parent {
    path: PathBuf,
    ours_to_make: bool,
}

impl Parent {
    #[cfg(unix)]
    fn of(environment: &Environment) -> Result<Self, OsRefusal> {
        match &environment.xdg_runtime_dir {
            Some(dir) => Ok(Self { path: absolute("XDG_RUNTIME_DIR", dir)?, ours_to_make: false }),
            None => Self::usual(environment),
        }
    }

    /// Not the folder of records: each has a lock of its own.
    #[cfg(windows)]
    fn of(environment: &Environment) -> Result<Self, OsRefusal> {
        Ok(Self { path: environment.local_dir()?.join("Temp"), ours_to_make: true })
    }

    /// Not the folder of records: each has a lock of its own.
    #[cfg(target_os = "macos")]
    fn usual(environment: &Environment) -> Result<Self, OsRefusal> {
        Ok(Self { path: environment.home()?.join("Library/Caches"), ours_to_make: true })
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    fn usual(environment: &Environment) -> Result<Self, OsRefusal> {
        let run = PathBuf::from(format!("/run/user/{}", our_uid()));
        if super::private_dir::system::is_private(&run) {
            return Ok(Self { path: run, ours_to_make: false });
        }
        Ok(Self { path: environment.cache_dir()?, ours_to_make: true })
    }
}

fn known(variable: &'static str, value: &Option<OsString>) -> Result<PathBuf, OsRefusal> {
    absolute(variable, value.as_ref().ok_or(OsRefusal::NoHome)?)
}

fn absolute(variable: &'static str, value: &OsString) -> Result<PathBuf, OsRefusal> {
    let path = PathBuf::from(value);
    // On Windows a path may also lead to another machine or a device.
    let clean = path.is_absolute()
        && path.components().all(|part| match part {
            Component::Prefix(prefix) => matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_)),
            Component::ParentDir => false,
            Component::RootDir | Component::CurDir | Component::Normal(_) => true,
        });
    if clean { Ok(path) } else { Err(OsRefusal::NotAbsolute { variable, path }) }
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

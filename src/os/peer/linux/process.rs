//! One process that stays the same for as long as we look at it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use super::super::image::Running;
use super::{ends, messages};
use crate::base::limits::ARGUMENTS_BYTES_MAX;
use crate::os::{OsRefusal, peer};

/// What a filesystem of type proc says it is.
const PROC_SUPER_MAGIC: u64 = 0x9fa0;
/// The kernel's mark on the path of a file without a name.
const DELETED: &[u8] = b" (deleted)";
const INIT: u32 = 1;
/// Bytes of a small file of /proc.
const STATUS_BYTES_MAX: usize = 65_536;

/// A pinned process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    folder: OwnedFd,
    pidfd: OwnedFd,
}

impl Process {
    /// This one.
    pub fn own() -> Result<Self, OsRefusal> {
        Self::pin(std::process::id())
    }

    /// The peer of a connected socket, if it runs as our user.
    pub fn peer_of(socket: &impl AsFd) -> Result<Self, OsRefusal> {
        let (sender, pidfd) = messages::peer(socket.as_fd())?;
        if !peer::same_user(sender.uid) {
            return Err(OsRefusal::PeerNotUs { uid: sender.uid });
        }
        match pidfd {
            Some(pidfd) => Self::pinned_by(sender.pid, pidfd),
            // Before Linux 6.5: a process that took the number since the connection was made would not be noticed
            // here. It could say nothing though: messages carry the credentials of their sender.
            None => Self::pin(sender.pid),
        }
    }

    /// The process with a number, whichever it is now.
    pub fn pin(pid: u32) -> Result<Self, OsRefusal> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| unmeasured(pid, "it lies outside of what we can see"))?;
        let pidfd = rustix::process::pidfd_open(number, PidfdFlags::empty());
        Self::pinned_by(pid, pidfd.map_err(|error| unmeasured(pid, &error.to_string()))?)
    }

    fn pinned_by(pid: u32, pidfd: OwnedFd) -> Result<Self, OsRefusal> {
        let folder = proc_folder(pid).map_err(|error| unmeasured(pid, &error.to_string()))?;
        if rustix::fs::fstatfs(&folder).ok().and_then(|fs| u64::try_from(fs.f_type).ok())
            != Some(PROC_SUPER_MAGIC)
        {
            return Err(unmeasured(pid, "/proc is not the kernel's"));
        }
        let process = Self { pid, folder, pidfd };
        // The folder was opened while the process of the pidfd lived, hence is that process's.
        if process.lives() { Ok(process) } else { Err(unmeasured(pid, "it has ended")) }
    }

    /// Who can speak to it over its standard streams; at least one process for each end.
    pub fn other_ends(&self) -> Result<Vec<Self>, OsRefusal> {
        ends::holders(self)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended yet.
    pub fn lives(&self) -> bool {
        let mut pidfd = [PollFd::new(&self.pidfd, PollFlags::IN)];
        rustix::event::poll(&mut pidfd, Some(&Timespec::default())) == Ok(0)
    }

    /// Readable once it has ended.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Whether it lives in our user and process namespaces. In others, a user who is nobody here may be root there:
    /// forge the sender of a message, or put other files over /proc.
    pub fn shares_our_view(&self) -> Result<bool, OsRefusal> {
        let own = Self::own()?;
        for kind in ["ns/user", "ns/pid"] {
            let identity = |process: &Self| match rustix::fs::statat(&process.folder, kind, AtFlags::empty())
            {
                Ok(stat) => Ok(Some((stat.st_dev, stat.st_ino))),
                // A kernel without such namespaces: there is only one.
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(unmeasured(process.pid, &error.to_string())),
            };
            if identity(self)? != identity(&own)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The file it runs.
    pub fn running(&self) -> Result<Running, OsRefusal> {
        let refused = |error: Errno| unmeasured(self.pid, &error.to_string());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, "exe", flags, Mode::empty()).map_err(refused)?;
        let nameless = rustix::fs::fstat(&file).map_err(refused)?.st_nlink == 0;
        Ok(Running { path: self.running_path(nameless)?, file: file.into() })
    }

    /// Path, device and inode of the file it runs, without opening it and without asking the file system behind it.
    pub fn running_identity(&self) -> Result<(PathBuf, u64, u64), OsRefusal> {
        let refused = |error: Errno| unmeasured(self.pid, &error.to_string());
        let stat = rustix::fs::statx(
            &self.folder,
            "exe",
            AtFlags::STATX_DONT_SYNC,
            StatxFlags::INO | StatxFlags::NLINK,
        )
        .map_err(refused)?;
        let device = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
        Ok((self.running_path(stat.stx_nlink == 0)?, device, stat.stx_ino))
    }

    fn running_path(&self, nameless: bool) -> Result<PathBuf, OsRefusal> {
        let path = self.link("exe")?;
        let path = path.as_os_str().as_bytes();
        let path = path.strip_suffix(DELETED).filter(|_| nameless).unwrap_or(path);
        Ok(PathBuf::from(OsStr::from_bytes(path)))
    }

    /// Who signed the file it runs; nobody, because the kernel checks no signature of programs.
    pub fn signer(&self, _running: &Running) -> Option<String> {
        None
    }

    /// Its parent; never the init process, which adopts whoever was left alone.
    pub fn parent(&self) -> Result<Self, OsRefusal> {
        let orphan = || unmeasured(self.pid, "whoever started it is gone");
        let parent = self.parent_pid()?;
        if parent <= INIT {
            return Err(orphan());
        }
        let process = Self::pin(parent)?;
        if self.parent_pid()? == parent { Ok(process) } else { Err(orphan()) }
    }

    /// The number of its parent now; 0 outside our view.
    pub fn parent_pid(&self) -> Result<u32, OsRefusal> {
        Ok(self.stat_field(1)?.unsigned_abs())
    }

    /// The session it belongs to.
    pub fn session(&self) -> Result<i32, OsRefusal> {
        self.stat_field(3)
    }

    /// Whether all its user ids are provably ours.
    pub fn is_ours(&self) -> Result<bool, OsRefusal> {
        let status = self.read("status", STATUS_BYTES_MAX)?;
        let status = String::from_utf8_lossy(&status);
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let ids: Vec<Option<u32>> =
            ids.map(|ids| ids.split_whitespace().map(|id| id.parse().ok()).collect()).unwrap_or_default();
        Ok(ids.len() == 4 && ids.into_iter().all(|id| id.is_some_and(peer::same_user)))
    }

    /// Its arguments as it shows them; a process may rewrite them.
    pub fn arguments(&self) -> Result<Vec<Vec<u8>>, OsRefusal> {
        let text = self.read("cmdline", ARGUMENTS_BYTES_MAX)?;
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        Ok(text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
    }

    /// Opens a file by a name as the process would: relative to its working directory, below its root.
    pub fn open_as_it_would(&self, name: &Path) -> Result<Running, OsRefusal> {
        let refused = |error: Errno| unmeasured(self.pid, &error.to_string());
        let path = self.link("cwd")?.join(name);
        let below: PathBuf = path.components().skip(1).collect();
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(&self.folder, "root", folder, Mode::empty()).map_err(refused)?;
        // NONBLOCK, or a FIFO would hold us here.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let file = rustix::fs::openat2(&root, &below, flags, Mode::empty(), resolve).map_err(refused)?;
        let path = rustix::fs::readlinkat(CWD, format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new());
        let path = PathBuf::from(OsStr::from_bytes(path.map_err(refused)?.as_bytes()));
        Ok(Running { path, file: file.into() })
    }

    /// Its folder in /proc.
    pub fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Where one of the links in its folder leads, in the kernel's words.
    pub fn link(&self, name: &str) -> Result<PathBuf, OsRefusal> {
        let target = rustix::fs::readlinkat(&self.folder, name, Vec::new());
        let target = target.map_err(|error| unmeasured(self.pid, &error.to_string()))?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    /// A field of `stat` after the name, which may itself hold blanks and brackets. 0 is the state.
    fn stat_field(&self, index: usize) -> Result<i32, OsRefusal> {
        let stat = self.read("stat", STATUS_BYTES_MAX)?;
        let stat = String::from_utf8_lossy(&stat);
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
        let field = fields.and_then(|fields| fields.split_whitespace().nth(index)?.parse().ok());
        field.ok_or_else(|| unmeasured(self.pid, "/proc says nothing of it"))
    }

    fn read(&self, name: &str, max: usize) -> Result<Vec<u8>, OsRefusal> {
        let refused = |error: std::io::Error| unmeasured(self.pid, &error.to_string());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, name, flags, Mode::empty());
        let file = File::from(file.map_err(|error| refused(error.into()))?);
        let mut bytes = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX);
        file.take(limit).read_to_end(&mut bytes).map_err(refused)?;
        Ok(bytes)
    }
}

/// Opens the folder of a process in /proc.
pub fn proc_folder(pid: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/{pid}"), flags, Mode::empty())
}

/// Why a process could not be measured.
pub fn unmeasured(pid: u32, why: &str) -> OsRefusal {
    OsRefusal::Unmeasured { what: format!("process {pid}"), why: why.into() }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn sleeper() -> std::process::Child {
        Command::new("/bin/sleep").arg("600").current_dir("/tmp").stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_that_ended_is_never_another_one() {
        let mut child = sleeper();
        let process = Process::pin(child.id()).unwrap();
        assert!(process.lives() && process.is_ours().unwrap() && process.shares_our_view().unwrap());
        assert_eq!(process.parent().unwrap().pid(), std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.lives());
        assert!(process.running().is_err() && process.parent().is_err() && process.arguments().is_err());
        assert!(Process::pin(child.id()).is_err());
    }

    #[test]
    fn what_a_process_runs_and_where_is_read_from_the_kernel() {
        let mut child = sleeper();
        let process = Process::pin(child.id()).unwrap();
        // Between fork and exec it still runs this test, and its arguments are there a moment after its image.
        while process.arguments().unwrap() != [b"/bin/sleep".to_vec(), b"600".to_vec()] {
            std::thread::yield_now();
        }
        let running = process.running().unwrap();
        assert_eq!(running.path, std::fs::canonicalize("/bin/sleep").unwrap());
        let (path, device, inode) = process.running_identity().unwrap();
        use std::os::unix::fs::MetadataExt;
        let file = running.file.metadata().unwrap();
        assert_eq!((path, device, inode), (running.path, file.dev(), file.ino()));
        let temp = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let name = temp.path().file_name().unwrap();
        assert_eq!(process.open_as_it_would(name.as_ref()).unwrap().path, temp.path());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn t045_the_init_process_is_no_parent() {
        let init = Process::pin(INIT).unwrap();
        assert!(init.parent().is_err());
    }

    #[test]
    fn a_number_that_is_no_process_is_refused() {
        assert!(Process::pin(0).is_err());
        assert!(Process::pin(u32::MAX).is_err());
    }
}

//! One process that stays the same for as long as we look at it.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use security_framework::os::macos::code_signing::{Flags, GuestAttributes, SecCode, SecRequirement};

use super::super::image::Running;
use super::kernel::{self, Token};
use super::{ends, same_user};
use crate::os::OsRefusal;
use crate::os::files::Seen;

/// The init process, which adopts whoever was left alone.
const INIT: u32 = 1;
/// Places in a token.
const TOKEN_USER: usize = 1;
const TOKEN_PID: usize = 5;

/// A process, pinned by the moment it started.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    began: (u64, u64),
    token: Option<Token>,
}

impl Process {
    /// This one.
    pub fn own() -> Result<Self, OsRefusal> {
        Self::pin(std::process::id())
    }

    /// The peer of a connected socket, if it runs as our user.
    pub fn peer_of(socket: &impl AsFd) -> Result<Self, OsRefusal> {
        let token = kernel::peer(socket.as_fd()).map_err(|error| OsRefusal::Unmeasured {
            what: "the other end of the socket".into(),
            why: error.to_string(),
        })?;
        let word = |place: usize| token.get(place).copied().unwrap_or_default();
        if !same_user(word(TOKEN_USER)) {
            return Err(OsRefusal::PeerNotUs { uid: word(TOKEN_USER) });
        }
        Ok(Self { token: Some(token), ..Self::pin(word(TOKEN_PID))? })
    }

    /// The process with a number, whichever it is now.
    pub fn pin(pid: u32) -> Result<Self, OsRefusal> {
        let began = began(pid).map_err(|error| unmeasured(pid, &error.to_string()))?;
        Ok(Self { pid, began, token: None })
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
        began(self.pid).is_ok_and(|began| began == self.began)
    }

    /// There are no namespaces in which a user or process could be another.
    pub fn shares_our_view(&self) -> Result<bool, OsRefusal> {
        Ok(true)
    }

    /// The file it runs, by the path that the kernel names.
    pub fn running(&self) -> Result<Running, OsRefusal> {
        let path = self.running_path()?;
        // NONBLOCK, or a FIFO that took its place would hold us here.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(&path);
        Ok(Running { file: file.map_err(|error| unmeasured(self.pid, &error.to_string()))?, path })
    }

    /// Path, device and inode of the file it runs.
    pub fn running_identity(&self) -> Result<(PathBuf, u64, u64), OsRefusal> {
        let path = self.running_path()?;
        let seen = Seen::at(&path).map_err(|error| unmeasured(self.pid, &error.to_string()))?;
        Ok((path, seen.file.0, seen.file.1))
    }

    fn running_path(&self) -> Result<PathBuf, OsRefusal> {
        kernel::path(self.pid, self.token.as_ref()).map_err(|error| unmeasured(self.pid, &error.to_string()))
    }

    /// The team that signed what it runs, if its signature holds, now and on the disk, and its chain ends at Apple.
    pub fn signer(&self, _running: &Running) -> Option<String> {
        let team = kernel::claimed_team(self.pid)?;
        let wanted = format!("anchor apple generic and certificate leaf[subject.OU] = \"{team}\"");
        let wanted: SecRequirement = wanted.parse().ok()?;
        let mut attributes = GuestAttributes::new();
        attributes.set_pid(i32::try_from(self.pid).ok()?);
        let code = SecCode::copy_guest_with_attribues(None, &attributes, Flags::NONE).ok()?;
        code.check_validity(Flags::NO_NETWORK_ACCESS, &wanted).ok()?;
        self.lives().then_some(team)
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

    fn parent_pid(&self) -> Result<u32, OsRefusal> {
        let facts = kernel::facts(self.pid).map_err(|error| unmeasured(self.pid, &error.to_string()))?;
        Ok(facts.pbi_ppid)
    }

    /// Whether all its user ids are ours.
    pub fn is_ours(&self) -> Result<bool, OsRefusal> {
        let facts = kernel::facts(self.pid).map_err(|error| unmeasured(self.pid, &error.to_string()))?;
        Ok([facts.pbi_uid, facts.pbi_ruid, facts.pbi_svuid].into_iter().all(same_user))
    }

    /// Its arguments as it shows them; a process may rewrite them.
    pub fn arguments(&self) -> Result<Vec<Vec<u8>>, OsRefusal> {
        kernel::arguments(self.pid).map_err(|error| unmeasured(self.pid, &error.to_string()))
    }

    /// Opens a file by a name as the process would: relative to its working directory.
    pub fn open_as_it_would(&self, name: &Path) -> Result<Running, OsRefusal> {
        let open = || {
            let path = std::fs::canonicalize(kernel::directory(self.pid)?.join(name))?;
            let options = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
            let file = File::options().read(true).custom_flags(options).open(&path)?;
            Ok(Running { path, file })
        };
        open().map_err(|error: std::io::Error| unmeasured(self.pid, &error.to_string()))
    }
}

fn began(pid: u32) -> std::io::Result<(u64, u64)> {
    kernel::facts(pid).map(|facts| (facts.pbi_start_tvsec, facts.pbi_start_tvusec))
}

/// Why a process could not be measured.
pub fn unmeasured(pid: u32, why: &str) -> OsRefusal {
    OsRefusal::Unmeasured { what: format!("process {pid}"), why: why.into() }
}

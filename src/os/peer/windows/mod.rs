//! Windows: processes by an open handle, clients by the pipes they made. Never run.
//!
//! Decides how a process is pinned: its number is nobody else's while the handle is open. The file it runs is opened by
//! the path that the kernel names. Our client is whoever made the pipes of our standard streams, because a process may
//! say there that another was its parent. Does not see who holds a pipe besides its maker, nor who sent a message.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::End;
use super::image::Running;
use crate::os::OsRefusal;
use crate::os::files::Seen;
use crate::os::windows::{files, processes, security, signatures};

/// A pinned process.
#[derive(Debug)]
pub struct Process(processes::Process);

impl Process {
    /// This one.
    pub fn own() -> Result<Self, OsRefusal> {
        Self::pin(std::process::id())
    }

    /// The process at the other end of a connected pipe, if it runs as our user.
    pub fn peer_of(pipe: &impl End) -> Result<Self, OsRefusal> {
        let pid = processes::peer_of(pipe.as_handle()).map_err(|error| OsRefusal::Unmeasured {
            what: "the other end of the pipe".into(),
            why: error.to_string(),
        })?;
        let process = Self::pin(pid)?;
        if process.is_ours()? { Ok(process) } else { Err(OsRefusal::PeerNotUs { uid: process.user()? }) }
    }

    /// Whoever made the pipe that is our input.
    pub fn maker_of_input() -> Result<Self, OsRefusal> {
        Self::maker_of(&std::io::stdin())
    }

    /// The process with a number, whichever it is now.
    pub fn pin(pid: u32) -> Result<Self, OsRefusal> {
        processes::Process::open(pid).map(Self).map_err(|error| unmeasured(pid, &error))
    }

    fn maker_of(pipe: &impl End) -> Result<Self, OsRefusal> {
        let pid = processes::maker_of(pipe.as_handle()).map_err(|error| OsRefusal::NoClient {
            why: format!("its standard streams are no pipes that a client made: {error}"),
        })?;
        Self::pin(pid)
    }

    /// Who can speak to it over its standard streams. The system says it of this process only.
    pub fn other_ends(&self) -> Result<Vec<Self>, OsRefusal> {
        if self.pid() != std::process::id() {
            let why =
                "another genkan process stands before it, and Windows does not say who speaks to that one";
            return Err(OsRefusal::NoClient { why: why.into() });
        }
        let (input, output) = (Self::maker_of_input()?, Self::maker_of(&std::io::stdout())?);
        Ok(if input.pid() == output.pid() { vec![input] } else { vec![input, output] })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Whether it has not ended yet.
    pub fn lives(&self) -> bool {
        self.0.lives()
    }

    /// There are no namespaces in which a user or process could be another.
    pub fn shares_our_view(&self) -> Result<bool, OsRefusal> {
        Ok(true)
    }

    /// The file it runs, by the path that the kernel names.
    pub fn running(&self) -> Result<Running, OsRefusal> {
        let path = self.running_path()?;
        let file = files::open(&path, File::options().read(true), files::SHARED)
            .map_err(|error| unmeasured(self.pid(), &error))?;
        Ok(Running { path, file })
    }

    /// Path, volume and index of the file it runs.
    pub fn running_identity(&self) -> Result<(PathBuf, u64, u64), OsRefusal> {
        let path = self.running_path()?;
        let seen = Seen::at(&path).map_err(|error| unmeasured(self.pid(), &error))?;
        Ok((path, seen.file.0, seen.file.1))
    }

    /// The path of the file it runs.
    pub fn running_path(&self) -> Result<PathBuf, OsRefusal> {
        self.0.image().map_err(|error| unmeasured(self.pid(), &error))
    }

    /// Who signed the file it runs, if the signature inside it holds.
    pub fn signer(&self, running: &Running) -> Option<String> {
        signatures::signer(&running.path, &running.file)
    }

    /// Whether it runs as our user.
    pub fn is_ours(&self) -> Result<bool, OsRefusal> {
        let us = security::our_sid().map_err(|error| unmeasured(std::process::id(), &error))?;
        Ok(self.user()? == us)
    }

    fn user(&self) -> Result<String, OsRefusal> {
        self.0.user().map_err(|error| unmeasured(self.pid(), &error))
    }

    /// Its arguments as it shows them; a process may rewrite them.
    pub fn arguments(&self) -> Result<Vec<Vec<u8>>, OsRefusal> {
        let arguments = self.0.arguments().map_err(|error| unmeasured(self.pid(), &error))?;
        Ok(arguments.into_iter().map(std::ffi::OsString::into_encoded_bytes).collect())
    }

    /// Opens a file by a whole path. The system does not say in which folder the process works.
    pub fn open_as_it_would(&self, name: &Path) -> Result<Running, OsRefusal> {
        let open = || {
            if !name.is_absolute() {
                return Err(std::io::Error::other(
                    "its script is named relative to a folder that is not known",
                ));
            }
            let path = std::fs::canonicalize(name)?;
            let file = files::open(&path, File::options().read(true), files::SHARED)?;
            Ok(Running { path, file })
        };
        open().map_err(|error| unmeasured(self.pid(), &error))
    }
}

fn unmeasured(pid: u32, why: &std::io::Error) -> OsRefusal {
    OsRefusal::Unmeasured { what: format!("process {pid}"), why: why.to_string() }
}

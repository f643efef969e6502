//! The other end of a bridge connection: this very program, run by this very user, and nobody else's words after it.
//!
//! Decides who may be spoken to. Refused before a byte is read or written: another user, a process whose running file is
//! not the inode that we run (a copy, an image in memory, an older or newer version), a process in another user or
//! process namespace, whose credentials and /proc its owner could forge, and everything that cannot be measured. Later
//! every message must carry the credentials of the process that was measured. It does not know what a debugger made
//! the genuine program do, nor who else reads what we write.

use super::End;
use super::image::{self, Own};
use super::system::Process;
#[cfg(target_os = "linux")]
use super::system::Sender;
use crate::os::OsRefusal;

/// A peer that was measured.
#[derive(Debug)]
pub struct Attested {
    process: Process,
}

impl Attested {
    /// Its process id; no other process can have it while the peer lives.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Becomes readable when the process ends.
    #[cfg(target_os = "linux")]
    pub fn end(&self) -> std::os::fd::BorrowedFd<'_> {
        self.process.end()
    }

    /// Whether it has not ended yet.
    #[cfg(not(target_os = "linux"))]
    pub fn lives(&self) -> bool {
        self.process.lives()
    }

    /// Refuses a message that another process sent, or that nobody is named for.
    #[cfg(target_os = "linux")]
    pub fn sent(&self, sender: Option<&Sender>) -> Result<(), OsRefusal> {
        let is_peer = |sender: &&Sender| sender.pid == self.pid() && super::same_user(sender.uid);
        match sender.filter(is_peer) {
            Some(_) => Ok(()),
            None => {
                Err(OsRefusal::ForeignSender { sender: sender.map_or(0, |one| one.pid), peer: self.pid() })
            }
        }
    }
}

/// Measures the peer of a connected socket or pipe. For a dialler that is the process that began to listen.
pub fn attest(end: &impl End) -> Result<Attested, OsRefusal> {
    let own = image::own()?;
    let process = Process::peer_of(end)?;
    if !process.shares_our_view()? {
        return Err(OsRefusal::PeerElsewhere { pid: process.pid() });
    }
    // Looked at before it is opened: opening a file on somebody's own file system may never return.
    let (path, device, inode) = process.running_identity()?;
    if !own.has_identity(device, inode) {
        return Err(foreign(own, process.pid(), path));
    }
    let running = process.running()?;
    if !own.is(&running)? {
        return Err(foreign(own, process.pid(), running.path));
    }
    if !process.lives() {
        return Err(OsRefusal::Unmeasured {
            what: format!("process {}", process.pid()),
            why: "it ended meanwhile".into(),
        });
    }
    Ok(Attested { process })
}

fn foreign(own: &Own, pid: u32, theirs: std::path::PathBuf) -> OsRefusal {
    if theirs == own.path() {
        OsRefusal::PeerOtherVersion { pid, path: theirs }
    } else {
        OsRefusal::PeerForeign { pid, theirs, ours: own.path().into() }
    }
}

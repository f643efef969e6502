//! Why the machine's state is not trusted: one sentence each, with the path and the remedy.

use std::path::{Path, PathBuf};

use super::user::User;
use crate::base::refusal::{Code, Refusal};

/// A file, directory or peer that we refuse to use, or a system call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OsRefusal {
    /// Neither a runtime directory nor a home directory is known.
    NoHome,
    /// An environment variable must hold an absolute path without `..`.
    NotAbsolute {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        path: PathBuf,
    },
    /// A symlink, file or something else stands where a directory of ours must be.
    NotADirectory {
        /// Where.
        path: PathBuf,
    },
    /// Something other than a plain file with one name stands where a file of ours must be.
    NotAPlainFile {
        /// Where.
        path: PathBuf,
    },
    /// Something other than a socket stands where ours must be.
    NotASocket {
        /// Where.
        path: PathBuf,
    },
    /// Another user owns it.
    Foreign {
        /// What.
        path: PathBuf,
        /// The owner.
        owner: User,
    },
    /// Others may read or write it.
    TooOpen {
        /// What.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// What they must be.
        wanted: u32,
    },
    /// Somebody else may reach it, as its access list says.
    Reachable {
        /// What.
        path: PathBuf,
        /// Who.
        who: String,
    },
    /// Others may replace what lies in it.
    ParentUnsafe {
        /// The directory above ours.
        path: PathBuf,
    },
    /// The file is larger than its bound.
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// The file does not hold what we write there.
    Corrupt {
        /// Which.
        path: PathBuf,
    },
    /// A directory of ours is no longer at its path, or another one is.
    Moved {
        /// The path.
        path: PathBuf,
    },
    /// Another process works in the directory and does not let go.
    Locked {
        /// Which directory.
        path: PathBuf,
        /// The process, if the kernel says.
        holder: Option<u32>,
    },
    /// Two directories that must be different are one.
    Shared {
        /// Which.
        path: PathBuf,
    },
    /// The other end of a socket is not provably the same user.
    PeerNotUs {
        /// Its user id as the kernel reports it.
        uid: User,
    },
    /// The other end of the bridge is another program, or a copy of this one.
    PeerForeign {
        /// Its process.
        pid: u32,
        /// What it runs.
        theirs: PathBuf,
        /// What we run.
        ours: PathBuf,
    },
    /// The other end runs what lay at our path before or lies there since.
    PeerOtherVersion {
        /// Its process.
        pid: u32,
        /// The path of both.
        path: PathBuf,
    },
    /// The other end lives in namespaces where its owner may be somebody else than here.
    PeerElsewhere {
        /// Its process.
        pid: u32,
    },
    /// A message on the bridge did not come from the process at its other end.
    ForeignSender {
        /// Who sent it; 0 if the kernel does not say.
        sender: u32,
        /// Who should have.
        peer: u32,
    },
    /// A message on the bridge brought descriptors along.
    DescriptorsPassed {
        /// Who sent it.
        peer: u32,
    },
    /// Nobody can be named who speaks to us over our standard streams.
    NoClient {
        /// Why, about "it", this process.
        why: String,
    },
    /// Something about a process that must be known could not be measured.
    Unmeasured {
        /// What.
        what: String,
        /// Why not.
        why: String,
    },
    /// A system call failed.
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The system's words.
        error: String,
        /// Their kind, for those who retry.
        kind: std::io::ErrorKind,
    },
}

impl OsRefusal {
    /// A failed system call.
    pub fn io(doing: &'static str, path: &Path, error: impl Into<std::io::Error>) -> Self {
        let error = error.into();
        Self::Io { doing, path: path.into(), kind: error.kind(), error: error.to_string() }
    }
}

impl core::fmt::Display for OsRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoHome if cfg!(windows) => {
                write!(f, "LOCALAPPDATA or APPDATA is not set; Windows sets both when you log in")
            }
            Self::NoHome => {
                write!(f, "HOME is not set; set it to your home directory")
            }
            Self::NotAbsolute { variable, path } => {
                write!(f, "{variable} is {path:?}; set it to an absolute path without `..`, or unset it")
            }
            Self::NotADirectory { path } => {
                write!(f, "{path:?} is not a real directory (a symlink does not count); move it away")
            }
            Self::NotAPlainFile { path } => {
                write!(f, "{path:?} is not a plain file with a single name; move it away")
            }
            Self::NotASocket { path } => {
                write!(f, "{path:?} is not a socket, and genkan's must lie there; move it away")
            }
            Self::Foreign { path, owner } => {
                write!(f, "{path:?} belongs to user {owner}, not to you; move it away or fix its owner")
            }
            Self::TooOpen { path, mode, wanted } => {
                write!(
                    f,
                    "{path:?} has mode {mode:04o}{}; run chmod {wanted:04o} on it",
                    if mode & 0o077 == 0 { ", and must have another" } else { ", so others may reach it" }
                )
            }
            Self::Reachable { path, who } => {
                write!(f, "{path:?} can be reached by {who}; take away that access, or move it away")
            }
            Self::ParentUnsafe { path } => {
                write!(f, "others may replace what lies in {path:?}; use a directory only you can write")
            }
            Self::TooLarge { path } => {
                write!(f, "{path:?} is larger than genkan ever writes it; move it away")
            }
            Self::Corrupt { path } => write!(f, "{path:?} does not hold what genkan writes; move it away"),
            Self::Moved { path } => write!(
                f,
                "{path:?} was moved, removed or replaced while this process used it; put it back, or start every program \
                 that uses genkan anew"
            ),
            Self::Locked { path, holder } => {
                let who = holder.map_or("another process".into(), |pid| format!("process {pid}"));
                write!(f, "{who} holds the lock of {path:?} and does not let go; end it and try again")
            }
            Self::Shared { path } => {
                write!(
                    f,
                    "{path:?} would hold two things that must lie apart; set XDG_RUNTIME_DIR (lock), XDG_STATE_HOME (records) \
                     and XDG_DATA_HOME (their mark) to different directories"
                )
            }
            Self::PeerNotUs { uid } => {
                write!(f, "the other end of the socket runs as user {uid}, which is not provably you")
            }
            Self::PeerForeign { pid, theirs, ours } => write!(
                f,
                "process {pid} at the other end of the socket runs {theirs:?}, not the same file as this program, \
                 {ours:?}; only one genkan program file may be in use"
            ),
            Self::PeerOtherVersion { pid, path } => write!(
                f,
                "{path:?} was replaced while it ran, and process {pid} runs the other version; restart your MCP \
                 clients and the browser"
            ),
            Self::PeerElsewhere { pid } => write!(
                f,
                "process {pid} at the other end of the socket lives in another container than this one; run both \
                 in the same"
            ),
            Self::ForeignSender { sender, peer } => write!(
                f,
                "process {sender} wrote to a connection of process {peer}, so it was cut: a connection may not be \
                 handed on"
            ),
            Self::DescriptorsPassed { peer } => {
                write!(f, "process {peer} passed open files over the socket, which genkan never does")
            }
            Self::NoClient { why } => {
                write!(f, "cannot tell which program speaks to genkan: {why}; start it from your MCP client")
            }
            Self::Unmeasured { what, why } => write!(
                f,
                "could not measure {what}: {why}; genkan trusts nothing that it cannot measure, and needs /proc for it"
            ),
            Self::Io { doing, path, kind, error } => {
                let remedy = if *kind == std::io::ErrorKind::IsADirectory { "; move it away" } else { "" };
                write!(f, "could not {doing} {path:?}: {error}{remedy}")
            }
        }
    }
}

impl core::error::Error for OsRefusal {}

impl From<OsRefusal> for Refusal {
    fn from(refusal: OsRefusal) -> Self {
        Refusal::new(Code::NotConnected, format!("genkan cannot open its door: {refusal}."))
    }
}

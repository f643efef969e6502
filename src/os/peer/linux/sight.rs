//! How well this process can see, and be seen, for the doctor.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::DumpableBehavior;

use super::{diag, messages};

/// What attestation has to work with on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Whether programs of this user may look at this process, which attestation needs of both ends.
    pub dumpable: bool,
    /// Who may debug a process of this user (`kernel.yama.ptrace_scope`); `None` where the kernel does not limit it.
    pub ptrace_scope: Option<u8>,
    /// Whether the kernel gives a descriptor of a socket's peer (Linux 6.5).
    pub peer_descriptor: bool,
    /// Whether the kernel says which socket is the other end of one.
    pub socket_diagnosis: bool,
    /// Whether a program in the person's terminal session can type there (`dev.tty.legacy_tiocsti`).
    pub terminal_injection: bool,
}

/// Looks at what the kernel offers here.
pub fn sight() -> Sight {
    let pair = UnixStream::pair().ok();
    let peer = pair.as_ref().and_then(|(near, _)| messages::peer(near.as_fd()).ok());
    let inode = pair.as_ref().and_then(|(near, _)| rustix::fs::fstat(near).ok());
    let inode = inode.and_then(|stat| u32::try_from(stat.st_ino).ok());
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    // Kernels before 6.2 have no such switch, and allow it.
    let injection = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    Sight {
        dumpable: rustix::process::dumpable_behavior() == Ok(DumpableBehavior::Dumpable),
        ptrace_scope: scope.and_then(|scope| scope.trim().parse().ok()),
        peer_descriptor: peer.is_some_and(|(_, pidfd)| pidfd.is_some()),
        socket_diagnosis: inode.is_some_and(|inode| diag::peer_of(inode).is_ok_and(|peer| peer.is_some())),
        terminal_injection: injection.map_or(true, |switch| switch.trim() != "0"),
    }
}

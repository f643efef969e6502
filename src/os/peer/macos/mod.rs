//! macOS: what the kernel says about a process by its number, its start and, on a socket, its audit token. Never run.
//!
//! Decides how a process is pinned: a number together with the moment it started, and for the peer of a socket the
//! kernel's token, which no later process shares. The file it runs is opened by the path that the kernel names. Does not
//! see who sent a message: the kernel names nobody there, so a peer that hands its end on is not noticed.

#![allow(unsafe_code, reason = "the system describes processes in structures only")]

mod ends;
mod kernel;
mod process;

pub use kernel::image_of;
pub use process::Process;

use crate::os::user::our_uid;

/// Whether a peer's user id, as the kernel gave it, is ours.
pub fn same_user(uid: u32) -> bool {
    uid == our_uid()
}

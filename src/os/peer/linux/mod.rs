//! Linux: what the kernel says about a process, through a descriptor of its /proc folder.
//!
//! Decides how a process is pinned: an open `/proc/PID` never becomes another process's, and a pidfd tells when it has
//! ended. Refuses a /proc that is no procfs, or that does not show the process. Does not see what a process hides by
//! making itself undumpable, in a thread with descriptors of its own, or on their way through another socket.

#![allow(unsafe_code, reason = "credentials of a socket and of its messages have no safe interface")]

mod diag;
mod ends;
mod messages;
mod process;
mod sight;
mod users;

pub use ends::remember_output;
pub use messages::{Sender, receive};
pub use process::Process;
pub use sight::{Sight, sight};
pub use users::{image_of, same_user};

//! Who we are, in the system's own word: a number on Unix, a security identifier on Windows.

/// A user as the system names one.
#[cfg(unix)]
pub type User = u32;
/// A user as the system names one.
#[cfg(windows)]
pub type User = String;

/// Our effective user id.
#[cfg(unix)]
pub fn our_uid() -> User {
    rustix::process::geteuid().as_raw()
}

//! Who we are, in the system's own word: a number on Unix, a security identifier on Windows.

/// A user as the system names one.
#[cfg(unix)]
pub type User = u32;
/// A user as the system names one.
#[cfg(windows)]
pub type User = String;

/// Our effective user id, which we never change.
#[cfg(unix)]
pub fn our_uid() -> User {
    static UID: std::sync::OnceLock<User> = std::sync::OnceLock::new();
    *UID.get_or_init(|| rustix::process::geteuid().as_raw())
}

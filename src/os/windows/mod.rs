//! What Windows says about users, files, pipes and processes, behind safe functions. Decides nothing: it reports.
//!
//! Every `unsafe` block of the Windows build lies in this folder. None of this was ever run; it is type-checked.

pub mod files;
pub mod processes;
pub mod security;
pub mod signatures;

use std::ffi::{OsStr, c_void};
use std::io;

use widestring::U16CString;
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::core::BOOL;

/// Text as the system wants it. One with a NUL inside would be read as another.
pub fn wide(text: impl AsRef<OsStr>) -> io::Result<U16CString> {
    U16CString::from_os_str(text).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// What a function that answers yes or no left behind.
fn done(answer: BOOL) -> io::Result<()> {
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Memory that the system gave us to free.
struct Local(*mut c_void);

impl Drop for Local {
    #[allow(unsafe_code, reason = "the system's own allocator")]
    fn drop(&mut self) {
        // SAFETY: made only from what a function of the system told us to free this way, and freed once, here.
        unsafe { LocalFree(self.0) };
    }
}

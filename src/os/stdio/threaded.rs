//! Standard streams on Windows: the runtime waits for none of them as it is, so each keeps a thread.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use windows_sys::Win32::System::Console::{STD_OUTPUT_HANDLE, SetStdHandle};

/// There is none.
#[derive(Debug)]
pub struct Direct(Infallible);

impl Direct {
    /// For reading: never.
    pub fn reading(_stream: impl AsHandle) -> Option<Self> {
        None
    }

    /// For writing: never.
    pub fn writing(_stream: impl AsHandle) -> Option<Self> {
        None
    }
}

/// Standard output for us alone; what anything else writes there goes to standard error from here on.
#[allow(unsafe_code, reason = "a system call")]
pub fn take_stdout() -> io::Result<File> {
    let stdout = io::stdout().as_handle().try_clone_to_owned()?;
    // SAFETY: the handle of standard error stays open for as long as the process lives.
    if unsafe { SetStdHandle(STD_OUTPUT_HANDLE, io::stderr().as_raw_handle()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stdout.into())
}

impl AsyncRead for Direct {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}

impl AsyncWrite for Direct {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}

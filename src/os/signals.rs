//! What the person or the system says to end this process in good order.
//!
//! Decides which signals count: the polite ones. One that would end us in the middle of a write is not among them. It
//! does not know what an end takes.

use std::io;

/// Makes a write beyond the process's file-size limit an error like any other, where it would end the process.
#[cfg(unix)]
#[allow(unsafe_code, reason = "the signal's disposition has no safe wrapper here")]
pub fn outlive_file_limits() {
    // SAFETY: ignoring a signal runs no code of ours, and nothing else in this process asks for this one.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// There is no such limit.
#[cfg(windows)]
pub fn outlive_file_limits() {}

/// Listens from here on: the process no longer ends by these signals alone.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    listeners: [tokio::signal::unix::Signal; 2],
    #[cfg(windows)]
    listeners: [tokio::signal::windows::CtrlC; 1],
}

impl Signals {
    /// SIGTERM and SIGINT.
    #[cfg(unix)]
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { listeners: [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?] })
    }

    /// Ctrl-C.
    #[cfg(windows)]
    pub fn listen() -> io::Result<Self> {
        Ok(Self { listeners: [tokio::signal::windows::ctrl_c()?] })
    }

    /// Resolves at the next of them.
    pub async fn next(&mut self) {
        std::future::poll_fn(|cx| {
            let came = self.listeners.iter_mut().any(|listener| listener.poll_recv(cx).is_ready());
            if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

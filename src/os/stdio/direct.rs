//! A standard stream that the runtime itself waits for, without a thread between.
//!
//! Decides for which streams that is possible without touching whoever shares them: the non-blocking flag belongs to
//! the open description, which a shell or a sibling may hold as well. A pipe is opened once more, which gives a
//! description of our own; a socket takes the wish not to wait with each call. Refuses everything else (files,
//! terminals, pipes that we may not open again): those keep a thread. Does not know what a message is.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, read, write};
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send, sockopt::socket_type};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// A peer that is gone is an error like any other. Where the flag is not known, the runtime ignores that signal anyway.
#[cfg(target_os = "linux")]
const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(not(target_os = "linux"))]
const AT_ONCE: SendFlags = SendFlags::DONTWAIT;

/// One direction of a pipe or of a connected socket.
#[derive(Debug)]
pub struct Direct {
    fd: AsyncFd<OwnedFd>,
    socket: bool,
}

impl Direct {
    /// For reading, where that is possible.
    pub fn reading(stream: impl AsFd) -> Option<Self> {
        Self::of(stream, OFlags::RDONLY, Interest::READABLE).ok()
    }

    /// For writing, where that is possible.
    pub fn writing(stream: impl AsFd) -> Option<Self> {
        Self::of(stream, OFlags::WRONLY, Interest::WRITABLE).ok()
    }

    fn of(stream: impl AsFd, access: OFlags, interest: Interest) -> io::Result<Self> {
        let stream = stream.as_fd();
        let kind = FileType::from_raw_mode(fstat(stream)?.st_mode);
        let socket = kind == FileType::Socket && socket_type(stream)? == SocketType::STREAM;
        let fd = match socket {
            true => stream.try_clone_to_owned()?,
            false if kind == FileType::Fifo => reopened(stream, access)?,
            false => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { fd: watched(fd, interest)?, socket })
    }
}

#[allow(unsafe_code, reason = "no safe way takes a description that may wait")]
fn watched(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is one open descriptor for as long as it lives, and it is neither lent out to be closed nor
    // replaced: the field is private and only read and written here.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// The same pipe under a description of our own. The name is the kernel's own link to it, so no other file can be meant.
fn reopened(pipe: impl AsFd, access: OFlags) -> io::Result<OwnedFd> {
    let link = format!("/proc/self/fd/{}", pipe.as_fd().as_raw_fd());
    Ok(open(link, access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())?)
}

/// Standard output for us alone; what anything else writes there goes to standard error from here on.
pub fn take_stdout() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    crate::os::peer::remember_output();
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(stdout.into())
}

/// A signal is no reason to wait.
fn retried<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    loop {
        match attempt() {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}

impl AsyncRead for Direct {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(cx))?;
            let room = buf.initialize_unfilled();
            let attempt = guard.try_io(|fd| {
                retried(|| match self.socket {
                    true => recv(fd, &mut *room, RecvFlags::DONTWAIT).map(|(_, got)| got),
                    false => read(fd, &mut *room),
                })
            });
            if let Ok(got) = attempt {
                buf.advance(got?);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Direct {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.fd.poll_write_ready(cx))?;
            let attempt = guard.try_io(|fd| {
                retried(|| match self.socket {
                    true => send(fd, bytes, AT_ONCE),
                    false => write(fd, bytes),
                })
            });
            if let Ok(put) = attempt {
                return Poll::Ready(put);
            }
        }
    }

    /// Nothing is kept back here.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Dropping it ends our part of the stream; others may hold theirs.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use rustix::fs::fcntl_getfl;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// More than a pipe or a socket holds.
    const MUCH: usize = 1 << 20;

    /// Carries much through two ends, whose owners find them as they were and hear of the end.
    async fn carries(read_end: impl AsFd, write_end: impl AsFd) {
        let mut reading = Direct::reading(&read_end).unwrap();
        let mut writing = Direct::writing(&write_end).unwrap();
        for end in [read_end.as_fd(), write_end.as_fd()] {
            assert!(!fcntl_getfl(end).unwrap().contains(OFlags::NONBLOCK));
        }
        let sent: Vec<u8> = (0..=250).cycle().take(MUCH).collect();
        let mut got = vec![0; MUCH];
        let (put, taken) = tokio::join!(writing.write_all(&sent), reading.read_exact(&mut got));
        put.unwrap();
        taken.unwrap();
        assert!(got == sent);
        drop((writing, write_end));
        assert_eq!(reading.read(&mut got).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn much_goes_through_a_pipe_and_its_owners_description_still_waits() {
        let (read_end, write_end) = std::io::pipe().unwrap();
        carries(read_end, write_end).await;
    }

    #[tokio::test]
    async fn much_goes_through_a_socket_and_its_owners_description_still_waits() {
        let (read_end, write_end) = UnixStream::pair().unwrap();
        carries(read_end, write_end).await;
    }

    #[tokio::test]
    async fn a_reader_that_left_breaks_the_stream() {
        for (read_end, write_end) in [
            UnixStream::pair().map(|(near, far)| (OwnedFd::from(near), OwnedFd::from(far))).unwrap(),
            std::io::pipe().map(|(near, far)| (OwnedFd::from(near), OwnedFd::from(far))).unwrap(),
        ] {
            let mut writing = Direct::writing(&write_end).unwrap();
            drop(read_end);
            let error = writing.write_all(b"x").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
    }

    #[tokio::test]
    async fn files_and_devices_keep_their_thread() {
        let file = tempfile::tempfile().unwrap();
        let device = std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        let (datagrams, _other) = std::os::unix::net::UnixDatagram::pair().unwrap();
        assert!(Direct::reading(&file).is_none() && Direct::writing(&file).is_none());
        assert!(Direct::reading(&device).is_none() && Direct::writing(&device).is_none());
        assert!(Direct::reading(&datagrams).is_none());
    }
}

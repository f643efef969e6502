//! Reading where the kernel names the sender of every message: whatever is not the measured peer's cuts the connection.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::Shutdown;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;

use super::super::peer::{self, Attested};
use super::super::{OsRefusal, log};
use crate::base::identity::SOCKET_FILE;

/// The reading half: bytes of the measured peer and of nobody else.
#[derive(Debug)]
pub struct ReadHalf {
    inner: OwnedReadHalf,
    peer: Attested,
    /// Readable once the peer has ended.
    end: AsyncFd<OwnedFd>,
    /// Bytes that are still believed once the peer has ended: those that lay here when we noticed. Its number may
    /// belong to another process afterwards.
    left: Option<u64>,
    cut: bool,
}

impl ReadHalf {
    pub(super) fn new(inner: OwnedReadHalf, peer: Attested) -> Result<Self, OsRefusal> {
        let end = watched(peer.end())
            .map_err(|error| OsRefusal::io("watch the peer of", Path::new(SOCKET_FILE), error))?;
        Ok(Self { inner, peer, end, left: None, cut: false })
    }

    pub(super) fn peer_pid(&self) -> u32 {
        self.peer.pid()
    }

    fn notice_end(&mut self, cx: &mut Context<'_>) {
        if self.left.is_none() && self.end.poll_read_ready(cx).is_ready() {
            self.left = Some(rustix::io::ioctl_fionread(self.inner.as_ref()).unwrap_or(0));
        }
    }

    /// Reads once; whatever is not the peer's cuts the connection.
    fn read(&mut self, buf: &mut ReadBuf<'_>) -> io::Result<()> {
        let socket: &UnixStream = self.inner.as_ref();
        let believed = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let part = buf.initialize_unfilled_to(buf.remaining().min(believed));
        let received = socket.try_io(Interest::READABLE, || peer::receive(socket, part))?;
        if received.bytes == 0 {
            return Ok(());
        }
        let allowed = if received.descriptors {
            Err(OsRefusal::DescriptorsPassed { peer: self.peer.pid() })
        } else {
            self.peer.sent(received.sender.as_ref())
        };
        if let Err(refusal) = allowed {
            self.cut = true;
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
            log::warn(format_args!("cut a connection: {refusal}"));
            return Err(io::Error::other(refusal));
        }
        self.left = self.left.map(|left| left.saturating_sub(received.bytes as u64));
        buf.advance(received.bytes);
        Ok(())
    }
}

impl AsyncRead for ReadHalf {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            self.notice_end(cx);
            if self.cut || self.left == Some(0) || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            ready!(self.inner.as_ref().poll_read_ready(cx))?;
            match self.read(buf) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

#[allow(unsafe_code, reason = "the runtime watches numbers, not descriptors")]
fn watched(end: BorrowedFd<'_>) -> io::Result<AsyncFd<OwnedFd>> {
    let end = end.try_clone_to_owned()?;
    // SAFETY: the descriptor is our own copy, goes into the watch, and is neither closed nor replaced before it.
    let end = unsafe { AsyncFd::register_with_interest(end, Interest::READABLE) };
    end.map_err(|error| io::Error::other(error.to_string()))
}

/// Has the kernel name the sender of everything that is read here.
pub(super) fn want_credentials(socket: impl AsFd) -> Result<(), OsRefusal> {
    rustix::net::sockopt::set_socket_passcred(socket, true)
        .map_err(|error| OsRefusal::io("watch the senders of", Path::new(SOCKET_FILE), error))
}

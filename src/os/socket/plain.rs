//! Reading where the kernel names no sender: the peer was measured when the connection was made, and not since.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::OwnedReadHalf;

use super::super::OsRefusal;
use super::super::peer::Attested;

/// The reading half. Nothing is read once the measured peer has ended: its end may have been handed on.
#[derive(Debug)]
pub struct ReadHalf {
    inner: OwnedReadHalf,
    peer: Attested,
}

impl ReadHalf {
    pub(super) fn new(inner: OwnedReadHalf, peer: Attested) -> Result<Self, OsRefusal> {
        Ok(Self { inner, peer })
    }

    pub(super) fn peer_pid(&self) -> u32 {
        self.peer.pid()
    }
}

impl AsyncRead for ReadHalf {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if polled.is_ready() && !self.peer.lives() {
            buf.set_filled(before);
            return Poll::Ready(Ok(()));
        }
        polled
    }
}

/// The system knows no such wish.
pub(super) fn want_credentials(_socket: impl AsFd) -> Result<(), OsRefusal> {
    Ok(())
}

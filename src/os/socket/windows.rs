//! A named pipe that only our user can open, and nobody from another machine.
//!
//! Its name follows from the secret of the run, so that no other user can take it before us, and none is used twice.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::windows::io::AsHandle;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use interprocess::local_socket::tokio::{Listener as Pipes, Stream as Pipe};
use interprocess::local_socket::{ConnectOptions, GenericFilePath, ListenerOptions, Name, ToFsName};
use interprocess::os::windows::local_socket::ListenerOptionsExt;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::OsRefusal;
use super::super::lock::{self, RunLock};
use super::super::peer::{self, Attested};
use super::super::runtime_dir::RuntimeDir;
use super::super::windows::security::{self, Object};
use crate::base::hex::hex;
use crate::base::identity::SOCKET_FILE;
use crate::base::limits::SECRET_BYTES;

/// Keeps the name apart from everything else that is made of the secret.
const NAMED: &[u8] = b"genkan-pipe-v1";

pub type Stream = Pipe;

pub struct Listening(Pipes);

impl Listening {
    pub fn bind(dir: &RuntimeDir, lock: &RunLock) -> Result<Self, OsRefusal> {
        use interprocess::local_socket::traits::tokio::Listener as _;
        let refusal = |error| OsRefusal::io("bind", &dir.path_of(SOCKET_FILE), error);
        let access = security::ours_alone(false).map_err(refusal)?;
        let name = name(&lock.secret()).map_err(refusal)?;
        // Only the first of its name, and never for other machines: what the library does unasked.
        let options = ListenerOptions::new().name(name).security_descriptor(access);
        Ok(Self(Pipes::from_options(options).map_err(refusal)?))
    }

    /// Nobody can take the name of a pipe that is open.
    pub fn is_in_place(&self, _dir: &RuntimeDir) -> bool {
        true
    }

    pub async fn accept(&self) -> io::Result<Stream> {
        use interprocess::local_socket::traits::tokio::Listener as _;
        self.0.accept().await
    }
}

pub async fn connect(dir: &RuntimeDir) -> Result<Stream, OsRefusal> {
    use interprocess::local_socket::traits::tokio::Stream as _;
    let refusal = |error| OsRefusal::io("reach", &dir.path_of(SOCKET_FILE), error);
    let secret = secret(dir)?.ok_or_else(|| refusal(ErrorKind::NotFound.into()))?;
    let options = ConnectOptions::new().name(name(&secret).map_err(refusal)?);
    let pipe = Pipe::from_options(&options).await.map_err(refusal)?;
    let Pipe::NamedPipe(inner) = &pipe;
    // Before a word is said: whose the pipe is, and that nobody else was let in.
    let reach = security::reach(inner.as_handle(), Object::Pipe).map_err(refusal)?;
    if reach.owner != security::our_sid().map_err(refusal)? {
        return Err(OsRefusal::PeerNotUs { uid: reach.owner });
    }
    match reach.stranger {
        Some(who) => Err(OsRefusal::Reachable { path: dir.path_of(SOCKET_FILE), who }),
        None => Ok(pipe),
    }
}

pub fn admit(pipe: Stream) -> Result<(ReadHalf, WriteHalf), OsRefusal> {
    let Pipe::NamedPipe(inner) = &pipe;
    let peer = peer::attest(inner)?;
    let shared = Arc::new(Shared { pipe, ended: AtomicBool::new(false), reader: Mutex::new(None) });
    Ok((ReadHalf { shared: shared.clone(), peer }, WriteHalf { shared }))
}

/// Whether anything answers there, without saying a word to it.
pub fn answers(dir: &RuntimeDir) -> io::Result<()> {
    let secret = secret(dir).map_err(io::Error::other)?.ok_or(ErrorKind::NotFound)?;
    File::options().read(true).write(true).open(path(&secret)).map(drop)
}

/// A pipe has no halves of its own: it ends as a whole once both of ours are gone.
struct Shared {
    pipe: Pipe,
    ended: AtomicBool,
    reader: Mutex<Option<Waker>>,
}

/// The reading half: bytes of the pipe that the measured peer opened, for as long as that lives.
pub struct ReadHalf {
    shared: Arc<Shared>,
    peer: Attested,
}

/// The writing half; dropping it ends the reading half as well, and with that what the peer reads.
pub struct WriteHalf {
    shared: Arc<Shared>,
}

impl core::fmt::Debug for ReadHalf {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ReadHalf").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl core::fmt::Debug for WriteHalf {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WriteHalf").finish_non_exhaustive()
    }
}

impl ReadHalf {
    pub(super) fn peer_pid(&self) -> u32 {
        self.peer.pid()
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        if let Some(reader) = self.shared.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            reader.wake();
        }
    }
}

impl AsyncRead for ReadHalf {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let shared = &*self.shared;
        *shared.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        if shared.ended.load(Ordering::SeqCst) {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        match Pin::new(&mut &shared.pipe).poll_read(cx, buf) {
            Poll::Ready(Ok(())) if !self.peer.lives() => {
                buf.set_filled(before);
                Poll::Ready(Ok(()))
            }
            // A peer that went away is the end of what it said.
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::BrokenPipe => Poll::Ready(Ok(())),
            polled => polled,
        }
    }
}

impl AsyncWrite for WriteHalf {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut &self.shared.pipe).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &self.shared.pipe).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &self.shared.pipe).poll_shutdown(cx)
    }
}

fn secret(dir: &RuntimeDir) -> Result<Option<[u8; SECRET_BYTES]>, OsRefusal> {
    Ok(lock::read(dir)?.map(|record| record.secret))
}

fn path(secret: &[u8; SECRET_BYTES]) -> PathBuf {
    let name = Sha256::new().chain_update(NAMED).chain_update(secret).finalize();
    PathBuf::from(format!(r"\\.\pipe\genkan-{}", hex(&name)))
}

fn name(secret: &[u8; SECRET_BYTES]) -> io::Result<Name<'static>> {
    path(secret).to_fs_name::<GenericFilePath>().map(Name::into_owned)
}

//! The bridge socket: 0600 in the private runtime directory, same user on both ends by the kernel's word.
//!
//! Decides who may exchange a first byte: a peer whose kernel-reported user id is ours. Refuses everybody else before
//! reading anything, and removes a stale socket only in the hands of the lock holder. Does not know the handshake that
//! follows, nor which program the peer is.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use interprocess::local_socket::{ConnectOptions, GenericFilePath, ListenerOptions, Name, ToFsName};
use interprocess::os::unix::local_socket::ListenerOptionsExt;
use interprocess::os::unix::uds_local_socket::tokio as uds;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::lock::RunLock;
use super::runtime_dir::RuntimeDir;
use super::{OsRefusal, log, peer};
use crate::base::identity::SOCKET_FILE;

const PRIVATE: u32 = 0o600;
/// Pause after the kernel could not give us a connection (no descriptors, no memory): such errors repeat at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The broker's end.
pub struct Listener {
    inner: uds::Listener,
}

impl Listener {
    /// Binds the socket. The lock proves that whatever lies there is stale.
    pub fn bind(dir: &RuntimeDir, _lock: &RunLock) -> Result<Self, OsRefusal> {
        use interprocess::local_socket::traits::tokio::Listener as _;
        remove_stale(dir)?;
        let refusal = |error| OsRefusal::io("bind", &dir.path_of(SOCKET_FILE), error);
        let options =
            ListenerOptions::new().name(name(dir).map_err(refusal)?).mode(PRIVATE as _).reclaim_name(false);
        Ok(Self { inner: uds::Listener::from_options(options).map_err(refusal)? })
    }

    /// The next peer of the same user. Others are cut off unread and only logged.
    pub async fn accept(&self) -> BridgeStream {
        use interprocess::local_socket::traits::tokio::Listener as _;
        loop {
            match self.inner.accept().await.map(UnixStream::from) {
                Ok(stream) => match BridgeStream::admit(stream) {
                    Ok(stream) => return stream,
                    Err(refusal) => log::warn(format_args!("refused a connection: {refusal}")),
                },
                Err(error) => {
                    log::warn(format_args!("could not accept a connection: {error}"));
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Connects to the broker and checks that it runs as the same user. An absent broker is `OsRefusal::Io`.
pub async fn dial(dir: &RuntimeDir) -> Result<BridgeStream, OsRefusal> {
    use interprocess::local_socket::traits::tokio::Stream as _;
    let refusal = |error| OsRefusal::io("reach", &dir.path_of(SOCKET_FILE), error);
    let options = ConnectOptions::new().name(name(dir).map_err(refusal)?);
    let stream = uds::Stream::from_options(&options).await.map_err(refusal)?;
    BridgeStream::admit(stream.into())
}

/// Whether anything answers there, without saying a word to it.
pub fn answers(dir: &RuntimeDir) -> io::Result<()> {
    std::os::unix::net::UnixStream::connect(dir.address_of(SOCKET_FILE)).map(drop)
}

/// A connection whose other end runs as our user.
#[derive(Debug)]
pub struct BridgeStream {
    inner: UnixStream,
    peer_pid: Option<u32>,
}

impl BridgeStream {
    /// The peer at the time it connected (for a listener: when it began to listen), as the kernel reports it.
    pub fn peer_pid(&self) -> Option<u32> {
        self.peer_pid
    }

    /// Both directions; dropping the write half ends what the peer reads.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        self.inner.into_split()
    }

    fn admit(inner: UnixStream) -> Result<Self, OsRefusal> {
        let cred = inner.peer_cred().map_err(|error| {
            OsRefusal::io("identify the peer of", std::path::Path::new(SOCKET_FILE), error)
        })?;
        if !peer::same_user(cred.uid()) {
            return Err(OsRefusal::PeerNotUs { uid: cred.uid() });
        }
        let peer_pid = cred.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
        Ok(Self { inner, peer_pid })
    }
}

impl AsyncRead for BridgeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for BridgeStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

fn name(dir: &RuntimeDir) -> io::Result<Name<'static>> {
    dir.address_of(SOCKET_FILE).to_fs_name::<GenericFilePath>().map(Name::into_owned)
}

/// Only a socket is removed: anything else was not left behind by us.
fn remove_stale(dir: &RuntimeDir) -> Result<(), OsRefusal> {
    let path = dir.path_of(SOCKET_FILE);
    match rustix::fs::statat(dir, SOCKET_FILE, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(OsRefusal::io("examine", &path, error)),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Socket => {
            return Err(OsRefusal::NotAPlainFile { path });
        }
        Ok(_) => {}
    }
    match rustix::fs::unlinkat(dir, SOCKET_FILE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(OsRefusal::io("remove", &path, error)),
    }
}

/// Whether a failed [`dial`] only means that no broker runs.
pub fn is_absent(refusal: &OsRefusal) -> bool {
    matches!(refusal, OsRefusal::Io { kind: ErrorKind::NotFound | ErrorKind::ConnectionRefused, .. })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::super::lock::Acquired;
    use super::super::runtime_dir::Environment;
    use super::*;

    fn open(below: &std::path::Path) -> (RuntimeDir, RunLock) {
        let environment = Environment { xdg_runtime_dir: Some(below.into()), ..Environment::default() };
        let dir = RuntimeDir::resolve(&environment).unwrap();
        match RunLock::acquire(&dir).unwrap() {
            Acquired::Held(lock) => (dir, lock),
            Acquired::Busy { .. } => panic!("busy"),
        }
    }

    async fn round_trip(dir: &RuntimeDir, lock: &RunLock) {
        let listener = Listener::bind(dir, lock).unwrap();
        let (client, mut server) = tokio::join!(dial(dir), listener.accept());
        client.unwrap().write_all(b"in").await.unwrap();
        let mut bytes = Vec::new();
        server.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, b"in");
        assert_eq!(server.peer_pid(), Some(std::process::id()));
    }

    #[tokio::test]
    async fn the_socket_is_private_and_replaces_a_stale_one() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, lock) = open(temp.path());
        round_trip(&dir, &lock).await;
        round_trip(&dir, &lock).await;
        let mode = std::fs::metadata(dir.path_of(SOCKET_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_directory_longer_than_a_socket_address_works() {
        let temp = tempfile::tempdir().unwrap();
        let long = temp.path().join("x".repeat(200));
        std::fs::create_dir(&long).unwrap();
        let (dir, lock) = open(&long);
        round_trip(&dir, &lock).await;
    }

    #[tokio::test]
    async fn a_swapped_directory_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, lock) = open(temp.path());
        std::fs::rename(dir.path(), temp.path().join("moved")).unwrap();
        std::fs::create_dir(dir.path()).unwrap();
        round_trip(&dir, &lock).await;
        assert!(temp.path().join("moved/bridge.sock").exists());
        assert!(!dir.path_of(SOCKET_FILE).exists());
    }

    #[tokio::test]
    async fn what_is_no_socket_is_not_removed() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, lock) = open(temp.path());
        std::fs::write(dir.path_of(SOCKET_FILE), "theirs").unwrap();
        assert!(matches!(Listener::bind(&dir, &lock), Err(OsRefusal::NotAPlainFile { .. })));
        assert_eq!(std::fs::read(dir.path_of(SOCKET_FILE)).unwrap(), b"theirs");
    }

    #[tokio::test]
    async fn an_absent_broker_is_told_from_a_broken_one() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, lock) = open(temp.path());
        assert!(is_absent(&dial(&dir).await.unwrap_err()));
        drop(Listener::bind(&dir, &lock).unwrap());
        assert!(is_absent(&dial(&dir).await.unwrap_err()));
    }
}

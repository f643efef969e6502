//! The bridge socket: 0600 in the private runtime directory, this very program on both ends by the kernel's word.
//!
//! Decides who may exchange a first byte: a peer of our user that runs the file we run. Refuses everybody else before
//! reading or writing anything, cuts a connection once another process writes to it or passes descriptors over it, and
//! removes a stale socket only in the hands of the lock holder. Does not know the handshake that follows, nor who else
//! may read what we write to a peer that handed its end on.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use interprocess::local_socket::{ConnectOptions, GenericFilePath, ListenerOptions, Name, ToFsName};
use interprocess::os::unix::local_socket::ListenerOptionsExt;
use interprocess::os::unix::uds_local_socket::tokio as uds;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use rustix::net::Shutdown;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::lock::RunLock;
use super::peer::{self, Attested};
use super::runtime_dir::RuntimeDir;
use super::{OsRefusal, log};
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
        // Peers are compared with our own image; hashing it takes longer than they should wait.
        peer::own()?;
        remove_stale(dir)?;
        let refusal = |error| OsRefusal::io("bind", &dir.path_of(SOCKET_FILE), error);
        let options =
            ListenerOptions::new().name(name(dir).map_err(refusal)?).mode(PRIVATE as _).reclaim_name(false);
        let inner = uds::Listener::from_options(options).map_err(refusal)?;
        // Connections inherit it, so that the first message already names its sender.
        want_credentials(inner.inner())?;
        Ok(Self { inner })
    }

    /// The next peer that runs this program as this user. Others are cut off unread and only logged.
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

/// Connects to the broker and checks that it is this program, run by this user. An absent broker is `OsRefusal::Io`.
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

/// A connection whose other end is this program, run by our user.
#[derive(Debug)]
pub struct BridgeStream {
    reader: ReadHalf,
    writer: WriteHalf,
}

/// The writing half; dropping it ends what the peer reads.
pub type WriteHalf = OwnedWriteHalf;

impl BridgeStream {
    /// The peer that was measured: for a listener whoever connected, for a dialler whoever listens.
    pub fn peer_pid(&self) -> Option<u32> {
        Some(self.reader.peer.pid())
    }

    /// Both directions.
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        (self.reader, self.writer)
    }

    fn admit(inner: UnixStream) -> Result<Self, OsRefusal> {
        want_credentials(&inner)?;
        let peer = peer::attest(&inner)?;
        let end = watched(peer.end())
            .map_err(|error| OsRefusal::io("watch the peer of", Path::new(SOCKET_FILE), error))?;
        let (inner, writer) = inner.into_split();
        Ok(Self { reader: ReadHalf { inner, peer, end, left: None, cut: false }, writer })
    }
}

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

impl AsyncRead for BridgeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(cx, buf)
    }
}

impl AsyncWrite for BridgeStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
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
fn want_credentials(socket: impl AsFd) -> Result<(), OsRefusal> {
    rustix::net::sockopt::set_socket_passcred(socket, true)
        .map_err(|error| OsRefusal::io("watch the senders of", Path::new(SOCKET_FILE), error))
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
    use std::mem::MaybeUninit;
    use std::os::unix::fs::PermissionsExt;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

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

    /// Both ends of an admitted connection, both in this process.
    async fn connected() -> (tempfile::TempDir, BridgeStream, BridgeStream) {
        let temp = tempfile::tempdir().unwrap();
        let (dir, lock) = open(temp.path());
        let listener = Listener::bind(&dir, &lock).unwrap();
        let (client, server) = tokio::join!(dial(&dir), listener.accept());
        (temp, client.unwrap(), server)
    }

    #[tokio::test]
    async fn t038_a_message_of_another_process_cuts_the_connection_and_is_not_read() {
        let (_temp, mut client, mut server) = connected().await;
        client.write_all(b"ours").await.unwrap();
        let mut bytes = [0; 64];
        assert_eq!(server.read(&mut bytes).await.unwrap(), 4);
        let socket: &UnixStream = client.writer.as_ref();
        let handed_on = socket.as_fd().try_clone_to_owned().unwrap();
        let mut child =
            std::process::Command::new("/bin/echo").arg("theirs").stdout(handed_on).spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let error = server.read(&mut bytes).await.unwrap_err();
        assert!(error.to_string().contains(&format!("process {pid} wrote")), "{error}");
        assert_eq!(server.read(&mut bytes).await.unwrap(), 0, "nothing more is read");
        assert_eq!(client.read(&mut bytes).await.unwrap(), 0, "the connection is gone at both ends");
    }

    #[tokio::test]
    async fn t038_a_descriptor_passed_over_the_bridge_cuts_the_connection() {
        let (_temp, client, mut server) = connected().await;
        let mut space = [MaybeUninit::uninit(); 64];
        let mut notes = SendAncillaryBuffer::new(&mut space);
        let passed = [client.writer.as_ref().as_fd()];
        assert!(notes.push(SendAncillaryMessage::ScmRights(&passed)));
        let bytes = [io::IoSlice::new(b"x")];
        rustix::net::sendmsg(client.writer.as_ref(), &bytes, &mut notes, SendFlags::empty()).unwrap();
        assert!(server.read(&mut [0; 8]).await.is_err());
    }

    #[tokio::test]
    async fn what_is_cut_into_small_reads_arrives_whole() {
        let (_temp, client, server) = connected().await;
        let (_, mut writer) = client.into_split();
        let (mut reader, _keep) = server.into_split();
        let sent: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let expected = sent.clone();
        let send = async move {
            writer.write_all(&sent).await.unwrap();
            drop(writer);
        };
        let mut bytes = Vec::new();
        let (_, read) = tokio::join!(send, reader.read_to_end(&mut bytes));
        assert_eq!((read.unwrap(), bytes == expected), (1_000_000, true));
    }
}

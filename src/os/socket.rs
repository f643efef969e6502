//! The bridge socket, private to us: this very program on both ends by the kernel's word.
//!
//! Decides who may exchange a first byte: a peer of our user that runs the file we run. Refuses everybody else before
//! reading or writing anything, cuts a connection once another process writes to it or passes descriptors over it, and
//! removes a stale socket only in the hands of the lock holder. Does not know the handshake that follows, nor who else
//! may read what we write to a peer that handed its end on.

#[cfg(target_os = "linux")]
#[path = "socket/senders.rs"]
mod reading;
#[cfg(target_os = "macos")]
#[path = "socket/plain.rs"]
mod reading;
#[cfg_attr(unix, path = "socket/unix.rs")]
#[cfg_attr(windows, path = "socket/windows.rs")]
mod system;

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub use self::system::{ReadHalf, WriteHalf, answers};
use super::lock::RunLock;
use super::runtime_dir::RuntimeDir;
use super::{OsRefusal, log, peer};

/// Pause after the kernel could not give us a connection (no descriptors, no memory): such errors repeat at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The broker's end.
pub struct Listener {
    inner: system::Listening,
}

impl Listener {
    /// Binds the socket. The lock proves that whatever lies there is stale.
    pub fn bind(dir: &RuntimeDir, lock: &RunLock) -> Result<Self, OsRefusal> {
        // Peers are compared with our own image; hashing it takes longer than they should wait.
        peer::own()?;
        Ok(Self { inner: system::Listening::bind(dir, lock)? })
    }

    /// Whether peers that look for the socket still find this one.
    pub fn is_in_place(&self, dir: &RuntimeDir) -> bool {
        self.inner.is_in_place(dir)
    }

    /// The next peer that runs this program as this user, or why the next one was cut off unread.
    pub async fn accept(&self) -> Result<BridgeStream, OsRefusal> {
        loop {
            match self.inner.accept().await {
                Ok(stream) => return BridgeStream::admit(stream),
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
    BridgeStream::admit(system::connect(dir).await?)
}

/// A connection whose other end is this program, run by our user.
#[derive(Debug)]
pub struct BridgeStream {
    reader: ReadHalf,
    writer: WriteHalf,
}

impl BridgeStream {
    /// The peer that was measured: for a listener whoever connected, for a dialler whoever listens.
    pub fn peer_pid(&self) -> Option<u32> {
        Some(self.reader.peer_pid())
    }

    /// Both directions. Dropping the writing half ends what the peer reads.
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        (self.reader, self.writer)
    }

    fn admit(stream: system::Stream) -> Result<Self, OsRefusal> {
        let (reader, writer) = system::admit(stream)?;
        Ok(Self { reader, writer })
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

/// Whether a failed [`dial`] only means that no broker runs.
pub fn is_absent(refusal: &OsRefusal) -> bool {
    matches!(refusal, OsRefusal::Io { kind: ErrorKind::NotFound | ErrorKind::ConnectionRefused, .. })
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::os::unix::fs::PermissionsExt;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::super::lock::Acquired;
    use super::super::runtime_dir::Environment;
    use super::*;
    use crate::base::identity::SOCKET_FILE;

    fn open(below: &std::path::Path) -> (RuntimeDir, RunLock) {
        let environment = Environment { xdg_runtime_dir: Some(below.into()), ..Environment::default() };
        let dir = RuntimeDir::resolve(&environment).unwrap();
        match RunLock::acquire(&dir, [1; 32]).unwrap() {
            Acquired::Held(lock) => (dir, lock),
            Acquired::Busy { .. } => panic!("busy"),
        }
    }

    async fn round_trip(dir: &RuntimeDir, lock: &RunLock) {
        let listener = Listener::bind(dir, lock).unwrap();
        let (client, server) = tokio::join!(dial(dir), listener.accept());
        let mut server = server.unwrap();
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
        assert!(matches!(Listener::bind(&dir, &lock), Err(OsRefusal::NotASocket { .. })));
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
        (temp, client.unwrap(), server.unwrap())
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

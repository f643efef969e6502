//! A Unix socket, 0600 in the runtime directory.

use std::io;

use interprocess::local_socket::{ConnectOptions, GenericFilePath, ListenerOptions, Name, ToFsName};
use interprocess::os::unix::local_socket::ListenerOptionsExt;
use interprocess::os::unix::uds_local_socket::tokio as uds;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;

use super::super::OsRefusal;
use super::super::lock::RunLock;
use super::super::peer;
use super::super::private_file;
use super::super::runtime_dir::RuntimeDir;
pub use super::reading::ReadHalf;
use super::reading::want_credentials;
use crate::base::identity::SOCKET_FILE;

const PRIVATE: u32 = 0o600;

pub type Stream = UnixStream;
/// The writing half; dropping it ends what the peer reads.
pub type WriteHalf = OwnedWriteHalf;

pub struct Listening {
    listener: uds::Listener,
    /// Device and inode of what lies at its path.
    file: Option<(u64, u64)>,
}

impl Listening {
    pub fn bind(dir: &RuntimeDir, _lock: &RunLock) -> Result<Self, OsRefusal> {
        use interprocess::local_socket::traits::tokio::Listener as _;
        remove_stale(dir)?;
        let refusal = |error| OsRefusal::io("bind", &dir.path_of(SOCKET_FILE), error);
        let options =
            ListenerOptions::new().name(name(dir).map_err(refusal)?).mode(PRIVATE as _).reclaim_name(false);
        let listener = uds::Listener::from_options(options).map_err(refusal)?;
        // Connections inherit it, so that the first message already names its sender.
        want_credentials(listener.inner())?;
        Ok(Self { listener, file: found(dir) })
    }

    pub fn is_in_place(&self, dir: &RuntimeDir) -> bool {
        self.file.is_some() && found(dir) == self.file
    }

    pub async fn accept(&self) -> io::Result<Stream> {
        use interprocess::local_socket::traits::tokio::Listener as _;
        self.listener.accept().await.map(UnixStream::from)
    }
}

pub async fn connect(dir: &RuntimeDir) -> Result<Stream, OsRefusal> {
    use interprocess::local_socket::traits::tokio::Stream as _;
    let refusal = |error| OsRefusal::io("reach", &dir.path_of(SOCKET_FILE), error);
    let options = ConnectOptions::new().name(name(dir).map_err(refusal)?);
    Ok(uds::Stream::from_options(&options).await.map_err(refusal)?.into())
}

pub fn admit(stream: Stream) -> Result<(ReadHalf, WriteHalf), OsRefusal> {
    want_credentials(&stream)?;
    let peer = peer::attest(&stream)?;
    let (inner, writer) = stream.into_split();
    Ok((ReadHalf::new(inner, peer)?, writer))
}

fn found(dir: &RuntimeDir) -> Option<(u64, u64)> {
    private_file::seen_at(dir.private(), SOCKET_FILE).ok()?.map(|seen| seen.file)
}

/// Whether anything answers there, without saying a word to it.
pub fn answers(dir: &RuntimeDir) -> io::Result<()> {
    std::os::unix::net::UnixStream::connect(dir.address_of(SOCKET_FILE)).map(drop)
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
            return Err(OsRefusal::NotASocket { path });
        }
        Ok(_) => {}
    }
    match rustix::fs::unlinkat(dir, SOCKET_FILE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(OsRefusal::io("remove", &path, error)),
    }
}

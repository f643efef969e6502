//! Asks the kernel which socket is the other end of ours (`NETLINK_SOCK_DIAG`); `ss` asks the same way.

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const AF_UNIX: u8 = 1;
const UDIAG_SHOW_PEER: u32 = 4;
const UNIX_DIAG_PEER: u16 = 2;
/// A netlink header, and what describes a Unix socket after it.
const HEADER: usize = 16;
const DESCRIPTION: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;
const ANSWER_BYTES_MAX: usize = 4_096;

/// The inode of the socket that ours is connected to; `None` if it is connected to nothing any more.
pub fn peer_of(inode: u32) -> std::io::Result<Option<u32>> {
    let socket: OwnedFd = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    rustix::net::send(&socket, &question(inode), SendFlags::empty())?;
    let mut answer = [0; ANSWER_BYTES_MAX];
    let (_, length) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    peer_in(answer.get(..length).unwrap_or_default(), inode)
}

fn question(inode: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(40_u32.to_ne_bytes()); // length of the whole
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]); // sequence, and the kernel as addressee
    bytes.extend([AF_UNIX, 0, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes()); // in any state
    bytes.extend(inode.to_ne_bytes());
    bytes.extend(UDIAG_SHOW_PEER.to_ne_bytes());
    bytes.extend([0xff; 8]); // no cookie: whichever socket has the inode
    bytes
}

/// Reads the peer out of an answer. What is not exactly such an answer is an error.
fn peer_in(answer: &[u8], asked: u32) -> std::io::Result<Option<u32>> {
    let malformed = || std::io::Error::from(std::io::ErrorKind::InvalidData);
    let length = number(answer, 0).and_then(|length| usize::try_from(length).ok()).ok_or_else(malformed)?;
    let message = answer.get(..length).ok_or_else(malformed)?;
    match short(message, 4) {
        Some(NLMSG_ERROR) => {
            let code = number(message, HEADER).ok_or_else(malformed)?;
            return Err(std::io::Error::from_raw_os_error(code.cast_signed().saturating_neg()));
        }
        Some(SOCK_DIAG_BY_FAMILY) if number(message, HEADER + 4) == Some(asked) => {}
        _ => return Err(malformed()),
    }
    let mut attributes = message.get(HEADER + DESCRIPTION..).ok_or_else(malformed)?;
    while let (Some(length), Some(kind)) = (short(attributes, 0), short(attributes, 2)) {
        if kind == UNIX_DIAG_PEER {
            let peer = number(attributes, ATTRIBUTE_HEADER).ok_or_else(malformed)?;
            return Ok(Some(peer).filter(|peer| *peer != 0)); // 0 once the other end is closed
        }
        let step = usize::from(length).next_multiple_of(4).max(ATTRIBUTE_HEADER);
        attributes = attributes.get(step..).unwrap_or_default();
    }
    Ok(None)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn inode(socket: &UnixStream) -> u32 {
        let file = std::fs::File::from(OwnedFd::from(socket.try_clone().unwrap()));
        u32::try_from(file.metadata().unwrap().ino()).unwrap()
    }

    #[test]
    fn the_other_end_of_a_pair_is_found_and_an_end_alone_has_none() {
        let (near, far) = UnixStream::pair().unwrap();
        assert_eq!(peer_of(inode(&near)).unwrap(), Some(inode(&far)));
        assert_eq!(peer_of(inode(&far)).unwrap(), Some(inode(&near)));
        drop(far);
        assert_eq!(peer_of(inode(&near)).unwrap(), None);
    }

    #[test]
    fn an_inode_that_is_no_socket_is_an_error() {
        assert!(peer_of(u32::MAX - 1).is_err());
    }

    #[test]
    fn an_answer_that_is_cut_or_about_another_socket_is_refused() {
        let mut answer = question(7);
        answer.truncate(HEADER + 8);
        assert!(peer_in(&answer, 7).is_err());
        for length in 0..HEADER {
            assert!(peer_in(answer.get(..length).unwrap(), 7).is_err());
        }
    }
}

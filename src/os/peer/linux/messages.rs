//! The kernel's word about a socket's peer and about the sender of each message.

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::os::OsRefusal;

/// A socket option of Linux 6.5 and later that the C library's headers do not name everywhere.
const SO_PEERPIDFD: libc::c_int = 77;
/// Space for credentials and a few descriptors; a peer that passes more is refused by the truncation mark.
const CONTROL_BYTES: usize = 256;

/// Who sent something, as the kernel attached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Its process; 0 if it lies outside our view.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
}

impl From<libc::ucred> for Sender {
    fn from(cred: libc::ucred) -> Self {
        Self { pid: u32::try_from(cred.pid).unwrap_or(0), uid: cred.uid }
    }
}

/// What one read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes; 0 at the end.
    pub bytes: usize,
    /// Whose they are; `None` if the kernel named nobody.
    pub sender: Option<Sender>,
    /// Whether descriptors came along. They are closed unseen.
    pub descriptors: bool,
}

/// Reads what one process sent; bytes of two senders never come together. The socket must want credentials.
pub fn receive(socket: impl AsFd, into: &mut [u8]) -> io::Result<Received> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: an all-zero message header is a valid one without buffers.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the header points to two buffers that live and are ours for the whole call, with their true lengths.
    let bytes =
        unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
    let (sender, passed) = notes(&message);
    let cut = message.msg_flags & libc::MSG_CTRUNC != 0;
    Ok(Received { bytes, sender, descriptors: passed || cut })
}

/// Aligned as the kernel's notes are.
#[repr(C, align(16))]
struct Control([u8; CONTROL_BYTES]);

/// Reads the notes of a received message, and closes every descriptor in them.
fn notes(message: &libc::msghdr) -> (Option<Sender>, bool) {
    let (mut sender, mut passed) = (None, false);
    // SAFETY: the header is as recvmsg left it, and its control buffer lives.
    let mut note = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !note.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR yield null or a whole header inside the control buffer.
        let header = unsafe { note.read_unaligned() };
        // SAFETY: as above; the data follows the header.
        let data = unsafe { libc::CMSG_DATA(note) };
        // SAFETY: only arithmetic.
        let length = (header.cmsg_len as usize).saturating_sub(unsafe { libc::CMSG_LEN(0) } as usize);
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) if length >= size_of::<libc::ucred>() => {
                // SAFETY: the kernel wrote a whole ucred, any bits of which are valid.
                sender = Some(unsafe { data.cast::<libc::ucred>().read_unaligned() }.into());
            }
            (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                passed = true;
                for index in 0..length / size_of::<RawFd>() {
                    // SAFETY: within the note's data; each number is a descriptor that the kernel just gave us, and
                    // nobody else owns it.
                    drop(unsafe { OwnedFd::from_raw_fd(data.cast::<RawFd>().add(index).read_unaligned()) });
                }
            }
            _ => {}
        }
        // SAFETY: as for CMSG_FIRSTHDR.
        note = unsafe { libc::CMSG_NXTHDR(message, note) };
    }
    (sender, passed)
}

/// The peer of a connected socket, with a descriptor of that process where the kernel gives one (Linux 6.5).
pub fn peer(socket: BorrowedFd<'_>) -> Result<(Sender, Option<OwnedFd>), OsRefusal> {
    let refused = |error: io::Error| OsRefusal::Unmeasured {
        what: "the other end of the socket".into(),
        why: error.to_string(),
    };
    // SAFETY: any bits are a valid ucred.
    let cred: libc::ucred = unsafe { option(socket, libc::SO_PEERCRED) }.map_err(refused)?;
    // SAFETY: any bits are a valid number.
    let pidfd = match unsafe { option::<RawFd>(socket, SO_PEERPIDFD) } {
        // SAFETY: the kernel made this descriptor for us just now.
        Ok(pidfd) => Some(unsafe { OwnedFd::from_raw_fd(pidfd) }),
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => None,
        Err(error) => return Err(refused(error)),
    };
    Ok((cred.into(), pidfd))
}

/// Reads a socket option of a fixed size.
///
/// # Safety
/// Every bit pattern must be a valid `T`.
unsafe fn option<T>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the buffer is as long as we say, and lives.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 && length as usize == size_of::<T>() {
        // SAFETY: the kernel filled it, and any bits are valid.
        Ok(unsafe { value.assume_init() })
    } else if result == 0 {
        Err(io::ErrorKind::InvalidData.into())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

    use super::*;

    fn pair() -> (UnixStream, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        rustix::net::sockopt::set_socket_passcred(&near, true).unwrap();
        (near, far)
    }

    fn read(socket: &UnixStream) -> (Received, Vec<u8>) {
        let mut bytes = vec![0; 64];
        let received = receive(socket, &mut bytes).unwrap();
        bytes.truncate(received.bytes);
        (received, bytes)
    }

    #[test]
    fn every_message_names_its_sender() {
        let (near, mut far) = pair();
        far.write_all(b"words").unwrap();
        let (received, bytes) = read(&near);
        let us = Sender { pid: std::process::id(), uid: rustix::process::getuid().as_raw() };
        assert_eq!((received.sender, received.descriptors), (Some(us), false));
        assert_eq!(bytes, b"words");
        drop(far);
        assert_eq!(read(&near).0.bytes, 0);
    }

    #[test]
    fn the_bytes_of_another_process_come_apart_from_ours() {
        let (near, mut far) = pair();
        far.write_all(b"ours").unwrap();
        let child = std::process::Command::new("/bin/echo")
            .arg("theirs")
            .stdout(OwnedFd::from(far.try_clone().unwrap()))
            .spawn();
        let mut child = child.unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let ((first, ours), (second, theirs)) = (read(&near), read(&near));
        assert_eq!((ours.as_slice(), theirs.as_slice()), (&b"ours"[..], &b"theirs\n"[..]));
        assert_eq!(first.sender.unwrap().pid, std::process::id());
        assert_eq!(second.sender.unwrap().pid, pid);
    }

    #[test]
    fn descriptors_that_come_along_are_noticed_and_closed() {
        let (near, far) = pair();
        let (reader, writer) = std::io::pipe().unwrap();
        for count in [1, 100] {
            let passed: Vec<_> = (0..count).map(|_| writer.as_fd()).collect();
            let mut space = vec![MaybeUninit::uninit(); 1024];
            let mut notes = SendAncillaryBuffer::new(&mut space);
            assert!(notes.push(SendAncillaryMessage::ScmRights(&passed)));
            let bytes = [io::IoSlice::new(b"x")];
            rustix::net::sendmsg(&far, &bytes, &mut notes, SendFlags::empty()).unwrap();
            assert!(read(&near).0.descriptors, "{count}");
        }
        drop(writer);
        // Had one been kept, the pipe would still have a writer and this would wait for ever.
        assert_eq!(io::Read::read(&mut &reader, &mut [0]).unwrap(), 0);
    }

    #[test]
    fn the_peer_of_a_connection_is_told_with_a_descriptor_of_it() {
        let (near, _far) = UnixStream::pair().unwrap();
        let (sender, pidfd) = peer(near.as_fd()).unwrap();
        assert_eq!(sender.pid, std::process::id());
        assert!(pidfd.is_some(), "this kernel is younger than 6.5");
    }
}

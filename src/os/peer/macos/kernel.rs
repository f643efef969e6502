//! The system's calls about processes, each behind a safe function.

use std::ffi::{OsString, c_void};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use libc::{c_int, proc_bsdinfo, proc_fdinfo, proc_vnodepathinfo, vinfo_stat};

use crate::base::limits::{ARGUMENTS_BYTES_MAX, DESCRIPTORS_MAX, PROCESSES_MAX};

/// What names a process for good: its last word changes whenever its number is given anew.
pub type Token = [u32; 8];

/// Which description of a descriptor is asked for, by the system's headers.
const PROC_PIDFDPIPEINFO: c_int = 6;
/// Which question about a signature, by the system's headers.
const CS_OPS_TEAMID: u32 = 14;
/// A header of two words, then the text.
const TEAM_BYTES: usize = 64;
const TEAM_HEADER: usize = 8;

/// What the system says about a descriptor in general.
#[repr(C)]
#[derive(Clone, Copy)]
struct FileInfo {
    open_flags: u32,
    status: u32,
    offset: i64,
    kind: i32,
    guard_flags: u32,
}

/// What it says about an end of a pipe.
#[repr(C)]
#[derive(Clone, Copy)]
struct PipeInfo {
    file: FileInfo,
    stat: vinfo_stat,
    handle: u64,
    peer_handle: u64,
    status: i32,
    reserved: i32,
}

/// An end of a pipe, and the one opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeEnd {
    /// This end.
    pub own: u64,
    /// The other.
    pub peer: u64,
}

unsafe extern "C" {
    fn proc_pidpath_audittoken(token: *const Token, path: *mut c_void, length: u32) -> c_int;
    fn csops(pid: libc::pid_t, question: u32, answer: *mut c_void, length: usize) -> c_int;
}

/// The path of what a process runs, for people.
pub fn image_of(pid: u32) -> Option<PathBuf> {
    path(pid, None).ok()
}

/// The path of what a process runs; with its token, of that process and no later one of its number.
pub fn path(pid: u32, token: Option<&Token>) -> io::Result<PathBuf> {
    let mut path = vec![0_u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    let (into, room) = (path.as_mut_ptr().cast(), path.len() as u32);
    let length = match token {
        // SAFETY: the token lives, and the buffer is as long as it is said to be.
        Some(token) => unsafe { proc_pidpath_audittoken(token, into, room) },
        // SAFETY: the buffer is as long as it is said to be.
        None => unsafe { libc::proc_pidpath(number(pid)?, into, room) },
    };
    path.truncate(filled(length)?);
    Ok(OsString::from_vec(path).into())
}

/// Its user ids, its parent, when it started.
pub fn facts(pid: u32) -> io::Result<proc_bsdinfo> {
    // SAFETY: any bits are valid in it.
    unsafe { about(pid, libc::PROC_PIDTBSDINFO, 0) }
}

/// Its working directory.
pub fn directory(pid: u32) -> io::Result<PathBuf> {
    // SAFETY: any bits are valid in it.
    let info: proc_vnodepathinfo = unsafe { about(pid, libc::PROC_PIDVNODEPATHINFO, 0) }?;
    let bytes = info.pvi_cdir.vip_path.iter().flatten().map(|byte| byte.cast_unsigned());
    Ok(OsString::from_vec(bytes.take_while(|byte| *byte != 0).collect()).into())
}

/// The numbers of all processes.
pub fn pids() -> io::Result<Vec<u32>> {
    let mut pids = vec![0_i32; PROCESSES_MAX];
    let room = c_int::try_from(size_of::<i32>() * pids.len()).map_err(io::Error::other)?;
    // SAFETY: the buffer is as long as it is said to be.
    let count = filled(unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), room) })?;
    pids.truncate(count);
    Ok(pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect())
}

/// The descriptors of a process that are pipes.
pub fn pipes(pid: u32) -> io::Result<Vec<PipeEnd>> {
    let pid = number(pid)?;
    // SAFETY: without a buffer the length that would be needed is said.
    let needed =
        filled(unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, std::ptr::null_mut(), 0) })?;
    let count = (needed / size_of::<proc_fdinfo>()).min(DESCRIPTORS_MAX);
    let mut descriptors = vec![proc_fdinfo { proc_fd: 0, proc_fdtype: 0 }; count];
    let room = c_int::try_from(count * size_of::<proc_fdinfo>()).map_err(io::Error::other)?;
    // SAFETY: the buffer is as long as it is said to be.
    let length = filled(unsafe {
        libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, descriptors.as_mut_ptr().cast(), room)
    })?;
    descriptors.truncate(length / size_of::<proc_fdinfo>());
    let is_pipe = |one: &proc_fdinfo| one.proc_fdtype == libc::PROX_FDTYPE_PIPE.cast_unsigned();
    // One that was closed meanwhile is passed over.
    Ok(descriptors.iter().filter(|one| is_pipe(one)).filter_map(|one| pipe(pid, one.proc_fd).ok()).collect())
}

/// One descriptor of a process that is a pipe.
pub fn pipe_of(pid: u32, descriptor: i32) -> io::Result<PipeEnd> {
    pipe(number(pid)?, descriptor)
}

fn pipe(pid: c_int, descriptor: i32) -> io::Result<PipeEnd> {
    let mut info = MaybeUninit::<PipeInfo>::zeroed();
    let room = size_of::<PipeInfo>() as c_int;
    // SAFETY: the buffer is as long as it is said to be.
    let length = filled(unsafe {
        libc::proc_pidfdinfo(pid, descriptor, PROC_PIDFDPIPEINFO, info.as_mut_ptr().cast(), room)
    })?;
    if length < size_of::<PipeInfo>() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: wholly written, and any bits are valid.
    let info = unsafe { info.assume_init() };
    Ok(PipeEnd { own: info.handle, peer: info.peer_handle })
}

/// The arguments of a process, each with its NUL taken off; it may have rewritten them.
pub fn arguments(pid: u32) -> io::Result<Vec<Vec<u8>>> {
    let mut bytes = vec![0_u8; ARGUMENTS_BYTES_MAX];
    let mut length = bytes.len();
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, number(pid)?];
    // SAFETY: name and buffer are as long as they are said to be; nothing is set.
    let failed = unsafe {
        let into = bytes.as_mut_ptr().cast();
        libc::sysctl(name.as_mut_ptr(), 3, into, &raw mut length, std::ptr::null_mut(), 0)
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    bytes.truncate(length);
    arguments_in(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// A count, the program's path, NULs to the next boundary, then that many arguments.
fn arguments_in(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path = rest.iter().position(|byte| *byte == 0)?;
    let first = rest.iter().skip(path).position(|byte| *byte != 0)?;
    let words = rest.get(path + first..)?.split(|byte| *byte == 0);
    let words: Vec<_> = words.take(count).map(<[u8]>::to_vec).collect();
    (words.len() == count).then_some(words)
}

/// Who is at the other end of a connected socket: the kernel's token of whoever last used it.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<Token> {
    let mut token = Token::default();
    let mut length = size_of::<Token>() as libc::socklen_t;
    // SAFETY: the buffer is as long as it is said to be, and any bits are a valid token.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_LOCAL,
            libc::LOCAL_PEERTOKEN,
            token.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match (failed, length as usize == size_of::<Token>()) {
        (0, true) => Ok(token),
        (0, false) => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The team that the signature of a running program claims; whether it holds must be asked elsewhere.
pub fn claimed_team(pid: u32) -> Option<String> {
    let mut answer = [0_u8; TEAM_BYTES];
    // SAFETY: the buffer is as long as it is said to be.
    let failed = unsafe { csops(number(pid).ok()?, CS_OPS_TEAMID, answer.as_mut_ptr().cast(), TEAM_BYTES) };
    let text = answer.get(TEAM_HEADER..)?.split(|byte| *byte == 0).next()?;
    let team = str::from_utf8(text).ok().filter(|_| failed == 0)?;
    // It goes into a requirement below, whose language it must not speak.
    let plain = !team.is_empty() && team.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| team.to_string())
}

/// # Safety
/// Every bit pattern must be a valid `T`.
unsafe fn about<T>(pid: u32, question: c_int, argument: u64) -> io::Result<T> {
    let mut answer = MaybeUninit::<T>::zeroed();
    let room = c_int::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the buffer is as long as it is said to be.
    let length = filled(unsafe {
        libc::proc_pidinfo(number(pid)?, question, argument, answer.as_mut_ptr().cast(), room)
    })?;
    if length < size_of::<T>() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: wholly written, and any bits are valid.
    Ok(unsafe { answer.assume_init() })
}

fn number(pid: u32) -> io::Result<c_int> {
    c_int::try_from(pid).map_err(io::Error::other)
}

/// These calls answer how much they wrote; nothing is a failure.
fn filled(length: c_int) -> io::Result<usize> {
    match usize::try_from(length) {
        Ok(length) if length > 0 => Ok(length),
        _ => Err(io::Error::last_os_error()),
    }
}

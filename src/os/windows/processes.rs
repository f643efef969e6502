//! Processes by number and by the pipes they made.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;
use std::ptr::null_mut;

use widestring::{U16CStr, U16CString, U16Str};
use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessCommandLineInformation};
use windows_sys::Win32::Foundation::{UNICODE_STRING, WAIT_TIMEOUT};
use windows_sys::Win32::System::Pipes::{
    GetNamedPipeClientProcessId, GetNamedPipeInfo, GetNamedPipeServerProcessId, PIPE_SERVER_END,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    QueryFullProcessImageNameW, WaitForSingleObject,
};

use windows_sys::Win32::UI::Shell::CommandLineToArgvW;

use super::{Local, done, security};
use crate::base::limits::ARGUMENTS_BYTES_MAX;

/// The longest path that the system gives, in its own units.
const PATH_UNITS: usize = 32_768;

/// A process held open: while it is, its number cannot be given to another.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    handle: OwnedHandle,
}

impl Process {
    /// Opens the process that has this number now.
    #[allow(unsafe_code, reason = "a system call")]
    pub fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE, 0, pid) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh handle that nobody else owns.
        Ok(Self { pid, handle: unsafe { OwnedHandle::from_raw_handle(handle) } })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended.
    #[allow(unsafe_code, reason = "a system call")]
    pub fn lives(&self) -> bool {
        // SAFETY: the handle is open, and no time is waited.
        unsafe { WaitForSingleObject(self.handle.as_raw_handle(), 0) == WAIT_TIMEOUT }
    }

    /// The path of the file it runs.
    #[allow(unsafe_code, reason = "a system call")]
    pub fn image(&self) -> io::Result<PathBuf> {
        let mut path = vec![0_u16; PATH_UNITS];
        let mut length = PATH_UNITS as u32;
        // SAFETY: the handle is open, and the buffer is as long as it is said to be.
        done(unsafe {
            QueryFullProcessImageNameW(
                self.handle.as_raw_handle(),
                PROCESS_NAME_WIN32,
                path.as_mut_ptr(),
                &mut length,
            )
        })?;
        path.truncate(length as usize);
        Ok(OsString::from_wide(&path).into())
    }

    /// Its arguments as it shows them.
    #[allow(unsafe_code, reason = "system calls")]
    pub fn arguments(&self) -> io::Result<Vec<OsString>> {
        // Words, so that the structure at the front is aligned.
        let mut answer = vec![0_u64; ARGUMENTS_BYTES_MAX.div_ceil(8)];
        let (into, room) = (answer.as_mut_ptr().cast(), ARGUMENTS_BYTES_MAX as u32);
        let mut length = 0;
        // SAFETY: the handle is open, and the buffer is as long as it is said to be.
        let failed = unsafe {
            NtQueryInformationProcess(
                self.handle.as_raw_handle(),
                ProcessCommandLineInformation,
                into,
                room,
                &mut length,
            )
        };
        if failed != 0 || (length as usize) < size_of::<UNICODE_STRING>() {
            return Err(io::Error::other("the system does not say its arguments"));
        }
        // SAFETY: the call succeeded, so a text stands at the front whose letters lie in the same buffer.
        let line = unsafe {
            let text = &*answer.as_ptr().cast::<UNICODE_STRING>();
            if text.Buffer.is_null() {
                return Ok(Vec::new());
            }
            U16Str::from_ptr(text.Buffer, usize::from(text.Length) / 2)
        };
        words(&U16CString::from_ustr(line).map_err(io::Error::other)?)
    }

    /// The user it runs as.
    pub fn user(&self) -> io::Result<String> {
        security::sid_of(self.handle.as_handle())
    }
}

/// A line cut as the system cuts it for a program that starts.
#[allow(unsafe_code, reason = "system calls")]
fn words(line: &U16CStr) -> io::Result<Vec<OsString>> {
    let mut count = 0;
    // SAFETY: the line ends in NUL and outlives the call, and the out pointer is our own variable.
    let list = unsafe { CommandLineToArgvW(line.as_ptr(), &mut count) };
    if list.is_null() {
        return Err(io::Error::last_os_error());
    }
    let _list = Local(list.cast());
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the list holds that many texts that end in NUL, all in the memory that is freed at the end of this function.
    Ok((0..count).map(|index| unsafe { U16CStr::from_ptr_str(*list.add(index)) }.to_os_string()).collect())
}

/// The process at the other end of a connected pipe.
#[allow(unsafe_code, reason = "a system call")]
pub fn peer_of(pipe: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut flags = 0;
    // SAFETY: the handle is open, the out pointer is our own variable, and those not asked for may be null.
    done(unsafe { GetNamedPipeInfo(pipe.as_raw_handle(), &mut flags, null_mut(), null_mut(), null_mut()) })?;
    if flags & PIPE_SERVER_END == 0 { maker_of(pipe) } else { client_of(pipe) }
}

/// The process that made a pipe. An anonymous pipe has one, too.
#[allow(unsafe_code, reason = "a system call")]
pub fn maker_of(pipe: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut pid = 0;
    // SAFETY: the handle is open, and the out pointer is our own variable.
    done(unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &mut pid) })?;
    Ok(pid)
}

/// The process that connected to our end of a pipe.
#[allow(unsafe_code, reason = "a system call")]
fn client_of(pipe: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut pid = 0;
    // SAFETY: the handle is open, and the out pointer is our own variable.
    done(unsafe { GetNamedPipeClientProcessId(pipe.as_raw_handle(), &mut pid) })?;
    Ok(pid)
}

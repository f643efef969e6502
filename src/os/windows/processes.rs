//! Processes by number and by the pipes they made.

use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;

use windows_sys::Win32::Foundation::{FILETIME, WAIT_TIMEOUT};
use windows_sys::Win32::System::Pipes::{GetNamedPipeClientProcessId, GetNamedPipeServerProcessId};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    QueryFullProcessImageNameW, WaitForSingleObject,
};

use super::{done, security};

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
        Ok(std::ffi::OsString::from_wide(&path).into())
    }

    /// When it began, in the system's own unit.
    #[allow(unsafe_code, reason = "a system call")]
    pub fn began(&self) -> io::Result<u64> {
        let mut began = FILETIME::default();
        let (mut ended, mut kernel, mut user) = (began, began, began);
        // SAFETY: the handle is open, and the out pointers are our own variables.
        done(unsafe {
            GetProcessTimes(self.handle.as_raw_handle(), &mut began, &mut ended, &mut kernel, &mut user)
        })?;
        Ok(u64::from(began.dwHighDateTime) << 32 | u64::from(began.dwLowDateTime))
    }

    /// The user it runs as.
    pub fn user(&self) -> io::Result<String> {
        security::sid_of(self.handle.as_handle())
    }
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
pub fn client_of(pipe: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut pid = 0;
    // SAFETY: the handle is open, and the out pointer is our own variable.
    done(unsafe { GetNamedPipeClientProcessId(pipe.as_raw_handle(), &mut pid) })?;
    Ok(pid)
}

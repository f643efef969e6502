//! Users by their security identifiers, and who may reach a file or pipe.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr::null_mut;

use interprocess::os::windows::security_descriptor::SecurityDescriptor;
use widestring::U16CStr;
use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, GetSecurityInfo, SE_FILE_OBJECT, SE_KERNEL_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, GetTokenInformation,
    OWNER_SECURITY_INFORMATION, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::{Local, done, wide};

/// Kinds of entries of an access list, as the first byte of each says.
const ALLOWS: u8 = 0;
const DENIES: u8 = 1;
/// The system itself, and those who may take over anything anyway.
const ABOVE_US: [&str; 2] = ["S-1-5-18", "S-1-5-32-544"];

/// What access is looked at on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A file or folder.
    File,
    /// An end of a pipe.
    Pipe,
}

/// Whose an object is, and who else may reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Its owner.
    pub owner: String,
    /// Somebody who is neither us nor above us and may do something with it; in words where it is no single user.
    pub stranger: Option<String>,
}

/// Our user.
#[allow(unsafe_code, reason = "a system call")]
pub fn our_sid() -> io::Result<String> {
    // SAFETY: takes nothing; what it gives stands for this process as long as it lives and need not be closed.
    let process = unsafe { BorrowedHandle::borrow_raw(GetCurrentProcess()) };
    sid_of(process)
}

/// The user that a process runs as.
#[allow(unsafe_code, reason = "system calls")]
pub fn sid_of(process: BorrowedHandle<'_>) -> io::Result<String> {
    let mut token = null_mut();
    // SAFETY: the process is open, and the one out pointer is our own variable.
    done(unsafe { OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &mut token) })?;
    // SAFETY: a fresh handle that nobody else owns.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    let mut length = 0;
    // SAFETY: without a buffer only the length is written, and the call says that it failed.
    unsafe { GetTokenInformation(token.as_raw_handle(), TokenUser, null_mut(), 0, &mut length) };
    // Words, so that the structure at the front is aligned.
    let mut buffer = vec![0_u64; (length as usize).div_ceil(8).max(size_of::<TOKEN_USER>().div_ceil(8))];
    // SAFETY: the buffer holds at least the length it is said to hold.
    done(unsafe {
        GetTokenInformation(token.as_raw_handle(), TokenUser, buffer.as_mut_ptr().cast(), length, &mut length)
    })?;
    // SAFETY: the call succeeded, so the structure stands at the front, aligned, and points into the same buffer.
    unsafe { text_of((*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}

/// Access for our user alone, not inherited from above; `below` says whether it holds for what lies in a folder, too.
pub fn ours_alone(below: bool) -> io::Result<SecurityDescriptor> {
    let (us, inherit) = (our_sid()?, if below { "OICI" } else { "" });
    SecurityDescriptor::deserialize(&wide(format!("O:{us}D:P(A;{inherit};GA;;;{us})"))?)
}

/// Whose an open object is, and who else may reach it.
#[allow(unsafe_code, reason = "system calls")]
pub fn reach(object: BorrowedHandle<'_>, kind: Object) -> io::Result<Reach> {
    let kind = match kind {
        Object::File => SE_FILE_OBJECT,
        Object::Pipe => SE_KERNEL_OBJECT,
    };
    let (mut owner, mut list, mut descriptor) = (null_mut(), null_mut(), null_mut());
    let asked = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    // SAFETY: the object is open; the out pointers are our own variables; those not asked for may be null.
    let failed = unsafe {
        GetSecurityInfo(
            object.as_raw_handle(),
            kind,
            asked,
            &mut owner,
            null_mut(),
            &mut list,
            null_mut(),
            &mut descriptor,
        )
    };
    if failed != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(failed.cast_signed()));
    }
    let _descriptor = Local(descriptor);
    let us = our_sid()?;
    // SAFETY: both point into the descriptor, which lives until the end of this function.
    unsafe { Ok(Reach { owner: text_of(owner)?, stranger: stranger_in(list, &us)? }) }
}

/// # Safety
/// The list must be null or one that the system made.
#[allow(unsafe_code, reason = "reads what the system wrote")]
unsafe fn stranger_in(list: *const ACL, us: &str) -> io::Result<Option<String>> {
    if list.is_null() {
        return Ok(Some("everybody, for want of an access list".into()));
    }
    // SAFETY: not null, so it is the system's own list.
    let count = unsafe { (*list).AceCount };
    for index in 0..u32::from(count) {
        let mut entry = null_mut();
        // SAFETY: the index is below the list's count, and the out pointer is our own variable.
        done(unsafe { GetAce(list, index, &mut entry) })?;
        // SAFETY: every entry begins with its header.
        let kind = unsafe { (*entry.cast::<ACE_HEADER>()).AceType };
        let who = match kind {
            // SAFETY: an entry of this kind ends in the identifier whose first word the structure names.
            ALLOWS => unsafe { text_of((&raw mut (*entry.cast::<ACCESS_ALLOWED_ACE>()).SidStart).cast())? },
            DENIES => continue,
            _ => return Ok(Some("somebody, by an entry of a kind that genkan does not know".into())),
        };
        if who != us && !ABOVE_US.contains(&who.as_str()) {
            return Ok(Some(who));
        }
    }
    Ok(None)
}

/// # Safety
/// The identifier must be one that the system made.
#[allow(unsafe_code, reason = "reads what the system wrote")]
unsafe fn text_of(sid: PSID) -> io::Result<String> {
    let mut text = null_mut();
    // SAFETY: the identifier is valid, and the out pointer is our own variable.
    done(unsafe { ConvertSidToStringSidW(sid, &mut text) })?;
    let _text = Local(text.cast());
    // SAFETY: the call succeeded, so it is a text that ends in NUL and lives until the end of this function.
    unsafe { U16CStr::from_ptr_str(text) }.to_string().map_err(|_| io::ErrorKind::InvalidData.into())
}

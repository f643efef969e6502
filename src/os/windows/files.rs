//! Files and folders: made for us alone, examined through their open handle, renamed durably.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle};
use std::path::Path;
use std::ptr::null_mut;

use interprocess::os::windows::security_descriptor::{AsSecurityDescriptor as _, SecurityDescriptor};
use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, ERROR_FILE_EXISTS, GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, CREATE_NEW, CreateDirectoryW, CreateFileW, DELETE, FILE_ATTRIBUTE_DIRECTORY,
    FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_FLAG_WRITE_THROUGH, FILE_RENAME_INFO, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_TYPE_DISK, FileRenameInfoEx, GetFileInformationByHandle,
    GetFileType, SYNCHRONIZE, SetFileInformationByHandle,
};

use super::security::ours_alone;
use super::{done, wide};

/// The new name takes the place of the old file, open or not: the values that the system's headers give.
const FILE_RENAME_REPLACE_IF_EXISTS: u32 = 1;
const FILE_RENAME_POSIX_SEMANTICS: u32 = 2;

/// Everybody may read, write and remove what we hold open.
pub const SHARED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
/// Others may read and write what we hold open, but neither rename nor remove it, nor what lies above it.
pub const PINNED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE;

/// What an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// It is a folder.
    pub folder: bool,
    /// It is on a disk, and no link to something else.
    pub plain: bool,
    /// How many names it has.
    pub names: u32,
    /// Its volume.
    pub volume: u64,
    /// Its number on the volume.
    pub index: u64,
    /// Its size.
    pub size: u64,
    /// When it was last written, and when it was made.
    pub changed: [i128; 2],
}

/// Opens what is there, a link as itself, a folder like a file.
pub fn open(path: &Path, options: &mut OpenOptions, share: u32) -> io::Result<File> {
    options
        .share_mode(share)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

/// Makes a folder for us alone, and for us alone what will lie in it. Says whether it was missing.
#[allow(unsafe_code, reason = "a system call")]
pub fn make_folder(path: &Path) -> io::Result<bool> {
    let (path, access) = (wide(path)?, ours_alone(true)?);
    let attributes = attributes(&access);
    // SAFETY: path and access outlive the call.
    match done(unsafe { CreateDirectoryW(path.as_ptr(), &attributes) }) {
        Err(error) if exists(&error) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Makes an empty file for us alone; `None` if the name is taken.
#[allow(unsafe_code, reason = "a system call")]
pub fn make_file(path: &Path, share: u32) -> io::Result<Option<File>> {
    let (path, access) = (wide(path)?, ours_alone(false)?);
    let attributes = attributes(&access);
    // SAFETY: path and access outlive the call; the template may be null.
    let handle = unsafe {
        CreateFileW(
            path.as_ptr(),
            GENERIC_READ | GENERIC_WRITE,
            share,
            &attributes,
            CREATE_NEW,
            FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT,
            null_mut(),
        )
    };
    if handle == INVALID_HANDLE_VALUE {
        let error = io::Error::last_os_error();
        return if exists(&error) { Ok(None) } else { Err(error) };
    }
    // SAFETY: a fresh handle that nobody else owns.
    Ok(Some(unsafe { File::from_raw_handle(handle) }))
}

/// What an open file is.
#[allow(unsafe_code, reason = "system calls")]
pub fn nature(file: impl AsHandle) -> io::Result<Nature> {
    let handle = file.as_handle().as_raw_handle();
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the file is open, and the out pointer is our own variable.
    let on_disk = unsafe { GetFileType(handle) } == FILE_TYPE_DISK;
    if on_disk {
        // SAFETY: as above.
        done(unsafe { GetFileInformationByHandle(handle, &mut found) })?;
    }
    let has = |attribute| found.dwFileAttributes & attribute != 0;
    Ok(Nature {
        folder: has(FILE_ATTRIBUTE_DIRECTORY),
        plain: on_disk && !has(FILE_ATTRIBUTE_REPARSE_POINT),
        names: found.nNumberOfLinks,
        volume: u64::from(found.dwVolumeSerialNumber),
        index: joined(found.nFileIndexHigh, found.nFileIndexLow),
        size: joined(found.nFileSizeHigh, found.nFileSizeLow),
        changed: [
            joined(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime).into(),
            joined(found.ftCreationTime.dwHighDateTime, found.ftCreationTime.dwLowDateTime).into(),
        ],
    })
}

/// Gives a file the name of another, which it replaces even while that is open, and waits until that is on the disk.
#[allow(unsafe_code, reason = "a system call")]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    // Written through, a file takes the changes of its own name along.
    let file = File::options()
        .access_mode(DELETE | SYNCHRONIZE)
        .share_mode(SHARED)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_WRITE_THROUGH)
        .open(from)?;
    let wish = Wish::of(to)?;
    // SAFETY: the file is open, and the wish is as long as it is said to be.
    done(unsafe {
        SetFileInformationByHandle(
            file.as_raw_handle(),
            FileRenameInfoEx,
            wish.words.as_ptr().cast(),
            wish.bytes,
        )
    })
}

/// A new name as the system wants to be told it: flags, no folder, length in bytes, then the name itself.
struct Wish {
    /// Words, so that the structure at the front is aligned.
    words: Vec<u64>,
    bytes: u32,
}

impl Wish {
    #[allow(unsafe_code, reason = "a structure that ends in an array of unknown length")]
    fn of(to: &Path) -> io::Result<Self> {
        let to = wide(to)?;
        let name = to.as_slice();
        let bytes = offset_of!(FILE_RENAME_INFO, FileName) + size_of_val(name);
        let mut words = vec![0_u64; bytes.max(size_of::<FILE_RENAME_INFO>()).div_ceil(8)];
        let too_long = |_| io::Error::from(io::ErrorKind::InvalidFilename);
        let wish = words.as_mut_ptr().cast::<FILE_RENAME_INFO>();
        // SAFETY: the words are aligned for the structure, and hold it and the whole name from its last field on.
        unsafe {
            (*wish).Anonymous.Flags = FILE_RENAME_REPLACE_IF_EXISTS | FILE_RENAME_POSIX_SEMANTICS;
            (*wish).FileNameLength = u32::try_from(size_of_val(name)).map_err(too_long)?;
            name.as_ptr().copy_to_nonoverlapping((&raw mut (*wish).FileName).cast(), name.len());
        }
        Ok(Self { bytes: u32::try_from(words.len() * 8).map_err(too_long)?, words })
    }
}

fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn attributes(access: &SecurityDescriptor) -> SECURITY_ATTRIBUTES {
    SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: access.as_sd().cast_mut(),
        bInheritHandle: 0,
    }
}

fn exists(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(i32::cast_unsigned);
    matches!(code, Some(ERROR_ALREADY_EXISTS | ERROR_FILE_EXISTS))
}

//! The person's own part of the registry, where browsers look for hosts. Decides nothing: it reads and writes.

use std::path::Path;

use windows_registry::CURRENT_USER;
use windows_sys::Win32::Foundation::ERROR_FILE_NOT_FOUND;
use windows_sys::core::HRESULT;

use super::OsRefusal;

/// How a missing key or value is reported.
const MISSING: HRESULT = (0x8007_0000 | ERROR_FILE_NOT_FOUND).cast_signed();

/// Whether there is such a key.
pub fn has(key: &str) -> bool {
    CURRENT_USER.open(key).is_ok()
}

/// The unnamed value of a key; `None` if key or value is missing.
pub fn value(key: &str) -> Result<Option<String>, OsRefusal> {
    match CURRENT_USER.open(key).and_then(|key| key.get_string("")) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code().0 == MISSING => Ok(None),
        Err(error) => Err(OsRefusal::io("read", Path::new(key), error)),
    }
}

/// Sets the unnamed value of a key, which is made if it is missing.
pub fn set(key: &str, value: &str) -> Result<(), OsRefusal> {
    CURRENT_USER
        .create(key)
        .and_then(|key| key.set_string("", value))
        .map_err(|error| OsRefusal::io("write", Path::new(key), error))
}

//! Who signed a program, by the signature inside its file. Revocation is not asked for: that would need the network.

use std::fs::File;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::{null, null_mut};

use widestring::U16Str;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::Cryptography::{CERT_NAME_SIMPLE_DISPLAY_TYPE, CertGetNameStringW};
use windows_sys::Win32::Security::WinTrust::{
    WINTRUST_ACTION_GENERIC_VERIFY_V2, WINTRUST_DATA, WINTRUST_DATA_0, WINTRUST_FILE_INFO,
    WTD_CACHE_ONLY_URL_RETRIEVAL, WTD_CHOICE_FILE, WTD_REVOKE_NONE, WTD_STATEACTION_CLOSE,
    WTD_STATEACTION_VERIFY, WTD_UI_NONE, WTHelperGetProvSignerFromChain, WTHelperProvDataFromStateData,
    WinVerifyTrust,
};

use super::wide;

/// Units of a signer's name; a longer one is none.
const NAME_UNITS: usize = 256;

/// The name of whoever signed this open program, if its signature holds and its chain ends in a root that this machine
/// trusts; `None` otherwise.
#[allow(unsafe_code, reason = "system calls")]
pub fn signer(path: &Path, program: &File) -> Option<String> {
    let path = wide(path).ok()?;
    let mut file = WINTRUST_FILE_INFO {
        cbStruct: size_of::<WINTRUST_FILE_INFO>() as u32,
        pcwszFilePath: path.as_ptr(),
        hFile: program.as_raw_handle(),
        pgKnownSubject: null_mut(),
    };
    let mut question = WINTRUST_DATA {
        cbStruct: size_of::<WINTRUST_DATA>() as u32,
        dwUIChoice: WTD_UI_NONE,
        fdwRevocationChecks: WTD_REVOKE_NONE,
        dwUnionChoice: WTD_CHOICE_FILE,
        Anonymous: WINTRUST_DATA_0 { pFile: &mut file },
        dwStateAction: WTD_STATEACTION_VERIFY,
        dwProvFlags: WTD_CACHE_ONLY_URL_RETRIEVAL,
        ..WINTRUST_DATA::default()
    };
    let mut action = WINTRUST_ACTION_GENERIC_VERIFY_V2;
    let mut ask = |question: &mut WINTRUST_DATA| {
        // SAFETY: question, file and path outlive the call, and each says its true size.
        unsafe { WinVerifyTrust(null_mut(), &mut action, (&raw mut *question).cast()) }
    };
    let trusted = ask(&mut question) == 0;
    // SAFETY: the state is the one that the verification above left, and it is closed only below.
    let name = if trusted { unsafe { name_in(question.hWVTStateData) } } else { None };
    question.dwStateAction = WTD_STATEACTION_CLOSE;
    ask(&mut question);
    name
}

/// # Safety
/// The state must be that of a verification that succeeded and was not closed.
#[allow(unsafe_code, reason = "reads what the system wrote")]
unsafe fn name_in(state: HANDLE) -> Option<String> {
    // SAFETY: the state is valid; what it leads to lives as long as it, and each step is checked for null.
    let certificate = unsafe {
        let provider = WTHelperProvDataFromStateData(state);
        let signer = (!provider.is_null()).then(|| WTHelperGetProvSignerFromChain(provider, 0, 0, 0))?;
        let leaf = (!signer.is_null() && (*signer).csCertChain > 0).then(|| (*signer).pasCertChain)?;
        (!leaf.is_null()).then(|| (*leaf).pCert)?
    };
    let mut name = [0_u16; NAME_UNITS];
    // SAFETY: the certificate belongs to the state, and the buffer is as long as it is said to be.
    let length = unsafe {
        CertGetNameStringW(
            certificate,
            CERT_NAME_SIMPLE_DISPLAY_TYPE,
            0,
            null(),
            name.as_mut_ptr(),
            NAME_UNITS as u32,
        )
    };
    // The length counts the final NUL. A name that fills the buffer may have been cut and could be another's.
    let letters = name.get(..(length as usize).checked_sub(1)?)?;
    let whole = !letters.is_empty() && letters.len() + 1 < NAME_UNITS;
    whole.then(|| U16Str::from_slice(letters).to_string().ok())?
}

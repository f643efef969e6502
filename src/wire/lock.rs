//! The text of `run.lock`: who holds the door, and the secret by which the processes of one run know each other.
//!
//! Decides which bytes are such a text; refuses all others. The pid is for people: who holds the lock is the kernel's
//! word. The secret never appears in a debug print.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::base::hex::{from_hex, hex};
use crate::base::limits::{LOCK_FILE_BYTES_MAX, SECRET_BYTES};
use crate::wire::json::{self, JsonFault};

/// What the lock file says.
#[derive(Clone, PartialEq, Eq)]
pub struct LockRecord {
    /// The holder as it named itself; for people only.
    pub pid: u32,
    /// The secret of its run.
    pub secret: [u8; SECRET_BYTES],
    /// Which records it judges by. For the person's commands only: peers prove theirs in the handshake.
    pub records: [u8; 32],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    pid: u32,
    secret: String,
    records: String,
}

impl LockRecord {
    /// Reads the file's bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonFault> {
        let long = || JsonFault::Shape("it is longer than a lock".into());
        let text: Text = if bytes.len() > LOCK_FILE_BYTES_MAX { Err(long()) } else { json::typed(bytes) }?;
        let bytes = |text: &str| from_hex(text).ok_or(JsonFault::Shape("it is not 64 hex digits".into()));
        Ok(Self { pid: text.pid, secret: bytes(&text.secret)?, records: bytes(&text.records)? })
    }

    /// The file's bytes.
    pub fn written(&self) -> String {
        json::written(&Text { pid: self.pid, secret: hex(&self.secret), records: hex(&self.records) })
    }
}

impl fmt::Debug for LockRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockRecord").field("pid", &self.pid).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_reads_back_and_hides_its_secret() {
        let record = LockRecord { pid: 7, secret: [0xab; SECRET_BYTES], records: [0xcd; 32] };
        assert_eq!(LockRecord::parse(record.written().as_bytes()), Ok(record.clone()));
        assert!(!alloc::format!("{record:?}").contains("ab"));
    }

    #[test]
    fn t062_any_other_text_is_no_lock() {
        let good = LockRecord { pid: 7, secret: [0xab; SECRET_BYTES], records: [0xcd; 32] }.written();
        for (before, after) in [
            ("\"pid\":7", "\"pid\":7,\"pid\":7"),
            ("\"pid\":7", "\"pid\":7,\"x\":1"),
            ("\"pid\":7", "\"pid\":-7"),
            ("\"pid\":7", "\"pid\":\"7\""),
            ("\"pid\":7,", ""),
            ("abab", "ABAB"),
            ("abab", ""),
            ("cdcd", ""),
            (",\"records\":", ",\"record\":"),
            ("}", "}\0"),
            ("{", "[{"),
        ] {
            let bad = good.replacen(before, after, 1);
            assert_ne!(bad, good);
            assert!(LockRecord::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(LockRecord::parse(b"").is_err());
    }
}

//! Who a client is by the kernel's word: the processes that hold the other ends of a server's standard streams.
//!
//! Decides what a well-formed identity is: at least one holder, whole paths, hashes of one spelling, a script only
//! beside an interpreter. Refuses everything else before anybody compares it with a list. It does not know who is
//! admitted, nor whether the process that wrote it measured well.

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::base::limits::{CLIENT_PATH_BYTES_MAX, HOLDERS_MAX, SIGNER_BYTES_MAX};
use crate::wire::json::{self, JsonFault};

/// Hex digits of a hash that are shown to people.
const SHORT_HEX: usize = 12;

/// A SHA-256. On the wire 64 lower-case hex digits and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Reads the one spelling.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return None,
                };
                *byte = *byte << 4 | value;
            }
        }
        Some(Self(bytes))
    }

    /// Enough of it to be told from another by eye; never compared.
    pub fn short(&self) -> String {
        let mut text = alloc::format!("{self}");
        text.truncate(SHORT_HEX);
        text
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        writer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let refused = || serde::de::Error::custom("a hash is not 64 lower-case hex digits");
        Self::from_hex(&String::deserialize(reader)?).ok_or_else(refused)
    }
}

/// The file that a process runs, measured through an open descriptor of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Its path when it was started.
    pub path: String,
    /// Device of the running file.
    pub device: u64,
    /// Inode of the running file.
    pub inode: u64,
    /// Hash of the running file, whatever lies at the path now.
    pub sha256: Sha256,
    /// Whether it is a system package's: it and every folder above it belong to root and nobody else may write there.
    pub package: bool,
    /// Who signed it, where the kernel checks signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Whether the file at the path, as we see it, is no longer the running one.
    pub replaced: bool,
}

/// The script that an interpreter was started with. Weak: a process may rewrite its own arguments and load other code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Its path, links resolved.
    pub path: String,
    /// Hash of the file at that path when it was measured.
    pub sha256: Sha256,
}

/// One process at the other end of our standard streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// Its process id while it was measured.
    pub pid: u32,
    /// What it runs.
    pub image: Image,
    /// Whether the image runs whatever script it is given.
    pub interpreter: bool,
    /// An interpreter's script, if it could be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
}

/// Every process that can speak to us as the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Client {
    holders: Vec<Holder>,
}

impl Client {
    /// A client of these holders; the first is the one shown to people.
    pub fn new(holders: Vec<Holder>) -> Result<Self, ClientFault> {
        let fault = match holders.len() {
            0 => Some(ClientFault::Nobody),
            count if count > HOLDERS_MAX => Some(ClientFault::Crowd),
            _ => holders.iter().find_map(fault_of),
        };
        fault.map_or(Ok(Self { holders }), Err)
    }

    /// Reads one JSON text.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonFault> {
        json::typed(bytes)
    }

    /// Reads a parsed value.
    pub fn from_value(value: &Value) -> Result<Self, JsonFault> {
        json::shaped(value)
    }

    /// All of them, at least one: a decision about the client is a decision about each.
    pub fn holders(&self) -> &[Holder] {
        &self.holders
    }

    /// The path of the first holder's image, for people.
    pub fn path(&self) -> &str {
        self.holders.first().map_or("", |holder| holder.image.path.as_str())
    }

    /// The file name of the first holder's image, for people; a path's last part is never a reason to trust.
    pub fn name(&self) -> &str {
        let path = self.path();
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// Why holders are no client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFault {
    /// There is none.
    Nobody,
    /// More than [`HOLDERS_MAX`].
    Crowd,
    /// A process number that no process has.
    Pid,
    /// A path that is empty, not absolute, too long or holds a NUL.
    Path,
    /// A script beside an image that is no interpreter.
    Script,
    /// A signer without a name, or with an endless one.
    Signer,
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("no process holds the other end"),
            Self::Crowd => write!(f, "more than {HOLDERS_MAX} processes hold the other ends"),
            Self::Pid => f.write_str("a holder has the process number 0"),
            Self::Path => f.write_str("the path of an image or script is not a whole path"),
            Self::Script => f.write_str("a script is named for an image that runs none"),
            Self::Signer => f.write_str("a signer has no proper name"),
        }
    }
}

impl core::error::Error for ClientFault {}

fn fault_of(holder: &Holder) -> Option<ClientFault> {
    let script = holder.script.as_ref();
    if holder.pid == 0 {
        Some(ClientFault::Pid)
    } else if !is_path(&holder.image.path) || script.is_some_and(|script| !is_path(&script.path)) {
        Some(ClientFault::Path)
    } else if script.is_some() && !holder.interpreter {
        Some(ClientFault::Script)
    } else if holder.image.signer.as_ref().is_some_and(|s| s.is_empty() || s.len() > SIGNER_BYTES_MAX) {
        Some(ClientFault::Signer)
    } else {
        None
    }
}

/// Absolute here means what it means to the system that measured: `/…`, or a drive or share on Windows.
fn is_path(path: &str) -> bool {
    let absolute = path.starts_with(['/', '\\']) || path.get(1..3) == Some(":\\");
    absolute && path.len() <= CLIENT_PATH_BYTES_MAX && !path.contains('\0')
}

/// As it is written; not yet a client.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    holders: Vec<Holder>,
}

impl TryFrom<Unchecked> for Client {
    type Error = ClientFault;

    fn try_from(unchecked: Unchecked) -> Result<Self, ClientFault> {
        Self::new(unchecked.holders)
    }
}

impl From<Client> for Unchecked {
    fn from(client: Client) -> Self {
        Self { holders: client.holders }
    }
}

#[cfg(test)]
mod tests;

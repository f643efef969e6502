//! The bridge: what the broker and a browser say to each other once attached, one JSON object a line or frame.
//!
//! Requests and notices go to the browser, replies come back. Refuses unknown members, ids that both ends do not hold
//! exactly, replies that are neither a success nor a failure or both, and results that break their own rules. It does
//! not know which ids are open or which tools exist: the session and the dispatcher do.

use alloc::{string::String, vec::Vec};
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::limits::{
    CHUNK_TEXT_BYTES_MAX, CHUNK_TOTAL_BYTES_MAX, IMAGE_BYTES_MAX, INSTANCE_HEX, LABEL_BYTES_MAX,
    RESULT_BYTES_MAX, SAFE_INTEGER_MAX, VERSION_BYTES_MAX,
};
use crate::base::refusal::Refusal;
use crate::wire::json::{self, JsonFault};

/// Version of this protocol. Both ends must speak the same one.
pub const BRIDGE_PROTOCOL_VERSION: u32 = 1;

/// A group of tools that an extension offers or not. Each bridged tool is in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Listing, opening, moving between and capturing tabs.
    TabControl,
    /// Reading the page's structure.
    PageSnapshot,
    /// Clicking, filling, scrolling, waiting.
    PageInteract,
    /// Reading the page's text.
    PageRead,
}

impl Capability {
    /// Whether no capability is named twice.
    pub fn each_once(named: &[Capability]) -> bool {
        named.iter().enumerate().all(|(at, one)| named.iter().skip(at + 1).all(|other| other != one))
    }
}

/// What a peer of the bridge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A browser's native host.
    Browser,
    /// An MCP server that is not the broker and passes its client's calls on to it.
    Relay,
}

/// Who may speak to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// No list of clients exists: any program of this user may enter.
    Open,
    /// Only paired clients may enter.
    Paired,
}

/// The client on whose behalf a call is made, as measured by the broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// Key of this client's state in the extension: default tab, tab group, grace. Not a claim by the client.
    pub key: String,
    /// What the client calls itself; a label, never a reason to trust.
    pub name: String,
    /// Path of the client's executable, as the kernel reports it; empty if it could not be measured.
    pub image: String,
    /// Whether the image was verified against the list of paired clients.
    pub verified: bool,
}

/// Broker → browser: do this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeReq {
    /// Pairs the reply; strictly increasing, never used twice in a run.
    pub id: u64,
    /// Name of a tool in the catalogue.
    pub op: String,
    /// The target's label as the client gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// The tool's arguments, without `browser`.
    pub args: Map<String, Value>,
    /// Who asks.
    pub caller: Caller,
    /// Milliseconds left for the whole call.
    pub deadline: u32,
}

/// Broker → browser, beside requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Notice {
    /// Nobody waits for this call any more: stop it and answer nothing.
    Cancel {
        /// The request's id.
        id: u64,
    },
    /// A piece of a frame that is too large for the browser, made by the host. The pieces' text joins to the frame.
    Chunk {
        /// The request's id.
        id: u64,
        /// 0, 1, 2 …
        seq: u32,
        /// Whether this is the last piece.
        last: bool,
        /// Part of the frame's JSON text.
        data: String,
    },
}

/// Broker → a browser's host, about their link. It never reaches the extension as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkNotice {
    /// Who may enter through the broker has changed.
    Door {
        /// Who may enter now.
        door: Door,
    },
}

impl LinkNotice {
    /// The notice that a line holds, if it is one at all. Requests, which come often, are not read for it.
    pub fn parse(line: &[u8]) -> Option<Self> {
        line.starts_with(br#"{"type":"door""#).then(|| json::typed(line).ok()).flatten()
    }
}

/// A tool's result as the client will see it: masked, bounded and inside its boundary when it leaves the extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// For the model; never empty unless there is an image.
    pub text: String,
    /// The same as data, for list-type tools only; never beside an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Map<String, Value>>,
    /// page_screenshot only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
}

/// An image block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// `image/jpeg` or `image/png`.
    pub mime: String,
    /// Base64, at most 700,000 bytes decoded.
    pub data: String,
}

/// Browser → broker: the outcome of one request, or where it stands.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgeResp {
    /// Done: `{"id":…,"ok":true,"data":…}`.
    Done {
        /// The request's id.
        id: u64,
        /// The tool's result.
        data: Outcome,
    },
    /// Refused or failed: `{"id":…,"ok":false,"error":{"code":…,"message":…}}`.
    Failed {
        /// The request's id.
        id: u64,
        /// Why.
        error: Refusal,
    },
    /// Still going: `{"type":"progress","id":…,"state":…}`.
    Progress {
        /// The request's id.
        id: u64,
        /// What the extension waits for.
        state: ProgressState,
    },
}

/// What a running call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressState {
    /// The person's answer in the confirmation window.
    Confirming,
    /// The page.
    Acting,
}

/// Why bytes are not a bridge frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeFault {
    /// Not strict JSON, or not of its type.
    Json(JsonFault),
    /// Neither a request nor a notice, or neither a reply nor progress.
    Kind,
    /// An integer above 2^53 − 1.
    Integer,
    /// Well formed, but against a rule that its type cannot express; the rule as a sentence.
    Rule(&'static str),
    /// A frame larger than chunks may carry.
    TooLarge,
}

impl fmt::Display for BridgeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BridgeFault::Json(fault) => fault.fmt(f),
            BridgeFault::Kind => f.write_str("the frame is of no kind that belongs here"),
            BridgeFault::Integer => f.write_str("an integer in the frame is above 2^53 - 1"),
            BridgeFault::Rule(rule) => f.write_str(rule),
            BridgeFault::TooLarge => write!(f, "the frame is larger than {CHUNK_TOTAL_BYTES_MAX} bytes"),
        }
    }
}

impl core::error::Error for BridgeFault {}

impl From<JsonFault> for BridgeFault {
    fn from(fault: JsonFault) -> Self {
        BridgeFault::Json(fault)
    }
}

/// What a broker may send once a browser is attached.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BridgeFrame {
    /// A call.
    Request(BridgeReq),
    /// A word about a call.
    Notice(Notice),
}

impl BridgeFrame {
    /// Parses one line or frame.
    pub fn parse(bytes: &[u8]) -> Result<Self, BridgeFault> {
        Self::from_value(&json::parse(bytes)?)
    }

    /// Reads a parsed line or frame. A request has no `type`, a notice has one.
    pub fn from_value(value: &Value) -> Result<Self, BridgeFault> {
        let frame = match value.get("type") {
            Some(_) => BridgeFrame::Notice(json::shaped(value)?),
            None => BridgeFrame::Request(json::shaped(value)?),
        };
        exact(frame.id())?;
        Ok(frame)
    }

    /// The call this is about.
    pub fn id(&self) -> u64 {
        match self {
            BridgeFrame::Request(BridgeReq { id, .. })
            | BridgeFrame::Notice(Notice::Cancel { id } | Notice::Chunk { id, .. }) => *id,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DoneFrame {
    id: u64,
    ok: bool,
    data: Outcome,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailedFrame {
    id: u64,
    ok: bool,
    error: Refusal,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum WaitingFrame {
    Progress { id: u64, state: ProgressState },
}

impl BridgeResp {
    /// Parses one line or frame.
    pub fn parse(bytes: &[u8]) -> Result<Self, BridgeFault> {
        Self::from_value(&json::parse(bytes)?)
    }

    /// Reads a parsed line or frame. The literal `ok` decides which members there are.
    pub fn from_value(value: &Value) -> Result<Self, BridgeFault> {
        let resp = match (value.get("type"), value.get("ok")) {
            (Some(_), None) => {
                let WaitingFrame::Progress { id, state } = json::shaped(value)?;
                BridgeResp::Progress { id, state }
            }
            (None, Some(Value::Bool(true))) => {
                let DoneFrame { id, data, .. } = json::shaped(value)?;
                data.check().map_err(BridgeFault::Rule)?;
                BridgeResp::Done { id, data }
            }
            (None, Some(Value::Bool(false))) => {
                let FailedFrame { id, error, .. } = json::shaped(value)?;
                BridgeResp::Failed { id, error }
            }
            _ => return Err(BridgeFault::Kind),
        };
        exact(resp.id())?;
        Ok(resp)
    }

    /// The call this answers.
    pub fn id(&self) -> u64 {
        match self {
            BridgeResp::Done { id, .. } | BridgeResp::Failed { id, .. } | BridgeResp::Progress { id, .. } => {
                *id
            }
        }
    }
}

impl Serialize for BridgeResp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            BridgeResp::Done { id, data } => DoneFrame { id, ok: true, data }.serialize(to),
            BridgeResp::Failed { id, error } => FailedFrame { id, ok: false, error }.serialize(to),
            BridgeResp::Progress { id, state } => WaitingFrame::Progress { id, state }.serialize(to),
        }
    }
}

impl Outcome {
    /// The rules beside the shape. The client is promised them, and the browser's side is not trusted to keep them.
    fn check(&self) -> Result<(), &'static str> {
        match (&self.image, &self.structured) {
            (Some(_), Some(_)) => return Err("a result holds data beside an image"),
            (Some(image), None) => image.check()?,
            (None, _) if self.text.is_empty() => return Err("a result holds neither text nor an image"),
            (None, _) => {}
        }
        if self.text.len() > RESULT_BYTES_MAX { Err("a result's text is too long") } else { Ok(()) }
    }
}

impl Image {
    fn check(&self) -> Result<(), &'static str> {
        if !matches!(self.mime.as_str(), "image/jpeg" | "image/png") {
            return Err("an image is neither JPEG nor PNG");
        }
        if self.data.is_empty() || self.data.len() > IMAGE_BYTES_MAX.div_ceil(3) * 4 {
            return Err("an image is empty or too large");
        }
        match self.data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)) {
            true => Ok(()),
            false => Err("an image is not base64"),
        }
    }
}

/// Cuts a frame's JSON text into chunks, each of which fits into one native-messaging frame however it is escaped.
pub fn chunks(frame_json: &str, id: u64) -> Result<Vec<Notice>, BridgeFault> {
    if frame_json.len() > CHUNK_TOTAL_BYTES_MAX {
        return Err(BridgeFault::TooLarge);
    }
    let (mut pieces, mut rest, mut seq) = (Vec::new(), frame_json, 0);
    loop {
        let (data, after) =
            rest.split_at_checked(rest.floor_char_boundary(CHUNK_TEXT_BYTES_MAX)).unwrap_or((rest, ""));
        pieces.push(Notice::Chunk { id, seq, last: after.is_empty(), data: data.into() });
        if after.is_empty() {
            return Ok(pieces);
        }
        (rest, seq) = (after, seq + 1);
    }
}

/// Whether a text can name a browser: 1 to 32 of `a`–`z`, `0`–`9` and `-`.
pub fn is_label(text: &str) -> bool {
    let fits = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=LABEL_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits)
}

/// Whether a text can name a browser profile: exactly 32 lower-case hex digits.
pub fn is_instance(text: &str) -> bool {
    text.len() == INSTANCE_HEX && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text can be a release version: short, and of characters that are safe to print.
pub fn is_version(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    (1..=VERSION_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits)
}

fn exact(integer: u64) -> Result<(), BridgeFault> {
    if integer > SAFE_INTEGER_MAX { Err(BridgeFault::Integer) } else { Ok(()) }
}

#[cfg(test)]
mod tests;

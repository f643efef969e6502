//! Control frames between the extension and its host, and the router that keeps them on that link.
//!
//! Decides for one frame whether the host handles it, passes it on, or drops it. Refuses whatever is not exactly a frame
//! of its link: a control frame from the socket is an injection, a frame of no known shape is malformed. It does not
//! know whether a socket is open or a call is waiting, so every decision can be tested without either.

mod verdict;

use alloc::{string::String, vec::Vec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::limits::{AUDIT_ENTRIES_MAX, AUDIT_TEXT_BYTES_MAX, SAFE_INTEGER_MAX};
use crate::base::refusal::Refusal;
use crate::wire::bridge::{
    BRIDGE_PROTOCOL_VERSION, BridgeFault, BridgeFrame, BridgeResp, Capability, Door, is_instance, is_version,
};
use crate::wire::json;
pub use verdict::{No, Yes};

/// Extension → host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum FromExtension {
    /// Answers `host_hello`; the host attaches to the broker only after it.
    ExtensionHello {
        /// The bridge protocol the extension speaks.
        bridge: u32,
        /// The extension's release version.
        extension: String,
        /// Random, made once per browser profile: 32 hex digits.
        instance: String,
        /// What the extension can do now.
        capabilities: Vec<Capability>,
    },
    /// Asks for `host_status_result`.
    HostStatus {},
    /// Asks for a `kill_status_result` that is `asked`, from a look after the question: an act may begin on it for a moment.
    KillStatus {},
    /// The person engaged the kill switch in this browser. Answered with `kill_status_result` once it holds.
    KillEngage {},
    /// Something that only the extension saw. Never page content, never an argument's value.
    AuditEvent {
        /// One of the kinds that the extension may report; the host refuses every other.
        kind: String,
        /// How it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// The tool it was about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// What the client calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The kind of act.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Joins the records of one call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cid: Option<String>,
    },
    /// Asks for `audit_read_result`.
    AuditRead {
        /// The newest so many records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Asks for `client_list_result`.
    ClientList {},
}

/// Host → extension. A result is two frames of one type, told apart by `ok`: neither can hold members of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToExtension {
    /// The host's first frame.
    HostHello {
        /// The bridge protocol the host speaks.
        bridge: u32,
        /// The host's release version.
        host: String,
    },
    /// Where the host stands; also pushed whenever that changes.
    HostStatusResult {
        /// The label under which this browser attaches.
        label: String,
        /// The link to the broker.
        link: Link,
    },
    /// Where the kill switch stands; pushed after the hello and whenever that changes.
    #[serde(rename = "kill_status_result")]
    KillKnown {
        /// Always true.
        ok: Yes,
        /// Whether everything is stopped.
        killed: bool,
        /// The trust record's epoch. It only ever rises; a lower one than before is an older record put back.
        epoch: u64,
        /// The epoch in which it was last engaged, 0 if never. What was under way then is void, even after a release.
        engaged: u64,
        /// It holds, but only until this host ends: why it could not be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
        /// True in the answer to `kill_status` alone. What is pushed may have lain in a pipe for any time.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        asked: bool,
    },
    /// The kill switch cannot be read, which counts as on.
    #[serde(rename = "kill_status_result")]
    KillUnknown {
        /// Always false.
        ok: No,
        /// Why, and what to do.
        error: Refusal,
        /// As above.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        asked: bool,
    },
    /// The newest records of the audit log, oldest first.
    #[serde(rename = "audit_read_result")]
    AuditRead {
        /// Always true.
        ok: Yes,
        /// The records.
        entries: Vec<AuditEntry>,
        /// Whether there are older ones.
        older: bool,
        /// Where the log lies.
        path: String,
    },
    /// The audit log cannot be read.
    #[serde(rename = "audit_read_result")]
    AuditUnread {
        /// Always false.
        ok: No,
        /// Why.
        error: Refusal,
    },
    /// The paired clients.
    #[serde(rename = "client_list_result")]
    ClientList {
        /// Always true.
        ok: Yes,
        /// Whether a list exists. Without one every program may enter; an empty one admits nobody.
        enrolled: bool,
        /// In the order of pairing.
        clients: Vec<PairedClient>,
    },
    /// The list cannot be read, so nobody is admitted.
    #[serde(rename = "client_list_result")]
    ClientsUnread {
        /// Always false.
        ok: No,
        /// Why.
        error: Refusal,
    },
}

/// One record of the audit log as the person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// Milliseconds since 1970.
    pub ts_ms: u64,
    /// What happened.
    pub event_kind: String,
    /// Which part recorded it.
    pub surface: String,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The refusal's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// More, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// One entry of the list of paired clients as the person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairedClient {
    /// The name it was paired under.
    pub name: String,
    /// The file shown at pairing.
    pub image: String,
    /// What it is recognised by.
    pub anchor: AnchorKind,
    /// The script that an interpreter was paired for; absent for a program and for an interpreter paired for any script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Whether every script of this interpreter may enter.
    pub any_script: bool,
    /// Whether the person paused it.
    pub paused: bool,
    /// Milliseconds since 1970.
    pub paired_ms: u64,
}

/// What a paired client is recognised by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnchorKind {
    /// The hash of its file.
    Hash,
    /// Whoever signed its file.
    Signer,
    /// Its path, below folders that only root may write.
    Package,
}

/// The host's link to the broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum Link {
    /// No MCP client runs genkan; the host keeps trying.
    Waiting {},
    /// Attached.
    Attached {
        /// Who may enter.
        door: Door,
    },
    /// The broker refused; the host stays and tries again slowly.
    Refused {
        /// Why.
        error: Refusal,
    },
}

/// The `type` of every control frame, of both directions.
const CONTROL_TAGS: [&str; 12] = [
    "audit_event",
    "audit_read",
    "audit_read_result",
    "client_list",
    "client_list_result",
    "extension_hello",
    "host_hello",
    "host_status",
    "host_status_result",
    "kill_engage",
    "kill_status",
    "kill_status_result",
];

/// What the host does with one frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Routed<F> {
    /// For the host itself.
    Handle(FromExtension),
    /// The extension speaks another version of the bridge. Nothing else in its hello was judged.
    OtherVersion {
        /// The version it named.
        bridge: u32,
    },
    /// Pass the bytes on unchanged to the other link. They hold no raw LF, so they are one line.
    Forward(F),
    /// A control frame from the socket: an injection, passed to nobody.
    Dropped {
        /// Its `type`.
        tag: &'static str,
    },
    /// Not a frame of this link.
    Malformed {
        /// Why.
        why: BridgeFault,
        /// The call that this was meant to end, if it says so: nobody should wait for it any longer.
        ends: Option<u64>,
    },
}

/// Routes one frame of the extension by all of its content.
pub fn from_extension(frame: &[u8]) -> Routed<BridgeResp> {
    let value = match one_line(frame) {
        Ok(value) => value,
        Err(why) => return Routed::Malformed { why, ends: None },
    };
    if control_tag(&value).is_none() {
        return match BridgeResp::from_value(&value) {
            Ok(resp) => Routed::Forward(resp),
            Err(why) => Routed::Malformed { why, ends: ended_call(&value) },
        };
    }
    if let Some(bridge) = other_version(&value) {
        return Routed::OtherVersion { bridge };
    }
    match json::shaped::<FromExtension>(&value).map_err(BridgeFault::from).and_then(FromExtension::checked) {
        Ok(frame) => Routed::Handle(frame),
        Err(why) => Routed::Malformed { why, ends: None },
    }
}

/// Routes one line of the socket by all of its content.
pub fn from_socket(line: &[u8]) -> Routed<BridgeFrame> {
    let value = match one_line(line) {
        Ok(value) => value,
        Err(why) => return Routed::Malformed { why, ends: None },
    };
    if let Some(tag) = control_tag(&value) {
        return Routed::Dropped { tag };
    }
    match BridgeFrame::from_value(&value) {
        Ok(frame) => Routed::Forward(frame),
        Err(why) => Routed::Malformed { why, ends: None },
    }
}

/// Between tokens JSON allows a raw LF. One frame would then be several lines on the socket.
fn one_line(frame: &[u8]) -> Result<Value, BridgeFault> {
    if frame.contains(&b'\n') {
        return Err(BridgeFault::Rule("the frame holds a raw line break"));
    }
    Ok(json::parse(frame)?)
}

impl FromExtension {
    fn checked(self) -> Result<Self, BridgeFault> {
        match self.broken_rule() {
            None => Ok(self),
            Some(rule) => Err(BridgeFault::Rule(rule)),
        }
    }

    fn broken_rule(&self) -> Option<&'static str> {
        let broken = |is: bool, rule| is.then_some(rule);
        match self {
            FromExtension::HostStatus {}
            | FromExtension::KillStatus {}
            | FromExtension::KillEngage {}
            | FromExtension::ClientList {} => None,
            FromExtension::ExtensionHello { extension, instance, capabilities, .. } => {
                broken(!is_version(extension), "the extension's release is not a version")
                    .or(broken(!is_instance(instance), "the instance id is not 32 lower-case hex digits"))
                    .or(broken(!Capability::each_once(capabilities), "a capability is named twice"))
            }
            FromExtension::AuditEvent { kind, outcome, tool, name, detail, cid } => {
                let rest = [outcome, tool, name, detail, cid].into_iter().flatten();
                let long = core::iter::once(kind).chain(rest).any(|text| text.len() > AUDIT_TEXT_BYTES_MAX);
                broken(long, "an audit event holds a text that is too long")
            }
            FromExtension::AuditRead { limit } => {
                let fits = limit.is_none_or(|limit| (1..=AUDIT_ENTRIES_MAX).contains(&limit));
                broken(!fits, "a reading of the audit log asks for no records or too many")
            }
        }
    }
}

fn control_tag(value: &Value) -> Option<&'static str> {
    let tag = value.get("type")?.as_str()?;
    CONTROL_TAGS.into_iter().find(|known| *known == tag)
}

/// A later version may shape its hello in ways unknown here, so its number is read before the rest is judged.
fn other_version(value: &Value) -> Option<u32> {
    let bridge = u32::try_from(value.get("bridge")?.as_u64()?).ok()?;
    (value.get("type")?.as_str()? == "extension_hello" && bridge != BRIDGE_PROTOCOL_VERSION).then_some(bridge)
}

fn ended_call(value: &Value) -> Option<u64> {
    value.get("ok")?;
    value.get("id")?.as_u64().filter(|id| *id <= SAFE_INTEGER_MAX)
}

#[cfg(test)]
mod tests;

//! Control frames between the extension and its host, and the router that keeps them on that link.
//!
//! Decides for one frame whether the host handles it, passes it on, or drops it. Refuses whatever is not exactly a frame
//! of its link: a control frame from the socket is an injection, a frame of no known shape is malformed. It does not
//! know whether a socket is open or a call is waiting, so every decision can be tested without either.

use alloc::{string::String, vec::Vec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::limits::SAFE_INTEGER_MAX;
use crate::base::refusal::Refusal;
use crate::wire::bridge::{
    BRIDGE_PROTOCOL_VERSION, BridgeFault, BridgeFrame, BridgeResp, Capability, Door, is_instance, is_version,
};
use crate::wire::json;

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
}

/// Host → extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
const CONTROL_TAGS: [&str; 4] = ["extension_hello", "host_hello", "host_status", "host_status_result"];

/// Where a frame came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// The native-messaging link to the extension.
    Extension,
    /// The socket to the broker.
    Socket,
}

/// What the host does with one frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Routed {
    /// For the host itself.
    Handle(FromExtension),
    /// The extension speaks another version of the bridge. Nothing else in its hello was judged.
    OtherVersion {
        /// The version it named.
        bridge: u32,
    },
    /// Pass the bytes on unchanged to the other link. They hold no raw LF, so they are one line.
    Forward {
        /// The call they are about.
        id: u64,
    },
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

/// Routes one frame by all of its content.
pub fn route(leg: Leg, frame: &[u8]) -> Routed {
    let malformed = |why| Routed::Malformed { why, ends: None };
    // Between tokens JSON allows a raw LF. One frame would then be several lines on the socket.
    if frame.contains(&b'\n') {
        return malformed(BridgeFault::Rule("the frame holds a raw line break"));
    }
    let value = match json::parse(frame) {
        Ok(value) => value,
        Err(fault) => return malformed(fault.into()),
    };
    match leg {
        Leg::Extension => from_extension(&value),
        Leg::Socket => from_socket(&value),
    }
}

fn from_extension(value: &Value) -> Routed {
    if control_tag(value).is_none() {
        return match BridgeResp::from_value(value) {
            Ok(resp) => Routed::Forward { id: resp.id() },
            Err(why) => Routed::Malformed { why, ends: ended_call(value) },
        };
    }
    if let Some(bridge) = other_version(value) {
        return Routed::OtherVersion { bridge };
    }
    match json::shaped::<FromExtension>(value).map_err(BridgeFault::from).and_then(FromExtension::checked) {
        Ok(frame) => Routed::Handle(frame),
        Err(why) => Routed::Malformed { why, ends: None },
    }
}

fn from_socket(value: &Value) -> Routed {
    if let Some(tag) = control_tag(value) {
        return Routed::Dropped { tag };
    }
    match BridgeFrame::from_value(value) {
        Ok(frame) => Routed::Forward { id: frame.id() },
        Err(why) => Routed::Malformed { why, ends: None },
    }
}

impl FromExtension {
    fn checked(self) -> Result<Self, BridgeFault> {
        match &self {
            FromExtension::HostStatus {} => Ok(self),
            FromExtension::ExtensionHello { extension, .. } if !is_version(extension) => {
                Err(BridgeFault::Rule("the extension's release is not a version"))
            }
            FromExtension::ExtensionHello { instance, .. } if !is_instance(instance) => {
                Err(BridgeFault::Rule("the instance id is not 32 lower-case hex digits"))
            }
            FromExtension::ExtensionHello { capabilities, .. } if !Capability::each_once(capabilities) => {
                Err(BridgeFault::Rule("a capability is named twice"))
            }
            FromExtension::ExtensionHello { .. } => Ok(self),
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

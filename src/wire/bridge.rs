//! The bridge: lines between the broker and a browser's native host (seed §3.3), one JSON object a line.
//!
//! Order on one connection: `hello` (broker) → `proof` (peer) → `welcome` (broker) → `attach` (peer) →
//! `attached` or `refused` (broker), then requests one way and replies the other. Anything else closes it.

use alloc::{string::String, vec::Vec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::refusal::Refusal;

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

/// Lines of the handshake. Hex is lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Handshake {
    /// Broker, first: a fresh nonce.
    Hello {
        /// 64 hex digits.
        nonce: String,
    },
    /// Peer: proves that it read the lock file, and binds what it claims to be.
    Proof {
        /// What the peer claims to be.
        role: Role,
        /// The browser's label.
        label: String,
        /// The browser profile's instance id.
        instance: String,
        /// The peer's own nonce, 64 hex digits.
        nonce: String,
        /// MAC in the direction peer → broker over the broker's nonce, 64 hex digits.
        mac: String,
    },
    /// Broker: proves that it knows the secret too.
    Welcome {
        /// MAC in the direction broker → peer over the peer's nonce, 64 hex digits.
        mac: String,
    },
    /// Peer: enters in the role it proved.
    Attach {
        /// Must equal the proven role.
        role: Role,
        /// The extension's version of the bridge protocol.
        bridge: u32,
        /// The extension's release version.
        extension: String,
        /// What the extension can do now.
        capabilities: Vec<Capability>,
    },
    /// Broker: the browser is registered.
    Attached {
        /// Counts attachments of this broker.
        generation: u64,
        /// Who may enter through this broker.
        door: Door,
    },
    /// Broker: the peer may not attach.
    Refused {
        /// Why.
        error: Refusal,
    },
}

/// What a peer of the bridge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A browser's native host.
    Browser,
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

//! Control frames between the extension and its host: handled there, never forwarded (seed §3.4).

use alloc::{string::String, vec::Vec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::refusal::Refusal;
use crate::wire::bridge::{Capability, Door};

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

//! Which revisions of MCP are served and what each asks of a request.
//!
//! The modern era (2026-07-28) has no handshake: every request carries its revision and the client's capabilities.
//! The legacy era opens with `initialize`. A connection's era is fixed by the first request that opens one;
//! `server/discover` and `ping` open none. Version strings come from a stranger: they are compared exactly and
//! echoed only cut and escaped.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion, RequestMetaObject};
use serde_json::{Map, Value, json};

use crate::base::limits::PROTOCOL_VERSION_CHARS_MAX;
use crate::base::shown::shown;

/// Whether the legacy era is still served. Turning it off ends `initialize`, `ping` and every request without
/// per-request metadata; nothing else has to change.
pub const LEGACY_ERA_SERVED: bool = true;

/// The revisions a server speaks, oldest first.
pub fn supported(legacy: bool) -> &'static [ProtocolVersion] {
    const MODERN: &[ProtocolVersion] = &[ProtocolVersion::V_2026_07_28];
    if legacy { ProtocolVersion::KNOWN_VERSIONS } else { MODERN }
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Nothing has opened it yet.
    Unopened,
    /// Opened by `initialize`: requests may omit their metadata.
    Handshake,
    /// Opened by a self-contained request: every request is one.
    Stateless,
}

impl Era {
    /// The era after a request of this method was let in.
    pub fn after(self, method: &str) -> Self {
        match (self, method) {
            (Era::Unopened, "initialize") => Era::Handshake,
            (Era::Unopened, "server/discover" | "ping") => Era::Unopened,
            (Era::Unopened, _) => Era::Stateless,
            (Era::Handshake | Era::Stateless, _) => self,
        }
    }

    /// What is wrong with a request's metadata in this era, if anything.
    pub fn fault(
        self,
        method: &str,
        params: &Map<String, Value>,
        meta: &RequestMetaObject,
        legacy: bool,
    ) -> Option<ErrorData> {
        match method {
            "initialize" if legacy => return None,
            "initialize" => return Some(no_handshake(params)),
            "ping" if legacy && self != Era::Stateless => return None,
            "ping" => return Some(unknown_method()),
            _ => {}
        }
        let version = meta.protocol_version();
        if let Some(version) = &version
            && !supported(legacy).contains(version)
        {
            return Some(unsupported(version.as_str(), legacy));
        }
        let self_contained = method == "server/discover"
            || self != Era::Handshake
            || version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
        (self_contained && !missing.is_empty()).then(|| malformed("_meta", &missing))
    }
}

/// The answer to `initialize` once the legacy era has ended: a client learns from it what to speak instead.
fn no_handshake(params: &Map<String, Value>) -> ErrorData {
    unsupported(params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default(), false)
}

/// -32022, naming what is served.
fn unsupported(requested: &str, legacy: bool) -> ErrorData {
    let requested = shown(requested, PROTOCOL_VERSION_CHARS_MAX);
    ErrorData::new(
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        Some(json!({"supported": supported(legacy), "requested": requested})),
    )
}

/// -32602, naming the fields.
pub fn malformed(part: &str, fields: &[&str]) -> ErrorData {
    let fields = fields.join(", ");
    ErrorData::invalid_params(
        Cow::Owned(format!("{part} is missing or has malformed fields: {fields}")),
        None,
    )
}

/// -32601. The method's name is the client's own text and is not repeated.
pub fn unknown_method() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None)
}

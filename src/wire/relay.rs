//! What a relay and its broker say to each other once attached, one JSON object a line.
//!
//! Calls and cancels go to the broker; what becomes of each call comes back. Refuses unknown members, ids that both ends
//! do not hold exactly, and replies that break the rules of [`crate::wire::bridge`]. It does not know which calls are
//! open or who may make them: the broker does.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::limits::{CALL_BUDGET_PROGRESS_MS, CLIENT_NAME_CHARS_MAX, SAFE_INTEGER_MAX};
use crate::wire::bridge::{BridgeFault, BridgeResp};
use crate::wire::json;

/// Relay → broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum FromRelay {
    /// The client asks for this.
    Call(RelayCall),
    /// Nobody waits for this call any more: stop it and answer nothing.
    Cancel {
        /// The call's id.
        id: u64,
    },
}

/// One call of the relay's client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayCall {
    /// Pairs what comes back; not one of an open call.
    pub id: u64,
    /// Name of a tool in the catalogue.
    pub tool: String,
    /// The browser's name as the client gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// The tool's arguments, without `browser`.
    pub args: Map<String, Value>,
    /// What the client calls itself; empty if it did not say.
    pub name: String,
    /// Milliseconds left for all of it.
    pub budget: u32,
}

/// Broker → relay.
#[derive(Clone, Debug, PartialEq)]
pub enum ToRelay {
    /// The call goes out now: from here on it may have been carried out, whatever happens to the broker.
    Dispatching {
        /// The call's id.
        id: u64,
    },
    /// This broker is ending and the call was not carried out: ask the next one.
    Returned {
        /// The call's id.
        id: u64,
    },
    /// How the call ended, or where it stands.
    Reply(BridgeResp),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Standing {
    Dispatching { id: u64 },
    Returned { id: u64 },
}

impl FromRelay {
    /// Parses one line.
    pub fn parse(line: &[u8]) -> Result<Self, BridgeFault> {
        let frame: Self = json::shaped(&json::parse(line)?)?;
        match &frame {
            FromRelay::Call(RelayCall { id, .. }) | FromRelay::Cancel { id } if *id > SAFE_INTEGER_MAX => {
                Err(BridgeFault::Integer)
            }
            FromRelay::Call(call) if call.name.chars().count() > CLIENT_NAME_CHARS_MAX => {
                Err(BridgeFault::Rule("a client's name is too long"))
            }
            FromRelay::Call(call) if call.budget > CALL_BUDGET_PROGRESS_MS => {
                Err(BridgeFault::Rule("a call's budget is too large"))
            }
            FromRelay::Call(_) | FromRelay::Cancel { .. } => Ok(frame),
        }
    }
}

impl ToRelay {
    /// Parses one line.
    pub fn parse(line: &[u8]) -> Result<Self, BridgeFault> {
        let value = json::parse(line)?;
        let frame = match value.get("type").and_then(Value::as_str) {
            Some("dispatching" | "returned") => match json::shaped(&value)? {
                Standing::Dispatching { id } => ToRelay::Dispatching { id },
                Standing::Returned { id } => ToRelay::Returned { id },
            },
            Some(_) | None => ToRelay::Reply(BridgeResp::from_value(&value)?),
        };
        if frame.id() > SAFE_INTEGER_MAX { Err(BridgeFault::Integer) } else { Ok(frame) }
    }

    /// The call this is about.
    pub fn id(&self) -> u64 {
        match self {
            ToRelay::Dispatching { id } | ToRelay::Returned { id } => *id,
            ToRelay::Reply(reply) => reply.id(),
        }
    }
}

impl Serialize for ToRelay {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            ToRelay::Dispatching { id } => Standing::Dispatching { id: *id }.serialize(to),
            ToRelay::Returned { id } => Standing::Returned { id: *id }.serialize(to),
            ToRelay::Reply(reply) => reply.serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::refusal::{Code, Refusal};
    use alloc::{format, vec};
    use serde_json::json;

    fn call() -> Value {
        json!({"type": "call", "id": 1, "tool": "tab_list", "args": {}, "name": "n", "budget": 55_000})
    }

    #[test]
    fn every_frame_reads_back() {
        let frames = vec![
            ToRelay::Dispatching { id: 1 },
            ToRelay::Returned { id: 1 },
            ToRelay::Reply(BridgeResp::Failed { id: 1, error: Refusal::plain(Code::BridgeKilled) }),
            ToRelay::Reply(BridgeResp::Progress { id: 1, state: crate::wire::bridge::ProgressState::Acting }),
        ];
        for frame in frames {
            assert_eq!(ToRelay::parse(json::written(&frame).as_bytes()), Ok(frame));
        }
        let FromRelay::Call(call) = FromRelay::parse(call().to_string().as_bytes()).unwrap() else {
            panic!("a call")
        };
        let written = json::written(&FromRelay::Call(call.clone()));
        assert_eq!(FromRelay::parse(written.as_bytes()), Ok(FromRelay::Call(call)));
        let cancel = FromRelay::Cancel { id: 1 };
        assert_eq!(FromRelay::parse(json::written(&cancel).as_bytes()), Ok(cancel));
    }

    #[test]
    fn t006_unknown_and_missing_members_and_bounds_are_refused_from_a_relay() {
        for (member, value) in [
            ("more", json!(1)),
            ("ID", json!(1)),
            ("id", json!(SAFE_INTEGER_MAX + 1)),
            ("id", json!(1.0)),
            ("browser", json!(null)),
            ("args", json!([])),
            ("name", json!("x".repeat(CLIENT_NAME_CHARS_MAX + 1))),
            ("budget", json!(CALL_BUDGET_PROGRESS_MS + 1)),
            ("caller", json!({"key": "k", "name": "n", "image": "/bin/x", "verified": true})),
        ] {
            let mut bad = call();
            bad[member] = value;
            assert!(FromRelay::parse(bad.to_string().as_bytes()).is_err(), "{member}");
        }
        for member in ["id", "tool", "args", "name", "budget", "type"] {
            let mut bad = call();
            bad.as_object_mut().unwrap().remove(member);
            assert!(FromRelay::parse(bad.to_string().as_bytes()).is_err(), "{member}");
        }
    }

    #[test]
    fn what_is_neither_a_reply_nor_a_standing_is_refused() {
        for bad in ["{}", "[]", r#"{"type":"dispatching"}"#, r#"{"type":"returned","id":1,"ok":true}"#] {
            assert!(ToRelay::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        let large = format!(r#"{{"type":"dispatching","id":{}}}"#, SAFE_INTEGER_MAX + 1);
        assert_eq!(ToRelay::parse(large.as_bytes()), Err(BridgeFault::Integer));
    }
}

//! The one reader of JSON-RPC 2.0 lines: a request, a notification or a response, and nothing else.
//!
//! Refuses batches, null and inexact ids (`1.0`, `-0`, above 2^53 − 1), unknown members of the envelope, and parameters that
//! are no object. It does not know methods, sessions or which ids are in use. A refusal says what may be answered:
//! never anything to a response, and without an id when none could be read.

use alloc::string::String;
use core::fmt;

use serde_json::{Map, Value, json};

use crate::base::limits::{RPC_ID_BYTES_MAX, SAFE_INTEGER_MAX};
use crate::wire::json::{self as strict, JsonFault};

/// What pairs a request with its response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// At most 2^53 − 1 either side of zero.
    Number(i64),
    /// At most [`RPC_ID_BYTES_MAX`] bytes.
    Text(String),
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Wants a response.
    Request {
        /// Pairs the response.
        id: RequestId,
        /// Never empty.
        method: String,
        /// As they came.
        params: Option<Map<String, Value>>,
    },
    /// Wants none.
    Notification {
        /// Never empty.
        method: String,
        /// As they came.
        params: Option<Map<String, Value>>,
    },
    /// Answers a request of ours.
    Response {
        /// Absent only in an error of which the peer could not read the request.
        id: Option<RequestId>,
        /// `result`, or else the `error` object.
        outcome: Result<Value, Map<String, Value>>,
    },
}

/// Why a line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcWhy {
    /// Not strict JSON.
    Json(JsonFault),
    /// An array of messages.
    Batch,
    /// Not an object.
    NotAnObject,
    /// `jsonrpc` is not `"2.0"`.
    Version,
    /// `id` is neither a short string nor an exact integer.
    Id,
    /// `method` is not a string with content.
    Method,
    /// `params` is not an object.
    Params,
    /// A member that does not belong into this kind of message.
    Member,
    /// A response without exactly one of `result` and a proper `error`.
    Response,
}

impl fmt::Display for RpcWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            RpcWhy::Json(fault) => return fault.fmt(f),
            RpcWhy::Batch => "batches are not served: send one message a line",
            RpcWhy::NotAnObject => "a message is a JSON object",
            RpcWhy::Version => "`jsonrpc` must be \"2.0\"",
            RpcWhy::Id => {
                "`id` must be a string of at most 256 bytes or an integer within 2^53 - 1, written as one"
            }
            RpcWhy::Method => "`method` must be a string with content",
            RpcWhy::Params => "`params` must be an object",
            RpcWhy::Member => "the message has a member that does not belong there",
            RpcWhy::Response => "a response has an `id` and exactly one of `result` and a proper `error`",
        };
        f.write_str(sentence)
    }
}

/// A refused line, and what to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcFault {
    /// Why.
    pub why: RpcWhy,
    /// The id of the refused request, if it has a proper one.
    pub id: Option<RequestId>,
    /// Whether the peer may be answered: a response never is, or two ends could go on for ever.
    pub answerable: bool,
}

impl RpcFault {
    /// −32700 for what is not JSON, −32600 for what is no message.
    pub fn code(&self) -> i64 {
        match self.why {
            RpcWhy::Json(_) => -32_700,
            RpcWhy::Batch
            | RpcWhy::NotAnObject
            | RpcWhy::Version
            | RpcWhy::Id
            | RpcWhy::Method
            | RpcWhy::Params
            | RpcWhy::Member
            | RpcWhy::Response => -32_600,
        }
    }

    /// The error response, if there is to be one. Without a readable id the member is left out, as MCP has it.
    pub fn answer(&self) -> Option<Value> {
        let error = json!({ "code": self.code(), "message": alloc::format!("{self}") });
        self.answerable.then(|| match &self.id {
            Some(id) => json!({ "jsonrpc": "2.0", "id": id.to_value(), "error": error }),
            None => json!({ "jsonrpc": "2.0", "error": error }),
        })
    }
}

impl fmt::Display for RpcFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.code() == -32_700 { "Parse error" } else { "Invalid request" };
        write!(f, "{kind}: {}", self.why)
    }
}

impl core::error::Error for RpcFault {}

impl RequestId {
    /// As JSON.
    pub fn to_value(&self) -> Value {
        match self {
            RequestId::Number(number) => Value::from(*number),
            RequestId::Text(text) => Value::from(text.as_str()),
        }
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text.len() <= RPC_ID_BYTES_MAX => Some(RequestId::Text(text.clone())),
            Value::Number(number) => {
                number.as_i64().filter(|id| id.unsigned_abs() <= SAFE_INTEGER_MAX).map(RequestId::Number)
            }
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl Message {
    /// As JSON, equal to what was read.
    pub fn into_value(self) -> Value {
        let mut members = Map::new();
        let mut put =
            |name: &str, value: Option<Value>| value.map(|value| members.insert(name.into(), value));
        put("jsonrpc", Some("2.0".into()));
        match self {
            Message::Request { id, method, params } => {
                put("id", Some(id.to_value()));
                put("method", Some(method.into()));
                put("params", params.map(Value::Object));
            }
            Message::Notification { method, params } => {
                put("method", Some(method.into()));
                put("params", params.map(Value::Object));
            }
            Message::Response { id, outcome } => {
                put("id", id.map(|id| id.to_value()));
                match outcome {
                    Ok(result) => put("result", Some(result)),
                    Err(error) => put("error", Some(Value::Object(error))),
                };
            }
        }
        Value::Object(members)
    }
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Result<Message, RpcFault> {
    let refused = |why| RpcFault { why, id: None, answerable: true };
    match strict::parse(line) {
        Err(fault) => Err(refused(RpcWhy::Json(fault))),
        Ok(Value::Array(_)) => Err(refused(RpcWhy::Batch)),
        Ok(Value::Object(members)) => read(members),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Err(refused(RpcWhy::NotAnObject))
        }
    }
}

fn read(members: Map<String, Value>) -> Result<Message, RpcFault> {
    let calls = members.contains_key("method");
    let answers = !calls && (members.contains_key("result") || members.contains_key("error"));
    let id = members.get("id").and_then(RequestId::from_value);
    let fault = RpcFault { why: RpcWhy::Method, id: id.clone().filter(|_| !answers), answerable: !answers };
    let read = if answers { response(members, id) } else { call(members, id) };
    read.map_err(|why| RpcFault { why, ..fault })
}

fn call(mut members: Map<String, Value>, id: Option<RequestId>) -> Result<Message, RpcWhy> {
    version(&mut members)?;
    if members.remove("id").is_some() != id.is_some() {
        return Err(RpcWhy::Id);
    }
    let method = match members.remove("method") {
        Some(Value::String(method)) if !method.is_empty() => method,
        _ => return Err(RpcWhy::Method),
    };
    let params = match members.remove("params") {
        None => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => return Err(RpcWhy::Params),
    };
    nothing_else(&members)?;
    Ok(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

fn response(mut members: Map<String, Value>, id: Option<RequestId>) -> Result<Message, RpcWhy> {
    version(&mut members)?;
    if members.remove("id").is_some() != id.is_some() {
        return Err(RpcWhy::Id);
    }
    let outcome = match (members.remove("result"), members.remove("error")) {
        (Some(result), None) if id.is_some() => Ok(result),
        (None, Some(Value::Object(error))) if is_error(&error) => Err(error),
        _ => return Err(RpcWhy::Response),
    };
    nothing_else(&members)?;
    Ok(Message::Response { id, outcome })
}

fn version(members: &mut Map<String, Value>) -> Result<(), RpcWhy> {
    match members.remove("jsonrpc") {
        Some(Value::String(version)) if version == "2.0" => Ok(()),
        _ => Err(RpcWhy::Version),
    }
}

fn is_error(error: &Map<String, Value>) -> bool {
    error.get("code").is_some_and(Value::is_i64)
        && error.get("message").is_some_and(Value::is_string)
        && error.keys().all(|name| matches!(name.as_str(), "code" | "message" | "data"))
}

fn nothing_else(members: &Map<String, Value>) -> Result<(), RpcWhy> {
    if members.is_empty() { Ok(()) } else { Err(RpcWhy::Member) }
}

#[cfg(test)]
mod tests;

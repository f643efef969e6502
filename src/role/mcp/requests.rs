//! From a checked JSON-RPC request to a typed MCP request. Only the methods this server serves have a type; any
//! other keeps nothing but the fact that it is unknown. Members that a method does not know are ignored, as MCP
//! allows them; members that it needs must have their shape, and an error names them without repeating their value.

use rmcp::model::GetExtensions as _;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, CustomRequest,
    DiscoverRequest, DiscoverRequestParams, ErrorData, Implementation, InitializeRequest,
    InitializeRequestParams, ListToolsRequest, NumberOrString, PaginatedRequestParams, PingRequest,
    ProgressToken, ProtocolVersion, RequestMetaObject,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::eras::malformed;
use crate::base::limits::PROGRESS_TOKEN_BYTES_MAX;

/// Takes `_meta` out of the parameters. A progress token in it has a usable shape afterwards.
pub fn take_meta(params: &mut Map<String, Value>) -> Result<RequestMetaObject, ErrorData> {
    let meta = match params.remove("_meta") {
        None => RequestMetaObject::new(),
        Some(Value::Object(meta)) => RequestMetaObject::from(meta),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return Err(malformed("params", &["_meta"]));
        }
    };
    let usable = match meta.get("progressToken") {
        None => true,
        Some(_) => meta.get_progress_token().is_some_and(|token| fits(&token)),
    };
    if usable { Ok(meta) } else { Err(malformed("_meta", &["progressToken"])) }
}

/// The token comes back in every report.
fn fits(token: &ProgressToken) -> bool {
    match &token.0 {
        NumberOrString::Number(_) => true,
        NumberOrString::String(text) => text.len() <= PROGRESS_TOKEN_BYTES_MAX,
    }
}

/// The typed request.
pub fn typed(
    method: &str,
    params: &Map<String, Value>,
    meta: RequestMetaObject,
) -> Result<ClientRequest, ErrorData> {
    let mut request = match method {
        "initialize" => ClientRequest::InitializeRequest(InitializeRequest::new(initialize(params)?)),
        "ping" => ClientRequest::PingRequest(PingRequest::default()),
        "server/discover" => ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {})),
        "tools/list" => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(
            PaginatedRequestParams::default().with_cursor(optional(params, "cursor")?),
        )),
        "tools/call" => ClientRequest::CallToolRequest(CallToolRequest::new(call(params)?)),
        _ => ClientRequest::CustomRequest(CustomRequest::new(String::new(), None)),
    };
    request.extensions_mut().insert(meta);
    Ok(request)
}

fn initialize(params: &Map<String, Value>) -> Result<InitializeRequestParams, ErrorData> {
    let version: Option<ProtocolVersion> = required(params, "protocolVersion");
    let capabilities: Option<ClientCapabilities> = required(params, "capabilities");
    let info: Option<Implementation> = required(params, "clientInfo");
    let bad = [
        version.is_none().then_some("protocolVersion"),
        capabilities.is_none().then_some("capabilities"),
        info.is_none().then_some("clientInfo"),
    ];
    match (version, capabilities, info) {
        (Some(version), Some(capabilities), Some(info)) => {
            Ok(InitializeRequestParams::new(capabilities, info).with_protocol_version(version))
        }
        _ => Err(malformed("params", &bad.into_iter().flatten().collect::<Vec<_>>())),
    }
}

fn call(params: &Map<String, Value>) -> Result<CallToolRequestParams, ErrorData> {
    let name: String = required(params, "name").ok_or_else(|| malformed("params", &["name"]))?;
    let mut call = CallToolRequestParams::new(name);
    call.arguments = optional(params, "arguments")?;
    Ok(call)
}

fn required<T: DeserializeOwned>(params: &Map<String, Value>, name: &str) -> Option<T> {
    params.get(name).and_then(|value| T::deserialize(value).ok())
}

fn optional<T: DeserializeOwned>(params: &Map<String, Value>, name: &str) -> Result<Option<T>, ErrorData> {
    if !params.contains_key(name) {
        return Ok(None);
    }
    required(params, name).map(Some).ok_or_else(|| malformed("params", &[name]))
}

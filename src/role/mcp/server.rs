//! The MCP methods: discovery, the definitions, and calls. A call is checked against its row before anything else
//! happens, so a wrong argument causes no bridge traffic; who may do what in the browser is decided there.

use std::borrow::Cow;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
    ErrorData, InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};

use super::definitions;
use super::eras;
use super::result::result;
use crate::base::limits::{CLIENT_NAME_CHARS_MAX, TOOLS_TTL_MS};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::bridge::catalogue;
use crate::os::fail_point;
use crate::wire::bridge::Outcome;

/// One MCP server process.
pub struct McpServer {
    /// Whether the legacy era is served.
    pub legacy: bool,
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        definitions::server_config()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(eras::supported(self.legacy))
    }

    /// The session's revision is the negotiated one, never what the client asked for.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
        context.peer.set_peer_info(request.with_protocol_version(answer.protocol_version.clone()));
        Ok(answer)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = eras::supported(self.legacy).to_vec();
        let mut answer = DiscoverResult::from_server_info(versions, self.get_info());
        answer.ttl_ms = TOOLS_TTL_MS.into();
        answer.cache_scope = CacheScope::Private;
        Ok(answer)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(eras::malformed("params", &["cursor"]));
        }
        let tools = ListToolsResult::with_all_items(definitions::tools());
        let modern =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        Ok(if modern {
            tools.with_ttl_ms(TOOLS_TTL_MS.into()).with_cache_scope(CacheScope::Private)
        } else {
            tools
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        fail_point::reach("mcp-call");
        let Some(tool) = catalogue::tool(&request.name) else {
            let name = shown(&request.name, CLIENT_NAME_CHARS_MAX);
            return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
        };
        let outcome = perform(tool, &request.arguments.unwrap_or_default());
        Ok(result(definitions::output_schema(tool.name).is_some(), outcome).into())
    }

    async fn on_custom_request(
        &self,
        _: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(eras::unknown_method())
    }
}

/// A call is checked against its row before anything else; no browser can be reached yet.
fn perform(tool: &catalogue::Tool, args: &Map<String, Value>) -> Result<Outcome, Refusal> {
    tool.check(args)?;
    Err(Refusal::plain(Code::NotConnected))
}

//! The MCP methods: discovery, the definitions, and calls. A call is checked against its row before anything else
//! happens, so a wrong argument causes no bridge traffic; who may do what in the browser is decided there.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
    ErrorData, InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::caller;
use super::definitions;
use super::door::Door;
use super::eras;
use super::result::result;
use super::wait::{self, Hangup};
use crate::base::limits::{CLIENT_NAME_CHARS_MAX, PROGRESS_STATES_MAX, TOOLS_TTL_MS};
use crate::base::refusal::Refusal;
use crate::base::shown::shown;
use crate::bridge::catalogue::{self, BROWSER_ARG};
use crate::os::fail_point;
use crate::role::broker::Call;
use crate::wire::bridge::Outcome;

/// One MCP server process.
pub struct McpServer {
    /// The way to the browsers.
    pub door: Arc<Door>,
    /// Whether the client's side has ended.
    pub hangup: Hangup,
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
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        fail_point::reach("mcp-call");
        fail_point::print("mcp-print");
        let Some(tool) = catalogue::tool(&request.name) else {
            let name = shown(&request.name, CLIENT_NAME_CHARS_MAX);
            return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
        };
        let outcome = self.perform(tool, request.arguments.unwrap_or_default(), &context).await;
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

impl McpServer {
    async fn perform(
        &self,
        tool: &'static catalogue::Tool,
        mut args: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, Refusal> {
        tool.check(&args)?;
        let browser = match args.remove(BROWSER_ARG.name) {
            Some(Value::String(browser)) => Some(browser),
            Some(_) | None => None,
        };
        let (progress, states) = mpsc::channel(PROGRESS_STATES_MAX);
        let call = Call {
            tool,
            browser,
            args,
            name: caller::name(context),
            budget_ms: wait::budget_ms(context.meta.get_progress_token().as_ref()),
            progress: Some(progress),
        };
        wait::accompanied(self.door.call(call), context, self.hangup.clone(), states).await
    }
}

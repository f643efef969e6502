//! The MCP server: one client on standard input and output, both eras of the protocol, the catalogue's tools.
//!
//! It decides what a line from the client may become and how an outcome reads. It knows nothing of pages, asks the
//! browser's side for everything, and ends when the client's side of the connection ends.

mod definitions;
mod eras;
mod gate;
mod lines;
mod requests;
mod result;
mod server;
mod transport;

use std::time::Duration;

use crate::base::limits::LAST_LINES_MS;
use crate::base::refusal::{Code, Refusal};
use crate::os::stdio::{self, Outbox};
use lines::ClientLines;
use rmcp::ServiceExt as _;
use server::McpServer;
use transport::{Input, LineTransport};

/// Serves the client on standard input and output until its side ends.
pub async fn serve() -> Result<(), Refusal> {
    let (out, written) =
        stdio::stdout_outbox().map_err(|error| Refusal::new(Code::InternalError, error.to_string()))?;
    converse(stdio::stdin_messages(ClientLines::default()), out, eras::LEGACY_ERA_SERVED).await;
    // What was answered is written out, unless nobody reads it.
    let _ = tokio::time::timeout(Duration::from_millis(LAST_LINES_MS.into()), written).await;
    Ok(())
}

async fn converse(input: Input, out: Outbox, legacy: bool) {
    let server = McpServer { legacy };
    // Both errors mean that the client's side ended: before a first request, or after.
    if let Ok(service) = server.serve(LineTransport::new(input, out, legacy)).await {
        let _ = service.waiting().await;
    }
}

#[cfg(test)]
mod tests;

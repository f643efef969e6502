//! The MCP server: one client on standard input and output, both eras of the protocol, the catalogue's tools.
//!
//! It decides what a line from the client may become and how an outcome reads. It knows nothing of pages, asks the
//! browser's side for everything, and ends when the client's side of the connection ends.

mod browsers;
mod caller;
mod definitions;
mod door;
mod eras;
mod gate;
mod lines;
mod requests;
mod result;
mod server;
mod transport;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use tokio::sync::watch;

use crate::base::limits::LAST_LINES_MS;
use crate::base::refusal::{Code, Refusal};
use crate::os::runtime_dir::Environment;
use crate::os::stdio::{self, Outbox};
use crate::os::{peer, random};
use caller::Entrance;
use door::Door;
use lines::ClientLines;
use server::McpServer;
use transport::{Input, LineTransport};

/// Serves the client on standard input and output until its side ends.
pub async fn serve(environment: Environment) -> Result<(), Refusal> {
    let entrance = Entrance {
        key: random::hex(&random::bytes32()?),
        image: peer::parent().image.map(|image| image.display().to_string()).unwrap_or_default(),
    };
    let (out, written) =
        stdio::stdout_outbox().map_err(|error| Refusal::new(Code::InternalError, error.to_string()))?;
    let door = Arc::new(Door::new(environment));
    // Browsers find an open door before the first call; why one stays closed is what the calls report.
    let opening = tokio::spawn({
        let door = door.clone();
        async move { door.broker().await.map(drop) }
    });
    converse(door, entrance, stdio::stdin_messages(ClientLines::default()), out, eras::LEGACY_ERA_SERVED)
        .await;
    opening.abort();
    // What was answered is written out, unless nobody reads it.
    let _ = tokio::time::timeout(Duration::from_millis(LAST_LINES_MS.into()), written).await;
    Ok(())
}

async fn converse(door: Arc<Door>, entrance: Entrance, input: Input, out: Outbox, legacy: bool) {
    let (ended, hangup) = watch::channel(false);
    let server = McpServer { door, entrance, hangup, legacy };
    // Both errors mean that the client's side ended: before a first request, or after.
    if let Ok(service) = server.serve(LineTransport::new(input, out, ended, legacy)).await {
        let _ = service.waiting().await;
    }
}

#[cfg(test)]
mod tests;

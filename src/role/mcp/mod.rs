//! The MCP server: one client on standard input and output, both eras of the protocol, the catalogue's tools.
//!
//! It decides what a line from the client may become and how an outcome reads. It knows nothing of pages, asks the
//! browser's side for everything, and ends when the client's side of the connection ends.

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
use tokio::time::interval;

use crate::base::limits::{LAST_LINES_MS, TRUST_TICK_MS};
use crate::base::refusal::{Code, Refusal};
use crate::os::runtime_dir::Environment;
use crate::os::signals::Signals;
use crate::os::stdio::{self, Outbox};
use crate::os::{OsRefusal, peer, random};
use caller::Entrance;
use door::Door;
use lines::ClientLines;
use server::McpServer;
use transport::{Input, LineTransport};

/// Serves the client on standard input and output until its side ends, and other clients' servers until theirs do.
pub async fn serve(environment: Environment) -> Result<(), Refusal> {
    let entrance = Entrance::new(|| peer::client().map_err(unmeasured));
    let instance: String = random::hex(random::bytes32()?.first_chunk::<16>().unwrap_or(&[0; 16]));
    let failed = |error: std::io::Error| Refusal::new(Code::InternalError, error.to_string());
    let (out, written) = stdio::stdout_outbox().map_err(failed)?;
    let mut signals = Signals::listen().map_err(failed)?;
    let door = Arc::new(Door::new(environment, entrance, instance));
    // Browsers find an open door before the first call; why one stays closed is what the calls report.
    let opening = tokio::spawn({
        let door = door.clone();
        async move { door.open().await }
    });
    let input = stdio::stdin_messages(ClientLines::default());
    let mut talk = Box::pin(converse(door.clone(), input, out, eras::LEGACY_ERA_SERVED));
    let ended = tokio::select! {
        () = &mut talk => {
            opening.abort();
            tokio::select! {
                () = door.leave() => Ok(()),
                why = summons(&mut signals, &door) => { door.end().await; why }
            }
        }
        why = summons(&mut signals, &door) => {
            tokio::select! {
                () = &mut talk => {}
                () = door.end() => {}
            }
            why
        }
    };
    drop(talk);
    // What was answered is written out, unless nobody reads it.
    let _ = tokio::time::timeout(Duration::from_millis(LAST_LINES_MS.into()), written).await;
    ended
}

async fn converse(door: Arc<Door>, input: Input, out: Outbox, legacy: bool) {
    let (ended, hangup) = watch::channel(false);
    let server = McpServer { door, hangup, legacy };
    // Both errors mean that the client's side ended: before a first request, or after.
    if let Ok(service) = server.serve(LineTransport::new(input, out, ended, legacy)).await {
        let _ = service.waiting().await;
    }
}

/// Whoever cannot be measured cannot be admitted.
fn unmeasured(refusal: OsRefusal) -> Refusal {
    Refusal::new(Code::ClientNotAdmitted, format!("genkan cannot tell who asks: {refusal}."))
}

/// Resolves when somebody asks for the end although the client is still there, or our own file was replaced on disk.
async fn summons(signals: &mut Signals, door: &Door) -> Result<(), Refusal> {
    let mut ticks = interval(Duration::from_millis(TRUST_TICK_MS.into()));
    loop {
        tokio::select! {
            () = signals.next() => return Ok(()),
            _ = ticks.tick() => if let Some(refusal) = door.replaced() { return Err(refusal) },
        }
    }
}

#[cfg(test)]
mod tests;

//! rmcp's transport over our own lines and our own parser. It ends the service only when the client's side ends:
//! input at its end, or output that nobody takes.

use std::collections::VecDeque;
use std::io;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{mpsc, watch};

use super::gate::{Admitted, Gate};
use crate::os::stdio::{Outbox, StreamFault};

/// Lines from the client, as the reader of the stream delivers them.
pub type Input = mpsc::Receiver<Result<Vec<u8>, StreamFault>>;

/// One client.
pub struct LineTransport {
    input: Input,
    gate: Gate,
    refusals: VecDeque<Vec<u8>>,
    out: Outbox,
    hangup: watch::Sender<bool>,
}

impl LineTransport {
    /// `hangup` turns true when the client's side has ended.
    pub fn new(input: Input, out: Outbox, hangup: watch::Sender<bool>, legacy: bool) -> Self {
        Self { input, gate: Gate::new(legacy), refusals: VecDeque::new(), out, hangup }
    }

    /// The next message for rmcp. It may be dropped at any await without losing a line. While a refusal waits for
    /// room, nothing more is read: a client that does not read its answers cannot make us keep more of them.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            while let Some(line) = self.refusals.front() {
                self.out.send(line.clone()).await.ok()?;
                self.refusals.pop_front();
            }
            let line = tokio::select! {
                line = self.input.recv() => line?.ok()?,
                () = self.out.closed() => return None,
            };
            match self.gate.admit(&line) {
                Admitted::Serve(message) => return Some(*message),
                Admitted::Answer(refusal) => self.refusals.push_back(refusal),
                Admitted::Nothing => {}
            }
        }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let line = self.gate.release(message);
        let out = self.out.clone();
        async move {
            match line {
                Some(line) => out.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into()),
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.next().await;
        if message.is_none() {
            self.hangup.send_replace(true);
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

//! One relay's connection: its client's calls come in, what becomes of each goes back.
//!
//! Decides whether its client may attach and, by `Service`, each of its calls; the relay only says whom it measured. It
//! refuses ids of open calls, more calls than a server lets in and lines of no relay, and cuts a relay that does not
//! read. An answer goes only over the connection that the call came over. It does not know what a call means.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::connection::{BridgeLines, say_last};
use super::service::{Call, Guest, Service, Tie};
use crate::base::limits::{
    CLIENT_OPEN_CALLS_MAX, HAND_OVER_MS, LAST_LINES_MS, PROGRESS_STATES_MAX, RELAY_LINE_BYTES_MAX,
};
use crate::base::refusal::{Code, Refusal};
use crate::bridge::catalogue;
use crate::bridge::clients::End;
use crate::os::log;
use crate::os::socket::WriteHalf;
use crate::os::stdio::Unsent;
use crate::role::outbox::{Outbox, Queued, outbox};
use crate::trust::audit::{AuditKind, AuditOutcome, Surface};
use crate::wire::bridge::{BridgeResp, Door};
use crate::wire::handshake::{RelayAttachment, attached_line};
use crate::wire::relay::{FromRelay, RelayCall, ToRelay};

/// Serves the relay until either side ends the connection.
pub async fn serve(
    service: &Arc<Service>,
    attachment: RelayAttachment,
    lines: BridgeLines,
    mut sink: WriteHalf,
) {
    let cut = Arc::new(Notify::new());
    match enter(service, attachment, &cut) {
        Ok((guest, door)) => {
            let number = guest.number();
            let why = match sink.write_all(&attached_line(number, door)).await {
                Ok(()) => Relay::new(service.clone(), guest, cut.clone()).carry(lines, sink).await,
                Err(error) => error.to_string(),
            };
            log::info(format_args!("client {number} of this broker left: {why}"));
        }
        Err(refusal) => {
            log::warn(format_args!("refused a relay: {refusal}"));
            say_last(&mut sink, &refusal).await;
        }
    }
}

fn enter(
    service: &Service,
    attachment: RelayAttachment,
    cut: &Arc<Notify>,
) -> Result<(Guest, Door), Refusal> {
    let RelayAttachment { instance, client } = attachment;
    let image = client.path().to_string();
    let entered = service.enter(client, instance.clone(), Tie(Some(cut.clone())));
    let (kind, outcome, code) = match &entered {
        Ok(_) => (AuditKind::HarnessAdmit, AuditOutcome::Done, None),
        Err(refusal) if refusal.code == Code::BrokerBusy => {
            (AuditKind::AttachRefuse, AuditOutcome::Refused, Some(refusal.code))
        }
        Err(refusal) => (AuditKind::HarnessRefuse, AuditOutcome::Refused, Some(refusal.code)),
    };
    let conn = entered.as_ref().ok().map(Guest::number);
    // What cannot be recorded is not done.
    service.records.note(kind, Surface::Broker, outcome, |mut record| {
        (record.code, record.conn, record.cid) = (code, conn, Some(instance));
        record.with_detail(&image)
    })?;
    Ok((entered?, service.core.clients.standing()?))
}

struct Relay {
    service: Arc<Service>,
    guest: Arc<Guest>,
    line: Line,
    queued: Option<Queued>,
    running: JoinSet<u64>,
    calls: HashMap<u64, AbortHandle>,
}

impl Relay {
    fn new(service: Arc<Service>, guest: Guest, cut: Arc<Notify>) -> Self {
        let (outbox, queued) = outbox();
        let (running, calls) = (JoinSet::new(), HashMap::new());
        let line = Line { outbox, cut };
        Self { service, guest: Arc::new(guest), line, queued: Some(queued), running, calls }
    }

    /// Carries lines until either side ends the connection, and says why it ended.
    async fn carry(mut self, mut lines: BridgeLines, sink: WriteHalf) -> String {
        lines.splitter_mut().widen(RELAY_LINE_BYTES_MAX);
        let Some(queued) = self.queued.take() else { return String::new() };
        let (mut writer, cut) = (queued.write_to(sink), self.line.cut.clone());
        let why = loop {
            tokio::select! {
                line = lines.next() => match line {
                    Ok(Some(line)) => if let Err(why) = self.hear(&line) { break why },
                    Ok(None) => break "it closed the connection".into(),
                    Err(fault) => break fault.to_string(),
                },
                Some(ended) = self.running.join_next() => self.forget(ended.ok()),
                () = cut.notified() => {
                    self.last_words().await;
                    break "it was closed from here".into();
                }
                _ = &mut writer => break "it no longer reads".into(),
            }
        };
        // Its calls are called off, then what was said is written out, unless nobody reads it.
        self.running.shutdown().await;
        drop(self);
        if !writer.is_finished() {
            let _ = timeout(Duration::from_millis(LAST_LINES_MS.into()), &mut writer).await;
        }
        writer.abort();
        why
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), String> {
        match FromRelay::parse(line).map_err(|fault| fault.to_string())? {
            FromRelay::Cancel { id } => {
                self.calls.remove(&id).into_iter().for_each(|call| call.abort());
                Ok(())
            }
            FromRelay::Call(call) if self.calls.contains_key(&call.id) => Err("it used an id twice".into()),
            FromRelay::Call(_) if self.calls.len() >= CLIENT_OPEN_CALLS_MAX => {
                Err(format!("it left more than {CLIENT_OPEN_CALLS_MAX} calls open"))
            }
            FromRelay::Call(call) => {
                let id = call.id;
                let carried = carry(self.service.clone(), self.guest.clone(), self.line.clone(), call);
                let call = self.running.spawn(async move {
                    carried.await;
                    id
                });
                self.calls.insert(id, call);
                Ok(())
            }
        }
    }

    /// A call that was called off has left the list already, and its id may be in use again.
    fn forget(&mut self, ended: Option<u64>) {
        if let Some(id) = ended {
            self.calls.remove(&id);
        }
    }

    /// Every call has been ended, with its answer or its reason; those are still written down and told.
    async fn last_words(&mut self) {
        let told = async { while self.running.join_next().await.is_some() {} };
        let _ = timeout(Duration::from_millis(HAND_OVER_MS.into()), told).await;
    }
}

/// The way back to the relay.
#[derive(Clone)]
struct Line {
    outbox: Outbox,
    cut: Arc<Notify>,
}

impl Line {
    /// Resolves once the kernel has it. A relay that does not take in what it is told is cut.
    async fn say(&self, frame: ToRelay) {
        if self.outbox.write(&frame).await == Err(Unsent::Full) {
            log::warn(format_args!("a relay does not take in what it is sent, so its link is cut"));
            self.cut.notify_one();
        }
    }
}

/// Carries one call, and tells the relay what becomes of it.
async fn carry(service: Arc<Service>, guest: Arc<Guest>, line: Line, call: RelayCall) {
    let id = call.id;
    let Some(tool) = catalogue::tool(&call.tool) else {
        let error = Refusal::new(Code::InvalidArgument, "There is no such tool.");
        return line.say(ToRelay::Reply(BridgeResp::Failed { id, error })).await;
    };
    let RelayCall { browser, args, name, budget: budget_ms, .. } = call;
    let (progress, mut states) = mpsc::channel(PROGRESS_STATES_MAX);
    let call = Call { tool, browser, args, name, budget_ms, progress: Some(progress) };
    // From here on a relay whose broker dies must not ask another one.
    let telling = async || line.say(ToRelay::Dispatching { id }).await;
    let reporting = async {
        while let Some(state) = states.recv().await {
            line.say(ToRelay::Reply(BridgeResp::Progress { id, state })).await;
        }
        pending().await
    };
    let result = tokio::select! {
        biased;
        result = service.carry(&guest, call, telling) => result,
        never = reporting => never,
    };
    line.say(match result {
        Ok(data) => ToRelay::Reply(BridgeResp::Done { id, data }),
        Err(End::Refused(error)) => ToRelay::Reply(BridgeResp::Failed { id, error }),
        Err(End::Returned) => ToRelay::Returned { id },
    })
    .await;
}

//! One connection of the bridge socket: the handshake, then requests one way and answers the other.
//!
//! Decides which connections may stay: at most a few unproven ones at once and each for a few seconds, then only what
//! keeps to the protocol and takes in what it is sent. Everything else is cut without a word, and logged. It does not
//! know which call an answer belongs to; the session does.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::base::limits::{
    BRIDGE_LINE_BYTES_MAX, HALF_OPEN_MAX, HANDSHAKE_LINE_BYTES_MAX, HANDSHAKE_MS, SECRET_BYTES,
};
use crate::bridge::session::{Browser, Link, Session, Unsent};
use crate::bridge::target::Identity;
use crate::os::socket::{BridgeStream, Listener, ReadHalf, WriteHalf};
use crate::os::stdio::{self, Incoming, Outbox, Queued};
use crate::os::{OsRefusal, log};
use crate::wire::bridge::{BridgeReq, BridgeResp, Door, Notice};
use crate::wire::framing::Lines;
use crate::wire::handshake::{Acceptor, AcceptorStep, Attachment, attached_line, refused_line};
use crate::wire::json;

/// Where nonces come from.
pub type Nonces = fn() -> Result<[u8; SECRET_BYTES], OsRefusal>;

type BridgeLines = Incoming<ReadHalf, Lines>;

/// Lets browsers in.
#[derive(Clone)]
pub struct Doorway {
    session: Session<Writer>,
    started: Instant,
    secret: [u8; SECRET_BYTES],
    nonces: Nonces,
    unproven: Arc<Semaphore>,
}

impl Doorway {
    pub fn new(
        session: Session<Writer>,
        started: Instant,
        secret: [u8; SECRET_BYTES],
        nonces: Nonces,
    ) -> Self {
        Self { session, started, secret, nonces, unproven: Arc::new(Semaphore::new(HALF_OPEN_MAX)) }
    }

    /// Accepts until it is aborted; every connection ends with it.
    pub async fn keep_open(self, listener: Listener) {
        let mut connections = JoinSet::new();
        loop {
            let stream = listener.accept().await;
            while connections.try_join_next().is_some() {}
            match self.unproven.clone().try_acquire_owned() {
                Ok(place) => _ = connections.spawn(self.clone().serve(stream, place)),
                Err(_) => log::warn(format_args!(
                    "refused a connection: {HALF_OPEN_MAX} others have not proven themselves yet"
                )),
            }
        }
    }

    async fn serve(self, stream: BridgeStream, place: OwnedSemaphorePermit) {
        let (source, mut sink) = stream.into_split();
        let mut lines = Incoming::new(source, Lines::new(HANDSHAKE_LINE_BYTES_MAX));
        let patience = Duration::from_millis(HANDSHAKE_MS.into());
        let proven = timeout(patience, self.prove(&mut lines, &mut sink)).await;
        drop(place);
        match proven.unwrap_or_else(|_| Err("it did not finish the handshake in time".into())) {
            Ok(attachment) => self.register(attachment, lines, sink).await,
            Err(why) => log::warn(format_args!("cut a connection: {why}")),
        }
    }

    async fn prove(&self, lines: &mut BridgeLines, sink: &mut WriteHalf) -> Result<Attachment, String> {
        // Without randomness there is no proof, hence no connection.
        let nonce = (self.nonces)().map_err(|refusal| refusal.to_string())?;
        let mut acceptor = Acceptor::new(self.secret, nonce);
        let mut say = acceptor.hello();
        loop {
            sink.write_all(&say).await.map_err(|error| error.to_string())?;
            let line = lines.next().await.map_err(|fault| fault.to_string())?;
            let line = line.ok_or("it left during the handshake")?;
            match acceptor.on_line(&line).map_err(|fault| fault.to_string())? {
                AcceptorStep::SendWelcome(line) => say = line,
                AcceptorStep::Attach(attachment) => return Ok(attachment),
                AcceptorStep::AttachRelay(_) => {
                    return Err("it is a relay, which this broker does not serve".into());
                }
            }
        }
    }

    async fn register(self, attachment: Attachment, lines: BridgeLines, mut sink: WriteHalf) {
        let Attachment { label, instance, bridge, extension, capabilities } = attachment;
        let browser = Browser { identity: Identity { label, instance }, bridge, extension, capabilities };
        let (outbox, queued) = stdio::outbox();
        let writer = Writer { outbox, cut: Arc::new(Notify::new()) };
        let cut = writer.cut.clone();
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match self.session.attach(browser, writer, now) {
            Ok(generation) => {
                // Whoever waited may have queued a call by now; it is written after this line.
                let why = match sink.write_all(&attached_line(generation, Door::Open)).await {
                    Ok(()) => self.carry(generation, lines, queued, sink, &cut).await,
                    Err(error) => error.to_string(),
                };
                self.session.detach(generation);
                log::info(format_args!("browser connection {generation} ended: {why}"));
            }
            Err(refusal) => {
                log::warn(format_args!("refused a browser: {refusal}"));
                // Who does not read the reason goes without.
                let patience = Duration::from_millis(HANDSHAKE_MS.into());
                let _ = timeout(patience, sink.write_all(&refused_line(&refusal))).await;
            }
        }
    }

    /// Carries lines until either side ends the connection, and says why it ended.
    async fn carry(
        &self,
        generation: u64,
        mut lines: BridgeLines,
        queued: Queued,
        sink: WriteHalf,
        cut: &Notify,
    ) -> String {
        lines.splitter_mut().widen(BRIDGE_LINE_BYTES_MAX);
        let mut writer = queued.write_to(sink);
        let why = tokio::select! {
            why = self.listen(generation, &mut lines) => why,
            () = cut.notified() => "it was closed from here".into(),
            _ = &mut writer => "it no longer reads".into(),
        };
        writer.abort();
        why
    }

    async fn listen(&self, generation: u64, lines: &mut BridgeLines) -> String {
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return "the host left".into(),
                Err(fault) => return fault.to_string(),
            };
            match BridgeResp::parse(&line) {
                Ok(answer) => {
                    let id = answer.id();
                    if !self.session.resolve(generation, answer) {
                        log::debug(format_args!("dropped an answer to call {id}, which nobody waits for"));
                    }
                }
                Err(fault) => return fault.to_string(),
            }
        }
    }
}

/// The writing side of a connection, as the session sees it.
#[derive(Clone, Debug)]
pub struct Writer {
    outbox: Outbox,
    cut: Arc<Notify>,
}

impl Link for Writer {
    fn request(&self, request: &BridgeReq) -> Result<(), Unsent> {
        self.outbox.try_send(line(request)).map_err(|unsent| match unsent {
            stdio::Unsent::Full => Unsent::Full,
            stdio::Unsent::Closed => Unsent::Closed,
        })
    }

    fn cancel(&self, id: u64) {
        if self.outbox.try_send(line(&Notice::Cancel { id })) == Err(stdio::Unsent::Full) {
            // It would act on what nobody wants any more.
            log::warn(format_args!("a browser does not take in what it is sent, so its link is cut"));
            self.close();
        }
    }

    fn close(&self) {
        self.cut.notify_one();
    }
}

fn line<T: serde::Serialize>(frame: &T) -> Vec<u8> {
    let mut line = json::written(frame).into_bytes();
    line.push(b'\n');
    line
}

//! One connection of the bridge socket: the handshake, then a browser's requests and answers, or a relay's calls.
//!
//! Decides which connections may stay: at most a few unproven ones at once and each for a few seconds, then only what
//! keeps to the protocol and takes in what it is sent. Everything else is cut without a word, and logged. It does not
//! know which call an answer belongs to; the session does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::relay;
use super::service::Service;
use crate::base::limits::{
    BRIDGE_LINE_BYTES_MAX, HALF_OPEN_MAX, HANDSHAKE_LINE_BYTES_MAX, HANDSHAKE_MS, LAST_LINES_MS,
    SECRET_BYTES, TRUST_TICK_MS,
};
use crate::base::refusal::Refusal;
use crate::bridge::session::{Browser, Link, Unsent};
use crate::bridge::target::Identity;
use crate::os::OsRefusal;
use crate::os::log::{self, Throttle};
use crate::os::socket::{BridgeStream, Listener, ReadHalf, WriteHalf};
use crate::os::stdio::{self, Incoming};
use crate::role::outbox::{Outbox, Queued, outbox};
use crate::trust::audit::{AuditKind, AuditOutcome, Surface};
use crate::wire::bridge::{BridgeReq, BridgeResp, Door, LinkNotice, Notice};
use crate::wire::framing::Lines;
use crate::wire::handshake::{
    Acceptor, AcceptorStep, Attachment, RelayAttachment, Run, attached_line, refused_line,
};

/// Where nonces come from.
pub type Nonces = fn() -> Result<[u8; SECRET_BYTES], OsRefusal>;

/// What a proven peer sends.
pub type BridgeLines = Incoming<ReadHalf, Lines>;

/// Lets browsers and relays in.
#[derive(Clone)]
pub struct Doorway {
    service: Arc<Service>,
    run: Run,
    nonces: Nonces,
    unproven: Arc<Semaphore>,
    refusals: Arc<Mutex<Throttle>>,
}

impl Doorway {
    pub fn new(service: Arc<Service>, run: Run, nonces: Nonces) -> Self {
        let unproven = Arc::new(Semaphore::new(HALF_OPEN_MAX));
        Self { service, run, nonces, unproven, refusals: Arc::default() }
    }

    /// Accepts until `open` turns false, then lets the connections end. Aborting it cuts them. Where somebody removed the
    /// socket or put another in its place, `bind` makes it anew; connections that stand do not notice.
    pub async fn keep_open(
        self,
        mut listener: Listener,
        bind: impl Fn(&Listener) -> Option<Listener>,
        mut open: watch::Receiver<bool>,
    ) {
        let mut connections = JoinSet::new();
        let mut ticks = interval(Duration::from_millis(TRUST_TICK_MS.into()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let stream = tokio::select! {
                stream = listener.accept() => stream,
                _ = open.wait_for(|open| !open) => break,
                _ = ticks.tick() => {
                    listener = bind(&listener).unwrap_or(listener);
                    continue;
                }
            };
            while connections.try_join_next().is_some() {}
            match (stream, self.unproven.clone().try_acquire_owned()) {
                (Ok(stream), Ok(place)) => _ = connections.spawn(self.clone().serve(stream, place)),
                (Ok(_), Err(_)) => {
                    self.refuse(&format!("{HALF_OPEN_MAX} others have not proven themselves yet"));
                }
                (Err(refusal), _) => self.refuse(&refusal.to_string()),
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    async fn serve(self, stream: BridgeStream, place: OwnedSemaphorePermit) {
        let (source, mut sink) = stream.into_split();
        let mut lines = Incoming::new(source, Lines::new(HANDSHAKE_LINE_BYTES_MAX));
        let patience = Duration::from_millis(HANDSHAKE_MS.into());
        let proven = timeout(patience, self.prove(&mut lines, &mut sink)).await;
        drop(place);
        match proven.unwrap_or_else(|_| Err("it did not finish the handshake in time".into())) {
            Ok(Peer::Browser(attachment)) => self.register(attachment, lines, sink).await,
            Ok(Peer::Relay(attachment)) => relay::serve(&self.service, attachment, lines, sink).await,
            Err(why) => self.refuse(&why),
        }
    }

    /// Told one by one, or else a flood of connections would be one of lines and records, of which each takes a flush.
    fn refuse(&self, why: &str) {
        let passed = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).pass(Instant::now());
        let why = match passed {
            None => return,
            Some(0) => why.into(),
            Some(more) => format!("{why} (and {more} others were refused without a word)"),
        };
        log::warn(format_args!("refused a connection: {why}"));
        self.note(AuditKind::AttachRefuse, AuditOutcome::Refused, None, None, &why);
    }

    async fn prove(&self, lines: &mut BridgeLines, sink: &mut WriteHalf) -> Result<Peer, String> {
        // Without randomness there is no proof, hence no connection.
        let nonce = (self.nonces)().map_err(|refusal| refusal.to_string())?;
        let mut acceptor = Acceptor::new(self.run, nonce);
        let mut say = acceptor.hello();
        loop {
            sink.write_all(&say).await.map_err(|error| error.to_string())?;
            let line = lines.next().await.map_err(|fault| fault.to_string())?;
            let line = line.ok_or("it left during the handshake")?;
            match acceptor.on_line(&line).map_err(|fault| fault.to_string())? {
                AcceptorStep::SendWelcome(line) => say = line,
                AcceptorStep::Attach(attachment) => return Ok(Peer::Browser(attachment)),
                AcceptorStep::AttachRelay(attachment) => return Ok(Peer::Relay(attachment)),
            }
        }
    }

    async fn register(self, attachment: Attachment, lines: BridgeLines, mut sink: WriteHalf) {
        let Attachment { label, instance, bridge, extension, capabilities } = attachment;
        let shown = format!("{label}#{instance}, extension {extension}");
        let browser = Browser { identity: Identity { label, instance }, bridge, extension, capabilities };
        let (outbox, queued) = outbox();
        let writer = Writer { outbox, cut: Arc::new(Notify::new()), door: Arc::new(Mutex::new(Door::Open)) };
        match self.attach(browser, writer.clone(), &shown) {
            Ok((generation, door)) => {
                writer.knows(door);
                // Whoever waited may have queued a call by now; it is written after this line.
                let why = match sink.write_all(&attached_line(generation, door)).await {
                    Ok(()) => self.carry(generation, lines, queued, sink, &writer.cut).await,
                    Err(error) => error.to_string(),
                };
                self.service.core.session.detach(generation);
                log::info(format_args!("browser connection {generation} ended: {why}"));
            }
            Err(refusal) => {
                log::warn(format_args!("refused a browser: {refusal}"));
                self.note(AuditKind::BrowserRefuse, AuditOutcome::Refused, Some(&refusal), None, &shown);
                say_last(&mut sink, &refusal).await;
            }
        }
    }

    /// Decided on a fresh read, and written down before the browser can be asked for anything.
    fn attach(&self, browser: Browser, writer: Writer, shown: &str) -> Result<(u64, Door), Refusal> {
        self.service.learn()?;
        let (generation, door) = self.service.core.attach(browser, writer, self.service.now())?;
        self.note(AuditKind::BrowserAttach, AuditOutcome::Done, None, Some(generation), shown);
        Ok((generation, door))
    }

    fn note(
        &self,
        kind: AuditKind,
        outcome: AuditOutcome,
        refusal: Option<&Refusal>,
        conn: Option<u64>,
        detail: &str,
    ) {
        let written = self.service.records.note(kind, Surface::Broker, outcome, |mut record| {
            record.code = refusal.map(|refusal| refusal.code);
            record.conn = conn;
            record.with_detail(detail)
        });
        written
            .unwrap_or_else(|refusal| log::error(format_args!("the log does not take a record: {refusal}")));
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
                    if !self.service.core.session.resolve(generation, answer) {
                        log::debug(format_args!("dropped an answer to call {id}, which nobody waits for"));
                    }
                }
                Err(fault) => return fault.to_string(),
            }
        }
    }
}

/// Tells a peer why it may not attach. Who does not read the reason goes without.
pub async fn say_last(sink: &mut WriteHalf, refusal: &Refusal) {
    let patience = Duration::from_millis(LAST_LINES_MS.into());
    let _ = timeout(patience, sink.write_all(&refused_line(refusal))).await;
}

/// Who proved itself.
enum Peer {
    Browser(Attachment),
    Relay(RelayAttachment),
}

/// The writing side of a connection, as the session sees it.
#[derive(Clone, Debug)]
pub struct Writer {
    outbox: Outbox,
    cut: Arc<Notify>,
    /// What the browser was told about who may enter.
    door: Arc<Mutex<Door>>,
}

impl Writer {
    /// Tells the browser who may enter, if that is news to it.
    pub fn tell(&self, door: Door) {
        if self.knows(door) != door && self.outbox.send(&LinkNotice::Door { door }).is_err() {
            self.close();
        }
    }

    /// Remembers what the browser is told, and returns what it was told before.
    fn knows(&self, door: Door) -> Door {
        std::mem::replace(&mut *self.door.lock().unwrap_or_else(PoisonError::into_inner), door)
    }
}

impl Link for Writer {
    fn request(&self, request: &BridgeReq) -> Result<(), Unsent> {
        self.outbox.send(request).map_err(|unsent| match unsent {
            stdio::Unsent::Full => Unsent::Full,
            stdio::Unsent::Closed => Unsent::Closed,
        })
    }

    fn cancel(&self, id: u64) {
        if self.outbox.send(&Notice::Cancel { id }) == Err(stdio::Unsent::Full) {
            // It would act on what nobody wants any more.
            log::warn(format_args!("a browser does not take in what it is sent, so its link is cut"));
            self.close();
        }
    }

    fn close(&self) {
        self.cut.notify_one();
    }
}

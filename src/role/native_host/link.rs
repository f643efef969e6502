//! The host's link to the broker: reach it, prove ourselves, carry lines, and start over when it is gone.
//!
//! Decides when to try again, and tells a broker that died from one that cut us off: a live broker with the same run's
//! secret cut us because a newer host of this browser attached, so we must not push that one out in turn, unless the
//! kill switch cut all of us. Does not know what the lines say.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::controls;
use crate::base::limits::{
    BRIDGE_LINE_BYTES_MAX, HANDSHAKE_LINE_BYTES_MAX, HANDSHAKE_MS, REDIAL_MS_MAX, REDIAL_MS_MIN, SECRET_BYTES,
};
use crate::base::refusal::{Code, Refusal};
use crate::os::runtime_dir::{Environment, RuntimeDir};
use crate::os::socket::{ReadHalf, WriteHalf};
use crate::os::stdio::{self, Incoming, Outbox, StreamFault};
use crate::os::trust_store::TrustStore;
use crate::os::{OsRefusal, lock, log, random, socket};
use crate::wire::bridge::{Capability, Door};
use crate::wire::control::Link;
use crate::wire::framing::Lines;
use crate::wire::handshake::{Dialer, DialerStep, HandshakeFault, Run};

/// What this browser claims to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The browser's label.
    pub label: String,
    /// The profile's instance id.
    pub instance: String,
    /// The bridge version of the extension.
    pub bridge: u32,
    /// The extension's release.
    pub extension: String,
    /// What it can do.
    pub capabilities: Vec<Capability>,
}

impl Claim {
    /// For an extension whose hello we cannot read further than its version: enough for the broker to refuse it by
    /// name, so that callers learn of the mismatch instead of waiting for a browser.
    pub fn of_another_version(label: String, bridge: u32) -> Result<Self, OsRefusal> {
        let bytes = random::bytes32()?;
        let instance = random::hex(bytes.first_chunk::<16>().unwrap_or(&[0; 16]));
        Ok(Self { label, instance, bridge, extension: "unknown".into(), capabilities: Vec::new() })
    }
}

/// What happened to the link.
#[derive(Debug)]
pub enum LinkEvent {
    /// The broker has registered us.
    Attached {
        /// Where replies go.
        broker: BrokerLink,
        /// Who may enter through it.
        door: Door,
    },
    /// The broker sent this line.
    Line(Vec<u8>),
    /// The link is gone.
    Lost,
    /// There is no link, for this reason.
    Standing(Link),
    /// A newer host of this browser took our place.
    Superseded,
}

/// The way to the broker; dropping it cuts the link.
#[derive(Debug)]
pub struct BrokerLink {
    outbox: Outbox,
    writer: AbortHandle,
}

impl BrokerLink {
    /// Queues one line; false if the broker is gone or does not read.
    pub fn send(&self, line: Vec<u8>) -> bool {
        self.outbox.try_send(line).is_ok()
    }
}

impl Drop for BrokerLink {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

/// Keeps the link until we are superseded or nobody listens to the events.
pub async fn keep(environment: Environment, claim: Claim, events: mpsc::Sender<LinkEvent>) {
    let mut cut_by: Option<[u8; SECRET_BYTES]> = None;
    let mut pause_ms = REDIAL_MS_MIN;
    loop {
        let standing = match attach(&environment, &claim, cut_by.as_ref()).await {
            Ok(attached) => {
                cut_by = Some(attached.secret);
                pause_ms = REDIAL_MS_MIN;
                carry(attached, &events).await;
                // Then it was not for a newer host of this browser that we were cut off.
                if controls::stopped(&environment) {
                    cut_by = None;
                }
                LinkEvent::Lost
            }
            Err(Unattached::Superseded) => LinkEvent::Superseded,
            Err(Unattached::Absent) => LinkEvent::Standing(Link::Waiting {}),
            Err(Unattached::Refused(error)) => {
                pause_ms = REDIAL_MS_MAX;
                LinkEvent::Standing(Link::Refused { error })
            }
        };
        let last = matches!(standing, LinkEvent::Superseded);
        if events.send(standing).await.is_err() || last {
            return;
        }
        tokio::time::sleep(Duration::from_millis(pause_ms.into())).await;
        pause_ms = pause_ms.saturating_mul(2).min(REDIAL_MS_MAX);
    }
}

struct AttachedLink {
    lines: Incoming<ReadHalf, Lines>,
    sink: WriteHalf,
    door: Door,
    secret: [u8; SECRET_BYTES],
}

enum Unattached {
    /// No broker runs, or it went away during the handshake.
    Absent,
    /// The machine's state or the broker says no.
    Refused(Refusal),
    /// The broker that cut us off is alive.
    Superseded,
}

impl From<Refusal> for Unattached {
    fn from(refusal: Refusal) -> Self {
        log::warn(format_args!("no link to the broker: {refusal}"));
        Self::Refused(refusal)
    }
}

impl From<OsRefusal> for Unattached {
    fn from(refusal: OsRefusal) -> Self {
        log::warn(format_args!("no link to the broker: {refusal}"));
        Self::Refused(refusal.into())
    }
}

async fn attach(
    environment: &Environment,
    claim: &Claim,
    cut_by: Option<&[u8; SECRET_BYTES]>,
) -> Result<AttachedLink, Unattached> {
    let dir = RuntimeDir::resolve(environment)?;
    // What lies there and is no lock file is told, whether or not anybody listens.
    if lock::read(&dir)?.is_none() {
        return Err(Unattached::Absent);
    }
    let stream = match socket::dial(&dir).await {
        Ok(stream) => stream,
        Err(refusal) if socket::is_absent(&refusal) => return Err(Unattached::Absent),
        Err(refusal) => return Err(refusal.into()),
    };
    // Again, now that somebody listens: a broker writes its record first, so its door is not taken for that of the one
    // before it, which cut us off.
    let Some(record) = lock::read(&dir)? else { return Err(Unattached::Absent) };
    if cut_by == Some(&record.secret) {
        return Err(Unattached::Superseded);
    }
    let (source, sink) = stream.into_split();
    let lines = Incoming::new(source, Lines::new(HANDSHAKE_LINE_BYTES_MAX));
    let patience = Duration::from_millis(HANDSHAKE_MS.into());
    let run = Run { secret: record.secret, records: TrustStore::open(environment)?.place()? };
    let shaken = tokio::time::timeout(patience, shake(lines, sink, run, claim)).await;
    shaken.unwrap_or_else(|_| Err(gone(format_args!("it did not finish the handshake in time"))))
}

async fn shake(
    mut lines: Incoming<ReadHalf, Lines>,
    mut sink: WriteHalf,
    run: Run,
    claim: &Claim,
) -> Result<AttachedLink, Unattached> {
    let Claim { label, instance, bridge, extension, capabilities } = claim.clone();
    let mut dialer = Dialer::new(run, random::bytes32()?, label, instance, bridge, extension, capabilities);
    loop {
        let line = lines.next().await.map_err(unread)?.ok_or(Unattached::Absent)?;
        match dialer.on_line(&line).map_err(unproven)? {
            DialerStep::Send(line) => {
                sink.write_all(&line).await.map_err(|error| gone(format_args!("{error}")))?;
            }
            DialerStep::Attached { generation, door } => {
                log::info(format_args!("attached to the broker as number {generation}"));
                lines.splitter_mut().widen(BRIDGE_LINE_BYTES_MAX);
                return Ok(AttachedLink { lines, sink, door, secret: run.secret });
            }
            DialerStep::Refused(error) => return Err(Unattached::Refused(error)),
        }
    }
}

/// Carries lines until either side ends the link.
async fn carry(attached: AttachedLink, events: &mpsc::Sender<LinkEvent>) {
    let AttachedLink { mut lines, sink, door, .. } = attached;
    let (outbox, mut writer) = stdio::stream_outbox(sink);
    let broker = BrokerLink { outbox, writer: writer.abort_handle() };
    if events.send(LinkEvent::Attached { broker, door }).await.is_err() {
        return;
    }
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            _ = &mut writer => return,
        };
        match line {
            Ok(Some(line)) => {
                if events.send(LinkEvent::Line(line)).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(fault) => return log::error(format_args!("the broker's link is cut: {fault}")),
        }
    }
}

fn unread(fault: StreamFault) -> Unattached {
    gone(format_args!("{fault}"))
}

fn unproven(fault: HandshakeFault) -> Unattached {
    if fault != HandshakeFault::Records {
        return gone(format_args!("{fault}"));
    }
    let refusal = Refusal::new(Code::ClientNotAdmitted, ELSEWHERE);
    log::error(format_args!("no link to the broker: {refusal}"));
    Unattached::Refused(refusal)
}

/// A broker that does not know whom the person paired, or what the person stopped.
const ELSEWHERE: &str = "The genkan program that holds the browser door was started with another HOME or XDG folder than this \
     browser, so it does not judge by your list of clients. It gets nothing from this browser; end it, or start its client anew \
     with your own environment.";

fn gone(why: core::fmt::Arguments<'_>) -> Unattached {
    log::warn(format_args!("the broker's link failed: {why}"));
    Unattached::Absent
}

//! How a browser's host or a relay and the broker prove themselves to each other and attach, as two machines fed with
//! lines.
//!
//! Order on one connection: `hello` (broker) → `proof` (peer) → `welcome` (broker) → `attach` of a browser or
//! `attach_relay` (peer) → `attached` or `refused` (broker). Every other line, order or repetition is a fault, and after a fault a machine
//! takes nothing more: the connection must be closed. The secret is never sent; fresh nonces make replays worthless; the MAC
//! covers role, direction, label and instance, so none of them can be swapped or reflected, and the broker's covers the place
//! of its records: a broker that judges by another record than the person's gets no browser. The machines know no
//! socket and no clock: whoever drives them bounds lines in time.

mod proof;

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::base::limits::{HANDSHAKE_LINE_BYTES_MAX, SAFE_INTEGER_MAX, SECRET_BYTES};
use crate::base::refusal::{Code, Refusal};
use crate::wire::bridge::{BRIDGE_PROTOCOL_VERSION, Capability, Door, Role, is_version};
use crate::wire::client::Client;
use crate::wire::json::{self, JsonFault};
use proof::{Claim, Direction, Secret, hex, prove, unhex, verify};

/// The label under which every relay proves itself; its instance is random per process.
const RELAY_LABEL: &str = "relay";

/// Lines of the handshake. Hex is lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Handshake {
    /// Broker, first: a fresh nonce.
    Hello {
        /// 64 hex digits.
        nonce: String,
    },
    /// Peer: proves that it read the lock file, and binds what it claims to be.
    Proof {
        /// What the peer claims to be.
        role: Role,
        /// The browser's label.
        label: String,
        /// The browser profile's instance id.
        instance: String,
        /// The peer's own nonce, 64 hex digits.
        nonce: String,
        /// MAC in the direction peer → broker over the broker's nonce, 64 hex digits.
        mac: String,
    },
    /// Broker: proves that it knows the secret too.
    Welcome {
        /// Where its records lie, 64 hex digits; under the MAC.
        records: String,
        /// MAC in the direction broker → peer over the peer's nonce, 64 hex digits.
        mac: String,
    },
    /// A browser's host: enters in the role it proved.
    Attach {
        /// Must equal the proven role.
        role: Role,
        /// The extension's version of the bridge protocol.
        bridge: u32,
        /// The extension's release version.
        extension: String,
        /// What the extension can do now.
        capabilities: Vec<Capability>,
    },
    /// A relay: enters on behalf of the client that it measured.
    AttachRelay {
        /// Who holds the other ends of its standard streams, by the kernel's word.
        client: Client,
    },
    /// Broker: the peer is registered.
    Attached {
        /// Counts attachments of this broker.
        generation: u64,
        /// Who may enter through this broker.
        door: Door,
    },
    /// Broker: the peer may not attach.
    Refused {
        /// Why.
        error: Refusal,
    },
}

/// Why a handshake ends. The connection is closed without a word; the sentence is for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeFault {
    /// Not a line of the handshake.
    Line(JsonFault),
    /// A line of the handshake that does not belong here.
    Order,
    /// A member that breaks its rule; its name.
    Member(&'static str),
    /// The broker's records lie elsewhere.
    Records,
    /// The MAC does not hold: another secret, nonce, role, direction, label or instance.
    Proof,
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandshakeFault::Line(fault) => write!(f, "the peer's line is not of the handshake: {fault}"),
            HandshakeFault::Order => f.write_str("the peer's line is out of order in the handshake"),
            HandshakeFault::Member(name) => write!(f, "the peer's `{name}` breaks its rule"),
            HandshakeFault::Records => {
                f.write_str("the broker keeps its records in another place than we do")
            }
            HandshakeFault::Proof => {
                f.write_str("the peer could not prove that it read this run's lock file")
            }
        }
    }
}

impl core::error::Error for HandshakeFault {}

/// What both ends must share.
#[derive(Clone, Copy)]
pub struct Run {
    /// From the lock file; never printed.
    pub secret: [u8; SECRET_BYTES],
    /// Names the folders of the trust record and its mark.
    pub records: [u8; SECRET_BYTES],
}

/// The broker's end.
#[derive(Debug)]
pub struct Acceptor {
    secret: Secret,
    records: [u8; SECRET_BYTES],
    nonce: [u8; SECRET_BYTES],
    awaits: AcceptorAwaits,
}

#[derive(Debug)]
enum AcceptorAwaits {
    Proof,
    Attach(Claim),
    Nothing,
}

/// What the broker does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptorStep {
    /// Send this line, then read on.
    SendWelcome(Vec<u8>),
    /// A browser is proven and asks to enter: answer with [`attached_line`] or [`refused_line`].
    Attach(Attachment),
    /// A relay is proven and asks to enter for this client: answer likewise.
    AttachRelay(RelayAttachment),
}

/// A browser that proved itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// As proven.
    pub label: String,
    /// As proven.
    pub instance: String,
    /// The bridge version its extension speaks; whoever registers it refuses any other than ours.
    pub bridge: u32,
    /// The extension's release version.
    pub extension: String,
    /// Each at most once.
    pub capabilities: Vec<Capability>,
}

/// A relay that proved itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayAttachment {
    /// As proven: random, one per process.
    pub instance: String,
    /// The client as the relay measured it.
    pub client: Client,
}

impl Acceptor {
    /// For one connection; the nonce must be fresh.
    pub fn new(Run { secret, records }: Run, nonce: [u8; SECRET_BYTES]) -> Self {
        Self { secret: Secret(secret), records, nonce, awaits: AcceptorAwaits::Proof }
    }

    /// The broker's first line.
    pub fn hello(&self) -> Vec<u8> {
        line(&Handshake::Hello { nonce: hex(&self.nonce) })
    }

    /// Takes the peer's next line.
    pub fn on_line(&mut self, bytes: &[u8]) -> Result<AcceptorStep, HandshakeFault> {
        let awaited = core::mem::replace(&mut self.awaits, AcceptorAwaits::Nothing);
        match (awaited, read(bytes)?) {
            (AcceptorAwaits::Proof, Handshake::Proof { role, label, instance, nonce, mac }) => {
                let claim = Claim::checked(role, label, instance)?;
                let theirs = unhex("nonce", &nonce)?;
                verify(&self.secret, Direction::PeerToBroker, &self.nonce, &claim, &mac)?;
                let mac = prove(&self.secret, Direction::BrokerToPeer(&self.records), &theirs, &claim)?;
                self.awaits = AcceptorAwaits::Attach(claim);
                let records = hex(&self.records);
                Ok(AcceptorStep::SendWelcome(line(&Handshake::Welcome { records, mac })))
            }
            (AcceptorAwaits::Attach(claim), Handshake::Attach { role, bridge, extension, capabilities }) => {
                admit(claim, role, bridge, extension, capabilities)
            }
            (AcceptorAwaits::Attach(claim), Handshake::AttachRelay { client }) => match claim.role {
                Role::Relay => {
                    Ok(AcceptorStep::AttachRelay(RelayAttachment { instance: claim.instance, client }))
                }
                Role::Browser => Err(HandshakeFault::Member("role")),
            },
            _ => Err(HandshakeFault::Order),
        }
    }
}

fn admit(
    claim: Claim,
    role: Role,
    bridge: u32,
    extension: String,
    capabilities: Vec<Capability>,
) -> Result<AcceptorStep, HandshakeFault> {
    let Claim { role: proven, label, instance } = claim;
    if role != proven || role != Role::Browser {
        return Err(HandshakeFault::Member("role"));
    }
    if !is_version(&extension) {
        return Err(HandshakeFault::Member("extension"));
    }
    if !Capability::each_once(&capabilities) {
        return Err(HandshakeFault::Member("capabilities"));
    }
    Ok(AcceptorStep::Attach(Attachment { label, instance, bridge, extension, capabilities }))
}

/// The refusal of a browser whose extension speaks another version of the bridge.
pub fn version_refusal(bridge: u32, extension: &str) -> Refusal {
    let older =
        if bridge < BRIDGE_PROTOCOL_VERSION { "Update the extension" } else { "Update the genkan program" };
    Refusal::new(
        Code::ProtocolMismatch,
        format!(
            "The extension (release {extension}) speaks bridge version {bridge}, this genkan program version \
             {BRIDGE_PROTOCOL_VERSION}. {older}, then reload the extension."
        ),
    )
}

/// The broker's last line of the handshake: registered.
pub fn attached_line(generation: u64, door: Door) -> Vec<u8> {
    line(&Handshake::Attached { generation, door })
}

/// The broker's last line of the handshake: not registered.
pub fn refused_line(error: &Refusal) -> Vec<u8> {
    line(&Handshake::Refused { error: error.clone() })
}

/// The end of a browser's host or of a relay.
#[derive(Debug)]
pub struct Dialer {
    secret: Secret,
    records: [u8; SECRET_BYTES],
    nonce: [u8; SECRET_BYTES],
    claim: Claim,
    attach: Handshake,
    awaits: DialerAwaits,
}

#[derive(Clone, Copy, Debug)]
enum DialerAwaits {
    Hello,
    Welcome,
    Verdict,
    Nothing,
}

/// What the peer does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialerStep {
    /// Send this line, then read on.
    Send(Vec<u8>),
    /// The peer is registered; calls follow.
    Attached {
        /// Counts attachments of this broker.
        generation: u64,
        /// Who may enter through the broker.
        door: Door,
    },
    /// The broker is genuine and said no.
    Refused(Refusal),
}

impl Dialer {
    /// A browser's host, for one connection; the nonce must be fresh.
    pub fn new(
        Run { secret, records }: Run,
        nonce: [u8; SECRET_BYTES],
        label: String,
        instance: String,
        bridge: u32,
        extension: String,
        capabilities: Vec<Capability>,
    ) -> Self {
        let claim = Claim { role: Role::Browser, label, instance };
        let attach = Handshake::Attach { role: Role::Browser, bridge, extension, capabilities };
        Self { secret: Secret(secret), records, nonce, claim, attach, awaits: DialerAwaits::Hello }
    }

    /// A relay, for one connection, on behalf of this client.
    pub fn relay(
        Run { secret, records }: Run,
        nonce: [u8; SECRET_BYTES],
        instance: String,
        client: Client,
    ) -> Self {
        let claim = Claim { role: Role::Relay, label: RELAY_LABEL.into(), instance };
        let attach = Handshake::AttachRelay { client };
        Self { secret: Secret(secret), records, nonce, claim, attach, awaits: DialerAwaits::Hello }
    }

    /// Takes the broker's next line.
    pub fn on_line(&mut self, bytes: &[u8]) -> Result<DialerStep, HandshakeFault> {
        let awaited = core::mem::replace(&mut self.awaits, DialerAwaits::Nothing);
        match (awaited, read(bytes)?) {
            (DialerAwaits::Hello, Handshake::Hello { nonce }) => {
                let theirs = unhex("nonce", &nonce)?;
                self.awaits = DialerAwaits::Welcome;
                Ok(DialerStep::Send(self.proof(&theirs)?))
            }
            (DialerAwaits::Welcome, Handshake::Welcome { records, mac }) => {
                let records = unhex("records", &records)?;
                verify(&self.secret, Direction::BrokerToPeer(&records), &self.nonce, &self.claim, &mac)?;
                if records != self.records {
                    return Err(HandshakeFault::Records);
                }
                self.awaits = DialerAwaits::Verdict;
                Ok(DialerStep::Send(line(&self.attach)))
            }
            (DialerAwaits::Verdict, Handshake::Attached { generation, door }) => {
                if generation > SAFE_INTEGER_MAX {
                    return Err(HandshakeFault::Member("generation"));
                }
                Ok(DialerStep::Attached { generation, door })
            }
            (DialerAwaits::Verdict, Handshake::Refused { error }) => Ok(DialerStep::Refused(error)),
            _ => Err(HandshakeFault::Order),
        }
    }

    fn proof(&self, theirs: &[u8; SECRET_BYTES]) -> Result<Vec<u8>, HandshakeFault> {
        let mac = prove(&self.secret, Direction::PeerToBroker, theirs, &self.claim)?;
        let Claim { role, label, instance } = self.claim.clone();
        Ok(line(&Handshake::Proof { role, label, instance, nonce: hex(&self.nonce), mac }))
    }
}

fn read(bytes: &[u8]) -> Result<Handshake, HandshakeFault> {
    if bytes.len() > HANDSHAKE_LINE_BYTES_MAX {
        return Err(HandshakeFault::Member("length"));
    }
    json::typed(bytes).map_err(HandshakeFault::Line)
}

fn line(frame: &Handshake) -> Vec<u8> {
    let mut bytes = json::written(frame).into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests;

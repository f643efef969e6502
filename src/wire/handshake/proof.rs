//! What the MACs of the handshake cover, how they are made and compared, and how bytes are written in hex.
//!
//! Refuses a MAC or nonce that is not exactly 64 lower-case hex digits, before any comparison. It does not know where
//! the secret or the nonces come from.

use alloc::{string::String, vec::Vec};
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::HandshakeFault;
use crate::base::limits::SECRET_BYTES;
use crate::wire::bridge::{Role, is_instance, is_label};

/// First bytes under every MAC: nothing signed for another purpose fits here.
const MAC_DOMAIN: &[u8] = b"genkan-bridge-v1";

/// What a peer claims to be, and the MAC binds.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) role: Role,
    pub(super) label: String,
    pub(super) instance: String,
}

impl Claim {
    pub(super) fn checked(role: Role, label: String, instance: String) -> Result<Self, HandshakeFault> {
        if !is_label(&label) {
            return Err(HandshakeFault::Member("label"));
        }
        if !is_instance(&instance) {
            return Err(HandshakeFault::Member("instance"));
        }
        Ok(Self { role, label, instance })
    }
}

/// A MAC made for one direction does not hold in the other, so a peer cannot be answered with its own words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction<'a> {
    PeerToBroker,
    /// With the place of the broker's records.
    BrokerToPeer(&'a [u8; SECRET_BYTES]),
}

/// The per-run secret; it is never printed.
pub(super) struct Secret(pub(super) [u8; SECRET_BYTES]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

pub(super) fn prove(
    secret: &Secret,
    way: Direction<'_>,
    nonce: &[u8; SECRET_BYTES],
    claim: &Claim,
) -> Result<String, HandshakeFault> {
    Ok(hex(&hmac_of(&secret.0, &message(way, nonce, claim))?.finalize().into_bytes().into()))
}

pub(super) fn verify(
    secret: &Secret,
    way: Direction<'_>,
    nonce: &[u8; SECRET_BYTES],
    claim: &Claim,
    mac: &str,
) -> Result<(), HandshakeFault> {
    let tag = unhex("mac", mac)?;
    // `verify_slice` compares in constant time.
    hmac_of(&secret.0, &message(way, nonce, claim))?.verify_slice(&tag).map_err(|_| HandshakeFault::Proof)
}

pub(super) fn hmac_of(key: &[u8], message: &[u8]) -> Result<Hmac<Sha256>, HandshakeFault> {
    // HMAC takes keys of every length; the error exists for other MACs.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_| HandshakeFault::Proof)?;
    mac.update(message);
    Ok(mac)
}

/// The bytes under the MAC. Every part carries its length, so no two claims share them.
pub(super) fn message(way: Direction<'_>, nonce: &[u8; SECRET_BYTES], claim: &Claim) -> Vec<u8> {
    let role: &[u8] = match claim.role {
        Role::Browser => b"browser",
        Role::Relay => b"relay",
    };
    let (way, records): (&[u8], Option<&[u8]>) = match way {
        Direction::PeerToBroker => (b"peer-to-broker", None),
        Direction::BrokerToPeer(records) => (b"broker-to-peer", Some(records)),
    };
    let mut bytes = MAC_DOMAIN.to_vec();
    let parts = [role, way, nonce, claim.label.as_bytes(), claim.instance.as_bytes()];
    for part in parts.into_iter().chain(records) {
        bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

pub(super) fn hex(bytes: &[u8; SECRET_BYTES]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of exactly 64 lower-case hex digits; `member` names the text in the fault.
pub(super) fn unhex(member: &'static str, text: &str) -> Result<[u8; SECRET_BYTES], HandshakeFault> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = match text.as_bytes().as_chunks::<2>() {
        (pairs, []) => pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect(),
        _ => None,
    };
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or(HandshakeFault::Member(member))
}

//! Writes the constants that both languages share: identity, limits, versions, capabilities, codes, audit kinds.

use genkan::base::identity as id;
use genkan::base::limits;
use genkan::base::refusal::ERROR_SPECS;
use genkan::bridge::catalogue::CAPABILITIES;
use genkan::trust::audit::{EXTENSION_AUDIT_KINDS, HOST_AUDIT_KINDS};
use genkan::wire::bridge::BRIDGE_PROTOCOL_VERSION;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::ops::bridged;
use crate::zod::literal;

fn constant(name: &str, value: &(impl serde::Serialize + ?Sized)) -> String {
    format!("export const {name} = {} as const;\n", literal(value))
}

/// identity.ts; refuses to be written when the pinned id is not the one that browsers derive from the key.
pub fn identity() -> Result<String, String> {
    let derived = derived_id(id::EXTENSION_MANIFEST_KEY)?;
    if derived != id::PINNED_EXTENSION_ID
        || id::PINNED_EXTENSION_ORIGIN != format!("chrome-extension://{derived}/")
    {
        return Err(format!("identity: browsers derive {derived} from the key, but another id is pinned"));
    }
    Ok([
        constant("NATIVE_HOST_ID", id::NATIVE_HOST_ID),
        constant("EXTENSION_MANIFEST_KEY", id::EXTENSION_MANIFEST_KEY),
        constant("PINNED_EXTENSION_ID", id::PINNED_EXTENSION_ID),
        constant("PINNED_EXTENSION_ORIGIN", id::PINNED_EXTENSION_ORIGIN),
        constant("DIR_NAME", id::DIR_NAME),
        constant("LOCK_FILE", id::LOCK_FILE),
        constant("SOCKET_FILE", id::SOCKET_FILE),
        constant("LOG_ENV", id::LOG_ENV),
        constant("LOG_FORMAT_ENV", id::LOG_FORMAT_ENV),
    ]
    .concat())
}

/// The id that browsers derive from a manifest key: the first 32 hex digits of its SHA-256, 0–f as a–p.
pub fn derived_id(key: &str) -> Result<String, String> {
    let digest = Sha256::digest(decoded(key)?);
    let letter = |nibble: u8| char::from(b'a' + nibble);
    Ok(digest.iter().take(16).flat_map(|byte| [letter(byte >> 4), letter(byte & 15)]).collect())
}

fn decoded(base64: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0_u32);
    for letter in base64.trim_end_matches('=').bytes() {
        let six = ALPHABET.iter().position(|a| *a == letter).ok_or("identity: the key is not base64")?;
        held = held << 6 | u32::try_from(six).map_err(|e| e.to_string())?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 255).map_err(|e| e.to_string())?);
        }
    }
    Ok(bytes)
}

/// limits.ts
pub fn limits() -> Result<String, String> {
    let row = |(name, about, value): &(&str, &str, f64)| {
        format!("/** {} */\nexport const {name} = {value};\n", about.trim().replace("*/", "* /"))
    };
    Ok(limits::ALL.iter().map(row).collect())
}

/// protocol.ts
pub fn protocol() -> Result<String, String> {
    let names: Vec<_> = CAPABILITIES.iter().map(|(capability, _)| capability).collect();
    let tools = CAPABILITIES.iter().map(|(capability, permissions)| {
        let own = bridged().filter(|t| t.capability == Some(*capability)).map(|t| t.name).collect::<Vec<_>>();
        (word(capability), json!({"tools": own, "permissions": permissions}))
    });
    let tools: Map<String, Value> = tools.collect();
    Ok([
        constant("RELEASE_VERSION", env!("CARGO_PKG_VERSION")),
        constant("BRIDGE_PROTOCOL_VERSION", &BRIDGE_PROTOCOL_VERSION),
        constant("MCP_PROTOCOL_VERSION", id::MCP_PROTOCOL_VERSION),
        constant("CAPABILITIES", &names),
        "export type Capability = (typeof CAPABILITIES)[number];\n".into(),
        "/** What each capability holds, and what of the browser it stands on. */\n".into(),
        constant("CAPABILITY_SPECS", &tools),
    ]
    .concat())
}

fn word(value: &impl serde::Serialize) -> String {
    json!(value).as_str().unwrap_or_default().into()
}

/// errors.ts
pub fn errors() -> Result<String, String> {
    let names: Vec<_> = ERROR_SPECS.iter().map(|spec| spec.name).collect();
    let specs = ERROR_SPECS.iter().map(|spec| {
        (
            spec.name.into(),
            json!({"category": spec.category, "retryable": spec.retryable, "message": spec.message}),
        )
    });
    let specs: Map<String, Value> = specs.collect();
    Ok([
        constant("CODES", &names),
        "export type Code = (typeof CODES)[number];\n".into(),
        constant("ERROR_SPECS", &specs),
    ]
    .concat())
}

/// audit.ts
pub fn audit() -> Result<String, String> {
    Ok([
        "/** Only the host writes these. */\n".into(),
        constant("HOST_AUDIT_KINDS", HOST_AUDIT_KINDS),
        "/** The extension may report these and no others. */\n".into(),
        constant("EXTENSION_AUDIT_KINDS", EXTENSION_AUDIT_KINDS),
        "export type ExtensionAuditKind = (typeof EXTENSION_AUDIT_KINDS)[number];\n".into(),
    ]
    .concat())
}

//! Randomness from the operating system. A failing source is a refusal, never a weaker source.

use std::path::Path;

use super::OsRefusal;

/// 32 fresh random bytes.
pub fn bytes32() -> Result<[u8; 32], OsRefusal> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        OsRefusal::io(
            "draw randomness from",
            Path::new("the system"),
            std::io::Error::other(error.to_string()),
        )
    })?;
    Ok(bytes)
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The 32 bytes that 64 lower-case hex digits stand for.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    if text.len() != 64 || text.bytes().any(|digit| !matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

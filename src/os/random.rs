//! Randomness from the operating system. A failing source is a refusal, never a weaker source.

use std::path::Path;

use super::OsRefusal;
pub use crate::base::hex::{from_hex, hex};

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

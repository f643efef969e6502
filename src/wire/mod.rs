//! Everything that crosses a process boundary, parsed once at the edge into types.

pub mod bridge;
pub mod client;
pub mod control;
pub mod framing;
pub mod handshake;
pub mod json;
pub mod lock;
pub mod record;
pub mod relay;
pub mod rpc;

//! Attackers against the built binary, one file a position. Each test carries the id of its case and names the layer
//! that must refuse.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod command_line;
mod files;
mod impostor;
mod kill_switch;
mod lying_extension;
mod many_clients;
mod mcp_client;
mod other_user;
mod person;
mod same_user;
mod stage;
mod terminal;

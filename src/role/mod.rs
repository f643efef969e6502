//! What a process of this program can be.

pub mod admin;
pub mod argv;
pub mod broker;
pub mod doctor;
pub mod mcp;
pub mod native_host;
mod outbox;
mod records;
mod relay;

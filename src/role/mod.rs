//! What a process of this program can be.

pub mod mcp;

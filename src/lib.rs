//! genkan: the entrance hall between software that acts for a person and what that person owns.
//!
//! Layers point one way: `base` ← `wire` ← `trust` ← `bridge` ← `role`, and `base`, `wire` ← `os` ← `role`.
//! The first four are pure: bytes, values and `now` come in, decisions come out. They know no clock, file,
//! socket, thread or environment, and without the feature `host` they are all there is; the library is then
//! `no_std`, so that `cargo check --lib --no-default-features` proves it.
#![cfg_attr(not(any(test, feature = "host", genkan_loom)), no_std)]

extern crate alloc;

pub mod base;
pub mod bridge;
pub mod trust;
pub mod wire;

#[cfg(feature = "host")]
pub mod os;
#[cfg(feature = "host")]
pub mod role;

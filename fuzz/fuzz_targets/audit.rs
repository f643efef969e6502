//! Feeds `trust/audit`; what must hold is in `entry.rs`.
#![no_main]

#[path = "../entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|input: &[u8]| entry::audit(input));

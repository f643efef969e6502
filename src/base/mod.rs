//! What every layer stands on: bounds, refusal codes, identity, and the one switch between lock implementations.

pub mod hex;
pub mod identity;
pub mod limits;
pub mod refusal;
pub mod shown;
pub mod sync;

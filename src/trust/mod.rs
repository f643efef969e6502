//! Who may do what: decisions over values, with no way to touch the machine.

pub mod admission;
pub mod audit;
pub mod kill;
pub mod pairing;
pub mod policy;
pub mod presence;
pub mod state;

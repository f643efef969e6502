//! Who may do what: decisions over values, with no way to touch the machine.

pub mod audit;

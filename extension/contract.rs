//! Prints the contract.
fn main() {}

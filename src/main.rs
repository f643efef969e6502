//! argv to role, nothing else.

fn main() {}

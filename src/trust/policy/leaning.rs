//! The five ways in which a field leans: which of two values gives away less.
//!
//! Each is a meet: it gives what both give. A value is at least as tight as another if the tighter of both is itself.

use alloc::collections::BTreeSet;
use alloc::string::String;

/// How the values of a field compare.
pub trait Leaning {
    /// What the field holds.
    type Value: Clone + PartialEq;

    /// The one that both values allow: of two the tighter, of two lists what is on either.
    fn tighter(one: &Self::Value, other: &Self::Value) -> Self::Value;
}

/// On gives more.
pub struct Given;

impl Leaning for Given {
    type Value = bool;

    fn tighter(one: &bool, other: &bool) -> bool {
        *one && *other
    }
}

/// Off gives more.
pub struct Kept;

impl Leaning for Kept {
    type Value = bool;

    fn tighter(one: &bool, other: &bool) -> bool {
        *one || *other
    }
}

/// Longer gives more.
pub struct Span;

impl Leaning for Span {
    type Value = u64;

    fn tighter(one: &u64, other: &u64) -> u64 {
        *one.min(other)
    }
}

/// Seldom gives more, and 0 means never.
pub struct Pause;

impl Leaning for Pause {
    type Value = u64;

    fn tighter(one: &u64, other: &u64) -> u64 {
        if *one == 0 || *other == 0 { *one.max(other) } else { *one.min(other) }
    }
}

/// Fewer names give more.
pub struct OffList;

impl Leaning for OffList {
    type Value = BTreeSet<String>;

    fn tighter(one: &BTreeSet<String>, other: &BTreeSet<String>) -> BTreeSet<String> {
        one.union(other).cloned().collect()
    }
}

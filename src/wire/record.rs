//! A record on disk: one line of JSON in an envelope with its version, and the ladder that older versions climb.
//!
//! Decides which bytes are a record: the one way in which we would write that value, in a version between the floor and
//! ours, within the bound and the type's own rules. Refuses everything else by name and never falls back to a default.
//! It does not know where the bytes lie, nor whether they are the newest.
//!
//! A ladder is a floor and an array of rungs: `FIRST_VERSION` is the version that the first rung lifts from, and our
//! own version is `FIRST_VERSION + MIGRATIONS.len()`. Adding a rung raises our version by one. Retiring the first rung
//! raises the floor with it, so that every number on disk keeps its meaning. Compatibility lives here and nowhere else.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::wire::json::{self, JsonFault};

/// The envelope's member.
const VERSION: &str = "version";

/// What a record says, without its version.
pub type Members = Map<String, Value>;

/// Lifts a record by one version; `None` if it does not fit the version it claims.
pub type Rung = fn(Members) -> Option<Members>;

/// A type that is kept on disk.
pub trait Record: Serialize + DeserializeOwned {
    /// The file's name.
    const NAME: &'static str;
    /// The oldest version that can still be read.
    const FIRST_VERSION: u32;
    /// What lifts it from there, one version each.
    const MIGRATIONS: &'static [Rung];
    /// Bytes of the file.
    const BYTES_MAX: usize;

    /// What the type alone cannot say: bounds, and members that must fit together.
    fn check(&self) -> Result<(), String>;
}

/// The version in which a record is written.
pub const fn current<R: Record>() -> u64 {
    R::FIRST_VERSION as u64 + R::MIGRATIONS.len() as u64
}

/// Why bytes are not a record that we can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// Larger than it is ever written.
    TooLarge,
    /// Not strict JSON, or not of this type.
    Json(JsonFault),
    /// JSON, but not the one way in which we write it.
    Form,
    /// No whole number as its version.
    NoVersion,
    /// Written by a newer program.
    Newer {
        /// Its version.
        stored: u64,
        /// Ours.
        current: u64,
    },
    /// Older than the floor.
    TooOld {
        /// Its version.
        stored: u64,
        /// The oldest that we read.
        first: u64,
    },
    /// It does not fit the version that it claims.
    Rung {
        /// The version from which it could not be lifted.
        from: u64,
    },
    /// Its members do not fit together.
    Rule(String),
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it is larger than genkan ever writes it"),
            Self::Json(fault) => write!(f, "{fault}"),
            Self::Form => f.write_str("it is not written the way genkan writes it"),
            Self::NoVersion => f.write_str("it does not say its version"),
            Self::Newer { stored, current } => {
                write!(f, "it has version {stored}, written by a newer genkan; this one knows {current}")
            }
            Self::TooOld { stored, first } => {
                write!(f, "it has version {stored}; the oldest that this genkan can read is {first}")
            }
            Self::Rung { from } => write!(f, "it does not fit the version {from} that it claims"),
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}

impl core::error::Error for RecordFault {}

/// Reads a record of any version that the ladder reaches.
pub fn parse<R: Record>(bytes: &[u8]) -> Result<R, RecordFault> {
    // INVARIANT records-2
    if bytes.len() > R::BYTES_MAX {
        return Err(RecordFault::TooLarge);
    }
    let value = json::parse(bytes).map_err(RecordFault::Json)?;
    if line(&value) != bytes {
        return Err(RecordFault::Form);
    }
    let Value::Object(mut members) = value else { return Err(RecordFault::NoVersion) };
    let stored = members.remove(VERSION).as_ref().and_then(Value::as_u64).ok_or(RecordFault::NoVersion)?;
    let record =
        json::shaped::<R>(&Value::Object(climb::<R>(stored, members)?)).map_err(RecordFault::Json)?;
    record.check().map_err(RecordFault::Rule)?;
    Ok(record)
}

/// Writes a record in our version. Fails only for one that [`parse`] would refuse.
pub fn written<R: Record>(record: &R) -> Result<Vec<u8>, RecordFault> {
    record.check().map_err(RecordFault::Rule)?;
    let Ok(Value::Object(mut members)) = serde_json::to_value(record) else { return Err(RecordFault::Form) };
    members.insert(VERSION.into(), current::<R>().into());
    let bytes = line(&Value::Object(members));
    if bytes.len() > R::BYTES_MAX { Err(RecordFault::TooLarge) } else { Ok(bytes) }
}

// INVARIANT records-3
fn climb<R: Record>(stored: u64, members: Members) -> Result<Members, RecordFault> {
    let (first, current) = (u64::from(R::FIRST_VERSION), current::<R>());
    if stored > current {
        return Err(RecordFault::Newer { stored, current });
    }
    let below = stored.checked_sub(first).ok_or(RecordFault::TooOld { stored, first })?;
    let rungs = usize::try_from(below).ok().and_then(|below| R::MIGRATIONS.get(below..)).unwrap_or_default();
    rungs
        .iter()
        .zip(stored..)
        .try_fold(members, |members, (lift, from)| lift(members).ok_or(RecordFault::Rung { from }))
}

/// Compact, members sorted by name, ended by one LF.
fn line(value: &Value) -> Vec<u8> {
    format!("{}\n", json::written(value)).into_bytes()
}

#[cfg(test)]
mod tests;

//! Decides what counts as JSON here: one complete value in UTF-8, and nothing that two readers could take differently.
//!
//! Refuses a byte-order mark, bad UTF-8, lone surrogates, a member named twice at any depth, bytes after the value,
//! and more depth or values than the limits, the last two before anything is built. It does not know how long a
//! text may be: the frame or line that carried it was bounded before.

use alloc::{format, string::String, vec::Vec};
use core::cell::Cell;
use core::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Number, Value};

use crate::base::limits::{JSON_DEPTH_MAX, JSON_VALUES_MAX};

/// Characters of serde's words that a fault keeps: they may name the peer's members.
const DETAIL_CHARS_MAX: usize = 160;

/// Why a text is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// Not UTF-8.
    Encoding,
    /// Starts with a byte-order mark.
    ByteOrderMark,
    /// Nested deeper than [`JSON_DEPTH_MAX`].
    Depth,
    /// More values than [`JSON_VALUES_MAX`].
    Values,
    /// An object names a member twice.
    Duplicate,
    /// Not one JSON value, or more than one.
    Syntax(String),
    /// JSON, but not of the type that belongs here.
    Shape(String),
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonFault::Encoding => f.write_str("the JSON text is not UTF-8"),
            JsonFault::ByteOrderMark => f.write_str("the JSON text starts with a byte-order mark"),
            JsonFault::Depth => write!(f, "the JSON text nests deeper than {JSON_DEPTH_MAX} levels"),
            JsonFault::Values => write!(f, "the JSON text holds more than {JSON_VALUES_MAX} values"),
            JsonFault::Duplicate => f.write_str("an object in the JSON text names a member twice"),
            JsonFault::Syntax(detail) => write!(f, "the text is not one JSON value: {detail}"),
            JsonFault::Shape(detail) => write!(f, "the JSON value does not fit: {detail}"),
        }
    }
}

impl core::error::Error for JsonFault {}

/// Parses one JSON text.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonFault> {
    let text = core::str::from_utf8(bytes).map_err(|_| JsonFault::Encoding)?;
    if text.starts_with('\u{feff}') {
        return Err(JsonFault::ByteOrderMark);
    }
    survey(bytes)?;
    let twice = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_str(text);
    let value =
        Once { twice: &twice }.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|fault| if twice.get() { JsonFault::Duplicate } else { JsonFault::Syntax(detail(&fault)) })
}

/// Parses one JSON text of a known type; see [`shaped`].
pub fn typed<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, JsonFault> {
    shaped(&parse(bytes)?)
}

/// Reads a value as `T`, and only if `T` would be written as exactly this value.
///
/// serde alone also takes an array for a struct, an object for a plain enum variant and `null` for an absent member;
/// the other end's validators take none of these. `T` must not hold floats: `1` would come back as `1.0`.
pub fn shaped<T: DeserializeOwned + Serialize>(value: &Value) -> Result<T, JsonFault> {
    let read = T::deserialize(value).map_err(|fault| JsonFault::Shape(detail(&fault)))?;
    match serde_json::to_value(&read) {
        Ok(written) if written == *value => Ok(read),
        Ok(_) => Err(JsonFault::Shape("it is not written the way this type is written".into())),
        Err(fault) => Err(JsonFault::Shape(detail(&fault))),
    }
}

/// Writes one of our own types as compact JSON, without a raw LF.
///
/// None of them has a case in which serde_json fails; should one appear, the text is empty and every reader refuses it.
pub fn written<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// About how many bytes of memory a value takes: its texts, and something for each value.
pub fn weight(value: &Value) -> usize {
    let own = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
    };
    own + VALUE_BYTES
}

/// What a value takes beside its text, with its place in a map.
const VALUE_BYTES: usize = 64;

/// serde's words, short and printable. Values are left out: they may be what a page or a person wrote, and faults are logged.
fn detail(fault: &serde_json::Error) -> String {
    let words = format!("{fault}");
    let words = match (words.split_once(": string \""), words.rsplit_once("\", expected")) {
        (Some((before, _)), Some((_, after))) => format!("{before}: a string, expected{after}"),
        _ => words,
    };
    words.chars().take(DETAIL_CHARS_MAX).flat_map(char::escape_debug).collect()
}

/// Bounds depth and number of values by punctuation alone, so that a hostile text costs one pass over its bytes.
/// Text that is not JSON may be counted wrongly; the parser refuses it anyway.
fn survey(bytes: &[u8]) -> Result<(), JsonFault> {
    let (mut depth, mut values, mut quoted, mut escaped) = (0_usize, 1_usize, false, false);
    for byte in bytes {
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            return Err(JsonFault::Depth);
        }
        if values > JSON_VALUES_MAX {
            return Err(JsonFault::Values);
        }
    }
    Ok(())
}

/// Builds a `Value` in which every member was named once.
#[derive(Clone, Copy)]
struct Once<'a> {
    twice: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Once<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                self.twice.set(true);
                return Err(A::Error::custom("a member is named twice"));
            }
            object.insert(name, members.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests;

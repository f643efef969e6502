//! The two literals that tell a result from a failure. Each type has one value, so that a frame which says `ok: true`
//! and carries an error cannot be built, and its schema names the literal.

use alloc::borrow::Cow;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

macro_rules! literal {
    ($(#[doc = $doc:literal])+ $name:ident $value:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_bool($value)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "boolean", "const": $value })
            }
        }
    };
}

literal! {
    /// Written `true`: the frame holds what was asked for.
    Yes true
}
literal! {
    /// Written `false`: the frame holds why not.
    No false
}

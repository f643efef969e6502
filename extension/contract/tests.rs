use std::collections::BTreeMap;

use genkan::base::identity::{EXTENSION_MANIFEST_KEY, PINNED_EXTENSION_ID};
use genkan::wire::bridge::{BridgeFrame, BridgeResp};
use genkan::wire::control::{No, Yes};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use crate::frames::{Direction, EXCEPTIONS, definitions};
use crate::{contract, tables};

/// Why the type cannot be taken over, if it cannot.
fn refused<T: JsonSchema>() -> Result<(), String> {
    let mut generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    generator.subschema_for::<T>();
    definitions(&mut generator).map(drop)
}

macro_rules! refuses {
    ($($claim:ident: $type:item because $sentence:literal)*) => {$(
        #[test]
        fn $claim() {
            #[allow(dead_code)]
            #[derive(JsonSchema)]
            $type
            let why = refused::<Broken>().expect_err("it was taken over");
            assert!(why.contains($sentence), "{why}");
        }
    )*};
}

refuses! {
    an_open_object_ends_the_generation: struct Broken { id: u32 } because "unknown members"
    a_map_ends_the_generation: #[schemars(deny_unknown_fields)] struct Broken { by_name: BTreeMap<String, u32> }
        because "unknown members"
    a_float_ends_the_generation: #[schemars(deny_unknown_fields)] struct Broken { share: f64 } because "type \"number\""
    a_signed_integer_ends_the_generation: #[schemars(deny_unknown_fields)] struct Broken { offset: i64 }
        because "int64"
    a_word_that_we_do_not_read_ends_the_generation: #[schemars(deny_unknown_fields)]
        struct Broken { #[schemars(length(max = 3))] name: String } because "`maxLength`"
    an_invented_default_ends_the_generation: #[schemars(deny_unknown_fields)]
        struct Broken { #[schemars(default)] name: String } because "`default`"
    a_union_without_a_tag_ends_the_generation: #[schemars(untagged)] enum Broken { Name(String), Id(u32) }
        because "no strict equal"
    a_type_that_holds_itself_ends_the_generation: #[schemars(deny_unknown_fields)] struct Broken { next: Vec<Broken> }
        because "holds itself"
    two_branches_of_one_tag_without_a_literal_flag_end_the_generation:
        #[schemars(tag = "type", deny_unknown_fields)]
        enum Broken { #[schemars(rename = "result")] Good { ok: bool }, #[schemars(rename = "result")] Bad { ok: bool } }
        because "share a tag"
    two_branches_of_one_tag_with_the_same_flag_end_the_generation:
        #[schemars(tag = "type", deny_unknown_fields)]
        enum Broken { #[schemars(rename = "result")] Good { ok: Yes }, #[schemars(rename = "result")] Bad { ok: Yes } }
        because "share a tag"
    three_branches_of_one_tag_end_the_generation:
        #[schemars(tag = "type", deny_unknown_fields)]
        enum Broken {
            #[schemars(rename = "result")] Good { ok: Yes },
            #[schemars(rename = "result")] Bad { ok: No },
            #[schemars(rename = "result")] Odd { ok: No, why: u32 },
        }
        because "more than two"
    an_open_branch_ends_the_generation: #[schemars(tag = "type")] enum Broken { Named { name: String } }
        because "unknown members"
}

#[test]
fn a_strict_type_is_taken_over() {
    #[allow(dead_code)]
    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    struct Whole {
        id: u32,
        name: Option<String>,
    }
    assert_eq!(refused::<Whole>(), Ok(()));
}

#[test]
fn writing_twice_gives_the_same() {
    assert_eq!(contract().expect("a contract"), contract().expect("a contract"));
}

#[test]
fn the_pinned_id_follows_from_the_key_and_from_no_other() {
    assert_eq!(tables::derived_id(EXTENSION_MANIFEST_KEY).as_deref(), Ok(PINNED_EXTENSION_ID));
    let other = EXTENSION_MANIFEST_KEY.replacen("jefb", "jefc", 1);
    assert_ne!(tables::derived_id(&other).as_deref(), Ok(PINNED_EXTENSION_ID));
}

#[test]
fn every_exception_holds_in_the_rust_parser() {
    for exception in EXCEPTIONS {
        let taken = |json: &str| match exception.direction {
            Direction::HostToExtension => BridgeFrame::parse(json.as_bytes()).is_ok(),
            Direction::ExtensionToHost => BridgeResp::parse(json.as_bytes()).is_ok(),
        };
        assert!(taken(exception.accept), "{} must be accepted: {}", exception.at, exception.accept);
        assert!(!taken(exception.refuse), "{} must be refused: {}", exception.at, exception.refuse);
    }
}

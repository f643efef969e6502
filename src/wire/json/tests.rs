use super::*;
use crate::base::limits::NM_IN_BYTES_MAX;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    n: u64,
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    A,
}

fn fault(text: &str) -> JsonFault {
    parse(text.as_bytes()).expect_err(text)
}

#[test]
fn t004_bad_utf8_marks_lone_surrogates_and_raw_nul_are_refused_never_replaced() {
    assert_eq!(parse(b"\"\xff\""), Err(JsonFault::Encoding));
    assert_eq!(parse(b"\"\xed\xa0\x80\""), Err(JsonFault::Encoding));
    assert_eq!(parse(b"\"\xc0\x80\""), Err(JsonFault::Encoding));
    assert_eq!(fault("\u{feff}{}"), JsonFault::ByteOrderMark);
    for text in
        [r#""\ud800""#, r#""\udc00""#, r#""\ud800\u0041""#, r#"{"\ud800":1}"#, "\"a\0b\"", "\0", "1\0"]
    {
        assert!(matches!(fault(text), JsonFault::Syntax(_)), "{text:?}");
    }
    assert_eq!(parse(br#""\ud83d\ude00 \u0000""#), Ok(Value::from("\u{1f600} \0")));
}

#[test]
fn members_named_twice_are_refused_at_any_depth_and_in_any_spelling() {
    for text in
        [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":3}}]"#, r#"{"a":1,"\u0061":2}"#, r#"{"":1,"":1}"#]
    {
        assert_eq!(fault(text), JsonFault::Duplicate, "{text}");
    }
    assert!(parse(br#"{"a":{"a":1},"A":2}"#).is_ok());
}

#[test]
fn only_one_whole_value_is_a_text() {
    for text in [
        "",
        " ",
        "{}{}",
        "1 2",
        "{}x",
        "[1,]",
        "{\"a\":1,}",
        "nul",
        "01",
        "+1",
        ".5",
        "1.",
        "'a'",
        "//\n1",
        "1e400",
    ] {
        assert!(matches!(fault(text), JsonFault::Syntax(_)), "{text:?}");
    }
    assert_eq!(parse(b" \r\n\t{} \r\n"), Ok(Value::Object(Map::new())));
}

#[test]
fn t007_depth_is_exact_and_a_hundred_thousand_levels_cost_nothing() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parse(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
    assert_eq!(fault(&nested(JSON_DEPTH_MAX + 1)), JsonFault::Depth);
    assert_eq!(fault(&"[".repeat(100_000)), JsonFault::Depth);
    assert_eq!(fault(&"{\"a\":".repeat(100_000)), JsonFault::Depth);
    assert!(
        parse(br#""[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[[\\""#)
            .is_ok()
    );
}

#[test]
fn t007_a_million_elements_are_refused_before_one_is_built() {
    let list = |n: usize| format!("[{}0]", "0,".repeat(n - 1));
    assert_eq!(fault(&list(1_000_000)), JsonFault::Values);
    assert_eq!(fault(&"[],".repeat(1_000_000)), JsonFault::Values);
    assert!(parse(list(JSON_VALUES_MAX - 1).as_bytes()).is_ok());
    assert_eq!(fault(&list(JSON_VALUES_MAX)), JsonFault::Values);
}

#[test]
fn t007_a_string_of_sixty_megabytes_is_one_value() {
    let mut text = Vec::with_capacity(NM_IN_BYTES_MAX);
    text.push(b'"');
    text.resize(60 * 1_048_576, b',');
    text.push(b'"');
    assert_eq!(parse(&text).expect("one string").as_str().map(str::len), Some(60 * 1_048_576 - 1));
}

#[test]
fn a_type_is_read_only_from_what_it_would_be_written_as() {
    let row = Row { n: 1, kind: Kind::A, note: None };
    assert_eq!(typed::<Row>(br#"{"kind":"A","n":1}"#), Ok(row));
    let others: [&[u8]; 9] = [
        br#"[1,"A"]"#,
        br#"{"n":1,"kind":{"A":null}}"#,
        br#"{"n":1,"kind":"A","note":null}"#,
        br#"{"n":1.0,"kind":"A"}"#,
        br#"{"n":-0,"kind":"A"}"#,
        br#"{"n":"1","kind":"A"}"#,
        br#"{"n":18446744073709551616,"kind":"A"}"#,
        br#"{"n":1,"kind":"A","x":1}"#,
        br#"{"N":1,"kind":"A"}"#,
    ];
    for text in others {
        assert!(matches!(typed::<Row>(text), Err(JsonFault::Shape(_))), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_fault_quotes_the_peer_briefly_and_escaped() {
    let text = format!(r#"{{"n":1,"kind":"A","{}\u001b\n":1}}"#, "x".repeat(10_000));
    let sentence = format!("{}", typed::<Row>(text.as_bytes()).expect_err("unknown member"));
    assert!(sentence.len() < 400 && !sentence.contains(['\u{1b}', '\n']), "{sentence}");
}

#[test]
fn a_fault_never_repeats_a_value() {
    for text in [r#"{"n":"my words","kind":"A"}"#, r#"{"n":"my \", expected words","kind":"A"}"#] {
        let sentence = format!("{}", typed::<Row>(text.as_bytes()).expect_err("no number"));
        assert!(!sentence.contains("words") && sentence.contains("a string, expected u64"), "{sentence}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_back_equal(value in values()) {
        prop_assert_eq!(parse(&serde_json::to_vec(&value).expect("a value")), Ok(value));
    }

    #[test]
    fn a_refusal_by_serde_is_never_turned_into_a_value(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if serde_json::from_slice::<Value>(&bytes).is_err() {
            prop_assert!(parse(&bytes).is_err());
        }
    }
}

#[test]
fn the_weight_of_a_value_counts_texts_names_and_values_at_any_depth() {
    let of = |text: &str| weight(&parse(text.as_bytes()).unwrap());
    assert_eq!(of("null"), VALUE_BYTES);
    assert_eq!(of(r#""abcd""#), VALUE_BYTES + 4);
    assert_eq!(of(r#"[["abcd"], 1, true]"#), 5 * VALUE_BYTES + 4);
    assert_eq!(of(r#"{"ab": {"c": "d"}}"#), 3 * VALUE_BYTES + 4);
}

use alloc::string::ToString;

use serde::{Deserialize, Serialize};

use super::*;

/// The third version of a small record: `count` was `n` in the first, and `on` came with the third.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lamp {
    count: u64,
    on: bool,
}

impl Record for Lamp {
    const NAME: &'static str = "lamp.json";
    const FIRST_VERSION: u32 = 4;
    const MIGRATIONS: &'static [Rung] = &[name_count, switch_on];
    const BYTES_MAX: usize = 64;

    fn check(&self) -> Result<(), String> {
        if self.count == 13 { Err("thirteen is not lit".into()) } else { Ok(()) }
    }
}

fn name_count(mut members: Members) -> Option<Members> {
    let count = members.remove("n")?;
    members.insert("count".into(), count);
    Some(members)
}

fn switch_on(mut members: Members) -> Option<Members> {
    members.insert("on".into(), true.into()).is_none().then_some(members)
}

/// The same record after the first rung was retired.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LaterLamp {
    count: u64,
    on: bool,
}

impl Record for LaterLamp {
    const NAME: &'static str = Lamp::NAME;
    const FIRST_VERSION: u32 = 5;
    const MIGRATIONS: &'static [Rung] = &[switch_on];
    const BYTES_MAX: usize = 64;

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

fn lamp(text: &str) -> Result<Lamp, RecordFault> {
    parse(text.as_bytes())
}

#[test]
fn what_is_written_reads_back_and_is_one_sorted_line() {
    let record = Lamp { count: 7, on: false };
    let bytes = written(&record).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), "{\"count\":7,\"on\":false,\"version\":6}\n");
    assert_eq!(parse(&bytes), Ok(record));
}

#[test]
fn t071_every_stored_version_climbs_to_what_would_be_written_now() {
    let now = Lamp { count: 7, on: true };
    for text in [
        "{\"n\":7,\"version\":4}\n",
        "{\"count\":7,\"version\":5}\n",
        "{\"count\":7,\"on\":true,\"version\":6}\n",
    ] {
        assert_eq!(lamp(text).as_ref(), Ok(&now), "{text}");
    }
    assert_eq!(written(&now).unwrap(), b"{\"count\":7,\"on\":true,\"version\":6}\n");
}

#[test]
fn t071_a_retired_rung_changes_no_number() {
    assert_eq!(current::<LaterLamp>(), current::<Lamp>());
    let read = |text: &str| parse::<LaterLamp>(text.as_bytes());
    assert_eq!(read("{\"count\":7,\"version\":5}\n"), Ok(LaterLamp { count: 7, on: true }));
    assert_eq!(read("{\"n\":7,\"version\":4}\n"), Err(RecordFault::TooOld { stored: 4, first: 5 }));
}

#[test]
fn t061_another_version_is_named_and_never_guessed() {
    use RecordFault::{Newer, NoVersion, TooOld};
    for (version, fault) in [
        ("7", Newer { stored: 7, current: 6 }),
        ("18446744073709551615", Newer { stored: u64::MAX, current: 6 }),
        ("3", TooOld { stored: 3, first: 4 }),
        ("0", TooOld { stored: 0, first: 4 }),
        ("-6", NoVersion),
        ("6.5", NoVersion),
        ("\"6\"", NoVersion),
        ("null", NoVersion),
        ("[6]", NoVersion),
    ] {
        assert_eq!(
            lamp(&format!("{{\"count\":7,\"on\":true,\"version\":{version}}}\n")),
            Err(fault),
            "{version}"
        );
    }
    assert_eq!(lamp("{\"count\":7,\"on\":true}\n"), Err(NoVersion));
    assert_eq!(lamp("[6]\n"), Err(NoVersion));
}

#[test]
fn t061_a_record_that_claims_another_version_than_it_has_is_refused() {
    assert_eq!(lamp("{\"count\":7,\"version\":4}\n"), Err(RecordFault::Rung { from: 4 }));
    assert_eq!(lamp("{\"count\":7,\"on\":true,\"version\":5}\n"), Err(RecordFault::Rung { from: 5 }));
    assert!(matches!(lamp("{\"n\":7,\"version\":6}\n"), Err(RecordFault::Json(JsonFault::Shape(_)))));
}

// SHOWS records-2
#[test]
fn t062_any_other_text_of_the_same_value_is_corrupt() {
    let good = "{\"count\":7,\"on\":true,\"version\":6}\n";
    assert!(lamp(good).is_ok());
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(parse::<Lamp>(&utf16).is_err());
    for bad in [
        good.trim_end().to_string(),
        good.replace('\n', "\r\n"),
        format!("{good}\n"),
        format!("{good}\0\0"),
        format!("{good}{good}"),
        format!("\u{feff}{good}"),
        format!(" {good}"),
        good.replace("7,", "7, "),
        good.replace("count", "\\u0063ount"),
        good.replace("\"count\":7", "\"count\":7,\"count\":7"),
        good.replace("\"count\":7", "\"count\":7,\"extra\":1"),
        good.replace(":7", ":7.0"),
        "{\"on\":true,\"count\":7,\"version\":6}\n".to_string(),
        "\n".to_string(),
        String::new(),
    ] {
        assert_ne!(bad, good);
        assert!(lamp(&bad).is_err(), "{bad:?}");
    }
}

#[test]
fn t060_more_bytes_than_the_bound_are_refused_unread() {
    let bad = format!("{{\"count\":7,\"on\":true,\"pad\":\"{}\",\"version\":6}}\n", "x".repeat(64));
    assert_eq!(lamp(&bad), Err(RecordFault::TooLarge));
}

#[test]
fn the_types_own_rules_hold_in_both_directions() {
    assert!(matches!(written(&Lamp { count: 13, on: true }), Err(RecordFault::Rule(_))));
    assert!(matches!(lamp("{\"count\":13,\"on\":true,\"version\":6}\n"), Err(RecordFault::Rule(_))));
}

//! Replays every seed, every locally found input, and JSONTestSuite where it is at hand, through what the fuzz targets call.
//!
//! A target without seeds, a seed folder without a target, and a parser that changed what it accepts are red. Where the
//! outside suite is missing the test says what it left out; CI has no such excuse if the shared folder is there.
#![allow(clippy::expect_used)] // a failed expectation is how a test fails

mod entry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use genkan::trust::audit;
use genkan::wire::control::Routed;
use genkan::wire::handshake::{Acceptor, AcceptorStep, DialerStep, attached_line};
use genkan::wire::{bridge, client, control, json, lock, record, relay, rpc};

type Entry = fn(&[u8]);
type Verdict = fn(&[u8]) -> bool;

const ENTRIES: &[(&str, Entry)] = &[
    ("audit", entry::audit),
    ("bridge", entry::bridge),
    ("client", entry::client),
    ("control", entry::control),
    ("framing", entry::framing),
    ("handshake", entry::handshake),
    ("json", entry::json),
    ("lock", entry::lock),
    ("record", entry::record),
    ("relay", entry::relay),
    ("rpc", entry::rpc),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name)
}

/// The files of a folder by name; empty if there is no such folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    entries
        .map(|entry| entry.expect("a readable folder"))
        .map(|entry| {
            (entry.file_name().into_string().expect("UTF-8"), std::fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry.expect("an entry").path().file_stem().expect("a name").to_str().expect("UTF-8").into()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn every_target_has_an_entry_and_seeds() {
    let entries: Vec<&str> = ENTRIES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(&folder("fuzz_targets")), entries);
    assert_eq!(names(&folder("seeds")), entries);
}

#[test]
fn seeds_and_found_inputs_hold_what_the_fuzz_targets_assert() {
    for &(name, entry) in ENTRIES {
        let seeds = files(&folder("seeds").join(name));
        assert!(seeds.len() >= 4, "{name} has {} seeds", seeds.len());
        let found = files(&folder("corpus").join(name));
        seeds.values().chain(found.values()).for_each(|input| entry(input));
        println!("{name}: {} seeds, {} found inputs", seeds.len(), found.len());
    }
}

/// A seed's name says what becomes of it, so that a parser that accepts more or less than before is noticed.
#[test]
fn seeds_are_accepted_or_refused_as_their_names_say() {
    let accepts: &[(&str, Verdict)] = &[
        ("audit", |input| audit::AuditRecord::parse(input).is_ok()),
        ("client", |input| client::Client::parse(input).is_ok()),
        ("json", |input| json::parse(input).is_ok()),
        ("rpc", |input| rpc::parse(input).is_ok()),
        ("lock", |input| lock::LockRecord::parse(input).is_ok()),
        ("record", |input| record::parse::<entry::Lamp>(input).is_ok()),
        ("relay", |input| relay::FromRelay::parse(input).is_ok() || relay::ToRelay::parse(input).is_ok()),
        ("bridge", |input| {
            bridge::BridgeFrame::parse(input).is_ok() || bridge::BridgeResp::parse(input).is_ok()
        }),
        ("control", |input| {
            matches!(control::from_socket(input), Routed::Forward(_))
                || matches!(control::from_extension(input), Routed::Handle(_) | Routed::Forward(_))
        }),
        ("handshake", |input| {
            let lines = || input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let (mut broker, mut peer) = (Acceptor::new(entry::RUN, entry::BROKER_NONCE), entry::dialer());
            lines().all(|line| broker.on_line(line).is_ok()) || lines().all(|line| peer.on_line(line).is_ok())
        }),
    ];
    for &(target, accept) in accepts {
        let seeds = files(&folder("seeds").join(target));
        for verdict in ["ok-", "no-"] {
            assert!(seeds.keys().any(|name| name.starts_with(verdict)), "{target} has no {verdict} seed");
        }
        for (name, input) in seeds {
            assert_eq!(accept(&input), name.starts_with("ok-"), "{target}/{name}");
        }
    }
}

#[test]
fn the_recorded_handshakes_still_attach() {
    let recorded = files(&folder("seeds").join("handshake"));
    for (name, mut peer) in [("ok-to-broker", entry::dialer()), ("ok-relay-to-broker", entry::relay_dialer())]
    {
        let mut broker = Acceptor::new(entry::RUN, entry::BROKER_NONCE);
        let mut to_broker = Vec::new();
        let mut to_peer = vec![broker.hello()];
        while let Some(line) = to_peer.pop() {
            let Ok(DialerStep::Send(answer)) = peer.on_line(&line) else { break };
            to_broker.extend_from_slice(&answer);
            to_peer.push(match broker.on_line(&answer).expect("a right order") {
                AcceptorStep::SendWelcome(line) => line,
                AcceptorStep::Attach(_) | AcceptorStep::AttachRelay(_) => {
                    attached_line(1, bridge::Door::Open)
                }
            });
        }
        let seed = recorded.get(name).map(|seed| String::from_utf8_lossy(seed));
        assert_eq!(Some(String::from_utf8_lossy(&to_broker)), seed, "the bytes of {name} changed");
    }
}

/// Files the suite must be accepted, and which we refuse on purpose: an object names a member once.
const OUR_EXCEPTIONS: [&str; 2] = ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"];

#[test]
fn json_test_suite_is_accepted_and_refused_as_it_says() {
    let shared = std::env::var_os("GENKAN_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let suite = files(&shared.join("data/json-test-suite/test_parsing"));
    if suite.is_empty() {
        let excused = std::env::var_os("CI").is_none() || !shared.exists();
        assert!(excused, "{} is there, but without JSONTestSuite", shared.display());
        println!("left out: JSONTestSuite (318 files), not at hand under {}", shared.display());
        return;
    }
    let mut judged = 0;
    for (name, text) in &suite {
        ENTRIES.iter().for_each(|(_, entry)| entry(text));
        let accepted = json::parse(text).is_ok();
        match name.get(..2) {
            Some("y_") => assert_eq!(accepted, !OUR_EXCEPTIONS.contains(&name.as_str()), "{name}"),
            Some("n_") => assert!(!accepted, "{name}"),
            _ => continue,
        }
        judged += 1;
    }
    assert!(judged >= 280, "only {judged} files");
    println!(
        "JSONTestSuite: {judged} files as they say, {} free, exceptions {OUR_EXCEPTIONS:?}",
        suite.len() - judged
    );
}

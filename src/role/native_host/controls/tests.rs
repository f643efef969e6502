use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::trust::state::TrustState;

fn controls(home: &Path) -> Controls {
    Controls::new(Environment { home: Some(home.into()), ..Environment::default() })
}

fn store(home: &Path) -> TrustStore {
    TrustStore::open(&Environment { home: Some(home.into()), ..Environment::default() }).unwrap()
}

fn event(kind: &str) -> Event {
    Event {
        kind: kind.into(),
        outcome: Some("allowed".into()),
        tool: Some("page_click".into()),
        name: Some("Agent".into()),
        detail: Some("submit".into()),
        cid: Some("7".into()),
    }
}

fn value(frame: &ToExtension) -> Value {
    serde_json::to_value(frame).unwrap()
}

fn pair(state: &mut TrustState, entry: Value) {
    let mut clients = state.clients.take().unwrap_or_default();
    clients.push(serde_json::from_value(entry).unwrap());
    state.clients = Some(clients);
}

#[test]
fn a_request_passes_only_while_the_record_says_so_at_that_moment() {
    let home = tempfile::tempdir().unwrap();
    let mut controls = controls(home.path());
    assert_eq!(controls.may_pass(), Ok(()));
    // Engaged by another process.
    store(home.path()).engage_within(Duration::ZERO);
    assert_eq!(controls.may_pass().unwrap_err().code, Code::BridgeKilled);
    std::fs::write(home.path().join(".local/state/genkan/trust.json"), "{").unwrap();
    assert_eq!(controls.may_pass().unwrap_err().code, Code::BridgeKilled);
    assert_eq!(value(&controls.standing())["ok"], json!(false));
}

#[test]
fn news_come_once_for_each_change_and_never_without_one() {
    let home = tempfile::tempdir().unwrap();
    let mut controls = controls(home.path());
    assert_eq!(value(&controls.standing())["killed"], json!(false));
    assert_eq!(controls.news(), None);
    store(home.path()).engage_within(Duration::ZERO);
    let news = value(&controls.news().unwrap());
    assert_eq!((&news["killed"], &news["epoch"], &news["engaged"]), (&json!(true), &json!(1), &json!(1)));
    assert_eq!(controls.news(), None);
}

#[test]
fn whoever_asks_before_an_act_hears_how_it_stands_then_and_nothing_pushed_passes_for_that() {
    let home = tempfile::tempdir().unwrap();
    let mut controls = controls(home.path());
    assert_eq!(value(&controls.standing()).get("asked"), None);
    let before = value(&controls.asked());
    assert_eq!((&before["killed"], &before["asked"]), (&json!(false), &json!(true)));
    store(home.path()).engage_within(Duration::ZERO);
    let after = value(&controls.asked());
    assert_eq!((&after["killed"], &after["asked"]), (&json!(true), &json!(true)));
    assert_eq!(value(&controls.news().unwrap()).get("asked"), None);
    std::fs::write(home.path().join(".local/state/genkan/trust.json"), "{").unwrap();
    let unread = value(&controls.asked());
    assert_eq!((&unread["ok"], &unread["asked"]), (&json!(false), &json!(true)));
}

#[test]
fn engaging_is_kept_recorded_and_told() {
    let home = tempfile::tempdir().unwrap();
    let mut controls = controls(home.path());
    let told = value(&controls.engage());
    assert_eq!((&told["killed"], told.get("warning")), (&json!(true), None));
    assert!(store(home.path()).read().unwrap().killed);
    let records = value(&controls.records(None));
    assert_eq!(records["entries"][0]["event_kind"], "kill_engage");
    assert_eq!(records["entries"][0]["surface"], "extension");
    controls.engage();
    assert_eq!(value(&controls.records(Some(1)))["entries"][0]["outcome"], "unchanged");
}

#[test]
fn an_engagement_that_cannot_be_written_holds_everywhere_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let mut controls = controls(home.path());
    // A folder in the record's place can be neither read nor replaced by a file.
    std::fs::create_dir_all(home.path().join(".local/state/genkan/trust.json")).unwrap();
    let told = value(&controls.engage());
    assert_eq!(told["ok"], json!(false), "{told}");
    assert_eq!(controls.may_pass().unwrap_err().code, Code::BridgeKilled);
    std::fs::remove_dir(home.path().join(".local/state/genkan/trust.json")).unwrap();
    let held = value(&controls.standing());
    assert_eq!((&held["killed"], held["warning"].is_string()), (&json!(true), true), "{held}");
    assert_eq!(controls.may_pass().unwrap_err().code, Code::BridgeKilled);
    assert!(store(home.path()).read().unwrap().killed, "a stop lies there for every other process");
    let kept = value(&controls.engage());
    assert_eq!((&kept["killed"], kept.get("warning")), (&json!(true), None));
}

#[test]
fn the_extension_reports_its_own_kinds_and_no_others() {
    let home = tempfile::tempdir().unwrap();
    let controls = controls(home.path());
    controls.record(&event("confirm_allowed")).unwrap();
    for kind in ["kill_release", "kill_engage", "pair_client", "tool_call", "CONFIRM_SHOWN", ""] {
        assert_eq!(controls.record(&event(kind)).unwrap_err().code, Code::InvalidArgument, "{kind}");
    }
    let spoilt = [
        Event { outcome: Some("released".into()), ..event("confirm_shown") },
        Event { tool: Some("page_evil".into()), ..event("confirm_shown") },
        Event { cid: Some("x".repeat(33)), ..event("confirm_shown") },
        Event { cid: Some("a b".into()), ..event("confirm_shown") },
    ];
    for event in spoilt {
        assert_eq!(controls.record(&event).unwrap_err().code, Code::InvalidArgument);
    }
    let entries = value(&controls.records(None))["entries"].as_array().unwrap().clone();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["event_kind"], &entries[0]["outcome"], &entries[0]["detail"]),
        (&json!("confirm_allowed"), &json!("done"), &json!("submit, for Agent"))
    );
}

#[test]
fn a_reading_fits_into_one_frame_and_says_that_there_is_more() {
    let home = tempfile::tempdir().unwrap();
    let controls = controls(home.path());
    let long = Event { name: Some("\u{202e}".repeat(85)), ..event("confirm_shown") };
    for _ in 0..900 {
        controls.record(&long).unwrap();
    }
    let all = controls.records(Some(900));
    assert!(json::written(&all).len() <= NM_OUT_BYTES_MAX);
    let all = value(&all);
    let few = value(&controls.records(Some(3)));
    assert_eq!((few["entries"].as_array().unwrap().len(), &few["older"]), (3, &json!(true)));
    assert!(all["entries"].as_array().unwrap().len() <= 900);
}

#[test]
fn no_list_and_an_empty_list_are_told_apart_and_entries_show_what_they_cover() {
    let home = tempfile::tempdir().unwrap();
    let controls = controls(home.path());
    assert_eq!(value(&controls.clients())["enrolled"], json!(false));
    let store = store(home.path());
    store
        .change(|state| {
            state.clients = Some(Vec::new());
            Ok(())
        })
        .unwrap();
    let empty = value(&controls.clients());
    assert_eq!((&empty["enrolled"], &empty["clients"]), (&json!(true), &json!([])));
    let hash = "ab".repeat(32);
    store
        .change(|state| {
            let epoch = state.epoch;
            pair(
                state,
                json!({ "name": "node", "anchor": { "kind": "hash", "sha256": hash }, "image": "/usr/bin/node",
                        "script": { "kind": "exactly", "path": "/a.js", "sha256": hash }, "paused": true,
                        "epoch": epoch, "paired_ms": 5 }),
            );
            Ok(())
        })
        .unwrap();
    let entry = value(&controls.clients())["clients"][0].clone();
    assert_eq!(
        entry,
        json!({ "name": "node", "image": "/usr/bin/node", "anchor": "hash", "script": "/a.js", "any_script": false,
                "paused": true, "paired_ms": 5 })
    );
}

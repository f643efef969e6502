//! The attacker runs as the same user and wants the person's `genkan kill` to stop nothing: by what lies where the record
//! is, by a lock, or by another environment. Whatever cannot be stopped must be said, and nothing may be called stopped
//! that is not.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::files::{held, state};
use crate::many_clients::{browser, focus, request};
use crate::stage::{Home, Serving};

fn kill(command: &mut Command) -> Output {
    command.arg("kill").output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn mark_dir(home: &Home) -> PathBuf {
    home.path().join(".local/share/genkan")
}

fn is_killed(home: &Home) -> bool {
    let output = home.command(&["list-clients", "--json"]).output().unwrap();
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["killed"].as_bool().unwrap()
}

/// Layer: os/trust_store. A call that is under way ends, no other begins, and the browser is cut off.
#[test]
fn t055_folders_moved_away_or_removed_under_a_serving_broker_stop_everything() {
    type Attack = (&'static str, fn(&Path, &Path));
    let attacks: [Attack; 3] = [
        ("moved", |state, mark| {
            for dir in [state, mark] {
                std::fs::rename(dir, dir.with_extension("aside")).unwrap();
            }
        }),
        ("removed", |state, mark| [state, mark].iter().for_each(|dir| std::fs::remove_dir_all(dir).unwrap())),
        ("moved and made anew", |state, mark| {
            for dir in [state, mark] {
                std::fs::rename(dir, dir.with_extension("aside")).unwrap();
                std::fs::create_dir(dir).unwrap();
                std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).unwrap();
            }
        }),
    ];
    for (name, attack) in attacks {
        let home = Home::new();
        let mut serving = Serving::open(&home);
        let host = browser(&home);
        serving.ask(1, "tab_focus", &focus(1));
        request(&host);
        attack(&state(&home), &mark_dir(&home));
        let (_, text) = serving.answer().unwrap();
        assert!(
            text.starts_with("BRIDGE_KILLED") && text.contains("was moved, removed or replaced"),
            "{name}: {text}"
        );
        for tool in ["list_browsers", "tab_list"] {
            assert!(serving.call(tool, &json!({})).starts_with("BRIDGE_KILLED"), "{name}");
        }
        let told = loop {
            let frame = host.hear();
            if frame["type"] == "kill_status_result" {
                break frame;
            }
        };
        assert_eq!(told["ok"], false, "{name}: {told}");
    }
}

/// Layer: os/trust_store. What the person hears says that the switch is not on, and what runs meanwhile allows nothing.
#[test]
fn t054_folders_opened_to_others_are_never_called_a_kill_switch_that_is_on() {
    for dir in [state as fn(&Home) -> PathBuf, mark_dir] {
        let home = Home::new();
        let mut serving = Serving::open(&home);
        std::fs::set_permissions(dir(&home), std::fs::Permissions::from_mode(0o755)).unwrap();
        let (code, text) = said(&kill(&mut home.command(&[])));
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("The kill switch is NOT on") && text.contains("chmod 0700"), "{text}");
        assert!(serving.call("list_browsers", &json!({})).starts_with("BRIDGE_KILLED"));
    }
}

/// Layer: role/admin. It names the process that it does not reach.
#[test]
fn a_command_with_another_environment_than_the_broker_says_that_it_does_not_reach_it() {
    let home = Home::new();
    let elsewhere = Home::new();
    let mut serving = Serving::open(&home);
    for words in [&["kill"][..], &["revoke-client", "x"], &["list-clients"], &["unkill"]] {
        for (state, data) in [("state", "data"), ("other", "data")] {
            let mut command = home.command(words);
            command.env("XDG_STATE_HOME", elsewhere.path().join(state));
            command.env("XDG_DATA_HOME", elsewhere.path().join(data));
            let (code, text) = said(&command.output().unwrap());
            assert_eq!(code, Some(1), "{words:?}: {text}");
            assert!(
                text.contains(&format!("Process {} holds the browser door", serving.pid())),
                "{words:?}: {text}"
            );
        }
    }
    let (code, text) = said(&kill(home.command(&[]).env_remove("HOME")));
    assert!(code == Some(1) && text.contains("The kill switch is NOT on"), "{text}");
    let doctor = home.command(&["doctor"]).env("XDG_STATE_HOME", elsewhere.path()).output().unwrap();
    assert!(said(&doctor).1.contains("judges by another record"), "{doctor:?}");
    assert!(
        !serving.call("list_browsers", &json!({})).starts_with("BRIDGE_KILLED"),
        "so it was right to say so"
    );
    let (code, text) = said(&kill(&mut home.command(&[])));
    assert_eq!(code, Some(0), "{text}");
}

/// Layer: os/trust_store/stop. The lock on the folder is what the record needs, and the stop does not.
#[test]
fn t065_a_lock_that_is_held_for_ever_keeps_the_kill_switch_from_nothing() {
    let home = Home::new();
    let mut serving = Serving::open(&home);
    let host = browser(&home);
    serving.ask(1, "tab_focus", &focus(1));
    request(&host);
    let holder = held(&state(&home));
    let (code, text) = said(&kill(&mut home.command(&[])));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("by a stop file") && text.contains(&format!("process {} holds the lock", holder.id())),
        "{text}"
    );
    assert!(serving.answer().unwrap().1.starts_with("BRIDGE_KILLED"));
    assert!(serving.call("tab_list", &json!({})).starts_with("BRIDGE_KILLED"));
    assert!(is_killed(&home));
    holder.ends();
    let _after = Serving::start(home.command(&[])).call("list_browsers", &json!({}));
    assert!(is_killed(&home), "it outlives whoever held the lock");
}

/// Layer: os/trust_store. A record that leaves no epoch for the next change is stopped all the same, and can be replaced.
#[test]
fn t062_a_record_set_to_the_last_epoch_is_killed_and_recovered() {
    let home = Home::new();
    assert_eq!(said(&kill(&mut home.command(&[]))).0, Some(0));
    for file in [state(&home).join("trust.json"), mark_dir(&home).join("trust.epoch")] {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("\"epoch\":1", &format!("\"epoch\":{}", (1_u64 << 52) - 1));
        std::fs::write(&file, text).unwrap();
    }
    let (code, text) = said(&kill(&mut home.command(&[])));
    assert!(code == Some(0) && text.contains("by a stop file") && text.contains("recover-trust"), "{text}");
    let mut person = crate::person::Person::runs(&home.command(&["recover-trust"]));
    assert!(person.asked_for().is_some(), "{}", person.text());
    person.agrees();
    let (code, text) = person.ends();
    assert_eq!(code, 0, "{text}");
    assert!(is_killed(&home));
    assert_eq!(said(&kill(&mut home.command(&[]))).0, Some(0));
}

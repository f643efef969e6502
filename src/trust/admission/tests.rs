use super::super::kill;
use super::super::pairing::{pair, pause, resume, revoke};
use super::super::presence::{Candidate, Grant};
use super::*;
use crate::wire::client::{Image, Script, Sha256};

fn holder(path: &str, byte: u8) -> Holder {
    let image = Image {
        path: path.into(),
        device: 1,
        inode: 2,
        sha256: Sha256([byte; 32]),
        package: false,
        signer: None,
        replaced: false,
    };
    Holder { pid: 7, image, interpreter: false, script: None }
}

fn script(path: &str, byte: u8) -> Option<Script> {
    Some(Script { path: path.into(), sha256: Sha256([byte; 32]) })
}

fn client(holder: Holder) -> Client {
    Client::new(vec![holder]).unwrap()
}

fn hash(byte: u8) -> Anchor {
    Anchor::Hash { sha256: Sha256([byte; 32]) }
}

fn candidate(name: &str, anchor: Anchor, image: &str, script: ScriptRule) -> Candidate {
    Candidate { name: name.into(), anchor, image: image.into(), script }
}

fn paired(state: &TrustState, candidate: Candidate) -> TrustState {
    let grant = Grant::Pair(candidate.clone());
    let phrase = grant.phrase();
    let present = grant.answered(&phrase).unwrap();
    state.changed(|state| pair(state, &present, candidate, 9)).unwrap()
}

fn one() -> TrustState {
    paired(&TrustState::first_run(), candidate("shell", hash(1), "/bin/a", ScriptRule::Native))
}

fn code(judged: Result<Admitted, Refusal>) -> Code {
    judged.unwrap_err().code
}

#[test]
fn without_a_list_anyone_enters_and_is_marked() {
    let admitted = decide(&TrustState::first_run(), &client(holder("/opt/tool", 5))).unwrap();
    assert_eq!((admitted.name(), admitted.entry(), admitted.verified()), ("tool", None, false));
}

#[test]
fn t084_an_empty_list_admits_nobody() {
    let empty = one().changed(|state| revoke(state, "shell")).unwrap();
    assert_eq!(empty.clients, Some(vec![]));
    assert_eq!(code(decide(&empty, &client(holder("/bin/a", 1)))), Code::ClientNotAdmitted);
}

#[test]
fn a_paired_hash_enters_wherever_it_lies_and_no_other_does() {
    let state = one();
    let admitted = decide(&state, &client(holder("/bin/a", 1))).unwrap();
    assert_eq!((admitted.name(), admitted.entry(), admitted.verified()), ("shell", Some("shell"), true));
    assert!(decide(&state, &client(holder("/elsewhere", 1))).is_ok());
    let stranger = decide(&state, &client(holder("/bin/b", 2))).unwrap_err();
    assert_eq!(stranger.code, Code::ClientNotAdmitted);
    assert!(stranger.message.contains("/bin/b") && stranger.message.contains("genkan pair-client"));
}

#[test]
fn a_paired_path_with_other_bytes_is_named_with_both_hashes() {
    let refusal = decide(&one(), &client(holder("/bin/a", 2))).unwrap_err();
    assert_eq!(refusal.code, Code::ClientChanged);
    for part in ["/bin/a", &"01".repeat(32), &"02".repeat(32), "shell", "genkan pair-client"] {
        assert!(refusal.message.contains(part), "{part} in {}", refusal.message);
    }
}

#[test]
fn every_holder_must_be_covered() {
    let both = Client::new(vec![holder("/bin/a", 1), holder("/bin/b", 2)]).unwrap();
    assert_eq!(code(decide(&one(), &both)), Code::ClientNotAdmitted);
    let state = paired(&one(), candidate("second", hash(2), "/bin/b", ScriptRule::Native));
    assert_eq!(decide(&state, &both).unwrap().name(), "shell");
    let state = state.changed(|state| pause(state, "second")).unwrap();
    assert_eq!(code(decide(&state, &both)), Code::ClientPaused);
}

#[test]
fn a_package_is_the_file_that_root_keeps_at_that_path_now() {
    let anchor = Anchor::Package { path: "/usr/bin/p".into() };
    let state = paired(&TrustState::first_run(), candidate("p", anchor, "/usr/bin/p", ScriptRule::Native));
    let of = |path: &str, package, replaced| {
        let mut holder = holder(path, 3);
        (holder.image.package, holder.image.replaced) = (package, replaced);
        decide(&state, &client(holder))
    };
    assert!(of("/usr/bin/p", true, false).is_ok());
    assert_eq!(code(of("/usr/bin/q", true, false)), Code::ClientNotAdmitted);
    let writable = of("/usr/bin/p", false, false).unwrap_err();
    assert!(writable.code == Code::ClientChanged && writable.message.contains("by root alone"), "{writable}");
    let replaced = of("/usr/bin/p", true, true).unwrap_err();
    assert!(replaced.code == Code::ClientChanged && replaced.message.contains("Start it again"));
}

#[test]
fn a_signer_covers_what_it_signed_and_nothing_unsigned() {
    let anchor = Anchor::Signer { signer: "Example".into() };
    let state = paired(&TrustState::first_run(), candidate("s", anchor, "", ScriptRule::Native));
    let of = |signer: Option<&str>| {
        let mut holder = holder("/bin/s", 3);
        holder.image.signer = signer.map(str::to_string);
        decide(&state, &client(holder))
    };
    assert!(of(Some("Example")).is_ok());
    assert_eq!(code(of(Some("example"))), Code::ClientNotAdmitted);
    assert_eq!(code(of(None)), Code::ClientNotAdmitted);
}

#[test]
fn pairing_an_interpreter_admits_no_script_that_was_not_named() {
    let of = |rule: ScriptRule, script: Option<Script>| {
        let state = paired(&TrustState::first_run(), candidate("py", hash(1), "/usr/bin/python3", rule));
        decide(&state, &client(Holder { interpreter: true, script, ..holder("/usr/bin/python3", 1) }))
    };
    let exactly = || ScriptRule::Exactly { path: "/a.py".into(), sha256: Sha256([4; 32]) };
    assert_eq!(code(of(ScriptRule::Native, None)), Code::ClientNotAdmitted);
    let refusal = of(ScriptRule::Native, script("/a.py", 4)).unwrap_err();
    assert!(refusal.message.contains("interpreter") && refusal.message.contains("/a.py"), "{refusal}");
    assert!(of(exactly(), script("/a.py", 4)).is_ok());
    assert_eq!(code(of(exactly(), script("/b.py", 4))), Code::ClientNotAdmitted);
    assert_eq!(code(of(exactly(), None)), Code::ClientNotAdmitted);
    let changed = of(exactly(), script("/a.py", 5)).unwrap_err();
    assert_eq!(changed.code, Code::ClientChanged);
    assert!(changed.message.contains(&"04".repeat(32)) && changed.message.contains(&"05".repeat(32)));
    assert!(of(ScriptRule::Any, script("/b.py", 9)).is_ok() && of(ScriptRule::Any, None).is_ok());
}

#[test]
fn a_pause_holds_whatever_other_entry_would_cover() {
    let state = paired(&one(), candidate("again", hash(1), "/bin/a", ScriptRule::Any));
    let state = state.changed(|state| pause(state, "again")).unwrap();
    assert_eq!(code(decide(&state, &client(holder("/bin/a", 1)))), Code::ClientPaused);
}

#[test]
fn the_switch_refuses_everyone_before_anything_else_is_asked() {
    for state in [TrustState::first_run(), one()] {
        let state = state.changed(|state| {
            kill::engage(state);
            Ok(())
        });
        let state = state.unwrap();
        for byte in [1, 2] {
            assert_eq!(code(decide(&state, &client(holder("/bin/a", byte)))), Code::BridgeKilled);
        }
    }
}

#[test]
fn what_was_withdrawn_meanwhile_stays_withdrawn_for_what_was_begun() {
    let (before, client) = (one(), client(holder("/bin/a", 1)));
    let admitted = decide(&before, &client).unwrap();
    let unrelated = paired(&before, candidate("other", hash(9), "/bin/o", ScriptRule::Native));
    assert!(recheck(&admitted, &unrelated, &client).is_ok());

    let revoked = before.changed(|state| revoke(state, "shell")).unwrap();
    assert_eq!(code(recheck(&admitted, &revoked, &client)), Code::ClientRevoked);
    let paused = before.changed(|state| pause(state, "shell")).unwrap();
    assert_eq!(code(recheck(&admitted, &paused, &client)), Code::ClientPaused);
    assert_eq!(code(recheck(&decide(&unrelated, &client).unwrap(), &before, &client)), Code::BridgeKilled);
}

#[test]
fn t086_a_client_revoked_and_paired_again_does_not_keep_what_it_had_begun() {
    let (before, client) = (one(), client(holder("/bin/a", 1)));
    let admitted = decide(&before, &client).unwrap();
    let revoked = before.changed(|state| revoke(state, "shell")).unwrap();
    let again = paired(&revoked, candidate("shell", hash(1), "/bin/a", ScriptRule::Native));
    assert_eq!(code(recheck(&admitted, &again, &client)), Code::ClientRevoked);
    assert!(decide(&again, &client).is_ok(), "what it begins now is allowed");

    let paused = before.changed(|state| pause(state, "shell")).unwrap();
    let epoch = paused.entry("shell").unwrap().epoch;
    let present = Grant::Resume { name: "shell".into(), epoch }.answered("resume shell").unwrap();
    let resumed = paused.changed(|state| resume(state, &present)).unwrap();
    assert_eq!(code(recheck(&admitted, &resumed, &client)), Code::ClientRevoked);
}

#[test]
fn a_switch_engaged_and_released_meanwhile_voids_what_was_begun() {
    for before in [TrustState::first_run(), one()] {
        let client = client(holder("/bin/a", 1));
        let admitted = decide(&before, &client).unwrap();
        let engaged = before.changed(|state| {
            kill::engage(state);
            Ok(())
        });
        let engaged = engaged.unwrap();
        assert_eq!(code(recheck(&admitted, &engaged, &client)), Code::BridgeKilled);
        let present =
            Grant::Release { engaged: engaged.engaged }.answered("release the kill switch").unwrap();
        let released = engaged.changed(|state| kill::release(state, &present)).unwrap();
        assert_eq!(code(recheck(&admitted, &released, &client)), Code::BridgeKilled);
        let anew = decide(&released, &client).unwrap();
        assert!(recheck(&anew, &released, &client).is_ok());
    }
}

#[test]
fn t083_the_first_entry_shuts_out_whoever_came_through_the_open_door() {
    let client = client(holder("/bin/b", 2));
    let admitted = decide(&TrustState::first_run(), &client).unwrap();
    assert_eq!(code(recheck(&admitted, &one(), &client)), Code::ClientNotAdmitted);
}

#[test]
fn t089_what_is_bound_is_what_was_shown() {
    let shown = candidate("shell", hash(1), "/bin/a", ScriptRule::Native);
    let present = |grant: Grant| {
        let phrase = grant.phrase();
        grant.answered(&phrase).unwrap()
    };
    for other in [
        candidate("shell", hash(2), "/bin/a", ScriptRule::Native),
        candidate("shell", hash(1), "/bin/b", ScriptRule::Native),
        candidate("shell", hash(1), "/bin/a", ScriptRule::Any),
        candidate("other", hash(1), "/bin/a", ScriptRule::Native),
    ] {
        let present = present(Grant::Pair(shown.clone()));
        let written = TrustState::first_run().changed(|state| pair(state, &present, other.clone(), 1));
        assert_eq!(written.unwrap_err().code, Code::ClientChanged);
    }
    let unasked = present(Grant::Recover);
    let written = TrustState::first_run().changed(|state| pair(state, &unasked, shown.clone(), 1));
    assert_eq!(written.unwrap_err().code, Code::UserDenied);
}

#[test]
fn an_entry_of_the_same_name_is_replaced_and_the_list_is_bounded() {
    let state = paired(&one(), candidate("shell", hash(2), "/bin/a", ScriptRule::Native));
    assert!(decide(&state, &client(holder("/bin/a", 2))).is_ok());
    assert_eq!(code(decide(&state, &client(holder("/bin/a", 1)))), Code::ClientChanged);
    let full = (1..crate::base::limits::CLIENTS_MAX)
        .fold(state, |state, n| paired(&state, candidate(&format!("c{n}"), hash(9), "", ScriptRule::Native)));
    let more = candidate("more", hash(9), "", ScriptRule::Native);
    let present = Grant::Pair(more.clone()).answered(&more.phrase()).unwrap();
    assert_eq!(full.changed(|state| pair(state, &present, more, 1)).unwrap_err().code, Code::InvalidArgument);
    let replaced = paired(&full, candidate("c1", hash(8), "", ScriptRule::Native));
    assert_eq!(replaced.clients.map(|list| list.len()), Some(crate::base::limits::CLIENTS_MAX));
}

#[test]
fn a_resumption_is_bound_to_the_entry_that_was_shown() {
    let paused = one().changed(|state| pause(state, "shell")).unwrap();
    let epoch = paused.entry("shell").unwrap().epoch;
    let present = Grant::Resume { name: "shell".into(), epoch }.answered("resume shell\n").unwrap();
    let replaced = paired(&paused, candidate("shell", hash(6), "/bin/c", ScriptRule::Native));
    let replaced = replaced.changed(|state| pause(state, "shell")).unwrap();
    assert_eq!(replaced.changed(|state| resume(state, &present)).unwrap_err().code, Code::ClientChanged);
    assert!(paused.changed(|state| resume(state, &present)).is_ok());
}

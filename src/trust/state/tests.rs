use super::*;
use crate::wire::{json, record};

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn entry(name: &str) -> ClientEntry {
    ClientEntry {
        name: name.into(),
        anchor: Anchor::Hash { sha256: Sha256([1; 32]) },
        image: "/bin/a".into(),
        script: ScriptRule::Native,
        paused: false,
        epoch: 1,
        paired_ms: 5,
    }
}

fn with(clients: Vec<ClientEntry>) -> TrustState {
    TrustState { epoch: 1, killed: false, engaged: 0, clients: Some(clients) }
}

#[test]
fn a_record_reads_back_and_every_member_must_be_there() {
    let text = format!(
        r#"{{"epoch":3,"killed":true,"engaged":3,"clients":[{{"name":"a","anchor":{{"kind":"hash","sha256":"{HASH}"}},"image":"/bin/a","script":{{"kind":"exactly","path":"/a.py","sha256":"{HASH}"}},"paused":false,"epoch":2,"paired_ms":5}}]}}"#
    );
    let state: TrustState = json::typed(text.as_bytes()).unwrap();
    assert_eq!(json::written(&state), text);
    assert_eq!(state.check(), Ok(()));
    for (before, after) in [
        ("\"killed\":true,", ""),
        ("\"engaged\":3,", ""),
        (",\"paused\":false", ""),
        ("\"kind\":\"hash\"", "\"kind\":\"md5\""),
        ("\"kind\":\"hash\"", "\"kind\":\"hash\",\"path\":\"/x\""),
        ("\"epoch\":2", "\"epoch\":2,\"admin\":true"),
        ("\"epoch\":3", "\"epoch\":-3"),
        ("\"killed\":true", "\"killed\":1"),
    ] {
        let bad = text.replacen(before, after, 1);
        assert_ne!(bad, text);
        assert!(json::typed::<TrustState>(bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(json::typed::<TrustState>(br#"{"epoch":0,"killed":false,"engaged":0}"#).is_err());
}

#[test]
fn t084_no_list_and_an_empty_list_are_two_things() {
    let read = |clients: &str| {
        let text = format!(r#"{{"epoch":0,"killed":false,"engaged":0,"clients":{clients}}}"#);
        json::typed::<TrustState>(text.as_bytes()).map(|state| state.door())
    };
    assert_eq!(read("null"), Ok(Door::Open));
    assert_eq!(read("[]"), Ok(Door::Paired));
    assert!(read("{}").is_err() && read("false").is_err());
}

#[test]
fn a_change_is_whole_in_the_next_epoch_or_there_is_none() {
    let state = with(vec![entry("a")]);
    let changed = state.changed(|state| {
        state.killed = true;
        state.engaged = state.epoch;
        Ok(())
    });
    assert_eq!(changed, Ok(TrustState { epoch: 2, killed: true, engaged: 2, ..state.clone() }));
    let refused = state.changed(|_| Err(Refusal::plain(Code::UserDenied)));
    assert_eq!(refused.unwrap_err().code, Code::UserDenied);
    for spoil in [
        |state: &mut TrustState| state.epoch += 1,
        |state: &mut TrustState| state.epoch = 0,
        |state: &mut TrustState| state.killed = true,
        |state: &mut TrustState| state.clients = Some(vec![entry("a"), entry("a")]),
    ] {
        let changed = state.changed(|state| {
            spoil(state);
            Ok(())
        });
        assert!(changed.is_err(), "{changed:?}");
    }
    let last = TrustState { epoch: EPOCH_END - 1, ..state };
    assert!(last.check().is_ok() && TrustState { epoch: EPOCH_END, ..last.clone() }.check().is_err());
    assert!(last.changed(|_| Ok(())).is_err() && TrustState::recovered(last.epoch).is_err());
}

#[test]
fn what_is_recovered_is_killed_admits_nobody_and_is_newer_than_all() {
    let state = TrustState::recovered(41).unwrap();
    assert_eq!(state, TrustState { epoch: 42, killed: true, engaged: 42, clients: Some(Vec::new()) });
    assert_eq!(state.check(), Ok(()));
}

#[test]
fn an_entry_out_of_bounds_makes_the_record_damaged() {
    let package = |path: &str| Anchor::Package { path: path.into() };
    let signer = |signer: &str| Anchor::Signer { signer: signer.into() };
    let exactly = |path: &str| ScriptRule::Exactly { path: path.into(), sha256: Sha256([2; 32]) };
    let good = [
        entry("a"),
        ClientEntry { image: String::new(), ..entry("b") },
        ClientEntry { anchor: package("/bin/a"), ..entry("c") },
        ClientEntry { anchor: signer("Example"), ..entry("d") },
        ClientEntry { script: exactly("/s"), ..entry("e") },
        ClientEntry { script: ScriptRule::Any, image: "C:\\a.exe".into(), ..entry("f") },
    ];
    assert_eq!(with(good.to_vec()).check(), Ok(()));
    let written = record::written(&with(good.to_vec())).unwrap();
    assert_eq!(record::parse(&written), Ok(with(good.to_vec())));
    let text = String::from_utf8(written).unwrap().replace("\"name\":\"a\"", "\"name\":\"a b\"");
    assert!(record::parse::<TrustState>(text.as_bytes()).is_err(), "a record on disk is held to the same");
    let bad = [
        entry(""),
        entry("-a"),
        entry("a b"),
        entry("a\u{202e}"),
        entry(&"a".repeat(65)),
        ClientEntry { image: "bin/a".into(), ..entry("a") },
        ClientEntry { image: "C:a.exe".into(), ..entry("a") },
        ClientEntry { image: "Ca\\.exe".into(), ..entry("a") },
        ClientEntry { image: "1:\\a.exe".into(), ..entry("a") },
        ClientEntry { image: "/a\0".into(), ..entry("a") },
        ClientEntry { image: format!("/{}", "a".repeat(CLIENT_PATH_BYTES_MAX)), ..entry("a") },
        ClientEntry { anchor: package("/bin/b"), ..entry("a") },
        ClientEntry { anchor: package(""), image: String::new(), ..entry("a") },
        ClientEntry { anchor: signer(""), ..entry("a") },
        ClientEntry { anchor: signer("a\nb"), ..entry("a") },
        ClientEntry { script: exactly("s"), ..entry("a") },
        ClientEntry { epoch: 0, ..entry("a") },
        ClientEntry { epoch: 2, ..entry("a") },
        ClientEntry { paired_ms: u64::MAX, ..entry("a") },
    ];
    for entry in bad {
        assert!(with(vec![entry.clone()]).check().is_err(), "{entry:?}");
    }
    let many = (0..=CLIENTS_MAX).map(|n| entry(&format!("c{n}"))).collect();
    assert!(with(many).check().is_err());
    assert!(TrustState { epoch: 0, engaged: 1, ..TrustState::first_run() }.check().is_err());
    assert!(TrustState { killed: true, ..TrustState::first_run() }.check().is_err());
}

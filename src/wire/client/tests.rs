use alloc::{string::ToString, vec};

use serde_json::json;

use super::*;

fn hash(digit: &str) -> Sha256 {
    Sha256::from_hex(&digit.repeat(64)).unwrap()
}

fn holder(path: &str) -> Holder {
    let image = Image {
        path: path.into(),
        device: 1,
        inode: u64::MAX,
        sha256: hash("a"),
        package: false,
        signer: None,
        replaced: false,
    };
    Holder { pid: 7, image, interpreter: false, script: None }
}

#[test]
fn a_client_reads_back_as_it_was_written() {
    let mut node = holder("/usr/bin/node");
    node.interpreter = true;
    node.script = Some(Script { path: "/opt/client/cli.js".into(), sha256: hash("0") });
    let client = Client::new(vec![holder("/opt/claude"), node]).unwrap();
    let text = json::written(&client);
    assert_eq!(Client::parse(text.as_bytes()).unwrap(), client);
    assert_eq!(client.name(), "claude");
}

#[test]
fn t087_a_hash_has_one_spelling() {
    let good = "0123456789abcdef".repeat(4);
    let read = Sha256::from_hex(&good).unwrap();
    assert_eq!(read.to_string(), good);
    assert_eq!(read.short(), "0123456789ab");
    let bad = [
        good.to_uppercase(),
        good[..63].into(),
        good.clone() + "0",
        good.clone() + "=",
        " ".to_string() + &good[1..],
        "sha256:".to_string() + &good[7..],
        "é".repeat(32),
        String::new(),
    ];
    for bad in bad {
        assert_eq!(Sha256::from_hex(&bad), None, "{bad}");
        assert!(serde_json::from_value::<Sha256>(json!(bad)).is_err(), "{bad}");
    }
}

#[test]
fn an_empty_client_and_a_crowd_are_refused() {
    assert_eq!(Client::new(vec![]), Err(ClientFault::Nobody));
    assert_eq!(Client::new(vec![holder("/a"); HOLDERS_MAX + 1]), Err(ClientFault::Crowd));
    assert!(Client::new(vec![holder("/a"); HOLDERS_MAX]).is_ok());
    assert!(Client::parse(br#"{"holders":[]}"#).is_err());
}

#[test]
fn what_no_measurement_yields_is_refused() {
    let edit = |change: &dyn Fn(&mut Holder)| {
        let mut one = holder("/a");
        change(&mut one);
        Client::new(vec![holder("/b"), one]).unwrap_err()
    };
    assert_eq!(edit(&|one| one.pid = 0), ClientFault::Pid);
    for path in ["", "a", "./a", "/a\0b", &("/".to_string() + &"a".repeat(CLIENT_PATH_BYTES_MAX))] {
        assert_eq!(edit(&|one| one.image.path = path.into()), ClientFault::Path, "{path:?}");
    }
    let script = |path: &str| Some(Script { path: path.into(), sha256: hash("b") });
    assert_eq!(edit(&|one| one.script = script("/s")), ClientFault::Script);
    assert_eq!(
        edit(&|one| {
            one.interpreter = true;
            one.script = script("s");
        }),
        ClientFault::Path
    );
    assert_eq!(edit(&|one| one.image.signer = Some(String::new())), ClientFault::Signer);
    assert_eq!(edit(&|one| one.image.signer = Some("x".repeat(SIGNER_BYTES_MAX + 1))), ClientFault::Signer);
}

#[test]
fn t006_unknown_and_missing_members_are_refused_at_any_depth() {
    let whole = serde_json::to_value(Client::new(vec![holder("/a")]).unwrap()).unwrap();
    let mut outside = whole.clone();
    outside["more"] = json!(1);
    let mut inside = whole.clone();
    inside["holders"][0]["image"]["more"] = json!(1);
    let mut missing = whole.clone();
    missing["holders"][0].as_object_mut().unwrap().remove("interpreter");
    let mut spelled = whole.clone();
    spelled["holders"][0]["image"]["signer"] = json!(null);
    for bad in [outside, inside, missing, spelled, json!([whole["holders"]])] {
        assert!(Client::from_value(&bad).is_err(), "{bad}");
    }
    assert!(Client::from_value(&whole).is_ok());
}

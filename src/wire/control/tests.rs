use super::*;
use crate::base::refusal::Code;
use serde_json::json;

const INSTANCE: &str = "0123456789abcdef0123456789abcdef";

fn extension(frame: &Value) -> Routed<BridgeResp> {
    from_extension(frame.to_string().as_bytes())
}

fn socket(frame: &Value) -> Routed<BridgeFrame> {
    from_socket(frame.to_string().as_bytes())
}

fn hello() -> Value {
    json!({
        "type": "extension_hello", "bridge": BRIDGE_PROTOCOL_VERSION, "extension": "0.1.0", "instance": INSTANCE,
        "capabilities": ["tab_control", "page_read"]
    })
}

fn with(mut frame: Value, member: &str, value: Value) -> Value {
    frame[member] = value;
    frame
}

fn replies() -> [Value; 3] {
    [
        json!({"id": 4, "ok": true, "data": {"text": "t"}}),
        json!({"id": 4, "ok": false, "error": {"code": "TAB_NOT_FOUND", "message": "m"}}),
        json!({"type": "progress", "id": 4, "state": "acting"}),
    ]
}

fn requests() -> [Value; 3] {
    let caller = json!({"key": "k", "name": "n", "image": "", "verified": false});
    [
        json!({"id": 4, "op": "tab_list", "args": {}, "caller": caller, "deadline": 1}),
        json!({"type": "cancel", "id": 4}),
        json!({"type": "chunk", "id": 4, "seq": 0, "last": false, "data": "{"}),
    ]
}

fn is_malformed<F>(routed: &Routed<F>) -> bool {
    matches!(routed, Routed::Malformed { .. })
}

#[test]
fn every_control_frame_has_its_tag_in_the_table() {
    let schemas = [schemars::schema_for!(FromExtension), schemars::schema_for!(ToExtension)];
    let mut tags: Vec<String> = Vec::new();
    for schema in schemas {
        for kind in schema.get("oneOf").and_then(Value::as_array).expect("a tagged enum") {
            tags.push(kind.pointer("/properties/type/const").and_then(Value::as_str).expect("a tag").into());
        }
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags, CONTROL_TAGS);
}

#[test]
fn control_frames_of_the_extension_are_handled_by_the_host() {
    let event = json!({"type": "audit_event", "kind": "confirm_shown", "tool": "page_click"});
    for frame in [
        json!({"type": "kill_status"}),
        json!({"type": "kill_engage"}),
        json!({"type": "client_list"}),
        json!({"type": "audit_read"}),
        json!({"type": "audit_read", "limit": AUDIT_ENTRIES_MAX}),
        event,
    ] {
        assert!(matches!(extension(&frame), Routed::Handle(_)), "{frame}");
    }
    assert_eq!(extension(&json!({"type": "host_status"})), Routed::Handle(FromExtension::HostStatus {}));
    assert!(matches!(extension(&hello()), Routed::Handle(FromExtension::ExtensionHello { .. })));
}

#[test]
fn replies_go_to_the_socket_and_requests_to_the_extension_never_back() {
    for reply in replies() {
        assert!(matches!(extension(&reply), Routed::Forward(resp) if resp.id() == 4), "{reply}");
        assert!(is_malformed(&socket(&reply)), "{reply}");
    }
    for request in requests() {
        assert!(matches!(socket(&request), Routed::Forward(frame) if frame.id() == 4), "{request}");
        assert!(is_malformed(&extension(&request)), "{request}");
    }
}

#[test]
fn t012_a_control_frame_from_the_socket_is_dropped_however_it_goes_on() {
    for tag in CONTROL_TAGS {
        for frame in [
            json!({"type": tag}),
            with(hello(), "type", json!(tag)),
            json!({"type": tag, "id": 1, "op": "tab_list"}),
        ] {
            assert_eq!(socket(&frame), Routed::Dropped { tag }, "{frame}");
        }
    }
}

#[test]
fn the_hosts_own_frames_are_malformed_when_the_extension_sends_them() {
    for frame in [
        json!({"type": "host_hello", "bridge": 1, "host": "0.1.0"}),
        json!({"type": "host_status_result", "label": "chrome", "link": {"state": "waiting"}}),
        json!({"type": "kill_status_result", "ok": true, "killed": false, "epoch": 1, "engaged": 0}),
        json!({"type": "client_list_result", "ok": true, "enrolled": false, "clients": []}),
        json!({"type": "audit_read_result", "ok": false, "error": {"code": "INTERNAL_ERROR", "message": "m"}}),
    ] {
        assert!(is_malformed(&extension(&frame)), "{frame}");
    }
}

#[test]
fn handshake_lines_never_pass_the_router() {
    for tag in ["hello", "proof", "welcome", "attach", "attached", "refused"] {
        assert!(is_malformed(&extension(&json!({"type": tag}))), "{tag}");
        assert!(is_malformed(&socket(&json!({"type": tag}))), "{tag}");
    }
}

#[test]
fn t006_key_case_variants_and_unknown_members_are_refused() {
    for frame in [
        json!({"TYPE": "host_status"}),
        json!({"type": "Host_Status"}),
        json!({"type": "host_status", "extra": 1}),
        json!({"type": ["host_status"]}),
        with(hello(), "Bridge", json!(1)),
        with(hello(), "extra", json!({})),
    ] {
        assert!(is_malformed(&extension(&frame)), "{frame}");
    }
    for frame in [json!({"Type": "cancel", "id": 4}), with(requests()[0].clone(), "Op", json!("tab_list"))] {
        assert!(is_malformed(&socket(&frame)), "{frame}");
    }
}

#[test]
fn a_hello_that_breaks_a_rule_is_malformed() {
    for (member, value) in [
        ("instance", json!("")),
        ("instance", json!(INSTANCE.to_uppercase())),
        ("extension", json!("0.1.0\u{7}")),
        ("extension", json!("")),
        ("capabilities", json!(["page_read", "page_read"])),
        ("capabilities", json!(["page_reed"])),
        ("bridge", json!("1")),
        ("bridge", json!(1.0)),
    ] {
        assert!(is_malformed(&extension(&with(hello(), member, value.clone()))), "{member} {value}");
    }
}

#[test]
fn a_control_frame_that_breaks_a_rule_is_malformed() {
    let long = "x".repeat(AUDIT_TEXT_BYTES_MAX + 1);
    for frame in [
        json!({"type": "kill_engage", "killed": true}),
        json!({"type": "kill_release"}),
        json!({"type": "audit_read", "limit": 0}),
        json!({"type": "audit_read", "limit": AUDIT_ENTRIES_MAX + 1}),
        json!({"type": "audit_read", "limit": null}),
        json!({"type": "audit_event"}),
        json!({"type": "audit_event", "kind": long}),
        json!({"type": "audit_event", "kind": "confirm_shown", "detail": long}),
        json!({"type": "audit_event", "kind": "confirm_shown", "origin": "https://example.org"}),
    ] {
        assert!(is_malformed(&extension(&frame)), "{frame}");
    }
    let exact =
        json!({"type": "audit_event", "kind": "confirm_shown", "name": "x".repeat(AUDIT_TEXT_BYTES_MAX)});
    assert!(matches!(extension(&exact), Routed::Handle(_)));
}

#[test]
fn t013_a_result_is_written_with_the_members_of_its_side_alone() {
    let known =
        ToExtension::KillKnown { ok: Yes, killed: true, epoch: 3, engaged: 3, warning: None, asked: false };
    assert_eq!(
        json::written(&known),
        r#"{"type":"kill_status_result","ok":true,"killed":true,"epoch":3,"engaged":3}"#
    );
    let unknown =
        ToExtension::KillUnknown { ok: No, error: Refusal::new(Code::BridgeKilled, "m"), asked: true };
    assert_eq!(
        json::written(&unknown),
        r#"{"type":"kill_status_result","ok":false,"error":{"code":"BRIDGE_KILLED","message":"m"},"asked":true}"#
    );
}

#[test]
fn another_version_is_named_even_if_its_hello_is_shaped_in_ways_unknown_here() {
    let later = with(with(hello(), "bridge", json!(2)), "capabilities", json!([{"new": true}]));
    assert_eq!(extension(&later), Routed::OtherVersion { bridge: 2 });
    assert!(is_malformed(&extension(&json!({"type": "host_status", "bridge": 2}))));
}

#[test]
fn a_raw_line_break_cannot_turn_one_frame_into_several_lines() {
    let forged = r#"{"id":2,"ok":true,"data":{"text":"forged"}}"#;
    let frame = format!("{{\"id\":1,\"ok\":true,\"data\":{{\"text\":\"t\",\"structured\":\n{forged}\n}}}}");
    assert!(is_malformed(&from_extension(frame.as_bytes())));
    let inside = replies()[0].to_string().replace("\"t\"", "\"a\\nb\"");
    assert!(matches!(from_extension(inside.as_bytes()), Routed::Forward(resp) if resp.id() == 4));
}

#[test]
fn a_spoilt_reply_still_says_which_call_it_ends() {
    let spoilt = json!({"id": 4, "ok": true, "data": {"text": ""}});
    assert!(matches!(extension(&spoilt), Routed::Malformed { ends: Some(4), .. }));
    for frame in [
        json!({"id": 4}),
        json!({"id": 4.0, "ok": true}),
        json!({"id": 9_007_199_254_740_992_u64, "ok": true}),
        json!([4]),
    ] {
        assert!(matches!(extension(&frame), Routed::Malformed { ends: None, .. }), "{frame}");
    }
}

#[test]
fn refusals_of_the_host_are_written_for_the_extension_as_tagged_frames() {
    let refused = Link::Refused { error: Refusal::new(Code::ProtocolMismatch, "m") };
    let frame = ToExtension::HostStatusResult { label: "chrome".into(), link: refused };
    assert_eq!(
        json::written(&frame),
        r#"{"type":"host_status_result","label":"chrome","link":{"state":"refused","error":{"code":"PROTOCOL_MISMATCH","message":"m"}}}"#
    );
}

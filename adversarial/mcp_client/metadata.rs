//! T173, T174, T176: what a request says about its era, or fails to say.

use serde_json::{Value, json};

use super::*;

#[test]
fn t173_a_first_request_with_bad_metadata_is_refused_by_field_and_the_connection_stays() {
    let cases = [
        (json!({}), vec![VERSION, CAPABILITIES]),
        (json!({"_meta": {}}), vec![VERSION, CAPABILITIES]),
        (json!({"_meta": {CAPABILITIES: {}}}), vec![VERSION]),
        (json!({"_meta": {VERSION: "2026-07-28"}}), vec![CAPABILITIES]),
        (json!({"_meta": {VERSION: 20260728, CAPABILITIES: {}}}), vec![VERSION]),
        (json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: "all"}}), vec![CAPABILITIES]),
        (json!({"_meta": []}), vec!["_meta"]),
        (json!({"_meta": null}), vec!["_meta"]),
    ];
    for method in ["tools/list", "server/discover", "tools/call", "no/such"] {
        for (params, fields) in &cases {
            let mut server = Server::start(&[]);
            let answer = server.ask(&request(7, method, params.clone()));
            assert_eq!((code(&answer), &answer["id"]), (-32602, &json!(7)), "{method} {params}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(fields.iter().all(|field| message.contains(field)), "{message}");
            serves(&mut server);
        }
    }
}

#[test]
fn t173_malformed_parameters_are_refused_by_field_without_repeating_their_value() {
    let mut server = Server::start(&[]);
    let secret = "hunter2hunter2";
    for (method, params, field) in [
        ("tools/call", json!({"name": [secret]}), "name"),
        ("tools/call", json!({"name": "tab_list", "arguments": secret}), "arguments"),
        ("tools/call", json!({}), "name"),
        ("tools/list", json!({"cursor": {"a": secret}}), "cursor"),
        ("tools/list", json!({"cursor": secret}), "cursor"),
        ("initialize", json!({"protocolVersion": secret, "capabilities": {}}), "clientInfo"),
    ] {
        server.send(&modern(1, method, params));
        let line = server.line();
        assert!(line.contains("-32602") && line.contains(field) && !line.contains(secret), "{line}");
    }
    serves(&mut server);
}

#[test]
fn t174_an_unsupported_version_is_named_back_cut_and_escaped() {
    let huge = "9".repeat(100_000);
    for version in ["", "1999-01-01", "2026-07-29", "\u{1b}[2J\u{7}", "a\u{202e}b", &huge] {
        let mut server = Server::start(&[]);
        let mut probe = modern(1, "server/discover", json!({}));
        probe["params"]["_meta"][VERSION] = json!(version);
        server.send(&probe);
        let line = server.line();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(code(&answer), -32022);
        let supported = answer["error"]["data"]["supported"].as_array().unwrap();
        assert_eq!(supported.last(), Some(&json!("2026-07-28")));
        let echoed = answer["error"]["data"]["requested"].as_str().unwrap();
        assert!(line.len() < 1_000 && !echoed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{line}");
        assert_eq!(answer["error"]["message"], "Unsupported protocol version");
        serves(&mut server);
    }
}

#[test]
fn t176_initialize_is_answered_in_any_era_and_a_stateless_connection_stays_stateless() {
    let mut server = Server::start(&[]);
    serves(&mut server);
    let answer = server.ask(&initialize(1, "2025-06-18"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(code(&server.ask(&request(2, "tools/list", json!({})))), -32602);
    assert_eq!(code(&server.ask(&request(3, "ping", json!({})))), -32601);
    serves(&mut server);
}

#[test]
fn t176_after_initialize_a_request_is_served_in_the_era_it_names() {
    let mut server = Server::start(&[]);
    let answer = server.ask(&initialize(1, "2026-07-28"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "the newest revision with a handshake");
    let bare = server.ask(&request(2, "tools/list", json!({})));
    assert!(bare["result"]["tools"].is_array() && bare["result"].get("ttlMs").is_none());
    serves(&mut server);
    assert_eq!(server.ask(&request(3, "ping", json!({})))["result"], json!({}));
    let partial = request(4, "tools/list", json!({"_meta": {VERSION: "2026-07-28"}}));
    assert_eq!(code(&server.ask(&partial)), -32602);
}

#[test]
fn t176_discover_and_ping_fix_no_era() {
    let mut server = Server::start(&[]);
    assert_eq!(server.ask(&request(1, "ping", json!({})))["result"], json!({}));
    let found = server.ask(&modern(2, "server/discover", json!({})));
    assert_eq!(found["result"]["capabilities"], json!({"tools": {}}));
    assert_eq!(server.ask(&initialize(3, "2025-11-25"))["result"]["protocolVersion"], "2025-11-25");
    assert!(server.ask(&request(4, "tools/list", json!({})))["result"]["tools"].is_array());
    let unreadable = {
        server.send_raw(b"{\n");
        server.hear()
    };
    assert_eq!(unreadable.get("id"), Some(&Value::Null), "JSON-RPC's form, which the legacy era uses");
}

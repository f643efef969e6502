//! T175: lines that are not one proper message.

use serde_json::json;

use super::*;

#[test]
fn t175_batches_null_ids_and_junk_are_answered_as_json_rpc_says_and_end_nothing() {
    let mut server = Server::start(&[]);
    let whole = request(1, "tools/list", json!({})).to_string();
    for (line, expected) in [
        (format!("[{whole},{whole}]"), -32600),
        ("[]".into(), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#.into(), -32600),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}"#.into(), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#.into(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}"#.into(), -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}"#.into(), -32600),
        ("GET / HTTP/1.1".into(), -32700),
        ("{".into(), -32700),
        ("\u{feff}{}".into(), -32700),
        ("\0".into(), -32700),
    ] {
        server.send_raw(line.as_bytes());
        server.send_raw(b"\n");
        let answer = server.hear();
        assert_eq!(code(&answer), expected, "{line}");
        assert!(answer.get("result").is_none(), "{line}");
    }
    server.send_raw(b"\xff\xfe\n");
    assert_eq!(code(&server.hear()), -32700);
    serves(&mut server);
}

#[test]
fn t175_a_response_nobody_asked_for_has_no_answer() {
    let mut server = Server::start(&[]);
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
    ] {
        server.send_raw(format!("{line}\n").as_bytes());
    }
    serves(&mut server);
}

#[test]
fn t175_a_notification_before_everything_else_ends_nothing() {
    let mut server = Server::start(&[]);
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/none"] {
        server.send(&json!({"jsonrpc": "2.0", "method": method}));
    }
    serves(&mut server);
}

#[test]
fn t175_the_id_of_an_open_request_is_refused_without_answering_the_first() {
    let mut server = Server::start(&[]);
    server.send(&call(1, "tab_list", json!({})));
    let second = server.ask(&modern(1, "tools/list", json!({})));
    assert_eq!(code(&second), -32600);
    assert!(second.get("id").is_none(), "an answer with that id would answer the first request: {second}");
    // The string "1" is another id, and the number is free again once its request is gone.
    assert_eq!(server.ask(&modern("1", "tools/list", json!({})))["id"], "1");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!(server.ask(&modern(1, "tools/list", json!({})))["id"], 1);
}

//! T177, T179: calls that must not begin, and calls that end in an unusual way.

use serde_json::{Value, json};

use super::*;

#[test]
fn t177_an_unlisted_or_misspelt_tool_is_a_protocol_error() {
    let mut server = Server::start(&[]);
    let long = "x".repeat(100_000);
    for tool in ["Tab_list", "TAB_LIST", "tab_list ", "page_eval_now", "__proto__", "", "\u{1b}[31m", &long] {
        server.send(&call(1, tool, json!({})));
        let line = server.line();
        assert_eq!(code(&serde_json::from_str(&line).unwrap()), -32602, "{line}");
        assert!(line.len() < 1_000 && !line.contains("[31m\u{1b}"), "{line}");
    }
}

/// With no browser a call that passes the argument check waits; so an answer at once was refused before the bridge.
#[test]
fn t177_arguments_outside_the_schema_are_refused_before_any_bridge_traffic() {
    let mut server = Server::start(&[]);
    for (tool, arguments) in [
        ("tab_list", json!({"extra": 1})),
        ("tab_list", json!({"__proto__": {"limit": 1}})),
        ("tab_list", json!({"constructor": {}})),
        ("tab_list", json!({"limit": 0})),
        ("tab_list", json!({"limit": null})),
        ("tab_list", json!({"limit": "1"})),
        ("tab_list", json!({"Limit": 1})),
        ("tab_focus", json!({})),
        ("page_click", json!({"ref": "e1", "selector": "a"})),
        ("list_browsers", json!({"browser": "chrome"})),
    ] {
        let answer = server.ask(&call(1, tool, arguments.clone()));
        assert_eq!(refusal(&answer), "INVALID_ARGUMENT", "{tool} {arguments}");
    }
}

#[test]
fn t179_a_cancel_racing_its_completion_leaves_at_most_one_answer() {
    let mut server = Server::start(&[]);
    serves(&mut server);
    for id in 0..200 {
        server.send(&call(id, "list_browsers", json!({})));
        server.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
    }
    let (_, said, _) = server.end();
    let mut seen = std::collections::BTreeSet::new();
    for line in &said {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert!(answer["id"].as_i64().is_some_and(|id| seen.insert(id)), "answered twice: {line}");
    }
}

#[test]
fn t179_a_cancelled_call_is_never_answered() {
    let mut server = Server::start(&[]);
    server.send(&call(1, "tab_list", json!({})));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    serves(&mut server);
    let (status, said, _) = server.end();
    assert!(status.success() && said.is_empty(), "{said:?}");
}

#[test]
fn t179_a_progress_token_in_use_is_refused() {
    let mut server = Server::start(&[]);
    let with_token = |id: i64, tool: &str, token: Value| {
        modern(id, "tools/call", json!({"name": tool, "_meta": {"progressToken": token}}))
    };
    server.send(&with_token(1, "tab_list", json!("t")));
    let second = server.ask(&with_token(2, "list_browsers", json!("t")));
    assert_eq!((code(&second), &second["id"]), (-32602, &json!(2)));
    assert!(second["error"]["message"].as_str().unwrap().contains("progressToken"));
    for odd in [json!({}), json!(1.5), json!(null), json!("t".repeat(10_000))] {
        assert_eq!(code(&server.ask(&with_token(3, "list_browsers", odd))), -32602);
    }
    assert_eq!(server.ask(&with_token(4, "list_browsers", json!(0)))["result"]["isError"], false);
}

#[test]
fn t179_a_client_that_leaves_during_a_call_ends_the_server_and_the_call() {
    let mut server = Server::start(&[]);
    server.send(&call(1, "tab_list", json!({})));
    serves(&mut server);
    let (status, said, _) = server.end();
    assert!(status.success(), "{status}");
    let answers: Vec<Value> = said.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.len() <= 1 && answers.iter().all(|answer| refusal(answer) == "CANCELLED"), "{said:?}");
}

#[test]
fn a_second_server_shares_the_door_and_takes_over_when_the_first_is_gone() {
    let home = home();
    let mut first = Server::start_in(&home, &[]);
    assert_eq!(first.ask(&call(1, "list_browsers", json!({})))["result"]["isError"], false);
    let mut second = Server::start_in(&home, &[]);
    assert_eq!(second.ask(&call(1, "list_browsers", json!({})))["result"]["isError"], false);
    first.child.kill().unwrap();
    first.end();
    assert_eq!(second.ask(&call(2, "list_browsers", json!({})))["result"]["isError"], false);
}

//! A whole conversation in each era, kept as it was agreed.

use serde_json::{Value, json};

use super::*;

/// What both eras say, word for word.
#[test]
fn the_transcript_of_both_eras_is_kept() {
    for (name, requests) in [
        (
            "modern",
            vec![
                modern(1, "server/discover", json!({})),
                modern(2, "tools/list", json!({})),
                call(3, "list_browsers", json!({})),
                call(4, "tab_list", json!({"limit": 0})),
                call(5, "no_such_tool", json!({})),
                modern(6, "no/such/method", json!({})),
                modern(7, "ping", json!({})),
            ],
        ),
        (
            "legacy",
            vec![
                initialize(1, "2025-11-25"),
                request(2, "tools/list", json!({})),
                request(3, "tools/call", json!({"name": "list_browsers"})),
                request(4, "tools/call", json!({"name": "tab_list", "arguments": {"limit": 0}})),
                request(5, "tools/call", json!({"name": "no_such_tool"})),
                request(6, "no/such/method", json!({})),
                request(7, "ping", json!({})),
            ],
        ),
    ] {
        let mut server = Server::start(&[]);
        let said: Vec<String> =
            requests.iter().map(|request| exchange(request, server.ask(request))).collect();
        let transcript = said.join("\n");
        insta::assert_snapshot!(format!("transcript_{name}"), transcript);
    }
}

/// One request and its answer; tool definitions stand one on a line.
fn exchange(request: &Value, mut answer: Value) -> String {
    let tools = answer["result"].as_object_mut().and_then(|result| result.remove("tools"));
    let tools: Vec<Value> = tools.map(|tools| tools.as_array().unwrap().clone()).unwrap_or_default();
    let tools: String = tools.iter().map(|tool| format!("{tool}\n")).collect();
    format!(
        "> {} {}\n{}\n{tools}",
        request["method"],
        request["id"],
        serde_json::to_string_pretty(&answer).unwrap()
    )
}

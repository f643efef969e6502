use super::*;

fn fault(line: &str) -> RpcFault {
    parse(line.as_bytes()).expect_err(line)
}

fn text_id(text: &str) -> RequestId {
    RequestId::Text(text.into())
}

#[test]
fn requests_notifications_and_responses_are_read_and_written_back_the_same() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1.5},"_meta":{}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":-9007199254740991,"method":"ping","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{"x":null}}"#,
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"m","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#,
    ] {
        let message = parse(line.as_bytes()).expect(line);
        assert_eq!(message.into_value(), serde_json::from_str::<Value>(line).expect("JSON"));
    }
}

#[test]
fn t175_a_batch_is_one_invalid_request_without_an_id() {
    for line in ["[]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "[1,2]"] {
        let fault = fault(line);
        assert_eq!((&fault.why, fault.code(), &fault.id), (&RpcWhy::Batch, -32_600, &None));
        let answer = fault.answer().expect("an answer");
        assert_eq!(answer.get("id"), None);
        assert_eq!(answer["error"]["code"], -32_600);
    }
}

#[test]
fn t175_a_null_id_is_an_invalid_request_not_a_notification() {
    let fault = fault(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
    assert_eq!((fault.why, fault.id, fault.answerable), (RpcWhy::Id, None, true));
}

#[test]
fn t175_a_response_shaped_line_is_never_a_request_and_never_answered() {
    let line = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert!(matches!(parse(line), Ok(Message::Response { id: Some(RequestId::Number(1)), outcome: Ok(_) })));
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"extra":1}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
        r#"{"id":1,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","extra":1}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
    ] {
        assert_eq!((fault(line).answer(), fault(line).id), (None, None), "{line}");
    }
}

#[test]
fn t008_ids_are_short_strings_or_exact_integers() {
    for id in [
        "1.0",
        "-0",
        "1e2",
        "9007199254740992",
        "-9007199254740992",
        "18446744073709551616",
        "true",
        "[]",
        "{}",
    ] {
        let fault = fault(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!((fault.why, fault.id), (RpcWhy::Id, None), "{id}");
    }
    let with_id = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
    let longest = "x".repeat(RPC_ID_BYTES_MAX);
    assert!(matches!(parse(with_id(&longest).as_bytes()), Ok(Message::Request { .. })));
    assert_eq!(fault(&with_id(&(longest + "x"))).why, RpcWhy::Id);
    let one = parse(with_id("1").as_bytes());
    assert!(matches!(one, Ok(Message::Request { id, .. }) if id == text_id("1")), "a text is never a number");
}

#[test]
fn an_invalid_request_is_answered_under_its_own_id_when_it_has_one() {
    for (line, why) in [
        (r#"{"id":"a","method":"ping"}"#, RpcWhy::Version),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, RpcWhy::Version),
        (r#"{"jsonrpc":2.0,"id":"a","method":"ping"}"#, RpcWhy::Version),
        (r#"{"jsonrpc":"2.0","id":"a"}"#, RpcWhy::Method),
        (r#"{"jsonrpc":"2.0","id":"a","method":""}"#, RpcWhy::Method),
        (r#"{"jsonrpc":"2.0","id":"a","method":1}"#, RpcWhy::Method),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}"#, RpcWhy::Params),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":null}"#, RpcWhy::Params),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","Params":{}}"#, RpcWhy::Member),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","result":{}}"#, RpcWhy::Member),
    ] {
        let fault = fault(line);
        assert_eq!(
            (&fault.why, fault.id.clone(), fault.code()),
            (&why, Some(text_id("a")), -32_600),
            "{line}"
        );
        assert_eq!(fault.answer().expect("an answer")["id"], "a");
    }
}

#[test]
fn what_is_not_strict_json_is_a_parse_error_without_an_id() {
    for line in [
        "",
        "{",
        "junk",
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
        "\u{feff}{}",
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
    ] {
        let fault = fault(line);
        assert_eq!((fault.code(), &fault.id), (-32_700, &None), "{line}");
        assert_eq!(fault.answer().and_then(|answer| answer.get("id").cloned()), None);
    }
    for line in ["1", "\"x\"", "null", "true"] {
        assert_eq!((fault(line).why, fault(line).code()), (RpcWhy::NotAnObject, -32_600));
    }
}

#[test]
fn the_sentence_names_the_bound_of_an_id() {
    assert!(alloc::format!("{}", RpcWhy::Id).contains(&alloc::format!("{RPC_ID_BYTES_MAX} bytes")));
}

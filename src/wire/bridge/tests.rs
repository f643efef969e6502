use super::*;
use crate::base::limits::NM_OUT_BYTES_MAX;
use crate::wire::framing::nm_frame;
use proptest::prelude::*;
use serde_json::json;

fn request() -> Value {
    json!({
        "id": 7, "op": "page_click", "browser": "chrome", "args": {"ref": "e3", "deep": [{"a": 1.5}]},
        "caller": {"key": "k", "name": "n", "image": "", "verified": false}, "deadline": 55000
    })
}

fn done() -> Value {
    json!({"id": 7, "ok": true, "data": {"text": "t", "structured": {"tabs": [{"id": 1}]}}})
}

fn failed() -> Value {
    json!({"id": 7, "ok": false, "error": {"code": "USER_DENIED", "message": "m"}})
}

fn with(mut frame: Value, pointer: &str, member: &str, value: Value) -> Value {
    let object = frame.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object");
    object.insert(member.into(), value);
    frame
}

fn without(mut frame: Value, member: &str) -> Value {
    frame.as_object_mut().expect("an object").remove(member).expect("the member");
    frame
}

fn refused_request(frame: &Value) -> BridgeFault {
    BridgeFrame::from_value(frame).expect_err(&frame.to_string())
}

fn refused_reply(frame: &Value) -> BridgeFault {
    BridgeResp::from_value(frame).expect_err(&frame.to_string())
}

#[test]
fn every_kind_of_frame_is_read_and_written_back_the_same() {
    let frames = [
        request(),
        without(request(), "browser"),
        json!({"type": "cancel", "id": 0}),
        json!({"type": "chunk", "id": 1, "seq": 0, "last": true, "data": "x"}),
    ];
    for frame in frames {
        let read = BridgeFrame::parse(frame.to_string().as_bytes()).expect("a frame");
        assert_eq!(serde_json::to_value(&read).expect("writes"), frame);
        assert!(BridgeResp::from_value(&frame).is_err(), "no reply: {frame}");
    }
    let image =
        json!({"id": 7, "ok": true, "data": {"text": "", "image": {"mime": "image/png", "data": "AA=="}}});
    for frame in [done(), failed(), image, json!({"type": "progress", "id": 7, "state": "confirming"})] {
        let read = BridgeResp::parse(frame.to_string().as_bytes()).expect("a reply");
        assert_eq!(serde_json::to_value(&read).expect("writes"), frame);
        assert!(BridgeFrame::from_value(&frame).is_err(), "no request: {frame}");
    }
}

#[test]
fn t006_unknown_members_are_refused_at_any_depth() {
    for pointer in ["", "/caller"] {
        assert!(matches!(
            refused_request(&with(request(), pointer, "extra", json!(1))),
            BridgeFault::Json(_)
        ));
    }
    for pointer in ["", "/data"] {
        assert!(matches!(refused_reply(&with(done(), pointer, "extra", json!(1))), BridgeFault::Json(_)));
    }
    for pointer in ["", "/error"] {
        assert!(matches!(refused_reply(&with(failed(), pointer, "extra", json!(1))), BridgeFault::Json(_)));
    }
    refused_request(&json!({"type": "cancel", "id": 1, "op": "page_click"}));
    refused_reply(&json!({"type": "progress", "id": 1, "state": "acting", "ok": true}));
    assert!(
        BridgeFrame::from_value(&with(request(), "/args", "extra", json!(1))).is_ok(),
        "arguments have their own rules"
    );
}

#[test]
fn t006_key_case_variants_are_refused() {
    refused_request(&with(without(request(), "op"), "", "Op", json!("page_click")));
    refused_request(&json!({"Type": "cancel", "id": 1}));
    refused_request(&json!({"type": "Cancel", "id": 1}));
    refused_reply(&json!({"id": 1, "Ok": true, "data": {"text": "t"}}));
    refused_reply(&json!({"ID": 1, "ok": true, "data": {"text": "t"}}));
}

#[test]
fn t008_only_exact_unsigned_integers_are_ids() {
    let ids = [
        "1.0",
        "-0",
        "-1",
        "1e400",
        "1e0",
        "9007199254740992",
        "18446744073709551616",
        "\"1\"",
        "null",
        "[1]",
        "true",
    ];
    for id in ids {
        let frames = [
            format!(r#"{{"id":{id},"ok":false,"error":{{"code":"USER_DENIED","message":"m"}}}}"#),
            format!(r#"{{"id":{id},"ok":true,"data":{{"text":"t"}}}}"#),
            format!(r#"{{"type":"progress","id":{id},"state":"acting"}}"#),
        ];
        for frame in frames {
            assert!(BridgeResp::parse(frame.as_bytes()).is_err(), "{frame}");
        }
        let cancel = format!(r#"{{"type":"cancel","id":{id}}}"#);
        assert!(BridgeFrame::parse(cancel.as_bytes()).is_err(), "{cancel}");
    }
    for id in [0, SAFE_INTEGER_MAX] {
        let frame = format!(r#"{{"id":{id},"ok":true,"data":{{"text":"t"}}}}"#);
        assert_eq!(BridgeResp::parse(frame.as_bytes()).map(|resp| resp.id()), Ok(id));
    }
}

#[test]
fn a_reply_is_a_success_or_a_failure_never_both_nor_neither() {
    refused_reply(&with(done(), "", "error", json!({"code": "USER_DENIED", "message": "m"})));
    refused_reply(&with(failed(), "", "data", json!({"text": "t"})));
    refused_reply(&with(done(), "", "ok", json!(false)));
    refused_reply(&with(failed(), "", "ok", json!(true)));
    refused_reply(&without(done(), "data"));
    for ok in [json!("true"), json!(1), json!(null)] {
        assert_eq!(refused_reply(&with(done(), "", "ok", ok)), BridgeFault::Kind);
    }
    assert_eq!(refused_reply(&without(done(), "ok")), BridgeFault::Kind);
    for other in [json!([]), json!("x"), json!(null), json!([7, true, {"text": "t"}])] {
        assert_eq!(refused_reply(&other), BridgeFault::Kind);
        refused_request(&other);
    }
}

#[test]
fn codes_and_nested_types_are_taken_only_as_they_are_written() {
    refused_reply(&with(failed(), "/error", "code", json!("NO_SUCH_CODE")));
    refused_reply(&with(failed(), "/error", "code", json!({"USER_DENIED": null})));
    refused_reply(&with(failed(), "", "error", json!(["USER_DENIED", "m"])));
    refused_reply(&with(done(), "/data", "structured", json!(null)));
    refused_reply(&with(done(), "", "data", json!(["t"])));
    refused_request(&with(request(), "", "browser", json!(null)));
    refused_request(&with(request(), "", "caller", json!(["k", "n", "", false])));
    refused_request(&with(request(), "", "args", json!([])));
    refused_request(&with(request(), "", "deadline", json!(4_294_967_296_u64)));
}

#[test]
fn results_that_break_their_own_rules_are_refused() {
    let outcome = |data: Value| json!({"id": 7, "ok": true, "data": data});
    let image = |mime: &str, data: &str| json!({"mime": mime, "data": data});
    let largest = "A".repeat(IMAGE_BYTES_MAX.div_ceil(3) * 4);
    for data in [
        json!({"text": ""}),
        json!({"text": "t", "structured": {}, "image": image("image/png", "AA==")}),
        json!({"text": "t", "image": image("image/svg+xml", "AA==")}),
        json!({"text": "t", "image": image("image/png", "")}),
        json!({"text": "t", "image": image("image/png", "<svg>")}),
        json!({"text": "t", "image": image("image/png", &format!("{largest}AAAA"))}),
        json!({"text": "t".repeat(RESULT_BYTES_MAX + 1)}),
    ] {
        assert!(matches!(refused_reply(&outcome(data)), BridgeFault::Rule(_)));
    }
    for data in [
        json!({"text": "t".repeat(RESULT_BYTES_MAX)}),
        json!({"text": "", "image": image("image/jpeg", &largest)}),
    ] {
        assert!(BridgeResp::from_value(&outcome(data)).is_ok());
    }
}

/// What the browser's side does with chunks: in order, none missing, one last.
fn joined(pieces: &[Notice], call: u64) -> Option<String> {
    let mut text = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Notice::Chunk { id, seq, last, data }
                if *id == call && usize::try_from(*seq) == Ok(at) && *last == (at + 1 == pieces.len()) =>
            {
                text.push_str(data);
            }
            Notice::Chunk { .. } | Notice::Cancel { .. } => return None,
        }
    }
    Some(text)
}

#[test]
fn the_worst_text_still_fits_frame_by_frame() {
    for unit in ["\u{1}", "\"", "\\", "é", "\u{1f600}", "\u{7f}"] {
        let text = unit.repeat(3 * CHUNK_TEXT_BYTES_MAX / unit.len() + 1);
        let pieces = chunks(&text, SAFE_INTEGER_MAX).expect("within the total");
        assert_eq!(joined(&pieces, SAFE_INTEGER_MAX).as_ref(), Some(&text));
        for piece in &pieces {
            assert!(nm_frame(json::written(piece).as_bytes(), NM_OUT_BYTES_MAX).is_ok(), "{unit:?}");
        }
    }
}

#[test]
fn the_total_that_chunks_may_carry_is_exact() {
    let text = "x".repeat(CHUNK_TOTAL_BYTES_MAX + 1);
    assert_eq!(chunks(&text, 1), Err(BridgeFault::TooLarge));
    assert!(chunks(&text[1..], 1).is_ok());
    assert_eq!(chunks("", 1).expect("one").len(), 1);
}

#[test]
fn names_of_browsers_profiles_and_releases_are_bounded_and_plain() {
    for (text, fits) in [
        ("chrome", true),
        ("a", true),
        ("a-1", true),
        ("", false),
        ("Chrome", false),
        ("a\0", false),
        ("a#b", false),
    ] {
        assert_eq!(is_label(text), fits, "{text:?}");
    }
    assert!(is_label(&"a".repeat(LABEL_BYTES_MAX)) && !is_label(&"a".repeat(LABEL_BYTES_MAX + 1)));
    let hex = "0123456789abcdef";
    assert!(is_instance(&hex.repeat(2)) && !is_instance(hex) && !is_instance(&hex.to_uppercase().repeat(2)));
    assert!(!is_instance(&(hex.repeat(2) + "0")) && !is_instance(&"g".repeat(32)));
    assert!(
        is_version("0.1.0-beta+1") && !is_version("") && !is_version("1 0") && !is_version(&"1".repeat(65))
    );
}

proptest! {
    #[test]
    fn chunks_join_to_what_they_were_cut_from(text in "\\PC{0,200}", times in 1_usize..2_000, id in 0..=SAFE_INTEGER_MAX) {
        let text = text.repeat(times);
        let pieces = chunks(&text, id).expect("within the total");
        for piece in &pieces {
            let Notice::Chunk { data, .. } = piece else { panic!("only chunks") };
            prop_assert!(data.len() <= CHUNK_TEXT_BYTES_MAX);
        }
        prop_assert_eq!(joined(&pieces, id), Some(text));
    }
}

#[test]
fn a_notice_about_the_link_is_read_as_it_is_written_and_nothing_else_is_one() {
    for door in [Door::Open, Door::Paired] {
        let notice = LinkNotice::Door { door };
        assert_eq!(LinkNotice::parse(json::written(&notice).as_bytes()), Some(notice));
    }
    for line in [
        r#"{"type":"door","door":"ajar"}"#,
        r#"{"type":"door","door":"open","id":1}"#,
        r#"{"type":"door"}"#,
        r#"{"type":"cancel","id":1}"#,
        "",
    ] {
        assert_eq!(LinkNotice::parse(line.as_bytes()), None, "{line}");
    }
    assert_eq!(LinkNotice::parse(request().to_string().as_bytes()), None);
}

#[test]
fn every_fault_says_why() {
    let faults = [
        (BridgeFault::Json(JsonFault::Duplicate), "names a member twice"),
        (BridgeFault::Kind, "of no kind"),
        (BridgeFault::Integer, "2^53"),
        (BridgeFault::Rule("a rule"), "a rule"),
        (BridgeFault::TooLarge, "larger than"),
    ];
    for (fault, word) in faults {
        assert!(fault.to_string().contains(word), "{fault:?}");
    }
}

use serde_json::json;

use super::*;

fn overlay(fields: serde_json::Value) -> Overlay {
    json::typed(json::written(&fields).as_bytes()).unwrap()
}

fn granted(policy: &Policy, change: serde_json::Value) -> Policy {
    Policy::new(Some(policy.granting(&overlay(change)).unwrap()), Overlay::default()).unwrap()
}

#[test]
fn where_nobody_decided_anything_no_grant_is_on_and_every_question_is_asked() {
    let written: serde_json::Value = json::parse(json::written(&PolicyValues::default()).as_bytes()).unwrap();
    let expected = json!({
        "cdpMode": false, "fileUploadEnabled": false, "handleDialogEnabled": false, "pageEvalEnabled": false,
        "confirmHighRiskClick": true, "confirmPageEval": true, "presenceConfirm": true, "confirmTabClose": true,
        "warnPreciseSnapshot": true, "evalMask": true, "hostReverifyMs": 0, "confirmGraceMs": 60_000,
        "clickToastTimeoutMs": 30_000, "evalToastTimeoutMs": 45_000, "disabledTools": [],
    });
    assert_eq!(written, expected);
    assert_eq!(Policy::default().effective(), PolicyValues::default());
    assert_eq!(Field::ALL.len(), 15);
}

#[test]
fn every_tool_that_stands_on_a_grant_is_refused_without_it_by_the_field_s_name() {
    let needs = [
        (Needs::Cdp, Field::CdpMode),
        (Needs::FileUpload, Field::FileUploadEnabled),
        (Needs::HandleDialog, Field::HandleDialogEnabled),
        (Needs::PageEval, Field::PageEvalEnabled),
    ];
    let mut policy = Policy::default();
    for (need, field) in needs {
        let refused = policy.effective().allows("page_x", Some(need)).unwrap_err();
        assert_eq!(refused.code, Code::ToolDisabled);
        assert!(refused.message.contains(field.name()), "{}", refused.message);
        policy = granted(&policy, json!({ field.name(): true }));
        assert_eq!(policy.effective().allows("page_x", Some(need)), Ok(()));
    }
    let off = policy.restricted(&overlay(json!({ "disabledTools": ["page_x"] }))).unwrap();
    let refused = off.effective().allows("page_x", Some(Needs::Cdp)).unwrap_err();
    assert!(refused.message.contains("disabledTools"), "{}", refused.message);
    assert_eq!(off.effective().allows("page_y", None), Ok(()));
}

#[test]
fn a_restriction_that_would_loosen_one_of_two_fields_is_refused_whole_and_by_name() {
    let policy = granted(&Policy::default(), json!({ "cdpMode": true }));
    let mixed = overlay(json!({ "cdpMode": false, "evalMask": false }));
    let refused = policy.restricted(&mixed).unwrap_err();
    assert_eq!(refused.code, Code::UserDenied);
    assert!(refused.message.contains("loosen evalMask,"), "{}", refused.message);
}

#[test]
fn a_grant_of_one_field_gives_back_nothing_that_was_taken_away() {
    let policy = granted(&Policy::default(), json!({ "cdpMode": true, "confirmGraceMs": 90_000 }));
    let less = policy.restricted(&overlay(json!({ "confirmGraceMs": 10 }))).unwrap();
    let next = granted(&less, json!({ "pageEvalEnabled": true }));
    assert_eq!(next.effective().confirm_grace_ms, 10);
    let doc = next.baseline().unwrap();
    assert_eq!(
        (doc.revision(), doc.touched()[&Field::PageEvalEnabled], doc.touched()[&Field::CdpMode]),
        (2, 2, 1)
    );
}

#[test]
fn a_check_of_the_host_key_may_come_sooner_and_never_later_and_never_is_the_latest() {
    let (never, hour, minute) = (0, 3_600_000, 60_000);
    let at = |host_reverify_ms| PolicyValues { host_reverify_ms, ..PolicyValues::default() };
    for (before, next, loosens) in [
        (never, hour, false),
        (hour, minute, false),
        (minute, hour, true),
        (hour, never, true),
        (never, never, false),
    ] {
        let loosened = at(before).loosened(&at(next));
        assert_eq!(loosened == [Field::HostReverifyMs], loosens, "{before} to {next}");
    }
}

#[test]
fn only_the_one_form_of_a_document_is_read() {
    let doc =
        Policy::default().granting(&overlay(json!({ "cdpMode": true, "disabledTools": ["a"] }))).unwrap();
    let bytes = doc.written();
    assert_eq!(PolicyDoc::parse(&bytes), Ok(doc));
    let text = String::from_utf8(bytes).unwrap();
    let broken = [
        text.replace("\"v\":1", "\"v\":2"),
        text.replace("\"revision\":1", "\"revision\":0"),
        text.replace("\"cdpMode\":1", "\"cdpMode\":2"),
        text.replace("\"cdpMode\":1", "\"cdpMode\":0"),
        text.replace("\"cdpMode\":true", "\"cdpMode\":null"),
        text.replace("\"evalMask\":true,", ""),
        text.replace("\"evalMask\":true", "\"evalMask\":true,\"evalMask\":true"),
        text.replace("\"evalMask\":true", "\"evalMask\":true,\"more\":true"),
        text.replace("60000", "86400001"),
        text.replace("[\"a\"]", "[\"a\",\"a\"]"),
        text.replace("[\"a\"]", "[\"b\",\"a\"]"),
        text.replace("[\"a\"]", "[\"a,b\"]"),
        text.replace("[\"a\"]", "[\" a\"]"),
        text.replace("[\"a\"]", "[\"\"]"),
        text.replace("{\"v\"", "{ \"v\""),
        format!("{text}\n"),
        " ".repeat(POLICY_BYTES_MAX + 1),
    ];
    for bytes in broken {
        assert_ne!(bytes, text);
        assert!(PolicyDoc::parse(bytes.as_bytes()).is_err(), "{bytes}");
    }
}

#[test]
fn names_of_tools_have_exact_bounds() {
    let policy = granted(&Policy::default(), json!({}));
    let off = |names: Vec<String>| policy.restricted(&overlay(json!({ "disabledTools": names })));
    let many = |count: usize| (0..count).map(|n| format!("t{n:0>3}")).collect::<Vec<_>>();
    assert!(off(many(POLICY_TOOLS_MAX)).is_ok() && off(many(POLICY_TOOLS_MAX + 1)).is_err());
    assert!(off(vec!["x".repeat(POLICY_TOOL_BYTES_MAX)]).is_ok());
    assert!(off(vec!["x".repeat(POLICY_TOOL_BYTES_MAX + 1)]).is_err());
    let longest =
        (0..POLICY_TOOLS_MAX).map(|n| format!("{n:0>3}{}", "\u{1}".repeat(POLICY_TOOL_BYTES_MAX - 3)));
    let doc = policy.granting(&overlay(json!({ "disabledTools": longest.collect::<Vec<_>>() }))).unwrap();
    assert!(PolicyDoc::parse(&doc.written()).is_ok(), "the largest that can be granted can be read");
}

#[test]
fn an_overlay_that_nobody_signed_cannot_loosen_what_was_signed() {
    let signed = Policy::default().granting(&overlay(json!({}))).unwrap();
    let refused = Policy::new(Some(signed), overlay(json!({ "evalMask": false }))).unwrap_err();
    assert!(refused.message.contains("evalMask"), "{}", refused.message);
    assert!(Policy::new(None, overlay(json!({ "cdpMode": true }))).is_err());
}

#[test]
fn the_last_revision_ends_the_counting() {
    let doc = Policy::default().granting(&overlay(json!({}))).unwrap();
    let policy =
        |revision| Policy { baseline: Some(PolicyDoc { revision, ..doc.clone() }), ..Policy::default() };
    let change = overlay(json!({ "cdpMode": true }));
    assert!(policy(SAFE_INTEGER_MAX - 1).granting(&change).is_ok());
    assert!(policy(SAFE_INTEGER_MAX).granting(&change).is_err());
    assert!(
        PolicyDoc::parse(&PolicyDoc { revision: SAFE_INTEGER_MAX + 1, ..doc.clone() }.written()).is_err()
    );
}

#[test]
fn what_is_signed_begins_with_a_domain_that_ends_in_nul() {
    assert_eq!(SIGNED_DOMAIN.split_last(), Some((&0, &b"genkan-policy-v1"[..])));
}

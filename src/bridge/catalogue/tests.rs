use alloc::collections::BTreeSet;
use alloc::vec;

use super::*;
use crate::base::limits::RESULT_CHARS_MAX;

fn checked(name: &str, args: &str) -> Result<(), Refusal> {
    let args: Map<String, Value> = serde_json::from_str(args).expect("an object");
    tool(name).expect("a tool").check(&args)
}

#[test]
fn names_are_unique_and_found_only_exactly() {
    let names: BTreeSet<_> = CATALOGUE.iter().map(|t| t.name).collect();
    assert_eq!(names.len(), CATALOGUE.len());
    for name in names {
        assert!(tool(name).is_some());
        assert!(tool(&name.to_uppercase()).is_none() && tool(&format!("{name} ")).is_none());
    }
}

#[test]
fn each_bridged_tool_is_in_exactly_one_capability() {
    for tool in CATALOGUE {
        assert_eq!(tool.capability.is_some(), tool.scope != Scope::Server, "{}", tool.name);
    }
    let listed: Vec<_> = CAPABILITIES.iter().map(|(c, _)| *c).collect();
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
    assert!(CATALOGUE.iter().filter_map(|t| t.capability).all(|c| listed.contains(&c)));
}

#[test]
fn a_capability_stands_on_what_its_tools_stand_on() {
    for (capability, permissions) in CAPABILITIES {
        let tools = CATALOGUE.iter().filter(|t| t.capability == Some(*capability));
        let union: BTreeSet<_> = tools.map(|t| t.permission).collect();
        assert_eq!(union, permissions.iter().copied().collect(), "{capability:?}");
    }
}

#[test]
fn hints_agree_with_the_risk() {
    for tool in CATALOGUE {
        let hints = tool.annotations;
        assert!(!(hints.read_only && hints.destructive), "{}", tool.name);
        assert_eq!(hints.destructive, tool.risk == Risk::High, "{}", tool.name);
        assert!(!hints.read_only || tool.confirm == Confirm::None, "{}", tool.name);
    }
}

#[test]
fn rules_name_optional_arguments_of_their_tool() {
    for tool in CATALOGUE {
        for rule in tool.rules {
            let (Rule::ExactlyOne(names) | Rule::AtMostOne(names) | Rule::AtLeastOne(names)) = rule;
            for name in *names {
                assert!(tool.args.iter().any(|a| a.name == *name && !a.required), "{} {name}", tool.name);
            }
        }
    }
}

#[test]
fn t177_unknown_case_variant_and_proto_arguments_are_refused() {
    for tool in CATALOGUE {
        let known: Vec<_> = tool.arguments().map(|a| a.name.to_uppercase()).collect();
        for name in
            known.iter().map(String::as_str).chain(["__proto__", "constructor", "", "tabId ", "extra"])
        {
            let args = Map::from_iter([(name.into(), json!(1))]);
            let refusal = tool.check(&args).expect_err("it was taken");
            assert_eq!(refusal.code, Code::InvalidArgument);
            assert!(refusal.message.contains("takes no argument"), "{refusal}");
        }
    }
}

#[test]
fn t177_null_is_refused_for_every_argument() {
    for tool in CATALOGUE {
        for arg in tool.arguments() {
            let args = Map::from_iter([(arg.name.into(), Value::Null)]);
            assert!(tool.check(&args).is_err(), "{} {}", tool.name, arg.name);
        }
    }
}

#[test]
fn t008_an_integer_argument_is_exact() {
    for id in ["1.0", "-0", "-1", "1e2", "9007199254740992", "18446744073709551616", "\"1\"", "true", "[1]"] {
        assert!(checked("tab_focus", &format!(r#"{{"tabId":{id}}}"#)).is_err(), "{id}");
    }
    assert_eq!(checked("tab_focus", r#"{"tabId":9007199254740991}"#), Ok(()));
}

#[test]
fn text_is_bounded_in_bytes() {
    let longest = "é".repeat(SELECTOR_BYTES_MAX / 2);
    assert_eq!(checked("page_click", &format!(r#"{{"selector":"{longest}"}}"#)), Ok(()));
    assert!(checked("page_click", &format!(r#"{{"selector":"{longest}a"}}"#)).is_err());
    assert!(checked("page_click", r#"{"selector":""}"#).is_err());
    assert_eq!(checked("page_fill", r#"{"ref":"e1","value":""}"#), Ok(()));
}

#[test]
fn bounds_are_included_and_nothing_beyond_them() {
    for (size, fits) in [(199, false), (200, true), (RESULT_CHARS_MAX, true), (RESULT_CHARS_MAX + 1, false)] {
        assert_eq!(checked("page_text", &format!(r#"{{"maxChars":{size}}}"#)).is_ok(), fits, "{size}");
    }
}

#[test]
fn rules_over_several_arguments_hold() {
    let cases = vec![
        ("page_click", r#"{}"#, false),
        ("page_click", r#"{"ref":"e1"}"#, true),
        ("page_click", r#"{"ref":"e1","selector":"a"}"#, false),
        ("page_click", r#"{"ref":"e1","modifiers":["Alt","Alt"]}"#, false),
        ("page_click", r#"{"ref":"e1","modifiers":["Alt","Shift"]}"#, true),
        ("page_scroll", r#"{"pixels":10}"#, false),
        ("page_scroll", r#"{"direction":"down"}"#, true),
        ("page_wait_for", r#"{"timeoutMs":500}"#, false),
        ("page_wait_for", r#"{"text":"a","url":"b"}"#, true),
        ("page_fill", r#"{"ref":"e1"}"#, false),
        ("tab_focus", r#"{}"#, false),
    ];
    for (name, args, fits) in cases {
        assert_eq!(checked(name, args).is_ok(), fits, "{name} {args}");
    }
}

#[test]
fn a_refused_argument_name_cannot_forge_lines_in_a_message() {
    let args = Map::from_iter([("a\n\u{1b}[31mSYSTEM:\u{2028}".into(), json!(1))]);
    let refusal = tool("tab_list").expect("a tool").check(&args).expect_err("it was taken");
    assert!(!refusal.message.chars().any(|c| c.is_control() || c == '\u{2028}'), "{refusal:?}");
}

//! Writes arguments at and beyond every bound with the verdict of the Rust check, for a test that both languages agree.

use genkan::bridge::catalogue::{Arg, Kind, Rule, Tool};
use serde_json::{Map, Value, json};

use crate::ops::bridged;
use crate::zod::literal;

/// Texts longer than this are not written out.
const TEXT_BYTES_MAX: usize = 10_000;

/// probes.ts, for the tests only.
pub fn probes() -> String {
    let rows: String = bridged().flat_map(of).map(|row| format!("  {},\n", literal(&row))).collect();
    format!(
        "/** [operation, arguments as JSON (a literal would lose `__proto__`), whether Rust takes them] */\nexport const PROBES: [string, string, boolean][] = [\n{rows}];\n"
    )
}

/// Every argument of one tool with every value, one at a time.
fn of(tool: &'static Tool) -> Vec<Value> {
    let least = least(tool);
    let with = |name: &str, value: Value| {
        let mut args = least.clone();
        args.insert(name.into(), value);
        args
    };
    let changed = tool.args.iter().flat_map(|arg| values(arg.kind).into_iter().map(|v| with(arg.name, v)));
    let lacking = least
        .keys()
        .map(|name| least.iter().filter(|(n, _)| *n != name).map(|(n, v)| (n.clone(), v.clone())).collect());
    let foreign =
        ["__proto__", "constructor", "TABID", "ref ", ""].into_iter().map(|name| with(name, json!(1)));
    let all = [least.clone()].into_iter().chain(changed).chain(lacking).chain(foreign);
    all.map(|args: Map<_, _>| json!([tool.name, literal(&args), tool.check(&args).is_ok()])).collect()
}

/// The fewest arguments the tool takes.
fn least(tool: &Tool) -> Map<String, Value> {
    let chosen = tool.rules.iter().filter_map(|rule| match rule {
        Rule::ExactlyOne(names) | Rule::AtLeastOne(names) => names.first(),
        Rule::AtMostOne(_) => None,
    });
    let chosen: Vec<_> = chosen.collect();
    let needed = tool.args.iter().filter(|arg| arg.required || chosen.contains(&&arg.name));
    needed.map(|arg| (arg.name.into(), simplest(arg))).collect()
}

fn simplest(arg: &Arg) -> Value {
    match arg.kind {
        Kind::Bool => json!(true),
        Kind::Int(min, _) => json!(min),
        Kind::Text(_) | Kind::Value(_) => json!("a"),
        Kind::OneOf(words) => json!(words.first()),
        Kind::SomeOf(words) => json!(words),
    }
}

fn values(kind: Kind) -> Vec<Value> {
    let any = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("a"),
        json!([]),
        json!({}),
        json!("0"),
    ];
    let own = match kind {
        Kind::Bool => vec![json!(false), json!("true")],
        Kind::Int(min, max) => {
            vec![json!(min), json!(min.saturating_sub(1)), json!(max), json!(max + 1), json!(min.to_string())]
        }
        Kind::Text(max) | Kind::Value(max) => texts(max),
        Kind::OneOf(words) => {
            words.iter().map(|w| json!(w)).chain(words.iter().map(|w| json!(w.to_uppercase()))).collect()
        }
        Kind::SomeOf(words) => {
            let first = words.first();
            vec![
                json!(words),
                json!([first]),
                json!([first, first]),
                json!([first, "nonsense"]),
                json!([first, null]),
                json!(first),
            ]
        }
    };
    any.into_iter().chain(own).collect()
}

/// At the bound and above it, in letters of one byte and of two.
fn texts(max: usize) -> Vec<Value> {
    let lengths = [("a", max), ("a", max + 1), ("é", max / 2), ("é", max / 2 + 1)];
    lengths.into_iter().filter(|_| max < TEXT_BYTES_MAX).map(|(letter, n)| json!(letter.repeat(n))).collect()
}

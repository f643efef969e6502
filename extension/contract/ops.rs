//! Writes the operations: the tools a browser serves, with their place in the risk matrix and their argument checks.

use genkan::bridge::catalogue::{Arg, CATALOGUE, Kind, Rule, Scope, Tool};
use serde_json::json;

use crate::zod::{exact, key, literal};

/// The tools that reach the extension.
pub fn bridged() -> impl Iterator<Item = &'static Tool> {
    CATALOGUE.iter().filter(|tool| tool.scope != Scope::Server)
}

/// ops.ts
pub fn ops() -> Result<String, String> {
    let tools: Vec<_> = bridged().collect();
    let rows: Vec<_> = tools.iter().map(|tool| format!("  {},\n", literal(&row(tool)))).collect();
    let checks = tools.iter().map(|tool| Ok(format!("  {}: {},\n", key(tool.name), arguments(tool)?)));
    let checks = checks.collect::<Result<Vec<_>, String>>()?;
    let commands: Vec<_> = tools.iter().map(|tool| command(tool)).collect();
    Ok(format!(
        r#"import {{ z }} from 'zod';

import {{ bytes, given, whole }} from './primitives';

/** Every operation, in the order in which clients see the tools. */
export const OPS = [
{}] as const;
export type Op = (typeof OPS)[number]['name'];

/** One strict validator per operation; `browser` has been taken off before. */
export const ARGS = {{
{}}} as const;
export type ArgsOf<O extends Op> = z.infer<(typeof ARGS)[O]>;

/** An operation with its arguments. */
export const BridgeCommand = z.discriminatedUnion('op', [
{}]);
export type BridgeCommand = z.infer<typeof BridgeCommand>;
"#,
        rows.concat(),
        checks.concat(),
        commands.concat(),
    ))
}

fn row(tool: &Tool) -> serde_json::Value {
    let args: Vec<_> = tool.args.iter().map(|arg| arg.name).collect();
    json!({
        "name": tool.name, "risk": tool.risk, "scope": tool.scope, "permission": tool.permission,
        "confirm": tool.confirm, "capability": tool.capability, "args": args,
    })
}

fn command(tool: &Tool) -> String {
    format!("  z.strictObject({{ op: z.literal({}), args: ARGS.{} }}),\n", literal(tool.name), key(tool.name))
}

fn arguments(tool: &Tool) -> Result<String, String> {
    let each = tool.args.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
    let rules: Vec<_> = tool.rules.iter().map(rule).collect();
    Ok(format!("z.strictObject({{ {} }}){}", each.join(", "), rules.concat()))
}

fn argument(arg: &Arg) -> Result<String, String> {
    let inner = match arg.kind {
        Kind::Bool => "z.boolean()".into(),
        Kind::Int(min, max) => format!("whole({}, {})", exact(min)?, exact(max)?),
        Kind::Text(max) => format!("bytes(1, {max})"),
        Kind::Value(max) => format!("bytes(0, {max})"),
        Kind::OneOf(words) => format!("z.enum({})", literal(words)),
        Kind::SomeOf(words) => format!(
            "z.array(z.enum({})).refine((l) => new Set(l).size === l.length, 'must name each at most once')",
            literal(words)
        ),
    };
    let value = if arg.required { inner } else { format!("z.exactOptional({inner})") };
    Ok(format!("{}: {value}", key(arg.name)))
}

fn rule(rule: &Rule) -> String {
    let (names, test, words) = match rule {
        Rule::ExactlyOne(names) => (names, "=== 1", "exactly one of"),
        Rule::AtMostOne(names) => (names, "<= 1", "at most one of"),
        Rule::AtLeastOne(names) => (names, ">= 1", "at least one of"),
    };
    let sentence = format!("give {words} {}", names.join(", "));
    format!(".refine((a) => given(a, {}) {test}, {})", literal(names), literal(&sentence))
}

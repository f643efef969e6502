//! Writes the frames: strict validators for everything the host sends, plain types for everything it receives.
//! What a schema cannot say stands in [`EXCEPTIONS`], each with who checks it instead and a probe both ways.

use std::collections::BTreeSet;

use genkan::wire::bridge::{BridgeReq, Caller, Notice, Outcome, ProgressState};
use genkan::wire::control::{FromExtension, ToExtension};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::shape::{Branch, Shape, shape};
use crate::zod::{literal, type_of, validator};

/// Which way a frame travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    HostToExtension,
    ExtensionToHost,
}

/// Something that is not derived from a Rust type.
pub struct Exception {
    /// The frame, or `Frame.member`.
    pub at: &'static str,
    pub direction: Direction,
    /// Why it is not derived, and who checks it.
    pub reason: &'static str,
    /// A frame that must be accepted.
    pub accept: &'static str,
    /// The same frame with what must be refused.
    pub refuse: &'static str,
}

/// All of them.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        at: "BridgeReq.args",
        direction: Direction::HostToExtension,
        reason: "differs by operation: the envelope takes any object, dispatch then parses BridgeCommand",
        accept: r#"{"id":1,"op":"tab_list","args":{"limit":1},"caller":{"key":"k","name":"n","image":"","verified":false},"deadline":1}"#,
        refuse: r#"{"id":1,"op":"tab_list","args":[],"caller":{"key":"k","name":"n","image":"","verified":false},"deadline":1}"#,
    },
    Exception {
        at: "BridgeReq.id",
        direction: Direction::HostToExtension,
        reason: "u64 in Rust, safe integers here: ids count from 1 in one run and never come near the bound",
        accept: r#"{"type":"cancel","id":9007199254740991}"#,
        refuse: r#"{"type":"cancel","id":-1}"#,
    },
    Exception {
        at: "BridgeReq.browser",
        direction: Direction::HostToExtension,
        reason: "an Option in Rust: absent or text, never null; both parsers refuse the third state",
        accept: r#"{"id":1,"op":"tab_list","args":{},"browser":"chrome","caller":{"key":"k","name":"n","image":"","verified":false},"deadline":1}"#,
        refuse: r#"{"id":1,"op":"tab_list","args":{},"browser":null,"caller":{"key":"k","name":"n","image":"","verified":false},"deadline":1}"#,
    },
    Exception {
        at: "Outcome.structured",
        direction: Direction::ExtensionToHost,
        reason: "differs by tool: the host passes any object on as structuredContent",
        accept: r#"{"id":1,"ok":true,"data":{"text":"one tab","structured":{"tabs":[]}}}"#,
        refuse: r#"{"id":1,"ok":true,"data":{"text":"one tab","structured":[]}}"#,
    },
    Exception {
        at: "BridgeResp",
        direction: Direction::ExtensionToHost,
        reason: "told apart by a boolean or by a type, which serde cannot derive; Rust reads it by hand",
        accept: r#"{"id":1,"ok":false,"error":{"code":"TAB_NOT_FOUND","message":"m"}}"#,
        refuse: r#"{"id":1,"ok":true,"data":{"text":"t"},"error":{"code":"TAB_NOT_FOUND","message":"m"}}"#,
    },
];

const BRIDGE_RESP: &str = "/** The outcome of one request, or where it stands. */
export type BridgeResp =
  | { id: number; ok: true; data: Outcome; error?: never; type?: never }
  | { id: number; ok: false; error: Refusal; data?: never; type?: never }
  | { type: 'progress'; id: number; state: ProgressState; ok?: never };
";

/// Types that another generated file names already.
const NAMED_ELSEWHERE: [&str; 2] = ["Capability", "Code"];

/// frames.ts
pub fn frames() -> Result<String, String> {
    let mut read = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    read.subschema_for::<ToExtension>();
    read.subschema_for::<Notice>();
    read.subschema_for::<BridgeReq>();
    read.subschema_for::<Caller>();
    let read = definitions(&mut read)?;

    let mut written = SchemaSettings::draft2020_12().for_serialize().into_generator();
    written.subschema_for::<FromExtension>();
    written.subschema_for::<Outcome>();
    written.subschema_for::<ProgressState>();
    let written = definitions(&mut written)?;

    let mut out =
        String::from("import { z } from 'zod';\n\nimport { open, text, whole } from './primitives';\n\n");
    for (name, shape) in &read {
        out += &validated(name, shape);
    }
    out += &host_frame(&read);
    let known: BTreeSet<_> = read.iter().map(|(name, _)| name.as_str()).collect();
    for (name, shape) in written.iter().filter(|(name, _)| !known.contains(name.as_str())) {
        let export = if NAMED_ELSEWHERE.contains(&name.as_str()) { "" } else { "export " };
        out += &format!("{export}type {name} = {};\n", type_of(shape));
    }
    Ok(out + BRIDGE_RESP)
}

/// Every named type that was asked for, after all those it names.
pub fn definitions(generator: &mut SchemaGenerator) -> Result<Vec<(String, Shape)>, String> {
    let schemas = generator.take_definitions(true);
    let open = |at: &str| EXCEPTIONS.iter().any(|e| e.at == at);
    let mut done = Vec::new();
    for name in schemas.keys() {
        define(name, &schemas, &open, &mut Vec::new(), &mut done)?;
    }
    Ok(done)
}

fn define(
    name: &str,
    schemas: &Map<String, Value>,
    open: &impl Fn(&str) -> bool,
    above: &mut Vec<String>,
    done: &mut Vec<(String, Shape)>,
) -> Result<(), String> {
    if done.iter().any(|(known, _)| known == name) {
        return Ok(());
    }
    if above.iter().any(|n| n == name) {
        return Err(format!("{name}: the type holds itself, so its depth has no bound"));
    }
    let schema = schemas.get(name).ok_or(format!("{name}: no such type"))?;
    let shape = shape(schema, name, open)?;
    above.push(name.into());
    for part in named_in(&shape) {
        define(&part, schemas, open, above, done)?;
    }
    above.pop();
    done.push((name.into(), shape));
    Ok(())
}

fn named_in(shape: &Shape) -> Vec<String> {
    match shape {
        Shape::Named(name) => vec![name.clone()],
        Shape::List(item) => named_in(item),
        Shape::Object(members) => members.iter().flat_map(|m| named_in(&m.shape)).collect(),
        Shape::Tagged(_, branches) => branches.iter().flat_map(|b| named_in(&b.shape)).collect(),
        Shape::Verdict(_, sides) => sides.iter().flatten().flat_map(|m| named_in(&m.shape)).collect(),
        Shape::Text | Shape::Flag | Shape::Truth(_) | Shape::Whole(..) | Shape::Words(_) | Shape::Open => {
            Vec::new()
        }
    }
}

fn validated(name: &str, shape: &Shape) -> String {
    if NAMED_ELSEWHERE.contains(&name) {
        return format!("const {name} = {};\n", validator(shape));
    }
    let (before, value) = match frames_of(shape) {
        Some(branches) => {
            let each = branches.iter().map(|b| exported(&branch_name(b), &validator(&b.shape)));
            (each.collect(), format!("z.discriminatedUnion('type', [{}])", branch_names(branches)))
        }
        None => (String::new(), validator(shape)),
    };
    before + &exported(name, &value)
}

/// A union told apart by `type` is a set of frames; each gets its own name.
fn frames_of(shape: &Shape) -> Option<&[Branch]> {
    if let Shape::Tagged(tag, branches) = shape { (tag == "type").then_some(branches) } else { None }
}

fn exported(name: &str, value: &str) -> String {
    format!("export const {name} = {value};\nexport type {name} = z.infer<typeof {name}>;\n")
}

fn host_frame(read: &[(String, Shape)]) -> String {
    let tagged: Vec<_> = read.iter().filter_map(|(_, shape)| frames_of(shape)).map(branch_names).collect();
    let union = format!("z.union([z.discriminatedUnion('type', [{}]), BridgeReq])", tagged.join(", "));
    format!("/** Everything the host may send. */\n{}", exported("HostFrame", &union))
}

fn branch_names(branches: &[Branch]) -> String {
    branches.iter().map(branch_name).collect::<Vec<_>>().join(", ")
}

/// `host_hello` is exported as `HostHello`.
fn branch_name(branch: &Branch) -> String {
    let capital = |part: &str| {
        let (first, rest) = part.split_at(part.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    branch.word.split('_').map(capital).collect()
}

/// exceptions.ts, for the tests only: probes of what we read run there, probes of what we write are type-checked.
pub fn exceptions() -> String {
    let inbound = EXCEPTIONS.iter().filter(|e| e.direction == Direction::HostToExtension);
    let rows = inbound.map(|e| {
        let at = literal(e.at);
        format!(
            "  {{ at: {at}, reason: {}, accept: {}, refuse: {} }},\n",
            literal(e.reason),
            e.accept,
            e.refuse
        )
    });
    let rows: String = rows.collect();
    let outbound = EXCEPTIONS.iter().enumerate().filter(|(_, e)| e.direction == Direction::ExtensionToHost);
    let typed = outbound.map(|(n, e)| {
        format!(
            "// {}: {}\nexport const accept{n}: BridgeResp = {};\n// @ts-expect-error\nexport const refuse{n}: BridgeResp = {};\n",
            e.at, e.reason, e.accept, e.refuse
        )
    });
    format!(
        "import type {{ BridgeResp }} from './frames';\n\nexport const EXCEPTIONS = [\n{rows}] as const;\n\n{}",
        typed.collect::<String>()
    )
}

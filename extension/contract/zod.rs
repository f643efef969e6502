//! Writes shapes as TypeScript: a strict Zod validator for what we read, a plain type for what we write.

use genkan::base::limits::SAFE_INTEGER_MAX;
use serde::Serialize;

use crate::shape::{Member, Shape};

/// primitives.ts: what validators are made of. Zod's compiled mode needs `eval`, which an extension's content
/// security policy forbids; even the attempt is reported as a violation.
pub const PRIMITIVES: &str = r#"import { z } from 'zod';

z.config({ jitless: true });

const utf8 = new TextEncoder();

/** A Rust string: no lone surrogate. */
export const text = () => z.string().refine((s) => !/\p{Surrogate}/u.test(s), 'must be valid Unicode');

/** A Rust string of so many UTF-8 bytes; the cheap test goes first. */
export const bytes = (min: number, max: number) =>
  text().refine((s) => {
    if (s.length > max) return false;
    const size = utf8.encode(s).length;
    return size >= min && size <= max;
  }, `must be text of ${min} to ${max} bytes`);

/** An exact unsigned integer; JSON's -0 is a float to Rust. */
export const whole = (min: number, max: number) =>
  z.int().min(min).max(max).refine((n) => !Object.is(n, -0), 'must be an unsigned integer');

/** Any object, passed on untouched (a Zod record would silently drop `__proto__`): whoever uses it parses it. */
export const open = () =>
  z.custom<Record<string, unknown>>((v) => typeof v === 'object' && v !== null && !Array.isArray(v), 'must be an object');

/** How many of these arguments are there. */
export const given = (args: object, names: readonly string[]) => names.filter((n) => Object.hasOwn(args, n)).length;
"#;

/// A value as a TypeScript literal.
pub fn literal(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|fault| format!("`unwritable: {fault}`"))
}

/// A member's name, quoted where TypeScript needs it.
pub fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.into() } else { literal(name) }
}

/// The validator of a shape.
pub fn validator(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text()".into(),
        Shape::Flag => "z.boolean()".into(),
        Shape::Truth(truth) => format!("z.literal({truth})"),
        Shape::Whole(min, max) => format!("whole({min}, {max})"),
        Shape::Words(words) => match words.as_slice() {
            [one] => format!("z.literal({})", literal(one)),
            many => format!("z.enum({})", literal(many)),
        },
        Shape::List(item) => format!("z.array({})", validator(item)),
        Shape::Object(members) => strict_object(members),
        Shape::Tagged(tag, branches) => {
            let each: Vec<_> = branches.iter().map(|b| validator(&b.shape)).collect();
            format!("z.discriminatedUnion({}, [{}])", literal(tag), each.join(", "))
        }
        Shape::Verdict(flag, sides) => {
            let [yes, no] = sides.each_ref().map(|members| strict_object(members));
            format!("z.discriminatedUnion({}, [{yes}, {no}])", literal(flag))
        }
        Shape::Named(name) => name.clone(),
        Shape::Open => "open()".into(),
    }
}

/// The validator of an object that takes exactly these members.
pub fn strict_object(members: &[Member]) -> String {
    let each = members.iter().map(|m| {
        let inner = validator(&m.shape);
        let value = if m.required { inner } else { format!("z.exactOptional({inner})") };
        format!("{}: {value}", key(&m.name))
    });
    format!("z.strictObject({{ {} }})", each.collect::<Vec<_>>().join(", "))
}

/// The type of a shape.
pub fn type_of(shape: &Shape) -> String {
    match shape {
        Shape::Text => "string".into(),
        Shape::Flag => "boolean".into(),
        Shape::Truth(truth) => truth.to_string(),
        Shape::Whole(..) => "number".into(),
        Shape::Words(words) => words.iter().map(literal).collect::<Vec<_>>().join(" | "),
        Shape::List(item) => format!("({})[]", type_of(item)),
        Shape::Object(members) => object_type(members),
        Shape::Tagged(_, branches) => {
            branches.iter().map(|b| type_of(&b.shape)).collect::<Vec<_>>().join(" | ")
        }
        Shape::Verdict(_, [yes, no]) => format!("{} | {}", object_type(yes), object_type(no)),
        Shape::Named(name) => name.clone(),
        Shape::Open => "Record<string, unknown>".into(),
    }
}

fn object_type(members: &[Member]) -> String {
    let each = members
        .iter()
        .map(|m| format!("{}{}: {}", key(&m.name), if m.required { "" } else { "?" }, type_of(&m.shape)));
    format!("{{ {} }}", each.collect::<Vec<_>>().join("; "))
}

/// Whether both languages hold the bound exactly.
pub fn exact(bound: u64) -> Result<u64, String> {
    if bound <= SAFE_INTEGER_MAX { Ok(bound) } else { Err(format!("{bound} is not exact in TypeScript")) }
}

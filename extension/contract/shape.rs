//! Reads the JSON Schema of a wire type into the few shapes that Zod can check as strictly as the Rust parser.
//!
//! It refuses every keyword and every combination that is not listed here: an open object, a number that is not
//! an exact integer, a union without a tag. A refusal ends the generation, so nothing weaker is ever written.
//! It does not know what the frames mean.

use std::collections::BTreeSet;

use genkan::base::limits::SAFE_INTEGER_MAX;
use serde_json::{Map, Value};

/// What a frame or a part of it may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Text,
    Flag,
    /// This truth value and no other.
    Truth(bool),
    /// An exact integer, bounds included.
    Whole(u64, u64),
    /// One of these words.
    Words(Vec<String>),
    List(Box<Shape>),
    /// Exactly these members.
    Object(Vec<Member>),
    /// One of these objects, told apart by the word under the tag.
    Tagged(String, Vec<Branch>),
    /// Two objects, the first where the flag is true, the second where it is false.
    Verdict(String, [Vec<Member>; 2]),
    /// Another named type.
    Named(String),
    /// Any object: only where [`crate::frames::EXCEPTIONS`] says who checks it instead.
    Open,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub shape: Shape,
    pub required: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub word: String,
    /// [`Shape::Object`], or [`Shape::Verdict`] where two branches share the word.
    pub shape: Shape,
}

type Read<T> = Result<T, String>;
type Schema = Map<String, Value>;

/// Words of a schema that say nothing about what is valid.
const ANNOTATIONS: [&str; 2] = ["description", "title"];

/// The shape of `schema`, which stands at `at`; `open` tells where an open object is excepted.
pub fn shape(schema: &Value, at: &str, open: &impl Fn(&str) -> bool) -> Read<Shape> {
    let schema = schema.as_object().ok_or(format!("{at}: the schema is not an object"))?;
    if let Some(target) = schema.get("$ref") {
        only(schema, &["$ref"], at)?;
        let name = target.as_str().and_then(|t| t.strip_prefix("#/$defs/"));
        return name
            .map(|n| Shape::Named(n.into()))
            .ok_or(format!("{at}: the reference {target} leads out of the file"));
    }
    if let Some(branches) = schema.get("oneOf") {
        only(schema, &["oneOf"], at)?;
        return one_of(array(branches, at)?, at, open);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => text(schema, at),
        Some("boolean") => flag(schema, at),
        Some("integer") => whole(schema, at),
        Some("array") => list(schema, at, open),
        Some("object") => object(schema, at, open),
        _ => Err(format!(
            "{at}: a schema of type {} has no strict equal",
            schema.get("type").unwrap_or(&Value::Null)
        )),
    }
}

fn text(schema: &Schema, at: &str) -> Read<Shape> {
    if let Some(words) = schema.get("enum") {
        only(schema, &["type", "enum"], at)?;
        return array(words, at)?.iter().map(|w| word(w, at)).collect::<Read<_>>().map(Shape::Words);
    }
    if let Some(one) = schema.get("const") {
        only(schema, &["type", "const"], at)?;
        return Ok(Shape::Words(vec![word(one, at)?]));
    }
    only(schema, &["type"], at).map(|()| Shape::Text)
}

fn flag(schema: &Schema, at: &str) -> Read<Shape> {
    only(schema, &["type", "const"], at)?;
    match schema.get("const") {
        None => Ok(Shape::Flag),
        Some(Value::Bool(truth)) => Ok(Shape::Truth(*truth)),
        Some(other) => Err(format!("{at}: {other} is no truth value")),
    }
}

fn whole(schema: &Schema, at: &str) -> Read<Shape> {
    only(schema, &["type", "format", "minimum", "maximum"], at)?;
    let widest = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => u8::MAX.into(),
        Some("uint16") => u16::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        Some("uint64") => SAFE_INTEGER_MAX,
        other => return Err(format!("{at}: an integer of format {other:?} has no exact equal")),
    };
    let bound = |key, none| match schema.get(key) {
        None => Ok(none),
        Some(n) => n.as_u64().ok_or(format!("{at}: {key} {n} is not an unsigned integer")),
    };
    Ok(Shape::Whole(bound("minimum", 0)?, bound("maximum", widest)?.min(widest)))
}

fn list(schema: &Schema, at: &str, open: &impl Fn(&str) -> bool) -> Read<Shape> {
    only(schema, &["type", "items"], at)?;
    let items = schema.get("items").ok_or(format!("{at}: a list without a schema for its items"))?;
    Ok(Shape::List(Box::new(shape(items, &format!("{at}[]"), open)?)))
}

fn object(schema: &Schema, at: &str, open: &impl Fn(&str) -> bool) -> Read<Shape> {
    only(schema, &["type", "properties", "required", "additionalProperties"], at)?;
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        return members(schema, at, open).map(Shape::Object);
    }
    if schema.contains_key("properties") || !open(at) {
        return Err(format!("{at}: the object takes unknown members (deny_unknown_fields is missing)"));
    }
    Ok(Shape::Open)
}

fn members(schema: &Schema, at: &str, open: &impl Fn(&str) -> bool) -> Read<Vec<Member>> {
    let required: BTreeSet<String> = match schema.get("required") {
        None => BTreeSet::new(),
        Some(names) => array(names, at)?.iter().map(|n| word(n, at)).collect::<Read<_>>()?,
    };
    let none = Map::new();
    let properties = schema.get("properties").map_or(Some(&none), Value::as_object);
    let properties = properties.ok_or(format!("{at}: properties is not an object"))?;
    if let Some(lost) = required.iter().find(|name| !properties.contains_key(*name)) {
        return Err(format!("{at}: {lost} is required but has no schema"));
    }
    let member = |(name, schema): (&String, &Value)| {
        let at = format!("{at}.{name}");
        let required = required.contains(name);
        let schema = if required { schema.clone() } else { without_null(schema, &at)? };
        Ok(Member { name: name.clone(), shape: shape(&schema, &at, open)?, required })
    };
    properties.iter().map(member).collect()
}

/// An optional member is absent or there; `null` is a third state that nobody needs, so it is not taken over.
fn without_null(schema: &Value, at: &str) -> Read<Value> {
    let null = Value::from("null");
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut() else { return Ok(schema) };
    if let Some(Value::Array(types)) = fields.get("type") {
        let rest: Vec<_> = types.iter().filter(|t| **t != null).collect();
        let [one] = rest.as_slice() else { return Err(format!("{at}: it may be one of several types")) };
        let one = (*one).clone();
        fields.insert("type".into(), one);
    }
    if let Some(Value::Array(either)) = fields.get("anyOf") {
        let rest: Vec<_> = either.iter().filter(|s| s.get("type") != Some(&null)).collect();
        let [one] = rest.as_slice() else { return Err(format!("{at}: a union without a tag")) };
        let one = (*one).clone();
        only(fields, &["anyOf"], at)?;
        return Ok(one);
    }
    Ok(schema)
}

fn one_of(branches: &[Value], at: &str, open: &impl Fn(&str) -> bool) -> Read<Shape> {
    let shapes = branches.iter().map(|b| shape(b, at, open)).collect::<Read<Vec<_>>>()?;
    let words = |s: &Shape| if let Shape::Words(w) = s { Some(w.clone()) } else { None };
    if let Some(lists) = shapes.iter().map(words).collect::<Option<Vec<_>>>() {
        return Ok(Shape::Words(lists.concat()));
    }
    let objects = shapes.into_iter().map(|s| if let Shape::Object(m) = s { Some(m) } else { None });
    let objects = objects.collect::<Option<Vec<_>>>().ok_or(format!("{at}: a union of unlike things"))?;
    let tag = objects.iter().flatten().find(|m| tag_word(m).is_some()).map(|m| m.name.clone());
    let tag = tag.ok_or(format!("{at}: a union without a tag"))?;
    let mut groups: Vec<(String, Vec<Vec<Member>>)> = Vec::new();
    for members in objects {
        let word = members.iter().find(|m| m.name == tag).and_then(tag_word);
        let word = word.ok_or(format!("{at}: a branch without the tag {tag}"))?;
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, same)) => same.push(members),
            None => groups.push((word, vec![members])),
        }
    }
    let branch = |(word, same): (String, Vec<Vec<Member>>)| {
        let shape = one_branch(same, &format!("{at}.{word}"))?;
        Ok(Branch { word, shape })
    };
    groups.into_iter().map(branch).collect::<Read<Vec<_>>>().map(|branches| Shape::Tagged(tag, branches))
}

/// What stands under one word: one object, or two that a literal flag tells apart.
fn one_branch(same: Vec<Vec<Member>>, at: &str) -> Read<Shape> {
    let truth = |members: &[Member]| {
        let flag = members.iter().find(|m| m.required && matches!(m.shape, Shape::Truth(_)))?;
        if let Shape::Truth(truth) = flag.shape { Some((flag.name.clone(), truth)) } else { None }
    };
    let mut same = same.into_iter();
    match (same.next(), same.next(), same.next()) {
        (Some(one), None, None) => Ok(Shape::Object(one)),
        (Some(a), Some(b), None) => match (truth(&a), truth(&b)) {
            (Some((name, true)), Some((other, false))) if name == other => Ok(Shape::Verdict(name, [a, b])),
            (Some((name, false)), Some((other, true))) if name == other => Ok(Shape::Verdict(name, [b, a])),
            _ => Err(format!("{at}: two branches share a tag")),
        },
        _ => Err(format!("{at}: more than two branches share a tag")),
    }
}

fn tag_word(member: &Member) -> Option<String> {
    if let Shape::Words(words) = &member.shape {
        return words.first().filter(|_| member.required && words.len() == 1).cloned();
    }
    None
}

fn only(schema: &Schema, known: &[&str], at: &str) -> Read<()> {
    match schema.keys().find(|k| !known.contains(&k.as_str()) && !ANNOTATIONS.contains(&k.as_str())) {
        None => Ok(()),
        Some(word) => {
            Err(format!("{at}: the schema word `{word}` cannot be expressed as strictly as Rust checks it"))
        }
    }
}

fn array<'a>(value: &'a Value, at: &str) -> Read<&'a [Value]> {
    value.as_array().map(Vec::as_slice).ok_or(format!("{at}: {value} is not a list"))
}

fn word(value: &Value, at: &str) -> Read<String> {
    value.as_str().map(String::from).ok_or(format!("{at}: {value} is not a word"))
}

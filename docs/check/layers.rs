//! Imports point down, never in a circle, and the layer diagrams say exactly which there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::Faults;
use crate::diagram::diagrams;
use crate::imports::{Import, rust, typescript};
use crate::repo::Repo;
use crate::rust as text;

/// A layer and what it may stand on. What is not written is refused.
type Order = &'static [(&'static str, &'static [&'static str])];

const RUST: Order = &[
    ("base", &[]),
    ("wire", &["base"]),
    ("trust", &["base", "wire"]),
    ("bridge", &["base", "wire", "trust"]),
    ("os", &["base", "wire", "trust"]),
    ("role", &["base", "wire", "trust", "bridge", "os"]),
    ("main", &["base", "os", "role"]),
];

const TYPESCRIPT: Order = &[
    ("contract", &[]),
    ("gate", &["contract"]),
    ("page", &["contract"]),
    ("ui", &["contract", "gate"]),
    ("browser", &["contract", "gate", "page", "ui"]),
    ("host", &["contract", "gate", "page", "ui", "browser"]),
    ("entrypoints", &["contract", "gate", "page", "ui", "browser", "host"]),
];

pub fn check(repo: &Repo) -> Faults {
    let (rust, web) = (rust(repo), typescript(repo));
    let mut faults = Faults::new();
    faults.extend(order("rust", RUST, &rust));
    faults.extend(order("typescript", TYPESCRIPT, &web));
    faults.extend(drawn(repo, "rust", &rust));
    faults.extend(drawn(repo, "typescript", &web));
    // A Rust module is one with its private parts; a TypeScript module is a file.
    faults.extend(circle("rust", &rust, 2));
    faults.extend(circle("typescript", &web, usize::MAX));
    faults.extend(std_in_disguise(repo));
    faults
}

fn layer(path: &[String]) -> &str {
    path.first().map_or("", String::as_str)
}

fn order(language: &str, order: Order, imports: &[Import]) -> Faults {
    let mut faults = Faults::new();
    for import in imports.iter().filter(|i| layer(&i.from) != layer(&i.to)) {
        let (from, to) = (layer(&import.from), layer(&import.to));
        match order.iter().find(|(name, _)| *name == from) {
            None => faults.push(format!("{}: {from} is no layer of the {language} order", import.file)),
            Some((_, below)) if below.contains(&to) => {}
            Some(_) => {
                faults.push(format!("{}: {from} may not import {to} ({})", import.file, import.to.join("/")))
            }
        }
    }
    faults
}

/// The diagram marked `%% layers: LANGUAGE` has the arrows that the code has.
fn drawn(repo: &Repo, language: &str, imports: &[Import]) -> Faults {
    let marked =
        |text: &str| diagrams(text).into_iter().filter(|d| d.layers.as_deref() == Some(language)).collect();
    let found: Vec<(&str, Vec<_>)> = repo.pages().map(|(page, text)| (page, marked(text))).collect();
    let all: Vec<_> = found.iter().flat_map(|(page, list)| list.iter().map(move |d| (*page, d))).collect();
    let [(page, diagram)] = all.as_slice() else {
        return vec![format!("there are {} diagrams of the {language} layers; there must be one", all.len())];
    };
    let arrows: BTreeSet<_> = diagram.edges.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let used = imports.iter().map(|i| (layer(&i.from), layer(&i.to))).filter(|(a, b)| a != b);
    let used: BTreeSet<_> = used.collect();
    let invented = arrows
        .difference(&used)
        .map(|(a, b)| format!("{page}: it draws {a} --> {b}, but no {language} file imports so"));
    let missing = used
        .difference(&arrows)
        .map(|(a, b)| format!("{page}: {language} {a} imports {b}, but it is not drawn"));
    invented.chain(missing).collect()
}

fn circle(language: &str, imports: &[Import], depth: usize) -> Faults {
    let name = |path: &[String]| path.iter().take(depth).cloned().collect::<Vec<_>>().join("/");
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for import in imports {
        let (from, to) = (name(&import.from), name(&import.to));
        // A parent that lists its parts, and a part that names its parent, are one module.
        if from != to {
            graph.entry(from).or_default().insert(to);
        }
    }
    let mut faults = Faults::new();
    let mut done = BTreeSet::new();
    for start in graph.keys() {
        let mut trail = Vec::new();
        if let Some(found) = walk(&graph, start, &mut trail, &mut done) {
            faults.push(format!("{language} modules import each other in a circle: {}", found.join(" -> ")));
        }
    }
    faults
}

fn walk(
    graph: &BTreeMap<String, BTreeSet<String>>,
    at: &str,
    trail: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(first) = trail.iter().position(|seen| seen == at) {
        return Some(trail.iter().skip(first).cloned().chain([at.to_string()]).collect());
    }
    if !done.insert(at.into()) {
        return None;
    }
    trail.push(at.into());
    let found = graph.get(at).into_iter().flatten().find_map(|next| walk(graph, next, trail, done));
    trail.pop();
    found
}

fn std_in_disguise(repo: &Repo) -> Faults {
    let files = repo.below("src/", ".rs");
    let guilty = files.filter(|(_, rust)| text::code(rust).contains("extern crate std"));
    guilty
        .map(|(path, _)| format!("{path}: `extern crate std` would make the no_std build prove nothing"))
        .collect()
}

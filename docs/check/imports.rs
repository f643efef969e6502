//! Who imports whom, read from the product code: tests may reach anywhere.

use std::collections::BTreeSet;

use crate::repo::{Repo, resolve};
use crate::rust;

/// One import: the file, and both ends as module paths, outermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    pub file: String,
    pub from: Vec<String>,
    pub to: Vec<String>,
}

/// Folder of the extension's layers.
const WEB: &str = "extension/src/";

/// Imports between the modules of src/.
pub fn rust(repo: &Repo) -> Vec<Import> {
    let files: Vec<_> = repo.below("src/", ".rs").filter(|(path, _)| !path.ends_with("/tests.rs")).collect();
    let known: BTreeSet<_> = files.iter().map(|(path, _)| module(path)).collect();
    let mut found = BTreeSet::new();
    for (path, text) in files {
        let from = module(path);
        let code = rust::product(&rust::code(text));
        let root = if from == ["main"] { "genkan" } else { "crate" };
        let mut targets = rust::paths(&code, root);
        targets.extend(rust::paths(&code, "super").into_iter().map(|to| above(&from, to)));
        for mut to in targets {
            while !to.is_empty() && !known.contains(&to) {
                to.pop();
            }
            if !to.is_empty() && to != from {
                found.insert(Import { file: path.into(), from: from.clone(), to });
            }
        }
    }
    found.into_iter().collect()
}

/// `src/wire/bridge.rs` is wire::bridge, `src/wire/mod.rs` is wire.
fn module(path: &str) -> Vec<String> {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Vec::new() } else { path.split('/').map(String::from).collect() }
}

/// `super::x::y` seen from a module, with any further `super`.
fn above(from: &[String], to: Vec<String>) -> Vec<String> {
    let ups = 1 + to.iter().take_while(|part| *part == "super").count();
    let base = from.get(..from.len().saturating_sub(ups)).unwrap_or_default();
    base.iter().cloned().chain(to.into_iter().skip(ups - 1)).collect()
}

/// Imports between the files of extension/src/.
pub fn typescript(repo: &Repo) -> Vec<Import> {
    let files = repo.below(WEB, "").filter(|(path, _)| path.ends_with(".ts") || path.ends_with(".tsx"));
    let mut found = BTreeSet::new();
    for (path, text) in files.filter(|(path, _)| !path.contains(".test.")) {
        for target in specifiers(text) {
            if let Some(to) = file(repo, path, target) {
                found.insert(Import { file: path.into(), from: parts(path), to: parts(&to) });
            }
        }
    }
    found.into_iter().filter(|i| i.from != i.to).collect()
}

fn parts(path: &str) -> Vec<String> {
    let name = path.trim_start_matches(WEB);
    let name = name.trim_end_matches(".tsx").trim_end_matches(".ts").trim_end_matches("/index");
    name.split('/').map(String::from).collect()
}

/// What the text imports, re-exports or loads.
fn specifiers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let begins = ["import ", "export ", "}"].iter().any(|word| line.starts_with(word));
        let marks: &[&str] = if begins { &[" from ", "import "] } else { &[] };
        for mark in marks.iter().chain(&["import("]) {
            let quoted = line.split_once(mark).and_then(|(_, rest)| rest.strip_prefix(['\'', '"']));
            found.extend(quoted.and_then(|rest| rest.split(['\'', '"']).next()));
        }
    }
    found
}

/// The file of ours that an import names. The generated contract need not be there; packages and texts are not ours.
fn file(repo: &Repo, from: &str, target: &str) -> Option<String> {
    let path = match target.strip_prefix("@/").or(target.strip_prefix("~/")) {
        Some(inner) => format!("{WEB}{inner}"),
        None => target.starts_with('.').then(|| resolve(from, target))?,
    };
    if path.starts_with(&format!("{WEB}contract")) {
        return Some(path);
    }
    let ends = ["", ".ts", ".tsx", "/index.ts", "/index.tsx"];
    let found = ends.iter().map(|end| format!("{path}{end}")).find(|file| repo.files.contains_key(file))?;
    (found.ends_with(".ts") || found.ends_with(".tsx")).then_some(found)
}

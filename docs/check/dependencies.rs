//! Every package we stand on has a row with its purpose and the reason for choosing it; no row outlives its package.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Faults;
use crate::repo::Repo;

const PAGE: &str = "docs/dependencies.md";

pub fn check(repo: &Repo) -> Faults {
    let mut used = BTreeSet::new();
    for (path, text) in &repo.files {
        match path.rsplit('/').next() {
            Some("Cargo.toml") => used.extend(crates(text)),
            Some("package.json") => used.extend(packages(text)),
            _ => {}
        }
    }
    let rows = repo.text(PAGE).lines().filter_map(|line| line.strip_prefix("| `"));
    let explained: BTreeSet<_> = rows.filter_map(|row| row.split('`').next()).map(String::from).collect();
    let bare = used.difference(&explained).map(|name| format!("{name} has no row in {PAGE}"));
    let dead = explained.difference(&used).map(|name| format!("{PAGE} explains {name}, which nothing uses"));
    bare.chain(dead).collect()
}

fn crates(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section.ends_with("dependencies");
            found.extend(section.rsplit_once("dependencies.").map(|(_, name)| name.to_string()));
        } else if let Some((name, _)) = line.split_once('=').filter(|_| inside && !line.starts_with('#')) {
            let name = name.trim();
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
                found.push(name.into());
            }
        }
    }
    // The fuzz crate stands on the crate itself.
    found.retain(|name| name != "genkan");
    found
}

fn packages(manifest: &str) -> Vec<String> {
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    let sections =
        ["dependencies", "devDependencies"].into_iter().filter_map(|name| manifest.get(name)?.as_object());
    sections.flat_map(|section| section.keys().cloned()).collect()
}

//! The list of attacks: one row each, and what is due has a test that carries its id, and that ran.

use std::collections::{BTreeMap, BTreeSet};

use crate::Faults;
use crate::repo::Repo;

const PAGE: &str = "docs/attacks.md";

pub fn check(repo: &Repo) -> Faults {
    let mut faults = Faults::new();
    let mut due = BTreeMap::new();
    for row in rows(repo.text(PAGE)) {
        let [id, area, attack, layer, when] = row.as_slice() else {
            faults.push(format!("{PAGE}: a row needs id, area, attack, layer and due: {}", row.join(" | ")));
            continue;
        };
        if area.is_empty() || attack.is_empty() || layer.is_empty() || !["now", "later"].contains(when) {
            faults.push(format!("{PAGE}: the row of {id} is not complete, or due is neither now nor later"));
        }
        if due.insert(*id, *when == "now").is_some() {
            faults.push(format!("{PAGE}: {id} stands there twice"));
        }
    }
    if due.is_empty() {
        faults.push(format!("{PAGE}: the list is gone"));
    }
    let tested: BTreeSet<String> =
        repo.files.iter().flat_map(|(path, text)| ids_of_tests(path, text)).collect();
    for id in due.iter().filter(|(_, now)| **now).map(|(id, _)| *id) {
        if !tested.contains(id) {
            faults.push(format!("{id} is due, but no test carries its id"));
        } else if !repo.has_run(|test| ids(test).contains(id)) {
            faults.push(format!("{id} is due, but none of its tests ran"));
        }
    }
    let unknown = tested.iter().filter(|id| !due.contains_key(id.as_str()));
    faults.extend(unknown.map(|id| format!("a test carries the id {id}, which {PAGE} does not list")));
    faults
}

fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with("| T"));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Ids in the names of a file's tests: `fn t006_…` in Rust, a title in TypeScript.
fn ids_of_tests(path: &str, text: &str) -> BTreeSet<String> {
    let named = |line: &&str| {
        let line = line.trim_start();
        if path.ends_with(".rs") {
            // The second form is the name that a table of tests gives its rows.
            line.contains("fn t") || line.starts_with('t') && line.contains([':', '(', ','])
        } else {
            path.contains(".test.") && !line.starts_with(['/', '*'])
        }
    };
    if path.starts_with("docs/") {
        return BTreeSet::new();
    }
    text.lines().filter(named).flat_map(ids).collect()
}

/// Every `t006` or `T006` of a text, in upper case.
fn ids(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let ids = words.filter(|word| {
        word.len() == 4
            && word.starts_with(['t', 'T'])
            && word.get(1..).is_some_and(|n| n.parse::<u16>().is_ok())
    });
    ids.map(str::to_ascii_uppercase).collect()
}

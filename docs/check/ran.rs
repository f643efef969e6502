//! Every diagram ends with the tests that show it; they exist, and where lists of what ran are asked for, they ran.

use crate::Faults;
use crate::diagram::{diagrams, links};
use crate::repo::{Repo, has_word, resolve};
use crate::rust;

const MARK: &str = "Demonstrated by:";

pub fn check(repo: &Repo) -> Faults {
    let mut faults = Faults::new();
    for (page, text) in repo.pages() {
        for diagram in diagrams(text) {
            let at = format!("{page}:{}", diagram.line);
            let cited = diagram.after.split_once(MARK).map(|(_, rest)| links(rest)).unwrap_or_default();
            if cited.is_empty() {
                faults.push(format!("{at}: the diagram does not end with `{MARK}` and links to tests"));
            }
            faults.extend(cited.into_iter().filter_map(|(name, target)| {
                let file = resolve(page, target);
                let name = name.trim_matches('`');
                if !names_test(repo, &file, name) {
                    return Some(format!("{at}: {file} has no test `{name}`"));
                }
                let ran = repo.has_run(|test| test.contains(name));
                (!ran).then(|| format!("{at}: the test `{name}` of {file} did not run"))
            }));
        }
    }
    faults
}

fn names_test(repo: &Repo, file: &str, name: &str) -> bool {
    let text = repo.text(file);
    if file.ends_with(".rs") {
        return name.split("::").all(|part| has_word(&rust::code(text), part));
    }
    ["'", "\"", "`"].iter().any(|quote| text.contains(&format!("{quote}{name}{quote}")))
}

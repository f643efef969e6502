//! Every numbered promise of spec/ is upheld at a named place in the code (`// INVARIANT id`) and shown by a named
//! test (`// SHOWS id`). The reference machine beside it may not name the program it judges.

use std::collections::BTreeSet;

use crate::Faults;
use crate::repo::{Repo, has_word};
use crate::rust;

pub fn check(repo: &Repo) -> Faults {
    let pages: Vec<_> =
        repo.below("spec/", ".rs").filter(|(path, _)| path.matches('/').count() == 1).collect();
    let mut faults = Faults::new();
    let mut promised = BTreeSet::new();
    for (path, text) in &pages {
        if has_word(&rust::code(text), "genkan") {
            faults.push(format!("{path}: the reference machine names the program it judges"));
        }
        for id in ids(text) {
            if !promised.insert(id) {
                faults.push(format!("{path}: {id} is promised twice"));
            }
        }
    }
    let upheld = marks(repo, "INVARIANT ", &["src/", "extension/src/"]);
    let shown =
        marks(repo, "SHOWS ", &["spec/drive/", "model/", "adversarial/", "e2e/", "src/", "extension/"]);
    for id in &promised {
        if !upheld.contains(id) {
            faults.push(format!("{id}: no code says `// INVARIANT {id}`"));
        }
        if !shown.contains(id) {
            faults.push(format!("{id}: no test says `// SHOWS {id}`"));
        }
    }
    let unknown = upheld.union(&shown).filter(|id| !promised.contains(*id));
    faults.extend(unknown.map(|id| format!("{id} is cited in code, but no page of spec/ promises it")));
    faults
}

/// `//! - session-1: …`
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("//! - ")?.split_once(':'))
        .map(|(id, _)| id)
        .filter(|id| is_id(id))
}

fn is_id(word: &str) -> bool {
    let name =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '-');
    word.rsplit_once('-').is_some_and(|(before, number)| number.parse::<u16>().is_ok() && name(before))
}

fn marks<'a>(repo: &'a Repo, mark: &str, folders: &[&'a str]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for (_, text) in folders.iter().flat_map(|folder| repo.below(folder, "")) {
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("// ")?.strip_prefix(mark))
        {
            found.extend(line.split([' ', ',']).filter(|word| is_id(word)));
        }
    }
    found
}

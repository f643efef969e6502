//! Every file that a diagram names exists, and the symbol under it is declared there; in TypeScript it is exported.

use crate::Faults;
use crate::diagram::{Diagram, diagrams};
use crate::repo::{Repo, has_word};
use crate::rust;

pub fn check(repo: &Repo) -> Faults {
    let pages = repo.pages().flat_map(|(page, text)| diagrams(text).into_iter().map(move |d| (page, d)));
    pages.flat_map(|(page, diagram)| boxes(repo, page, &diagram)).collect()
}

fn boxes(repo: &Repo, page: &str, diagram: &Diagram) -> Faults {
    let mut faults = Faults::new();
    for node in &diagram.boxes {
        let Some((path, symbols)) = node.label.split_first().filter(|(first, _)| is_path(first)) else {
            continue;
        };
        if !repo.has(path) {
            faults.push(format!("{page}:{}: there is no file {path}", diagram.line));
            continue;
        }
        let gone = symbols.iter().filter(|symbol| !declared(path, repo.text(path), symbol));
        faults.extend(gone.map(|symbol| format!("{page}:{}: {path} does not offer {symbol}", diagram.line)));
    }
    for id in diagram.edges.iter().flat_map(|(from, to)| [from, to]) {
        if !diagram.boxes.iter().any(|node| node.id == *id) {
            faults.push(format!("{page}:{}: an arrow touches {id}, which is no box", diagram.line));
        }
    }
    faults
}

fn is_path(label: &str) -> bool {
    label.contains('/') && !label.contains(' ') && !label.contains("//")
}

fn declared(path: &str, text: &str, symbol: &str) -> bool {
    let symbol = symbol.trim_end_matches("()");
    if path.ends_with(".rs") {
        let code = rust::code(text);
        return symbol
            .split("::")
            .all(|part| RUST.iter().any(|word| has_word(&code, &format!("{word} {part}"))));
    }
    text.lines().filter(|line| line.starts_with("export ")).any(|line| {
        TYPESCRIPT.iter().any(|word| has_word(line, &format!("{word} {symbol}")))
            || line.starts_with("export {") && has_word(line, symbol)
    })
}

const RUST: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
const TYPESCRIPT: [&str; 6] = ["function", "const", "class", "type", "interface", "enum"];

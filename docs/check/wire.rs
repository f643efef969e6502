//! Every parser of src/wire has the fuzz target of its name, and every target its parser, there or, where a line of a
//! file is a decision's own record, in src/trust.

use std::collections::BTreeSet;

use crate::Faults;
use crate::repo::Repo;

pub fn check(repo: &Repo) -> Faults {
    let parsers: BTreeSet<_> = names(repo, "src/wire/").filter(|name| *name != "mod").collect();
    let targets: BTreeSet<_> = names(repo, "fuzz/fuzz_targets/").collect();
    let manifest = repo.text("fuzz/Cargo.toml");
    let bare =
        parsers.difference(&targets).map(|name| format!("src/wire/{name}.rs has no fuzz target of its name"));
    let lost = targets
        .difference(&parsers)
        .filter(|name| !repo.has(&format!("src/trust/{name}.rs")))
        .map(|name| format!("the fuzz target {name} belongs to no file of src/wire or src/trust"));
    let unbuilt = targets.iter().filter(|name| !manifest.contains(&format!("name = \"{name}\"")));
    let unbuilt = unbuilt.map(|name| format!("fuzz/Cargo.toml does not build the target {name}"));
    bare.chain(lost).chain(unbuilt).collect()
}

fn names<'a>(repo: &'a Repo, folder: &'a str) -> impl Iterator<Item = &'a str> {
    repo.below(folder, ".rs")
        .filter_map(move |(path, _)| path.strip_prefix(folder)?.strip_suffix(".rs"))
        .filter(|n| !n.contains('/'))
}

//! The docs gate: what the pages claim must be true of the code beside them.
//!
//! It refuses a diagram whose boxes, edges or tests do not exist, an import that points up or in a circle, a promise
//! that no code upholds or no test shows, a parser without its fuzz target, an attack that is due without a test, a
//! dependency without a reason. It reads text; whether a test proves what its name says, it does not know.

#[path = "check/attacks.rs"]
mod attacks;
#[path = "check/boxes.rs"]
mod boxes;
#[path = "check/dependencies.rs"]
mod dependencies;
#[path = "check/diagram.rs"]
mod diagram;
#[path = "check/imports.rs"]
mod imports;
#[path = "check/layers.rs"]
mod layers;
#[path = "check/links.rs"]
mod links;
#[path = "check/promises.rs"]
mod promises;
#[path = "check/ran.rs"]
mod ran;
#[path = "check/repo.rs"]
mod repo;
#[path = "check/rust.rs"]
mod rust;
#[path = "check/tests.rs"]
mod tests;
#[path = "check/wire.rs"]
mod wire;

use repo::Repo;

/// What is wrong, one sentence each; empty is good.
type Faults = Vec<String>;
type Rule = fn(&Repo) -> Faults;

/// Every rule with the name under which it is reported.
const RULES: &[(&str, Rule)] = &[
    ("boxes", boxes::check),
    ("links", links::check),
    ("layers", layers::check),
    ("demonstrated", ran::check),
    ("promises", promises::check),
    ("wire", wire::check),
    ("attacks", attacks::check),
    ("dependencies", dependencies::check),
];

fn faults(repo: &Repo) -> Faults {
    RULES
        .iter()
        .flat_map(|(name, rule)| rule(repo).into_iter().map(move |fault| format!("{name}: {fault}")))
        .collect()
}

#[test]
fn docs_gate_holds() {
    let repo = Repo::load(
        env!("CARGO_MANIFEST_DIR").as_ref(),
        std::env::var("GENKAN_REQUIRE_RAN").is_ok_and(|v| v == "1"),
    );
    let faults = faults(&repo);
    assert!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
}

//! The gate itself: a small house in docs/fixtures passes, and each way of breaking it is noticed by its rule.

use std::path::Path;

use crate::faults;
use crate::repo::Repo;

fn house() -> Repo {
    let mut house = Repo::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fixtures"), false);
    house.ran = Some(
        ["wire::door::tests::a_door_opens", "t001_nobody_climbs_in", "a visitor is announced"]
            .map(String::from)
            .into(),
    );
    house
}

/// Changes one text in one file; without a text before, appends.
fn change(house: &mut Repo, path: &str, before: &str, after: &str) {
    let text = house.files.entry(path.into()).or_default();
    assert!(text.contains(before), "{path} has no `{before}`");
    *text = if before.is_empty() { format!("{text}{after}") } else { text.replace(before, after) };
}

#[test]
fn a_house_in_order_passes() {
    assert_eq!(faults(&house()), [""; 0]);
}

macro_rules! notices {
    ($($claim:ident: $path:literal $before:literal => $after:literal, $sentence:literal;)*) => {$(
        #[test]
        fn $claim() {
            let mut house = house();
            change(&mut house, $path, $before, $after);
            let faults = faults(&house);
            assert!(faults.iter().any(|fault| fault.contains($sentence)), "{faults:?}");
        }
    )*};
}

notices! {
    a_box_without_its_file: "docs/page.md" "src/wire/door.rs<br>" => "src/wire/gone.rs<br>",
        "there is no file src/wire/gone.rs";
    a_box_whose_rust_symbol_is_gone: "docs/page.md" "Door::open()" => "Door::close()", "does not offer Door::close()";
    a_box_whose_symbol_is_only_in_a_comment: "src/wire/door.rs" "pub fn open" => "// pub fn open\n    pub fn unlock",
        "does not offer Door::open()";
    a_box_whose_typescript_symbol_is_not_exported: "extension/src/gate/visitor.ts" "export function" => "function",
        "does not offer announce()";
    an_arrow_to_no_box: "docs/page.md" "door --> gate" => "door --> cellar", "an arrow touches cellar";
    a_link_to_nowhere: "docs/page.md" "(attacks.md)" => "(defences.md)", "links: docs/page.md: the link to defences.md";

    an_import_that_points_up: "src/base/hinge.rs" "" => "use crate::{wire::{door::Door}};", "base may not import wire";
    an_import_that_points_up_in_an_expression: "src/base/hinge.rs" "" => "fn f() { g!(crate::wire::door::Door) }",
        "base may not import wire";
    a_layer_that_nobody_ordered: "src/attic/box.rs" "" => "use crate::base::hinge::creak;", "attic is no layer";
    an_arrow_that_no_rust_import_stands_for: "docs/page.md" "wire --> base" => "base --> wire",
        "it draws base --> wire";
    a_rust_import_that_is_not_drawn: "docs/page.md" "  wire --> base\n" => "", "wire imports base, but it is not drawn";
    no_layer_diagram_at_all: "docs/page.md" "%% layers: rust" => "", "there are 0 diagrams of the rust layers";
    std_by_the_back_door: "src/base/hinge.rs" "" => "extern crate std;", "`extern crate std`";

    a_typescript_import_that_points_up: "extension/src/gate/visitor.ts" "" => "import { ring } from '../host/bell';",
        "gate may not import host";
    a_typescript_import_between_neighbours: "extension/src/gate/visitor.ts" "" => "import type { path } from '../page/garden';",
        "gate may not import page";
    a_typescript_re_export_that_points_up: "extension/src/gate/visitor.ts" "" => "export * from '@/host/bell';",
        "gate may not import host";
    a_typescript_import_at_run_time: "extension/src/gate/visitor.ts" "" => "const bell = import('../host/bell');",
        "gate may not import host";
    a_typescript_import_that_is_not_drawn: "docs/page.md" "  host --> gate\n" => "",
        "typescript host imports gate, but it is not drawn";

    a_diagram_that_nothing_demonstrates: "docs/page.md" "Demonstrated by: [a visitor" => "Trust us: [a visitor",
        "demonstrated: docs/page.md:15: the diagram does not end";
    a_cited_test_that_is_gone: "src/wire/door.rs" "fn a_door_opens" => "fn a_door_shuts", "has no test `a_door_opens`";
    a_cited_test_that_is_only_a_comment: "src/wire/door.rs" "fn a_door_opens() {}" => "// fn a_door_opens() {}",
        "has no test `a_door_opens`";
    a_cited_title_that_is_gone: "extension/tests/visitor.test.ts" "announced" => "let in",
        "has no test `a visitor is announced`";

    a_promise_that_no_code_upholds: "src/wire/door.rs" "// INVARIANT door-1" => "", "no code says `// INVARIANT door-1`";
    a_promise_that_no_test_shows: "src/wire/door.rs" "// SHOWS door-1" => "", "no test says `// SHOWS door-1`";
    a_promise_that_nobody_made: "src/wire/door.rs" "// INVARIANT door-1" => "// INVARIANT door-1, door-2",
        "door-2 is cited in code, but no page";
    a_promise_made_twice: "spec/door.rs" "//! - door-1: a door opens." => "//! - door-1: a\n//! - door-1: b",
        "door-1 is promised twice";
    a_machine_that_asks_the_program: "spec/door.rs" "" => "use genkan::wire;", "names the program it judges";

    a_parser_without_fuzz_target: "src/wire/window.rs" "" => "pub fn parse() {}", "src/wire/window.rs has no fuzz target";
    a_fuzz_target_without_parser: "fuzz/fuzz_targets/roof.rs" "" => "//! x", "target roof belongs to no file";
    a_fuzz_target_that_is_not_built: "fuzz/Cargo.toml" "door" => "floor", "does not build the target door";

    an_attack_that_is_due_without_test: "docs/attacks.md" "later" => "now", "T002 is due, but no test";
    an_attack_that_only_a_comment_names: "src/wire/door.rs" "fn t001_nobody_climbs_in() {}" => "fn f() {} // t001",
        "T001 is due, but no test";
    an_attack_listed_twice: "docs/attacks.md" "T002" => "T001", "T001 stands there twice";
    an_attack_with_an_unclear_date: "docs/attacks.md" "later" => "soon", "due is neither now nor later";
    a_test_of_an_attack_that_is_not_listed: "extension/tests/visitor.test.ts" "'a visitor" => "'T099 a visitor",
        "id T099, which docs/attacks.md does not list";
    an_attack_list_that_is_gone: "docs/attacks.md" "| T0" => "| X0", "the list is gone";

    a_crate_without_reason: "Cargo.toml" "serde = \"1\"" => "serde = \"1\"\nrand = \"1\"", "rand has no row";
    a_package_without_reason: "package.json" "\"zod\"" => "\"left-pad\"", "left-pad has no row";
    a_reason_without_package: "Cargo.toml" "serde = \"1\"" => "", "explains serde, which nothing uses";
}

#[test]
fn modules_in_a_circle() {
    let mut house = house();
    change(&mut house, "src/base/hinge.rs", "", "use super::screw::Screw;");
    change(&mut house, "src/base/screw.rs", "", "pub struct Screw;");
    change(&mut house, "extension/src/gate/visitor.ts", "", "import { coat } from './coat';");
    change(&mut house, "extension/src/gate/coat.ts", "", "export const coat = 'wet';");
    assert_eq!(faults(&house), [""; 0], "one way is no circle");

    change(&mut house, "src/base/screw.rs", "", "use crate::base::hinge;");
    change(&mut house, "extension/src/gate/coat.ts", "", "import type { announce } from './visitor';");
    let faults = faults(&house);
    assert!(
        faults.iter().any(|fault| fault.contains("circle: base/hinge -> base/screw -> base/hinge")),
        "{faults:?}"
    );
    assert!(
        faults.iter().any(|fault| fault.contains("circle: gate/coat -> gate/visitor -> gate/coat")),
        "{faults:?}"
    );
}

#[test]
fn a_cited_test_that_did_not_run() {
    let mut house = house();
    house.ran = Some(vec!["t001_nobody_climbs_in".into(), "a visitor is announced".into()]);
    assert!(
        faults(&house).iter().any(|fault| fault.contains("`a_door_opens` of src/wire/door.rs did not run"))
    );
}

#[test]
fn an_attack_whose_tests_did_not_run() {
    let mut house = house();
    house.ran = Some(vec!["a_door_opens".into(), "a visitor is announced".into()]);
    assert!(faults(&house).iter().any(|fault| fault.contains("T001 is due, but none of its tests ran")));
}

//! How a model is explored and how a twin is shown to fail.

use std::fmt::Debug;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `race` under every interleaving (three and more threads: up to three preemptions) and says how many there were.
pub(crate) fn explore(
    name: &str,
    preemptions: Option<usize>,
    race: impl Fn() + Send + Sync + 'static,
) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let mut loom = loom::model::Builder::new();
    loom.preemption_bound = preemptions;
    loom.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        race();
    });
    let executions = count.load(Ordering::Relaxed);
    println!("{name}: {executions} executions");
    executions
}

/// Runs the twin uncut here, and cut in a process of its own: loom cannot unwind a failed model without aborting.
pub(crate) fn expect_found<C: Copy + Debug>(test: &str, cut: C, run: impl Fn(Option<C>) -> usize) {
    if std::env::var_os("GENKAN_MODEL_CUT").is_some() {
        run(Some(cut));
        return;
    }
    run(None);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("GENKAN_MODEL_CUT", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    let found = said.contains("deadlock; threads") || said.contains("panicked at model/");
    assert!(!child.status.success() && found, "loom missed {cut:?}: {said}");
}

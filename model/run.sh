#!/bin/sh
# Runs the loom models over the shipping session, slot and clients; each prints how many executions it explored.
# A private cfg, because `--cfg loom` would take tokio's networking away; a target directory of its own, because the
# flag rebuilds everything; release, because loom is slow; assertions on, because the models are made of them.
set -eu
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg genkan_loom"
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_STRIP=none
# The twins panic by design, thousands of frames deep.
export RUST_BACKTRACE=0
exec cargo test --release --no-default-features --target-dir target/loom --test model_session --test model_clients -- \
  --show-output --test-threads 1 "$@"

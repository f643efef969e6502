#!/usr/bin/env bash
# Builds the program that is handed out: one static position-independent file, with no loader and no library that the
# environment could exchange, and attacks it as such. The explicit target keeps build-time libraries dynamic.
set -euo pipefail
cd "$(dirname "$0")/.."
target="$(uname -m)-unknown-linux-gnu"
CARGO_TARGET_DIR=target/dist RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=pie" \
  cargo build --quiet --release --target "$target"
export GENKAN_BIN="$PWD/target/dist/$target/release/genkan"
cargo test --test dist
echo "dist: $GENKAN_BIN ($(stat -c %s "$GENKAN_BIN") bytes)"

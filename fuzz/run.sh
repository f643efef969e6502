#!/usr/bin/env bash
# Fuzzes every parser for the given seconds each (default 20) and prints how often each ran. Findings stay in fuzz/artifacts,
# new inputs in fuzz/corpus; both are replayed by `cargo test --test fuzz_seeds`.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-20}"

if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "fuzz: installing cargo-fuzz"
  cargo install --quiet --locked cargo-fuzz
fi

# No sanitizer: the code has no unsafe, and this way the stable compiler will do.
cargo fuzz build -s none

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
for source in fuzz/fuzz_targets/*.rs; do
  target="$(basename "$source" .rs)"
  mkdir -p "fuzz/corpus/$target"
  if ! cargo fuzz run -s none "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 >"$log" 2>&1; then
    cat "$log"
    echo "fuzz: $target failed; the input is in fuzz/artifacts/$target"
    exit 1
  fi
  printf 'fuzz: %-10s %10s executions in %s s\n' "$target" \
    "$(awk '/stat::number_of_executed_units/ {print $2}' "$log")" "$seconds"
done

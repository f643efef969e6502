#!/usr/bin/env bash
# Breaks the pure core in every small way that cargo-mutants knows, one at a time, and runs its tests on each. What no test
# notices is printed and ends the run non-zero, unless spec/mutants.txt gives the reason why it changes nothing.
# Takes more than an hour on two cores: `make mutants`, or `make mutants FILE='src/trust/**'` for a part.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo mutants --version >/dev/null 2>&1; then
  echo 'mutants: not run: `cargo install --locked cargo-mutants` first' >&2
  exit 2
fi

out=target/mutants
rm -rf "$out"
mkdir -p "$out"

# Files, and the tests that speak for them.
run() {
  local name=$1 files=$2
  shift 2
  echo "mutants of $files"
  cargo mutants --no-config --output "$out/$name" --no-default-features --file "$files" --timeout 60 --build-timeout 120 \
    --no-shuffle --colors never -- "$@" || case $? in
    2 | 3) ;; # some were not noticed, or ran out of time: judged below
    *) echo "mutants: cargo mutants could not judge $files" >&2 && exit 2 ;;
  esac
}

if [ -n "${FILE:-}" ]; then
  run part "$FILE" --lib
else
  run trust 'src/trust/**' --lib
  run session src/bridge/session.rs --lib --test spec_session
  run wire 'src/wire/**' --lib
fi

# Positions move with every edit; what is replaced in which function does not.
found=$(cat "$out"/*/mutants.out/missed.txt "$out"/*/mutants.out/timeout.txt | sed -E 's/:[0-9]+:[0-9]+:/:/' | sort -u)
unknown=$(grep -vxFf <(sed -E '/^(#|$)/d; s/  # .*//' spec/mutants.txt) <<<"$found" | grep . || true)
cat "$out"/*/mutants.out/caught.txt | wc -l | sed 's/$/ mutants noticed/'
if [ -n "$unknown" ]; then
  printf 'not noticed:\n%s\n' "$unknown"
  exit 1
fi
echo 'mutants: every other one changes nothing, see spec/mutants.txt'

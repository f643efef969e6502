#!/usr/bin/env bash
# What is slow or seldom. Each tool is installed when it can be had; one that cannot says "not run" and fails nothing.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

# tool <command> <crate> <arguments…>
tool() {
  local command=$1 crate=$2
  shift 2
  echo "──── $command"
  if ! command -v "$command" >/dev/null && ! cargo install --locked --quiet "$crate"; then
    echo "$command: not run, it cannot be installed here"
    return
  fi
  "$command" "$@" || failed=1
}

tool typos typos-cli
tool cargo-machete cargo-machete
tool cargo-deny cargo-deny --offline check licenses bans sources
echo "──── fuzz, 20 s a target"
bash fuzz/run.sh 20 || failed=1
exit $failed

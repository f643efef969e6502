#!/usr/bin/env bash
# Brings a fresh Debian with cargo, node, npm and root to the point where everything here can run. Idempotent and quiet when done.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=()
for pair in chromium:chromium Xvfb:xvfb openbox:openbox xdotool:xdotool xprop:x11-utils strace:strace; do
  command -v "${pair%%:*}" >/dev/null || wanted+=("${pair##*:}")
done
[ -d /usr/share/doc/python3.11/html/library ] || [ -d /usr/share/doc/python3/html/library ] || wanted+=(python3-doc)
command -v cc >/dev/null || wanted+=(gcc libc6-dev)
if [ ${#wanted[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: these Debian packages are missing and only root can install them: ${wanted[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${wanted[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
fi

stamp=node_modules/.genkan-lock
if ! cmp -s package-lock.json "$stamp" 2>/dev/null; then
  echo "setup: installing npm packages"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json "$stamp"
fi

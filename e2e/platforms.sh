#!/usr/bin/env bash
# Type-checks the program for macOS and Windows, warnings denied; links and runs nothing. Debian carries a compiler that
# brings the source of its own standard library, so no toolchain of those systems is needed.
#
#   bash e2e/platforms.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

# Some packages ask the C compiler of the target what it is.
packages=(rustc-web cargo-web rust-web-src gcc-mingw-w64-x86-64)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "platforms: these Debian packages are missing and only root can install them: ${missing[*]}" >&2
    exit 1
  fi
  echo "platforms: installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-remove --no-install-recommends "${missing[@]}" >/dev/null
fi

# This compiler is a stable one; it compiles its own standard library only when told that it may.
export PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=target/platforms
unset RUSTUP_TOOLCHAIN RUSTC CARGO
failed=0
targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-pc-windows-gnu aarch64-apple-darwin)
for target in "${targets[@]}"; do
  started=$SECONDS
  if /usr/bin/cargo check -q --locked --lib --bins --target "$target" -Zbuild-std=std,panic_abort \
    -Zwarnings --config 'build.warnings="deny"' --config 'profile.dev.debug=false'; then
    echo "platforms: $target type-checks ($((SECONDS - started)) s)"
  else
    echo "platforms: $target does not type-check ($((SECONDS - started)) s)"
    failed=1
  fi
done
exit $failed

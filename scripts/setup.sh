#!/usr/bin/env bash
# Installs what building and testing imbrex needs on Debian 12, by apt and nothing else. Does
# nothing, without network, where all is there. Needs root or sudo only when something is missing.
set -euo pipefail

packages=(
  # to build: the compilers, the build tools
  g++ cmake ninja-build ccache git
  # what we stand on: LLVM 22 (with lld as a library), Boost (Hana; Context), and what LLVM's own
  # CMake package looks for
  llvm-22-dev llvm-22-tools lld-22 liblld-22-dev zlib1g-dev libzstd-dev
  libboost-dev libboost-context-dev
  # to check: the second compiler, its sanitizers, the formatter and the linter
  clang-22 libclang-rt-22-dev clang-format-22 clang-tidy-22
  # to test: the test framework, exact mathematics to compare with, the scripts' language, and what
  # executes code for AArch64 (12 MB to load, 100 MB on disk; without it the tests of that are skipped)
  doctest-dev libmpfr-dev python3 python3-numpy qemu-user
  # to measure: the framework and the peers
  libbenchmark-dev libdnnl-dev libopenblas-dev
)

# Installed with the others, and not worth an installation of its own: what compiles programs for
# AArch64 (46 MB to load), without which that test is left out.
besides=(g++-aarch64-linux-gnu)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

missing+=("${besides[@]}")
echo "setup: installing ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "setup: this is not Debian; please install the equivalents of the packages above" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run this as root, or install sudo" >&2
    exit 1
  fi
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq
if [ -z "$(apt-cache madison llvm-22-dev)" ]; then
  echo "setup: apt offers no llvm-22-dev; on Debian 12 it comes with bookworm-security" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "setup: apt-get install failed" >&2
  exit 1
fi
echo "setup: done"

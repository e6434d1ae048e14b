#!/usr/bin/env bash
# scripts/fuzz.sh NAME [SECONDS]: runs a fuzz test of tests/fuzz with libFuzzer and the sanitizers,
# for ten minutes unless told. What it finds is kept in build/fuzz-NAME. For 0 seconds it only looks
# whether there is such a test.
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:?usage: scripts/fuzz.sh NAME [SECONDS]}
seconds=${2:-600}
# A call of CMake's stands on one line or on several.
corpus=$(tr '\n' ' ' <tests/fuzz/CMakeLists.txt | grep -o "imbrex_add_fuzz_test($name [^)]*)" |
  sed 's/.*CORPUS *\([^ )]*\).*/\1/') || true
[ -n "$corpus" ] || { echo "fuzz: tests/fuzz has no $name" >&2; exit 1; }
[ -d "tests/fuzz/$corpus" ] || { echo "fuzz: $name has no corpus 'tests/fuzz/$corpus'" >&2; exit 1; }
[ "$seconds" != 0 ] || exit 0

scripts/setup.sh
cmake --preset fuzz
cmake --build --preset fuzz --target "$name"
mkdir -p "build/fuzz-$name"
cd "build/fuzz-$name"
mkdir -p found
export ASAN_OPTIONS=detect_container_overflow=0
exec "../fuzz/tests/fuzz/$name" -max_total_time="$seconds" \
  found "../../tests/fuzz/$corpus"

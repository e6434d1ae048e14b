#!/usr/bin/env bash
# Sets up, builds the examples as a user would, runs each, and prints one table.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
echo "demo: building the examples (the first time takes some minutes)"
mkdir -p build
log=build/demo.log
if ! { cmake --preset release && cmake --build --preset release --target imbrex_examples; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "demo: the build failed; its whole output is in $log" >&2
  exit 1
fi
exec python3 scripts/run_examples.py build/release/examples/examples.txt "$@"

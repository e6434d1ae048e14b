#!/usr/bin/env bash
# Sets up, builds everything and runs every test. The last lines are ctest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset ci
cmake --build --preset ci
ctest --preset ci

#!/usr/bin/env bash
# Sets up, builds everything and runs every test. Behind ctest's summary stands what was skipped on
# this machine, and why, and what failed tests wrote last.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset ci
cmake --build --preset ci
status=0
ctest --preset ci --output-junit "$PWD/build/ci/tests.xml" || status=$?
scripts/report_tests.py build/ci/tests.xml
exit $status

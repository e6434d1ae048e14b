#!/usr/bin/env bash
# scripts_test.sh BUILD: that every script is one that bash can read, and that scripts/nightly.sh and
# scripts/fuzz.sh, which no test run goes through, find what they run.
set -euo pipefail
cd "$(dirname "$0")/../.."
for script in .ci/run scripts/*.sh tests/bundle/*.sh tests/support/*.sh; do
  bash -n "$script"
  [ -x "$script" ] || { echo "$script is no program"; exit 1; }
done
scripts/nightly.sh 0 "$1"

#!/usr/bin/env bash
# What a change must pass before it is merged: format, lint, build, test. `--fix` formats in place.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/format.sh "$@"
python3 scripts/doc_links.py
python3 scripts/code_lines.py
scripts/lint.sh
scripts/test.sh

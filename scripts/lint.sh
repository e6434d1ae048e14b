#!/usr/bin/env bash
# scripts/lint.sh [REGEX…]: clang-tidy over every file, or those whose paths match. Each is read alone,
# without precompiled headers, so that an include that is missing shows; nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset tidy >/dev/null
run-clang-tidy-22 -p build/tidy -quiet -hide-progress -warnings-as-errors='*' "$@"

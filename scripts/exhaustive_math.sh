#!/usr/bin/env bash
# scripts/exhaustive_math.sh [f64 numbers per function] [function]: the errors of the elementary
# functions on every f32 and on many f64, against the bounds of backend/math/elementary.def, and the
# quotients by one divisor against the machine's division. Needs MPFR.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset dev
cmake --build --preset dev --target exhaustive_math exhaustive_quotient
build/dev/tests/exhaustive/exhaustive_quotient
exec build/dev/tests/exhaustive/exhaustive_math "$@"

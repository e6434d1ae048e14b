#!/usr/bin/env bash
# scripts/fuzz_topk.sh [COUNT] [FIRST]: random selections of the k best (tests/kernels), 100,000 unless
# told, from a seed that is another one each day; ctest makes 1,000. What is wrong is printed as the
# command that shows it.
set -euo pipefail
cd "$(dirname "$0")/.."

count=${1:-100000}
first=${2:-$(($(date +%s) / 86400 * 1000000))}
scripts/setup.sh
cmake --preset ci
cmake --build --preset ci --target topk_fuzz
exec build/ci/tests/kernels/topk_fuzz "$first" "$count"

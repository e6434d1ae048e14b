#!/usr/bin/env bash
# scripts/format.sh [--fix]: whether every source of the repository is formatted; --fix does it. Ends
# with 77 where the formatter or the repository is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

for needed in clang-format-22 git; do
  command -v $needed >/dev/null || { echo "SKIP: $needed is not installed"; exit 77; }
done
git rev-parse --git-dir >/dev/null 2>&1 || { echo "SKIP: this is no clone of the repository"; exit 77; }
mapfile -t sources < <(git ls-files '*.h' '*.hpp' '*.cpp')
if [ "${1-}" = --fix ]; then
  clang-format-22 -i "${sources[@]}"
else
  clang-format-22 --dry-run --Werror "${sources[@]}"
fi

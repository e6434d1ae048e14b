#!/usr/bin/env bash
# scripts/nightly.sh [MINUTES]: the proofs that take too long for every change, for about so many
# minutes (120 unless told): all GPUs in place of seven, more processors, new random kernels, other
# orders of warps, the GPU bundle, the fuzz tests. A step that is not done when its share of the
# time is over is no failure.
#   scripts/nightly.sh 0 [BUILD]: only looks whether each step finds something to do, in a build's folder.
set -uo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-120}
fuzz_tests=(fuzz_ir fuzz_npy fuzz_run fuzz_schedule)
build=${2:-$PWD/build/ci}
if [ "$minutes" -ne 0 ]; then
  scripts/setup.sh && cmake --preset ci && cmake --build --preset ci || exit 1
  cmake --preset fuzz && cmake --build --preset fuzz --target "${fuzz_tests[@]}" || exit 1
fi
failed=()

# step PERCENT NAME COMMAND…: a share of the time for a command.
step() {
  local seconds=$((minutes * 60 * $1 / 100)) name=$2 status
  shift 2
  echo "nightly: $name, for $seconds seconds at most"
  [ "$minutes" -ne 0 ] || seconds=60
  timeout --kill-after=10 "$seconds" "$@"
  status=$?
  if [ $status -eq 124 ]; then
    echo "nightly: $name: not all done in its time (a test that says it crashed by SIGTERM was ended here)"
  elif [ $status -ne 0 ]; then
    failed+=("$name")
  fi
}

# Every example on every GPU that there is code for.
examples() {
  local bad=0 target targets program
  targets=$("$build/tools/imbrex" targets | grep -oE '^ *(sm_|gfx)[0-9a-z-]+') || return 1
  [ -s "$build/examples/examples.txt" ] || return 1
  [ "$minutes" -ne 0 ] || return 0
  for target in $targets; do
    while read -r program; do
      (cd "$build/examples" && IMBREX_DEVICE=emulated:$target "$program" >example.log 2>&1) ||
        { echo "nightly: $program on $target"; tail -n 20 "$build/examples/example.log"; bad=1; }
    done <"$build/examples/examples.txt"
  done
  return $bad
}

# Random kernels on every GPU, others each day.
random_kernels() {
  local first=$(($(date +%s) / 86400 * 1000 % 1000000000))
  [ "$minutes" -ne 0 ] || { "$build/tests/run/random_agreement" "$first" 1 all; return; }
  while "$build/tests/run/random_agreement" "$first" 20 all; do first=$((first + 20)); done
  return 1
}

# Random selections of the k best, others each day.
selections() {
  local first=$(($(date +%s) / 86400 * 1000000))
  [ "$minutes" -ne 0 ] || { "$build/tests/kernels/topk_fuzz" "$first" 1; return; }
  while "$build/tests/kernels/topk_fuzz" "$first" 1000; do first=$((first + 1000)); done
  return 1
}

# cases PROGRAM PATTERN: the tests whose names match, those too that ctest does not run.
cases() {
  local count
  count=$("$build/tests/$1" --no-skip "--test-case=$2" --count) || return 1
  [[ $count =~ filters:\ [1-9] ]] || { echo "nightly: $1 has no tests '$2'"; return 1; }
  [ "$minutes" -ne 0 ] || return 0
  (cd "tests/$(dirname "$1")" && "$build/tests/$1" --no-skip "--test-case=$2")
}

# What machines with a GPU are given, and the half of it that needs none.
bundle() {
  [ "$minutes" -ne 0 ] || { cmake --list-presets | grep -q '"bundle"'; return; }
  scripts/gpu-bundle.sh && build/imbrex-gpu-bundle/run.sh none
}
export -f examples random_kernels selections cases bundle
export build minutes

step 15 "examples on every GPU" bash -c examples
step 10 "the semantics page on every GPU" bash -c 'cases run/run_emulated "every emulated GPU*"'
step 10 "orders of warps" bash -c 'cases codegen/codegen_quiet "*any emulated GPU"'
for family in ptx gcn; do
  [ -x "$build/tests/codegen/codegen_table_$family" ] || continue
  step 10 "the semantics page as code ($family)" \
    bash -c "cases codegen/codegen_table_$family '*semantics page*'"
done
step 5 "older and foreign processors" bash -c 'cases run/machines/run_machines "every*agrees"'
step 5 "products of AArch64" bash -c 'cases run/machines/run_machines "any*multiplies*"'
step 10 "random kernels" bash -c random_kernels
step 5 "random selections" bash -c selections
step 5 "mutants of schedules" env IMBREX_MUTANTS=36000 \
  bash -c 'cases unit/schedule/unit_schedule "checker and oracle*,one warp*"'
step 15 "the GPU bundle" bash -c bundle
for fuzz in "${fuzz_tests[@]}"; do
  step 5 "$fuzz" scripts/fuzz.sh "$fuzz" $((minutes * 60 * 4 / 100))
done

[ ${#failed[@]} -eq 0 ] || { printf 'nightly: FAILED: %s\n' "${failed[@]}"; exit 1; }
[ "$minutes" -ne 0 ] || { echo "nightly: every step finds something to do"; exit 0; }
echo "nightly: nothing found"

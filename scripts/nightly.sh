#!/usr/bin/env bash
# scripts/nightly.sh [MINUTES]: the proofs that take too long for every change, for about so many
# minutes (120 unless told): all GPUs in place of seven, more processors, new random kernels, other
# orders of warps, the fuzz tests. A step that is not done when its share of the time is over is no failure.
set -uo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-120}
fuzz_tests=(fuzz_ir fuzz_npy fuzz_run fuzz_schedule)
scripts/setup.sh && cmake --preset ci && cmake --build --preset ci || exit 1
cmake --preset fuzz && cmake --build --preset fuzz --target "${fuzz_tests[@]}" || exit 1
build=$PWD/build/ci
failed=()

# step PERCENT NAME COMMAND…: a share of the time for a command.
step() {
  local seconds=$((minutes * 60 * $1 / 100)) name=$2 status
  shift 2
  echo "nightly: $name, for $seconds seconds at most"
  timeout --kill-after=10 "$seconds" "$@"
  status=$?
  if [ $status -eq 124 ]; then
    echo "nightly: $name: not all done in its time"
  elif [ $status -ne 0 ]; then
    failed+=("$name")
  fi
}

# Every example on every GPU that there is code for.
examples() {
  local bad=0 target program
  for target in $("$build/tools/imbrex" targets | grep -oE '^ *(sm_|gfx)[0-9a-z-]+'); do
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
  while "$build/tests/run/random_agreement" "$first" 20 all; do first=$((first + 20)); done
  return 1
}

skipped() { (cd tests && "$build/tests/$1" --no-skip "--test-case=$2"); }
export -f examples random_kernels skipped
export build

step 15 "examples on every GPU" bash -c examples
step 10 "the semantics page on every GPU" bash -c 'skipped run/run_emulated "every emulated GPU*"'
step 10 "orders of warps" bash -c 'skipped codegen/codegen_quiet "*any emulated GPU"'
for family in ptx gcn; do
  [ -x "$build/tests/codegen/codegen_table_$family" ] || continue
  step 10 "the semantics page as code ($family)" \
    bash -c "skipped codegen/codegen_table_$family '*semantics page*'"
done
step 10 "older and foreign processors" bash -c 'skipped run/machines/run_machines "every*agrees"'
step 10 "random kernels" bash -c random_kernels
step 5 "mutants of schedules" bash -c '(cd tests/unit/schedule &&
  IMBREX_MUTANTS=36000 "$build/tests/unit/schedule/unit_schedule" "--test-case=checker and oracle*,one warp*")'
for fuzz in "${fuzz_tests[@]}"; do
  step 5 "$fuzz" scripts/fuzz.sh "$fuzz" $((minutes * 60 * 4 / 100))
done

[ ${#failed[@]} -eq 0 ] || { printf 'nightly: FAILED: %s\n' "${failed[@]}"; exit 1; }
echo "nightly: nothing found"

#!/usr/bin/env bash
# Runs all that the bundle holds: first what must be right, then what is measured. Needs nothing but
# the driver of a GPU; where there is none it says SKIP. Exits 1 when something failed.
#   ./run.sh [device] [emulated device]      by default cuda and emulated:sm_90a; none ends before it
set -uo pipefail
cd "$(dirname "$0")"
device=${1:-cuda}
emulated=${2:-emulated:sm_90a}
export PATH="$PWD/bin:$PATH"
failed=()
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# step NAME COMMAND…: runs it, and says in one line how it went.
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$scratch/log" 2>&1; then
    echo "ok    $name ($((SECONDS - start)) s) $(grep -E '^(result:|largest|\[doctest\] assertions)' "$scratch/log" | tail -n 1)"
  else
    echo "FAIL  $name"
    tail -n 40 "$scratch/log" | sed 's/^/      /'
    failed+=("$name")
  fi
}

# cases PATTERN: the tests whose names match, of which there must be some.
cases() {
  tests --test-case="$1" && [[ $(tests --test-case="$1" --count) =~ filters:\ [1-9] ]]
}

# launch DEVICE NAME GRID ARGUMENTS OUTPUT ALLOWED: a kernel, against the interpreter's result. The
# GPU runs what was compiled ahead of time, the host and an emulated GPU compile the kernel.
launch() {
  local -a given image=()
  local argument
  [ "$1" != "$device" ] || image=(--image "kernels/$2.fatbin")
  for argument in ${4//,/ }; do given+=(--arg "$argument"); done
  imbrex run "kernels/$2.imx" --device interpreter --grid "$3" "${given[@]}" --out "$5=@$scratch/wanted.npy" &&
    imbrex run "kernels/$2.imx" --device "$1" "${image[@]}" --grid "$3" "${given[@]}" \
      --out "$5=@$scratch/got.npy" &&
    compare "$scratch/got.npy" "$scratch/wanted.npy" "$6"
}

# correctness DEVICE TESTS…: the tests by their names, the examples, the kernels.
correctness() {
  local on=$1 test example name grid arguments output allowed
  shift
  for test in "$@"; do step "tests '$test'" cases "$test"; done
  while read -r example; do
    step "example $example on $on" env IMBREX_DEVICE="$on" "$example"
  done <examples.txt
  while read -r name grid arguments output allowed; do
    step "kernel $name on $on" launch "$on" "$name" "$grid" "$arguments" "$output" "$allowed"
  done < <(grep -v '^#' kernels.txt)
}

has_torch() { python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; }

finish() {
  [ ${#failed[@]} = 0 ] && exit 0
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
}

imbrex targets | sed -n '1,/^$/p'
echo "== host: correctness"
correctness host "the host gives*"
echo "== $emulated: correctness"
correctness "$emulated" "emulated ${emulated#*:} gives*"
for on in host "$emulated"; do step "products and attention on $on" products "$on"; done

[ "$device" != none ] || finish

echo "== $device: correctness"
imbrex run kernels/vector_add.imx --device "$device" --grid 0 --arg p0=zeros:16 --arg p1=zeros:16 \
  --arg p2=zeros:16 >"$scratch/log" 2>&1
if grep -q 'there is no device' "$scratch/log"; then
  echo "SKIP  $(head -n 1 "$scratch/log")"
  finish
fi
correctness "$device" "the ${device%:*} device gives*" "the ${device%:*} device keeps*" \
  "the ${device%:*} device and the interpreter*" "the ${device%:*} device runs a library*"

echo "== $device: speed, beside a copy in the same run"
bench "$device" | tee "$scratch/bench" || failed+=(bench)
if has_torch; then
  python3 peers.py "$scratch/bench" || failed+=(peers)
else
  echo "SKIP  peers: there is no torch that finds a GPU"
fi

echo "== $device: what a launch costs"
IMBREX_DEVICE="$device" launches || failed+=(launches)

echo "== $device: products and attention"
if has_torch; then
  python3 product_peers.py bin/products "$device" || failed+=(product_peers)
else
  echo "SKIP  product_peers: there is no torch that finds a GPU"
  products "$device" || failed+=(products)
fi
finish

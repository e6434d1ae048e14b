#!/usr/bin/env bash
# tests/bundle/fill.sh FOLDER [TARGET…]: adds to a folder with the programs of the bundle in `bin` all
# that run.sh needs beside them, and run.sh. The kernels of the examples are compiled for the targets.
set -euo pipefail
folder=$(realpath "$1")
targets=()
for target in "${@:2}"; do targets+=(--target "$target"); done
cd "$(dirname "$0")/../.."

mkdir -p "$folder"/{kernels,data}
for program in "$folder"/bin/[0-9]*; do basename "$program"; done >"$folder/examples.txt"
cp tests/bundle/{run.sh,peers.py,product_peers.py,interleaved.py,cublas_lt.py,kernels.txt} docs/gpu-bundle.md LICENSE "$folder"
cp bench/static/triton_kernels.py "$folder"
cp examples/08_image_filter/roof.ppm "$folder/data"

# The kernels of the examples, as the examples record them.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
while read -r example; do
  (cd "$folder" && IMBREX_DEVICE=host IMBREX_DUMP="$scratch" "bin/$example" >/dev/null)
done <"$folder/examples.txt"
for kernel in "$scratch"/*/; do
  name=$(basename "$kernel")
  cp "$kernel/00-traced.imx" "$folder/kernels/$name.imx"
  [ ${#targets[@]} -eq 0 ] || "$folder/bin/imbrex" compile "$folder/kernels/$name.imx" \
    "${targets[@]}" --emit fatbin -o "$folder/kernels/$name.fatbin"
done

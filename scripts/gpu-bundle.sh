#!/usr/bin/env bash
# Packs a folder, and a tarball of it, that runs on any x86-64 Linux from glibc 2.36 on with nothing but
# the driver of an NVIDIA GPU: the tests of semantics, the examples, `imbrex`, kernels compiled ahead of
# time, a benchmark, and run.sh, which runs them all. docs/gpu-bundle.md says more.
#   scripts/gpu-bundle.sh [tarball]      by default build/imbrex-gpu-bundle.tar.gz
set -euo pipefail
cd "$(dirname "$0")/.."
tarball=$(realpath -m "${1:-build/imbrex-gpu-bundle.tar.gz}")
folder=$PWD/build/imbrex-gpu-bundle
most_bytes=$((64 << 20))

cmake --preset bundle >build/bundle.log 2>&1 && cmake --build --preset bundle --target imbrex_bundle >>build/bundle.log 2>&1 || {
  tail -n 40 build/bundle.log >&2
  echo "gpu-bundle: the build failed; its whole output is in build/bundle.log" >&2
  exit 1
}

rm -rf "$folder"
mkdir -p "$folder"/{bin,kernels,data}
strip -o "$folder/bin/imbrex-bundle" build/bundle/tests/bundle/imbrex-bundle
for part in $(build/bundle/tests/bundle/imbrex-bundle 2>&1 | sed 's/.*the parts are//'); do
  ln -s imbrex-bundle "$folder/bin/$part"
  case $part in [0-9]*) echo "$part" >>"$folder/examples.txt" ;; esac
done
cp tests/bundle/{run.sh,peers.py,kernels.txt} docs/gpu-bundle.md LICENSE "$folder"
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
  "$folder/bin/imbrex" compile "$folder/kernels/$name.imx" --target sm_80 --target sm_90a --target sm_120a \
    --emit fatbin -o "$folder/kernels/$name.fatbin"
done

mkdir -p "$(dirname "$tarball")"
tar -C "$(dirname "$folder")" --sort=name --owner=0 --group=0 --mtime=@0 -cf - "$(basename "$folder")" | gzip -9n >"$tarball"
bytes=$(stat -c %s "$tarball")
echo "$tarball: $((bytes >> 10)) KiB; unpacked $(du -sk "$folder" | cut -f1) KiB"
readelf -d "$folder/bin/imbrex-bundle" | sed -n 's/.*NEEDED.*\[\(.*\)\]/needs \1/p'
[ "$bytes" -lt "$most_bytes" ] || { echo "gpu-bundle: larger than $most_bytes bytes" >&2; exit 1; }

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
mkdir -p build

cmake --preset bundle >build/bundle.log 2>&1 && cmake --build --preset bundle --target imbrex_bundle >>build/bundle.log 2>&1 || {
  tail -n 40 build/bundle.log >&2
  echo "gpu-bundle: the build failed; its whole output is in build/bundle.log" >&2
  exit 1
}

rm -rf "$folder"
mkdir -p "$folder/bin"
strip -o "$folder/bin/imbrex-bundle" build/bundle/tests/bundle/imbrex-bundle
for part in $(build/bundle/tests/bundle/imbrex-bundle 2>&1 | sed 's/.*the parts are//'); do
  ln -s imbrex-bundle "$folder/bin/$part"
done
tests/bundle/fill.sh "$folder" sm_80 sm_90a sm_120a
mkdir -p "$(dirname "$tarball")"
tar -C "$(dirname "$folder")" --sort=name --owner=0 --group=0 --mtime=@0 -cf - "$(basename "$folder")" | gzip -9n >"$tarball"
bytes=$(stat -c %s "$tarball")
echo "$tarball: $((bytes >> 10)) KiB; unpacked $(du -sk "$folder" | cut -f1) KiB"
readelf -d "$folder/bin/imbrex-bundle" | sed -n 's/.*NEEDED.*\[\(.*\)\]/needs \1/p'
[ "$bytes" -lt "$most_bytes" ] || { echo "gpu-bundle: larger than $most_bytes bytes" >&2; exit 1; }

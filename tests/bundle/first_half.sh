#!/usr/bin/env bash
# tests/bundle/first_half.sh FOLDER BUILD: the bundle with the programs of a build in place of the one
# that scripts/gpu-bundle.sh makes of them, and what run.sh runs of it without a GPU.
set -euo pipefail
folder=$1
build=$2
rm -rf "$folder"
mkdir -p "$folder/bin"
ln -s "$build/tools/imbrex" "$build/tests/bundle/"{compare,products} "$folder/bin"
while read -r example; do ln -s "$example" "$folder/bin"; done <"$build/examples/examples.txt"
# Its tests are several programs here, of which each knows some of the cases.
cat >"$folder/bin/tests" <<END
#!/usr/bin/env bash
set -e
"$build/tests/run/run" "\$@"
"$build/tests/run/run_emulated" "\$@"
END
chmod +x "$folder/bin/tests"
"$(dirname "$0")/fill.sh" "$folder"
exec "$folder/run.sh" none

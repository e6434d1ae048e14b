"""Whatever a public header reaches is the standard library, Boost, or another public header: no
LLVM, no vendor, nothing of the compiler. And each public header compiles alone, without a warning
from the warnings that users have on."""

import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = [ROOT / "dsl" / "include", ROOT / "runtime" / "include"]
FOREIGN = ("llvm", "clang", "lld", "cuda", "hip", "hsa", "nvvm")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def is_foreign(path):
    if path.is_relative_to(ROOT):
        return not any(path.is_relative_to(public) for public in PUBLIC)
    below_include = str(path).lower().rpartition("/include/")[2]  # /usr/lib/llvm-22/include/…
    return any(part.startswith(FOREIGN) for part in below_include.split("/"))


def complaints(compiler, header):
    with tempfile.TemporaryDirectory() as folder:
        source, dependencies = pathlib.Path(folder) / "one.cpp", pathlib.Path(folder) / "one.d"
        source.write_text(f"#include <{header}>\n")
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, "-MD", "-MF",
                               dependencies, *(f"-I{path}" for path in PUBLIC), source],
                              stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode != 0:
            return [f"{header} does not compile alone:\n{done.stderr}"]
        words = dependencies.read_text().replace("\\\n", " ").split()[1:]
        reached = [pathlib.Path(word).resolve() for word in words if word != str(source)]
        return [f"{header} reaches {path}" for path in reached if is_foreign(path)]


def main(compiler):
    headers = sorted(path.relative_to(public) for public in PUBLIC for path in public.rglob("*.hpp"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [text for texts in pool.map(lambda header: complaints(compiler, header), headers)
                 for text in texts]
    print(f"{len(headers)} public headers")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1])

"""Whatever a public header reaches is the standard library, Boost, or another public header: no
LLVM, no vendor, nothing of the compiler. And each public header compiles alone, without a warning
from the warnings that users have on, whatever else they compile with. A compiler that cannot read
them is told so in one sentence. What is linked without the compiler reaches nothing but itself."""

import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = [ROOT / folder / "include"
          for folder in ("dsl", "runtime", "runtime/aot", "runtime/generator", "kernels")]
# What programs link that have no compiler in them, and what of other folders is headers alone.
WITHOUT_COMPILER = [ROOT / path for path in (
    "runtime/aot", "backend/launching", "backend/package/choice", "backend/support/float_state.h",
    "backend/support/lifetime.h", "dsl/include/imbrex/element_types.hpp",
    "dsl/include/imbrex/detail/small_float.hpp", "dsl/include/imbrex/detail/compiler.hpp")]
FOREIGN = ("llvm", "clang", "lld", "cuda", "hip", "hsa", "nvvm")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

# Without exceptions, what throws ends the program; what gives its error as a value needs none.
FLAGS = [["-O3", "-ffast-math"], ["-fno-exceptions", "-fno-rtti"],
         ["-Wold-style-cast", "-Wfloat-equal", "-Wnon-virtual-dtor"]]
EXAMPLE = ROOT / "examples" / "03_softmax" / "main.cpp"
READING = ["g++", "clang++-22"]
# A standard that is too old, and a compiler: clang 14 is what Debian 12 calls clang.
REFUSED = [["-std=c++17"], ["-std=c++20", "clang++-14"]]


def is_foreign(path, own):
    if path.is_relative_to(ROOT):
        return not any(path.is_relative_to(folder) for folder in own)
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
        return [f"{header} reaches {path}" for path in reached if is_foreign(path, PUBLIC)]


def leaving(compiler, source):
    """What a source that is linked without the compiler reaches elsewhere."""
    done = subprocess.run([compiler, "-std=c++20", "-M", f"-I{ROOT}",
                           *(f"-I{path}" for path in PUBLIC), source],
                          stdout=subprocess.PIPE, text=True, check=True)
    reached = [pathlib.Path(word).resolve() for word in done.stdout.replace("\\\n", " ").split()[1:]]
    return [f"{source} reaches {path}" for path in reached if is_foreign(path, WITHOUT_COMPILER)]


def flagged(compiler, flags):
    """All headers at once, and an example, under the flags of some project."""
    # Some warnings are the optimiser's.
    how = ["-S", "-o", "/dev/null"] if "-O3" in flags else ["-fsyntax-only"]
    done = subprocess.run([compiler, "-std=c++20", *how, *WARNINGS, *flags,
                           *(f"-I{path}" for path in PUBLIC), EXAMPLE],
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        return [f"{EXAMPLE} does not compile with {compiler} {' '.join(flags)}:\n{done.stderr}"]
    return []


def refused(compiler, standard, header):
    """One sentence of ours, and one about the file that is missing in order to stop there."""
    done = subprocess.run([compiler, standard, "-fsyntax-only", "-x", "c++",
                           *(f"-I{path}" for path in PUBLIC), "-include", header, "/dev/null"],
                          stderr=subprocess.PIPE, text=True, errors="replace")
    errors = re.findall(r"error: (.*)", done.stderr)
    sentence = r'(#error )?"imbrex needs .*g\+\+ 12 or later,? or clang\+\+ 16 or later.*"'
    if len(errors) == 2 and re.fullmatch(sentence, errors[0]) and "imbrex/needs_" in errors[1]:
        return []
    return [f"{compiler} {standard} is not refused by {header} in one sentence:\n{done.stderr}"]


def jobs(compiler):
    headers = sorted(path.relative_to(public) for public in PUBLIC for path in public.rglob("*.hpp"))
    print(f"{len(headers)} public headers")
    for header in headers:
        yield complaints, compiler, header
        for standard, *other in REFUSED:
            name = other[0] if other else compiler
            if shutil.which(name) and header.parent.name == "imbrex":
                yield refused, name, standard, header
    for folder in WITHOUT_COMPILER:
        for source in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.hpp")]):
            yield leaving, compiler, source
    for name in READING:
        if shutil.which(name):
            for flags in FLAGS:
                yield flagged, name, flags


def main(compiler):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [text for texts in pool.map(lambda job: job[0](*job[1:]), jobs(compiler))
                 for text in texts]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1])

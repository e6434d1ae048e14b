#!/usr/bin/env python3
"""Fails when a vendor's word stands in a C++ source outside the folders whose job it is.

Passes ask the machine's data and never a vendor (CONTRIBUTING.md, rule 6): such a word elsewhere
means that a pass has begun to know which machine it serves.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = set("""nvptx ptx ptxas cuda nvidia nvrtc cubin fatbin wgmma tcgen cublas cudnn
               amdgpu amd hip hiprtc rocm hsa hsaco mfma wmma rocblas gfx""".split())
SOURCES = {".h", ".hpp", ".cpp", ".def"}
FOLDERS = ("backend", "dsl", "runtime", "tools", "examples", "tests", "bench", "kernels")
# Below these, and below the folders of tests that mirror them, a vendor may be named.
ALLOWED = {"machine", "target", "emulate", "package", "runtime", "codegen"}
# The table of all variables of a process, some of which are about one vendor's driver.
TABLES = {"backend/support/environment.def"}

# The parts of an identifier: `NvptxTarget`, `load_ptx` and `sm90PTX` each have one of the words.
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def offences(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        for word in PARTS.findall(line):
            if word.lower() in WORDS:
                yield f"{path.relative_to(ROOT)}:{number}: '{word}'"


def main():
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            parents = set(path.relative_to(ROOT).parts[:-1])
            is_allowed = parents & ALLOWED or str(path.relative_to(ROOT)) in TABLES
            if path.suffix in SOURCES and not is_allowed:
                found += offences(path)
    print(*found, sep="\n")
    if found:
        sys.exit("vendor words belong under backend/machine, target, emulate, package and runtime")


if __name__ == "__main__":
    main()

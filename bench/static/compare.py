#!/usr/bin/env python3
"""Our code of five kernels beside what nvcc and clang make of the same kernels by hand (rivals.cu):
registers, instructions, spills, stack, widths of accesses to global memory, and bank conflicts of
ours. No GPU is needed. docs/performance.md says what is compared.

    compare.py build/dev/bench/static/bench_static [results.jsonl]
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NVIDIA, AMD = "sm_90a", "gfx942"
# Rivals that promise less than ours; for comparison.
VARIANTS = {"vector_add": ["vector_add", "vector_add_int"],
            "softmax": ["softmax", "softmax_vendor_exp"]}
SASS_BYTES = 16
# The low 12 bits of an instruction of sm_70 and later; the branch to itself ends every function.
SASS_NOP, SASS_BRANCH = 0x918, 0x947


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def find_tool(*names):
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", "/usr/lib/llvm-22/bin"]
    return next(filter(None, (shutil.which(n, path=":".join(folders)) for n in names)), None)


def text_sections(image):
    """The name and the content of each section of an ELF file of 64 bits that holds code."""
    table, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3a)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        start = headers[names][4] + name
        text = image[start:image.index(b"\0", start)].decode()
        if text.startswith(".text"):
            yield text, image[offset:offset + length]


def sass_count(code):
    words = [struct.unpack_from("<Q", code, at)[0] for at in range(0, len(code), SASS_BYTES)]
    opcodes = [word & 0xfff for word in words]
    while opcodes and opcodes[-1] == SASS_NOP:
        opcodes.pop()
    if opcodes and opcodes[-1] == SASS_BRANCH:
        opcodes.pop()
    return len(opcodes)


def nvidia_counts(path):
    """Instructions by kernel. Subroutines (division, square root) that the assembler put into
    sections of their own belong to the only kernel of such an image."""
    counts = {name.removeprefix(".text."): sass_count(code)
              for name, code in text_sections(pathlib.Path(path).read_bytes())}
    routines = sum(counts.pop(name) for name in list(counts) if name.startswith("__cuda"))
    if routines:
        kernel, = counts
        counts[kernel] += routines
    return counts


def amd_counts(path):
    """Instructions by kernel, up to the last that ends it; what follows is padding."""
    codes = {}
    for line in run(find_tool("llvm-objdump-22", "llvm-objdump"), "-d", path).splitlines():
        if start := re.fullmatch(r"[0-9a-f]+ <(\w+)>:", line):
            code = codes.setdefault(start[1], [])
        elif found := re.match(r"\s+([a-z]\w+)", line):
            code.append(found[1])
    return {name: len(code) - code[::-1].index("s_endpgm") for name, code in codes.items()
            if "s_endpgm" in code}


def nvidia_rivals(folder):
    compiler = find_tool("nvcc")
    if not compiler:
        return None
    image = folder / "rivals.cubin"
    log = run(compiler, "-O3", f"-arch={NVIDIA}", "-std=c++17", "-cubin", "-Xptxas", "-v",
              "-o", image, HERE / "rivals.cu")
    registers = dict(re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", log, re.S))
    return {name: {"registers": int(registers[name]), "instructions": count}
            for name, count in nvidia_counts(image).items()}


def amd_rivals(folder):
    compiler = find_tool("clang++-22")
    if not compiler:
        return None
    assembly, image = folder / "rivals.s", folder / "rivals.o"
    run(compiler, "-x", "hip", "--offload-device-only", f"--offload-arch={AMD}", "-nogpuinc",
        "-nogpulib", "-std=c++17", "-O3", "-S", "-o", assembly, HERE / "rivals.cu")
    run(compiler, "-target", "amdgcn-amd-amdhsa", f"-mcpu={AMD}", "-c", assembly, "-o", image)
    registers = dict(re.findall(r"\.name: +(\w+)\n.*?\.vgpr_count: +(\d+)", assembly.read_text(),
                                re.S))
    return {name: {"registers": int(registers[name]), "instructions": count}
            for name, count in amd_counts(image).items() if name in registers}


def compare(program, folder):
    rivals = {NVIDIA: nvidia_rivals(folder), AMD: amd_rivals(folder)}
    counters = {NVIDIA: nvidia_counts, AMD: amd_counts}
    for target, found in rivals.items():
        if found is None:
            print(f"{target}: the rival's compiler is not on this machine", file=sys.stderr)
    for line in run(program, folder, *rivals).splitlines():
        ours = json.loads(line)
        kernel, target, image = ours["kernel"], ours["target"], ours.pop("image")
        ours["instructions"] = counters[target](image)[kernel] if image else None
        for rival in VARIANTS.get(kernel, [kernel]):
            theirs = (rivals[target] or {}).get(rival)
            yield ours | {"rival": rival, "theirs": theirs}


def ratio(ours, theirs):
    if not ours or not theirs:
        return f"{ours or '-'} / {theirs or '-'}"
    return f"{ours} / {theirs} = {ours / theirs:.2f}"


def widths(row):
    return ", ".join(" ".join(f"{n}x{b}" for b, n in row[key].items())
                     for key in ("load_widths", "store_widths"))


def print_table(rows):
    print("| kernel | target | registers | instructions | spilled, stack | loads, stores x bytes "
          "| bank conflicts |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        theirs = row["theirs"] or {}
        is_other = row["rival"] != row["kernel"]
        name = f"{row['kernel']} against {row['rival']}" if is_other else row["kernel"]
        print(f"| {name} | {row['target']} | {ratio(row['registers'], theirs.get('registers'))} "
              f"| {ratio(row['instructions'], theirs.get('instructions'))} "
              f"| {row['spilled_bytes']}, {row['stack_bytes']} | {widths(row)} "
              f"| {row['bank_conflicts']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", help="bench_static")
    parser.add_argument("results", nargs="?", help="a file that lines of JSON are added to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(compare(options.program, pathlib.Path(folder)))
    print_table(rows)
    if options.results:
        commit = run("git", "-C", HERE, "rev-parse", "--short", "HEAD").strip()
        head = {"date": datetime.date.today().isoformat(), "commit": commit}
        with open(options.results, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in [head, *rows])


if __name__ == "__main__":
    main()

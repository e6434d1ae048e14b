#!/usr/bin/env python3
"""The inner loops of our products of matrices and of attention beside those of Triton, which both
are compiled without a GPU, by the same assembler: instructions of a warp for each step, registers,
shared memory, spills. docs/performance.md says what is compared.

    products.py build/ci/bench/static/bench_products --triton PYTHON [--targets sm_80,gfx942]
                [--only gemm_bf16] [--keep FOLDER] [--save results.jsonl]
                [--explain] [--in-order]

PYTHON is one that has Triton (`pip install triton`), whose package brings NVIDIA's assembler and
disassembler. Without it, our kernels alone are counted, where these tools are found. `--keep` is a
folder for Triton's code, which is not made again where it is there already. `--explain` prints both
loops beside each other by kind of instruction, `--in-order` as they stand.
"""

import argparse
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compare
import loops

TARGETS = "sm_80,sm_89,sm_90a,sm_120a,gfx942,gfx950,gfx1100,gfx1201"


class Tools:
    """NVIDIA's, those that Triton brings first: both sides are to be made by one assembler."""

    def __init__(self, python):
        self.folder = None
        if python:
            self.folder = pathlib.Path(compare.run(
                python, "-c", "import triton, os; print(os.path.dirname(triton.__file__))").strip()
            ) / "backends/nvidia/bin"

    def find(self, name):
        if self.folder and (self.folder / name).exists():
            return str(self.folder / name)
        return compare.find_tool(name)

    def assembler(self, target):
        # As Triton chooses.
        is_new = re.match(r"sm_1\d\d", target)
        return (self.find("ptxas-blackwell") if is_new else None) or self.find("ptxas")

    def toolkit(self, target, folder):
        """A folder as IMBREX_TOOLKIT wants it, with that assembler alone."""
        assembler = self.assembler(target)
        place = pathlib.Path(folder) / f"toolkit.{target}" / "bin"
        place.mkdir(parents=True, exist_ok=True)
        if assembler and not (place / "ptxas").exists():
            (place / "ptxas").symlink_to(os.path.realpath(assembler))
        return str(place.parent)

    def versions(self, targets):
        found = {}
        for target in targets:
            if target.startswith("sm_") and (assembler := self.assembler(target)):
                version = re.search(r"V([\d.]+)", compare.run(assembler, "--version"))
                found.setdefault(f"ptxas {version[1]}", []).append(target)
        return found


def has_triton(python):
    return bool(shutil.which(python)) and subprocess.run(
        [python, "-c", "import triton"], capture_output=True).returncode == 0


def versions(tools, python, targets):
    found = {"assemblers": tools.versions(targets)}
    if python:
        found["triton"] = compare.run(python, "-c",
                                      "import triton; print(triton.__version__)").strip()
    return found


def warp_of(target):
    return 64 if target.startswith("gfx9") else 32


def wanted_products(case, warps):
    """Of a warp in a step: multiplications with their additions."""
    return case["m"] * case["n"] * case["k"] * case["products"] // warps


def disassembly(tools, image):
    """What NVIDIA's tools say of an image: code, and what it takes. Kept beside it, as they are
    slow; None where there are no tools."""
    kept = pathlib.Path(f"{image}.sass")
    if kept.exists() and kept.stat().st_mtime >= os.path.getmtime(image):
        return kept.read_text()
    disassembler, dump = tools.find("nvdisasm"), tools.find("cuobjdump")
    if not disassembler or not dump:
        return None
    code = subprocess.run([disassembler, "-c", image], capture_output=True, text=True, check=True)
    kept.write_text(code.stdout + compare.run(dump, "-res-usage", image))
    return kept.read_text()


def nvidia_code(tools, image):
    text = disassembly(tools, image) if image else None
    if text is None:
        return None
    code, labels = loops.parse_sass(text)
    stack = sum(map(int, re.findall(r"\b(?:STACK|LOCAL):(\d+)", text)))
    return code, labels, {"registers": int(re.search(r"REG:(\d+)", text)[1]), "stack": stack,
                          "spills": sum(i.kind == "spill" for i in code)}


def amd_code(assembly):
    text = pathlib.Path(assembly).read_text()
    code, labels = loops.parse_gcn(text)

    def number(key):
        return int(re.search(rf"\.{key}:\s+(\d+)", text)[1])

    return code, labels, {"registers": number("vgpr_count"),
                          "stack": number("private_segment_fixed_size"),
                          "spills": number("vgpr_spill_count")}


def blocks_on_core(case, count):
    """Of Triton's, whose warps all multiply; what ours take, the compiler says."""
    granule = case["register_granule"]
    registers = -(-count["registers"] // granule) * granule * warp_of(case["target"])
    by_registers = case["registers_of_core"] // (registers * count["warps"])
    by_shared = case["shared_of_core"] // (count["shared_bytes"] + case["shared_reserved"] or 1)
    by_warps = case["warps_of_core"] // count["warps"]
    return min(by_registers, by_shared, by_warps)


def counted(case, row, tools, warps):
    """What a row of either side says, its loop added; "lines" is the loop itself."""
    if "error" in row:
        return {"error": row["error"]}
    is_nvidia = case["target"].startswith("sm_")
    found = (nvidia_code(tools, row.get("image") or row.get("cubin")) if is_nvidia
             else amd_code(row.get("assembly") or row.get("amdgcn")))
    result = {key: row[key] for key in ("shared_bytes", "bank_conflicts", "emulator", "masked",
                                        "num_stages") if key in row} | {"warps": warps}
    if found is None:
        return result | {"error": row.get("assembler", "no disassembler on this machine")}
    code, labels, resources = found
    result |= resources
    result["blocks_on_core"] = row.get("blocks_on_core", blocks_on_core(case, result))
    result["warps_on_core"] = row.get("warps_on_core", result["blocks_on_core"] * warps)
    step = loops.step_of(code, labels, wanted_products(case, warps), warp_of(case["target"]))
    if step is None:
        return result | {"error": "no loop computes the products of a step"}
    return result | {"instructions": round(step.instructions, 1), "kinds": step.by_kind(),
                     "steps_a_turn": step.steps, "loops": step.loops, "step": step}


def ours_of(program, target, part, tools, folder):
    environment = os.environ | {"IMBREX_TOOLKIT": tools.toolkit(target, folder)}
    place = pathlib.Path(folder) / target
    place.mkdir(exist_ok=True)
    done = subprocess.run([program, place, target, part], stdout=subprocess.PIPE, text=True,
                          check=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def theirs_of(python, cases, keep):
    """Triton's rows; made where the folder has none of a case with as many warps."""
    sources = b"".join((HERE / name).read_bytes()
                       for name in ("triton_kernels.py", "triton_compile.py"))
    kept = keep / f"triton.{hashlib.sha256(sources).hexdigest()[:12]}.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(row["kernel"], row["target"], row["num_warps"]) for row in rows
             if row.get("num_stages") == 2}
    missing = [case for case in cases
               if (case["kernel"], case["target"], case["warps"]) not in known]
    if missing:
        keys = ("kernel", "target", "kind", "type", "out", "m", "n", "k", "warps", "transposed",
                "causal")
        lines = "".join(json.dumps({key: case[key] for key in keys}) + "\n" for case in missing)
        done = subprocess.run([python, HERE / "triton_compile.py", keep], input=lines, text=True,
                              stdout=subprocess.PIPE, check=True)
        rows += [json.loads(line) for line in done.stdout.splitlines()]
        with open(kept, "a", encoding="utf-8") as file:
            file.write(done.stdout)
    return rows


def slots_of(case, count):
    """Of a ring, by the shared memory, which may be for other things, too."""
    rows = case["m"] + case["n"] if case["kind"] == "gemm" else 2 * case["n"]
    return count.get("shared_bytes", 0) // (rows * case["k"] * (1 if "8" in case["type"] else 2))


def least(counts):
    """A loop that spills is no rival where another does not."""
    return min(counts, default=None, key=lambda c: (
        c["spills"] > 0, c["warps"] * c["instructions"], c["registers"]))


def choose(case, ours, rows, tools):
    """Triton's best with our warps and slots, where it has such: of a product with k masked, as our
    boxes are, and without masks. And its best of all for the block."""
    counts = [counted(case, row, tools, row["num_warps"]) for row in rows
              if "error" not in row and row["shared_bytes"] <= case["shared_limit"]]
    counts = [count for count in counts if "instructions" in count]
    alike = [count for count in counts if count["warps"] == case["warps"]]
    # Of a ring that is filled beside the threads; ours may have other things in shared memory, too.
    if re.match("sm_|gfx950", case["target"]):
        slots = case["slots_asked"]
        if case["kind"] == "gemm":
            slots = min(slots, slots_of(case, ours))
        alike = [count for count in alike if slots_of(case, count) == slots] or alike
    chosen = {"triton": least(c for c in alike if c["masked"] or case["kind"] != "gemm"),
              "triton_no_masks": least(c for c in alike
                                       if not c["masked"] and case["kind"] == "gemm"),
              "triton_best": least(counts)}
    if rows and not counts:
        reasons = {row["error"] for row in rows if "error" in row}
        chosen["triton"] = {"error": "; ".join(sorted(reasons)) or "no configuration fits"}
    return chosen


def ratio(ours, theirs, key="instructions"):
    """Of instructions, by those of all warps of a block, of which there may be another number."""
    if not ours or not theirs or not ours.get(key) or not theirs.get(key):
        return None
    warps = ours["warps"] / theirs["warps"] if key == "instructions" else 1
    return round(ours[key] / theirs[key] * warps, 2)


def measured(program, targets, part, tools, python, folder, keep):
    for target in targets:
        cases = ours_of(program, target, part, tools, folder)
        rivalled = [case for case in cases if case["kind"] in ("gemm", "attention")]
        theirs = theirs_of(python, rivalled, keep) if python else []
        for case in cases:
            rows = [row for row in theirs
                    if (row.get("kernel"), row.get("target")) == (case["kernel"], target)]
            ours = counted(case, case, tools, case["warps"])
            chosen = choose(case, ours, rows, tools)
            ratios = {key.replace("triton", "ratio"): ratio(ours, count)
                      for key, count in chosen.items()}
            yield {"kernel": case["kernel"], "target": target, "ours": ours, **chosen, **ratios}


# Of Triton's instructions, at most.
WANTED_RATIO = 0.8


def misses(row):
    """What falls short of what is wanted beside Triton with the same warps and slots."""
    ours, theirs = row["ours"], row["triton"] or {}
    if "instructions" not in ours:
        yield ours.get("error", "not counted")
        return
    for which in ("", "_no_masks"):
        if (row["ratio" + which] or 0) > WANTED_RATIO:
            yield f"instructions {row['ratio' + which]}{which.replace('_', ' ')}"
    if (ratio(ours, theirs, "shared_bytes") or 0) > 1.01:  # barriers of a ring are more
        yield f"shared memory {ours['shared_bytes']} for {theirs['shared_bytes']}"
    if ours["blocks_on_core"] < theirs.get("blocks_on_core", 0):
        yield f"{ours['blocks_on_core']} blocks on a core for {theirs['blocks_on_core']}"
    if ours["spills"] or ours["stack"]:
        yield f"spills {ours['spills']}, stack {ours['stack']}"
    if ours.get("bank_conflicts"):
        yield f"bank conflicts {ours['bank_conflicts']}"


def print_misses(rows):
    found = [(row, list(misses(row))) for row in rows]
    print(f"\n{sum(not why for _, why in found)} of {len(rows)} fall short of nothing")
    for row, why in found:
        if why:
            print(f"- {row['kernel']} on {row['target']}: {'; '.join(why)}")


def cell(count, key):
    value = (count or {}).get(key)
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def summary(count):
    """Matrix, shared reads and writes, global accesses; the rest."""
    if not count or "kinds" not in count:
        return "-"
    kinds = dict(count["kinds"])
    named = [kinds.pop(kind, 0) for kind in ("matrix", "shared read", "shared write", "global")]
    return " ".join(f"{n:g}" for n in named) + f" + {sum(kinds.values()):g}"


def print_table(rows):
    print("| kernel | target | instructions | Triton: masks | no masks | its best for the block "
          "| matrix, shared read, write, global + other | Triton's | registers | shared bytes "
          "| spills, conflicts |")
    print("|---" * 11 + "|")
    for row in rows:
        ours, theirs = row["ours"], row["triton"]
        against = " | ".join(
            f"{cell(row['triton' + which], 'instructions')}: {cell(row, 'ratio' + which)}"
            for which in ("", "_no_masks", "_best"))
        print(f"| {row['kernel']} | {row['target']} | {cell(ours, 'instructions')} | {against} "
              f"| {summary(ours)} | {summary(theirs)} "
              f"| {cell(ours, 'registers')}, {cell(theirs, 'registers')} "
              f"| {cell(ours, 'shared_bytes')}, {cell(theirs, 'shared_bytes')} "
              f"| {cell(ours, 'spills')}, {cell(ours, 'bank_conflicts')} |")
    for row in rows:
        for side in ("ours", "triton"):
            if why := (row[side] or {}).get("error") or (row[side] or {}).get("emulator"):
                print(f"{row['kernel']} on {row['target']}, {side}: {why.strip()}", file=sys.stderr)


def by_mnemonic(count):
    """Kind, mnemonic: how many, and the lines."""
    found = {}
    step = (count or {}).get("step")
    for instruction, weight in zip(step.code, step.weights) if step else ():
        entry = found.setdefault((instruction.kind, instruction.mnemonic), [0, []])
        entry[0] += weight
        entry[1].append(("" if weight == 1 else f"{weight:g} x ") + instruction.text)
    return found


def in_order(row, width=64):
    """Both loops beside each other as they stand."""
    print(f"\n== {row['kernel']} on {row['target']}, in order")
    texts = [[i.text for i in count["step"].code] if count and "step" in count else []
             for count in (row["ours"], row["triton"])]
    for a, b in itertools.zip_longest(*texts, fillvalue=""):
        print(f"   {a[:width - 2]:{width}}{b[:width]}".rstrip())


def explain(row, width=64):
    """Both loops beside each other, by kind and mnemonic, so that what one has more of is seen.
    Of the products themselves only how many there are."""
    print(f"\n== {row['kernel']} on {row['target']}: {cell(row['ours'], 'instructions')} "
          f"instructions of a warp and step; Triton's {cell(row['triton'], 'instructions')}")
    ours, theirs = by_mnemonic(row["ours"]), by_mnemonic(row["triton"])
    for kind in loops.KINDS:
        names = sorted(name for k, name in {*ours, *theirs} if k == kind)
        if not names:
            continue
        sums = [sum(n for (k, _), (n, _) in side.items() if k == kind) for side in (ours, theirs)]
        print(f"-- {kind}: {sums[0]:g} / {sums[1]:g}")
        for name in names:
            (n, left), (m, right) = (side.get((kind, name), (0, [])) for side in (ours, theirs))
            print(f"   {name}: {n:g} / {m:g}")
            if kind == "matrix":
                continue
            for a, b in itertools.zip_longest(sorted(left), sorted(right), fillvalue=""):
                print(f"      {a[:width - 2]:{width}}{b[:width]}".rstrip())


def save(path, rows, head):
    commit = compare.run("git", "-C", HERE, "rev-parse", "--short", "HEAD").strip()
    head = {"date": datetime.date.today().isoformat(), "commit": commit, **head}

    def plain(count):
        return {key: value for key, value in count.items() if key != "step"} if count else count

    with open(path, "w", encoding="utf-8") as file:
        for line in [head, *({key: plain(value) if isinstance(value, dict) else value
                              for key, value in row.items()} for row in rows)]:
            file.write(json.dumps(line) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", help="bench_products")
    parser.add_argument("--triton", metavar="PYTHON", help="a Python that has Triton")
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--only", default="", help="a part of the kernels' names")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for Triton's code")
    parser.add_argument("--save", help="a file that the lines of JSON are written to")
    parser.add_argument("--explain", action="store_true", help="print the loops by kind")
    parser.add_argument("--in-order", action="store_true", help="print the loops as they stand")
    options = parser.parse_args()
    python = options.triton
    if not python or not has_triton(python):
        print(f"SKIP: Triton's side: {python or 'no Python (--triton)'} has no Triton",
              file=sys.stderr)
        python = None
    tools, targets = Tools(python), options.targets.split(",")
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or pathlib.Path(folder) / "triton"
        keep.mkdir(parents=True, exist_ok=True)
        rows = list(measured(options.program, targets, options.only, tools, python, folder, keep))
        print_table(rows)
        print_misses(rows)
        for row in rows:
            if options.explain:
                explain(row)
            if options.in_order:
                in_order(row)
        if options.save:
            save(options.save, rows, versions(tools, python, targets))


if __name__ == "__main__":
    main()

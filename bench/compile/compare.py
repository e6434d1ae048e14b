#!/usr/bin/env python3
"""The CPU time from a kernel to a GPU's assembly, and to what its driver loads, ours beside that
of Triton's stages: the products of bench/static, each side in a process that has compiled it
before, in turns. docs/performance.md says what is compared.

    compare.py build/ci/bench PYTHON [--targets sm_80,sm_90a,gfx942] [--only bf16] [--runs 5]
               [--rounds 3] [--save results.jsonl]

PYTHON is one that has Triton, whose assembler both sides use."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "static"))
import compare as static_compare
import products

OBJECT_STAGES = ("make_cubin", "make_hsaco")
KINDS = ("gemm", "attention")  # that triton_kernels.py has


def least(old, new):
    return {key: min(value, (old or new).get(key, value)) for key, value in new.items()}


def ours(build, case, runs, environment):
    """Milliseconds to assembly and to the image."""
    done = subprocess.run([build / "compile/bench_compile", case["target"], str(runs),
                           case["kernel"], "--image"], stdout=subprocess.PIPE, text=True,
                          check=True, env=environment)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    row, = (row for row in rows if row["kernel"] == case["kernel"])
    return {key.removesuffix("_ms"): row[key] for key in row if key.endswith("_ms")}


class Triton:
    def __init__(self, python):
        self.worker = subprocess.Popen([python, HERE / "triton_stages.py"], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, case, runs):
        self.worker.stdin.write(json.dumps(case | {"runs": runs}) + "\n")
        self.worker.stdin.flush()
        answer = self.worker.stdout.readline()
        if not answer:
            sys.exit(f"Triton did not compile {case['kernel']} for {case['target']}")
        return json.loads(answer)

    def close(self):
        self.worker.stdin.close()
        self.worker.wait()


def measured(build, triton, case, options, environment):
    us, them = None, None
    for _ in range(options.rounds):
        us = least(us, ours(build, case, options.runs, environment))
        them = least(them, triton(case, options.runs))
    to_image = sum(them.values())
    to_assembly = sum(ms for stage, ms in them.items() if stage not in OBJECT_STAGES)
    row = {"kernel": case["kernel"], "target": case["target"], "ours": us, "triton": them,
           "ratio_assembly": round(to_assembly / us["total"], 2), "ratio_image": None}
    if "image" in us:
        row["ratio_image"] = round(to_image / (us["total"] + us["image"]), 2)
    return row | {"triton_assembly": round(to_assembly, 1), "triton_image": round(to_image, 1)}


def print_row(row):
    us = row["ours"]
    image = f"{us['total'] + us['image']:.0f}" if "image" in us else "-"
    print(f"| {row['kernel']} | {row['target']} | {us['total']:.0f} | {row['triton_assembly']:.0f} "
          f"| {row['ratio_assembly']} | {image} | {row['triton_image']:.0f} "
          f"| {row['ratio_image'] or '-'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path, help="the folder with our benchmarks")
    parser.add_argument("triton", metavar="PYTHON", help="a Python that has Triton")
    parser.add_argument("--targets", default="sm_80,sm_90a,gfx942")
    parser.add_argument("--only", default="", help="a part of the kernels' names")
    parser.add_argument("--runs", type=int, default=5, help="of each side in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", help="a file that the lines of JSON are written to")
    options = parser.parse_args()
    if not products.has_triton(options.triton):
        sys.exit(f"SKIP: {options.triton} has no Triton")
    tools, rows, targets = products.Tools(options.triton), [], options.targets.split(",")
    print("| kernel | target | ours to assembly, ms | Triton | ratio | ours to image, ms | Triton "
          "| ratio |")
    print("|---" * 8 + "|")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        triton = Triton(options.triton)
        for target in targets:
            environment = os.environ | {"IMBREX_TOOLKIT": tools.toolkit(target, folder)}
            listed = static_compare.run(options.build / "static/bench_products", "--list", target,
                                        options.only)
            for case in map(json.loads, listed.splitlines()):
                if case["kind"] not in KINDS:
                    continue
                rows.append(measured(options.build, triton, case, options, environment))
                print_row(rows[-1])
        triton.close()
    if options.save:
        products.save(options.save, rows, products.versions(tools, options.triton, targets))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How busy the matrix units are in the loops of products and attention, as their timelines see it
(docs/timeline.md): one block alone, and as many as a core holds. No GPU is needed, but NVIDIA's
assembler, of which the blocks of its machines follow.

    timelines.py build/dev/bench/static/bench_products build/dev/tools/imbrex
                 --targets sm_80,gfx942 [--only gemm_bf16] [--save timelines.jsonl]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import table


def timelines(bench, imbrex, target, only):
    """What `imbrex compile` reports of each kernel's loop."""
    with tempfile.TemporaryDirectory() as folder:
        traced = pathlib.Path(folder, "traced")
        subprocess.run([bench, folder, target, only], stdout=subprocess.DEVNULL, check=True,
                       env=dict(os.environ, IMBREX_DUMP=str(traced)))
        for kernel in sorted(traced.glob("*/00-traced.imx")):
            done = subprocess.run([imbrex, "compile", kernel, "--target", target, "--json"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  check=True)
            report = json.loads(done.stdout)
            for loop in report["loops_on_matrix_units"]:
                yield {"kernel": kernel.parent.name, "target": target,
                       "cycles": loop["cycles"], "unit_cycles": loop["unit_cycles"],
                       "unit_share": loop["unit_share"], "limit": loop.get("limit"),
                       "blocks": (report["occupancy"] or {}).get("blocks_per_core"),
                       "unit_share_of_core": loop["unit_share_of_core"]}


def percent(share):
    return "?" if share is None else f"{100 * share:.0f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("imbrex", type=pathlib.Path)
    parser.add_argument("--targets", required=True)
    parser.add_argument("--only", default="", help="kernels whose names have this part")
    parser.add_argument("--save", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    for target in options.targets.split(","):
        for row in timelines(options.bench.resolve(), options.imbrex.resolve(), target,
                             options.only):
            rows.append(row)
            print(f"{row['target']:8} {row['kernel']:32} {row['cycles'] or 0:6.0f} cycles, "
                  f"{percent(row['unit_share']):>5}; {row['blocks']} blocks "
                  f"{percent(row['unit_share_of_core']):>5}; {row['limit']}")
    if options.save:
        table.write(options.save, rows)


if __name__ == "__main__":
    main()

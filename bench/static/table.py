#!/usr/bin/env python3
"""The code of all kernels of the tests' table and of the benchmarks, for many targets: instructions,
registers, spills, and the time of LLVM's optimiser and code generator. No GPU is needed.

    table.py build/dev/bench/static/bench_table --targets sm_80,sm_90a,gfx942 [--save after.jsonl]
             [--against before.jsonl [--differences both.jsonl]]

With `--against`, what differs from an earlier run, and the sums of both.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare

COUNTS = ("instructions", "registers", "spilled_bytes", "stack_bytes")
TIMES = ("optimise_ms", "generate_ms", "cpu_ms")


def measured(program, targets):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, folder, *targets], stdout=subprocess.PIPE, text=True,
                              check=True)
        for row in map(json.loads, done.stdout.splitlines()):
            image = row.pop("image", None)
            is_nvidia = row["target"].startswith("sm_")
            # AMD's image has the instructions of the text, one for one.
            row["instructions"] = row["assembly_instructions"]
            if is_nvidia:
                row["instructions"] = sum(compare.nvidia_counts(image).values()) if image else None
            yield row


def key_of(row):
    return row["kernel"], row["target"]


def read(path):
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return [row for row in rows if "kernel" in row]


def sums(rows):
    return {key: sum(row.get(key) or 0 for row in rows) for key in COUNTS + TIMES}


def pairs_of(before, after):
    old = {key_of(row): row for row in before}
    return [(old[key_of(row)], row) for row in after if key_of(row) in old]


def differ(was, now):
    return any(was.get(key) != now.get(key) for key in COUNTS)


def by_target(both):
    for target in dict.fromkeys(now["target"] for _, now in both):
        pairs = [pair for pair in both if pair[1]["target"] == target]
        yield target, len(pairs), *(sums([pair[i] for pair in pairs]) for i in (0, 1))


def difference_lines(both):
    for target, count, was, now in by_target(both):
        yield {"kernels": count, "target": target, "before": was, "after": now}
    for was, now in both:
        if differ(was, now):
            picked = [{key: row.get(key) for key in COUNTS} for row in (was, now)]
            yield {"kernel": now["kernel"], "target": now["target"], "before": picked[0],
                   "after": picked[1]}


def print_differences(both):
    print("| kernel | target | instructions | registers | spilled |")
    print("|---|---|---|---|---|")
    for was, now in both:
        if differ(was, now):
            cells = [f"{was.get(key)} -> {now.get(key)}" if was.get(key) != now.get(key)
                     else f"{now.get(key)}" for key in COUNTS[:3]]
            print(f"| {now['kernel']} | {now['target']} | {' | '.join(cells)} |")
    print()
    print("| target | kernels | " + " | ".join(COUNTS + TIMES) + " |")
    print("|---" * (2 + len(COUNTS + TIMES)) + "|")
    for target, count, was, now in by_target(both):
        cells = [f"{was[key]:.0f} -> {now[key]:.0f}" for key in COUNTS + TIMES]
        print(f"| {target} | {count} | {' | '.join(cells)} |")


def write(path, lines):
    commit = compare.run("git", "-C", compare.HERE, "rev-parse", "--short", "HEAD").strip()
    head = {"date": datetime.date.today().isoformat(), "commit": commit}
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in [head, *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", help="bench_table")
    parser.add_argument("--targets", default="sm_80,sm_90a,gfx942,gfx1100")
    parser.add_argument("--save", help="a file that the lines of JSON are written to")
    parser.add_argument("--against", help="such a file of an earlier run")
    parser.add_argument("--differences", help="a file for what differs from it, as lines of JSON")
    options = parser.parse_args()
    rows = list(measured(options.program, options.targets.split(",")))
    if options.save:
        write(options.save, rows)
    if options.against:
        both = pairs_of(read(options.against), rows)
        print_differences(both)
        if options.differences:
            write(options.differences, difference_lines(both))


if __name__ == "__main__":
    main()

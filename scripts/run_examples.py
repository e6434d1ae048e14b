#!/usr/bin/env python3
"""Runs the programs that a file lists, one path per line, and prints one table of their results.

The last line of an example's output that starts with `result:` holds `key=value` fields, any of
which may be missing:

    result: device=host max_error=1.2e-07 time_ms=0.31 gbs=55.1      (or gflops=…)

Exits 1 when an example did, that is when its own check failed.
"""

import pathlib
import subprocess
import sys

HEAD = ("example", "device", "max error", "time", "speed", "")


def read_result(output):
    """The fields of the last `result:` line, {} without one."""
    lines = [line for line in output.splitlines() if line.startswith("result:")]
    words = lines[-1].split()[1:] if lines else []
    return dict(word.split("=", 1) for word in words if "=" in word)


def speed(fields):
    if "gflops" in fields:
        return fields["gflops"] + " GFLOP/s"
    return fields["gbs"] + " GB/s" if "gbs" in fields else "-"


def run(program):
    try:
        done = subprocess.run([program], cwd=program.parent, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600)
        return done.returncode, done.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)


def main(listing):
    programs = [pathlib.Path(path).resolve() for path in open(listing).read().splitlines() if path]
    rows, failures = [HEAD], []
    for program in programs:
        status, output = run(program)
        fields = read_result(output)
        time = fields["time_ms"] + " ms" if "time_ms" in fields else "-"
        rows.append((program.name, fields.get("device", "-"), fields.get("max_error", "-"), time,
                     speed(fields), "" if status == 0 else f"FAILED ({status})"))
        if status != 0:
            failures.append((program.name, output))

    widths = [max(map(len, column)) for column in zip(*rows)]
    for number, row in enumerate(rows):
        cells = [cell.ljust(w) if i in (0, 1, 5) else cell.rjust(w)
                 for i, (cell, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * w for w in widths).rstrip())
    for name, output in failures:
        print(f"\n{name} failed; its output ends with:", *output.splitlines()[-15:], sep="\n  ")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

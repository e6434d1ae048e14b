"""scripts/run_examples.py makes a table of whatever the examples print, and fails when one does."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

EXAMPLES = {
    "01_sum": "echo made a picture; "
              "echo 'result: device=host max_error=1.2e-07 time_ms=0.31 gbs=55.1'; exit 0",
    "02_dot": "echo 'result: max_error=0 gflops=12'; exit 0",
    "03_mute": "exit 0",
    "04_wrong": "echo off by one; exit 3",
}

EXPECTED = """\
example   device  max error     time       speed
--------  ------  ---------  -------  ----------  ----------
01_sum    host      1.2e-07  0.31 ms   55.1 GB/s
02_dot    -               0        -  12 GFLOP/s
03_mute   -               -        -           -
04_wrong  -               -        -           -  FAILED (3)

04_wrong failed; its output ends with:
  off by one
"""

with tempfile.TemporaryDirectory() as folder:
    listing = pathlib.Path(folder) / "examples.txt"
    for name, body in EXAMPLES.items():
        program = pathlib.Path(folder) / name
        program.write_text("#!/bin/sh\n" + body + "\n")
        program.chmod(0o755)
    listing.write_text("".join(f"{folder}/{name}\n" for name in EXAMPLES))
    done = subprocess.run([sys.executable, ROOT / "scripts" / "run_examples.py", listing],
                          stdout=subprocess.PIPE, text=True)

print(done.stdout)
assert done.stdout == EXPECTED, EXPECTED
assert done.returncode == 1

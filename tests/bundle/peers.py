#!/usr/bin/env python3
"""Times torch on what `bench` has timed, eagerly and compiled (which is Triton), and prints ratios.

    peers.py FILE       FILE holds the lines of `bench`

A ratio above 1 says that imbrex was faster. Everything is timed on the device, by its events.
"""

import re
import sys

import torch

ROWS, COLUMNS, LAUNCHES = 32768, 1024, 50


def milliseconds(run):
    for _ in range(3):
        run()
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    for _ in range(LAUNCHES):
        run()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / LAUNCHES


def main(path):
    ours = {name: float(ms) for name, ms in re.findall(r"name=(\w+) .*?\bms=(\S+)", open(path).read())}
    a = torch.rand(ROWS, COLUMNS, device="cuda") * 4 - 2
    b, out = torch.rand_like(a), torch.empty_like(a)
    functions = {
        "copy": lambda: out.copy_(a),
        "vector_add": lambda: torch.add(a, b, out=out),
        "softmax": lambda: torch.softmax(a, 1, out=out),
        "layer_norm": lambda: torch.nn.functional.layer_norm(a, (COLUMNS,)),
    }
    compiled = {
        "vector_add": torch.compile(lambda x, y: x + y),
        "softmax": torch.compile(lambda x, y: torch.softmax(x, 1)),
        "layer_norm": torch.compile(lambda x, y: torch.nn.functional.layer_norm(x, (COLUMNS,))),
    }
    for name, run in functions.items():
        line = f"peer: name={name} torch_over_imbrex={milliseconds(run) / ours[name]:.3f}"
        if name in compiled:
            try:
                taken = milliseconds(lambda: compiled[name](a, b))
                line += f" triton_over_imbrex={taken / ours[name]:.3f}"
            except Exception as error:  # no Triton, or no compiler for what it generates
                line += f" triton=none ({type(error).__name__})"
        print(line)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

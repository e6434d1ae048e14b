#!/usr/bin/env python3
"""How long Triton's stages take, in a process that has compiled before: reads a line of
`bench_products --list` with the number of runs, compiles that often, answers with a line of JSON,
and so on. The least CPU time of each stage, in milliseconds; that of programs it starts belongs to
the stage. compare.py runs it, by a Python that has Triton."""

import json
import os
import pathlib
import resource
import sys
import time
import warnings

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "static"))
import triton_kernels
from triton import knobs
from triton.backends.amd.compiler import HIPBackend
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

STAGES = ("make_ir", "make_ttir", "make_ttgir", "make_llir", "make_ptx", "make_cubin",
          "make_amdgcn", "make_hsaco")
taken = {}


def processor_milliseconds():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.process_time() + children.ru_utime + children.ru_stime) * 1e3


def time_stage(owner, name):
    was = owner.__dict__[name]
    function = was.__func__ if isinstance(was, staticmethod) else was

    def timed(*arguments, **named):
        start = processor_milliseconds()
        result = function(*arguments, **named)
        taken[name] = processor_milliseconds() - start
        return result

    setattr(owner, name, staticmethod(timed) if isinstance(was, staticmethod) else timed)


def main():
    knobs.compilation.always_compile = True
    for owner in (ASTSource, CUDABackend, HIPBackend):
        for name in STAGES:
            if name in owner.__dict__:
                time_stage(owner, name)
    for case in map(json.loads, sys.stdin):
        least = {}
        for _ in range(case["runs"]):
            taken.clear()
            triton_kernels.compile_case(case, case["target"], num_warps=case["warps"],
                                        num_stages=3)
            for stage, milliseconds in taken.items():
                least[stage] = min(least.get(stage, milliseconds), milliseconds)
        print(json.dumps(least), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

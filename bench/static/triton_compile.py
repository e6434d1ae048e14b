#!/usr/bin/env python3
"""Triton's code of the products that come in as lines of `bench_products --list`, in several
configurations, without a GPU. products.py runs it, by a Python that has Triton.

    triton_compile.py FOLDER <cases

Writes images and assembly into FOLDER, and prints a line of JSON for each configuration."""

import json
import os
import pathlib
import sys
import warnings

# What multiplies and adds is to stay one instruction, as with us.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import triton_kernels


def configurations(case):
    """As many warps as we have with any depth of the ring; as many others with the usual one."""
    for masked in (True, False) if case["kind"] == "gemm" else (False,):
        for stages in (2, 3, 4):
            yield {"masked": masked, "num_warps": case["warps"], "num_stages": stages}
    for warps in {4, 8} - {case["warps"]}:
        yield {"masked": False, "num_warps": warps, "num_stages": 3}


def compiled(case, configuration, path):
    row = {"kernel": case["kernel"], "target": case["target"], **configuration}
    try:
        kernel = triton_kernels.compile_case(case, case["target"], **configuration)
    except Exception as error:  # what Triton cannot do on this machine, in whatever way it says so
        return row | {"error": f"{type(error).__name__}: {str(error).strip()[-300:]}"}
    for name in ("cubin", "ptx", "hsaco", "amdgcn"):
        if name in kernel.asm:
            content = kernel.asm[name]
            file = pathlib.Path(f"{path}.{name}")
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
            row[name] = str(file)
    return row | {"shared_bytes": kernel.metadata.shared}


def main(folder):
    print(json.dumps({"triton": triton_kernels.triton.__version__}))
    for case in map(json.loads, sys.stdin):
        for configuration in configurations(case):
            path = "{}/{}.{}.{num_warps}w{num_stages}s{masked:d}".format(
                folder, case["kernel"], case["target"], **configuration)
            print(json.dumps(compiled(case, configuration, path)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    main(sys.argv[1])

#!/usr/bin/env python3
"""Products of matrices and attention: ours beside cuBLAS, torch's attention and Triton, in turns,
after every element of ours was compared with a float64 product on the same device.

    product_peers.py PROGRAM DEVICE [--only PART] [--rounds N] [--save FILE]

PROGRAM is `products` of the bundle, DEVICE one of imbrex's names: cuda, or host for a rehearsal
without a GPU. A ratio is their time over ours; it counts where its 95 % interval leaves out 1 and
ours differs less from itself. Every peer is the best of its settings, timed on the spot."""

import argparse
import importlib.util
import json
import platform
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import cublas_lt
import interleaved

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3fn": torch.float8_e4m3fn,
          "i8": torch.int8, "i32": torch.int32}
# What Triton's tutorials try: tiles, stages, warps.
GEMM_TILES = [(128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 3, 8),
              (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (64, 256, 32, 4, 4),
              (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4)]
BYTE_TILES = [(128, 256, 128, 3, 8), (256, 128, 128, 3, 8), (256, 64, 128, 4, 4),
              (64, 256, 128, 4, 4), (128, 128, 128, 4, 4), (128, 64, 64, 4, 4),
              (128, 128, 64, 4, 4)]
ATTENTION_TILES = [(128, keys, stages, warps) for keys in (32, 64, 128) for stages in (2, 3, 4)
                   for warps in (4, 8)]


class Clock:
    def __init__(self, device):
        self.is_gpu = device.type == "cuda"

    def __call__(self, run):
        """From a number of launches to the milliseconds of one."""
        return lambda launches: self.milliseconds(run, launches)

    def milliseconds(self, run, launches):
        if not self.is_gpu:
            start = time.perf_counter()
            for _ in range(launches):
                run()
            return (time.perf_counter() - start) * 1e3 / launches
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(launches):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / launches


def matrix(folder, number, kind, shape, device):
    with open(f"{folder}/{number}", "rb") as file:
        content = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    return content.to(device).view(DTYPES[kind]).view(shape)


class Gemm:
    def __init__(self, problem, folder, device):
        m, n, k = problem["m"], problem["n"], problem["k"]
        self.problem = problem
        self.a = matrix(folder, 0, problem["type"], (m, k), device)
        self.b = matrix(folder, 1, problem["type"],
                        (n, k) if problem["transposed"] else (k, n), device)
        self.ours = matrix(folder, 2, problem["out"], (m, n), device)
        self.shown = self.b.t() if problem["transposed"] else self.b

    def error(self, result):
        right = self.shown.float().double()
        largest = 0.0
        for first in range(0, result.shape[0], 1024):
            wanted = self.a[first:first + 1024].float().double() @ right
            off = (result[first:first + 1024].double() - wanted).abs()
            off /= wanted.abs() + self.problem["k"] ** 0.5
            largest = max(largest, float(off.nan_to_num(nan=float("inf")).max()))
        return largest

    def torch_run(self):
        kind, out = self.problem["type"], torch.empty_like(self.ours)
        if kind == "i8":
            return "torch._int_mm", lambda: torch._int_mm(self.a, self.shown)
        if kind.startswith("f8"):
            one = torch.ones((), device=self.a.device)
            return "torch._scaled_mm", lambda: torch._scaled_mm(self.a, self.shown, one, one,
                                                                out_dtype=out.dtype)
        return "torch.matmul", lambda: torch.matmul(self.a, self.shown, out=out)

    def library_runs(self):
        yield self.torch_run()
        if not self.a.is_cuda or torch.version.hip:
            return
        try:
            product = cublas_lt.Product(self.a, self.b, torch.empty_like(self.ours), self.problem)
            for i, algorithm in enumerate(product.algorithms()):
                yield f"cublasLt {i}", lambda algorithm=algorithm: product.run(algorithm)
        except (OSError, RuntimeError, AttributeError) as error:
            print(f"note: no algorithms of cuBLASLt: {error}", file=sys.stderr)

    def triton_runs(self, kernels):
        out = torch.empty_like(self.ours)
        m, n, k = (self.problem[key] for key in "mnk")
        sums = kernels.tl.int32 if out.dtype == torch.int32 else kernels.tl.float32
        for bm, bn, bk, stages, warps in (GEMM_TILES if self.a.element_size() > 1 else BYTE_TILES):
            def run(bm=bm, bn=bn, bk=bk, stages=stages, warps=warps):
                kernels.gemm[(-(-m // bm) * -(-n // bn),)](
                    self.a, self.b, out, m, n, k, self.a.stride(0), self.b.stride(0), n, bm, bn,
                    bk, self.problem["transposed"], True, 8, sums, num_stages=stages,
                    num_warps=warps)
                return out
            yield f"{bm}x{bn}x{bk}, {stages} stages, {warps} warps", run


class Attention:
    def __init__(self, problem, folder, device):
        self.problem = problem
        shape = (1, problem["heads"], problem["length"], problem["k"])
        self.q, self.k, self.v, self.ours = (
            matrix(folder, i, problem["type"], shape, device) for i in range(4))

    def error(self, result):
        length, largest = self.problem["length"], 0.0
        later = torch.ones(length, length, dtype=torch.bool, device=result.device).triu(1)
        keys = torch.arange(1, length + 1, device=result.device).double()[:, None]
        usual = (keys if self.problem["causal"] else torch.full_like(keys, length)) ** -0.5
        for head in range(self.problem["heads"]):
            q, k, v = (x[0, head].double() for x in (self.q, self.k, self.v))
            scores = q @ k.t() * self.problem["k"] ** -0.5
            if self.problem["causal"]:
                scores.masked_fill_(later, -float("inf"))
            wanted = scores.softmax(1) @ v
            off = (result[0, head].double() - wanted).abs() / (wanted.abs() + usual)
            largest = max(largest, float(off.nan_to_num(nan=float("inf")).max()))
        return largest

    def library_runs(self):
        backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION,
                    SDPBackend.EFFICIENT_ATTENTION]
        for backend in backends if self.q.is_cuda else [SDPBackend.MATH]:
            def run(backend=backend):
                with sdpa_kernel(backend):
                    return torch.nn.functional.scaled_dot_product_attention(
                        self.q, self.k, self.v, is_causal=self.problem["causal"])
            yield f"torch {backend.name}", run

    def triton_runs(self, kernels):
        out = torch.empty_like(self.ours)
        heads, length, depth = (self.problem[key] for key in ("heads", "length", "k"))
        for bm, bn, stages, warps in ATTENTION_TILES:
            def run(bm=bm, bn=bn, stages=stages, warps=warps):
                kernels.attention[(length // bm, heads)](
                    self.q, self.k, self.v, out, depth ** -0.5, length, depth, bm, bn,
                    self.problem["causal"], num_stages=stages, num_warps=warps)
                return out
            yield f"{bm}x{bn}, {stages} stages, {warps} warps", run


def best_of(sides, work, problem, clock):
    """The quickest of those that run and are right: its name, and the function."""
    best = (float("inf"), None, None)
    for name, run in sides:
        try:
            error = work.error(run())
            if error > problem["allowed_error"]:
                print(f"note: {name} is off by {error:.2g}", file=sys.stderr)
                continue
            taken = clock.milliseconds(run, 5)
        except Exception as error:  # too much shared memory, a type or a machine it does not know
            reason = str(error).strip().split("\n")[0][:120]
            print(f"note: {name}: {type(error).__name__}: {reason}", file=sys.stderr)
            continue
        best = min(best, (taken, name, run), key=lambda side: side[0])
    return best[1:]


def triton_kernels():
    """Those that bench/static counts; none where there is no Triton."""
    if importlib.util.find_spec("triton") is None:
        return None
    import triton_kernels as kernels
    return kernels


def measured(problem, ours, device, kernels, rounds):
    """A line of each peer. Nothing is timed before ours was found right."""
    made = ours.make(problem["name"])
    if not made["right"]:
        raise ValueError(f"{problem['name']}: {made}")
    work = (Gemm if problem["kind"] == "gemm" else Attention)(problem, ours.folder, device)
    error = work.error(work.ours)
    if error > problem["allowed_error"]:
        raise ValueError(f"{problem['name']} is off by {error:.2g}")
    clock = Clock(device)
    families = {"library": work.library_runs()}
    if kernels is not None and device.type == "cuda":
        families["triton"] = work.triton_runs(kernels)
    for family, sides in families.items():
        name, run = best_of(sides, work, problem, clock)
        if run is None:
            print(f"SKIP  {problem['name']} beside {family}: none of it runs", file=sys.stderr)
            continue
        result = interleaved.in_turns(ours.milliseconds, clock(run), rounds)
        yield {"workload": problem["kind"], "shape": problem["name"], "dtype": problem["type"],
               "peer": family, "setting": name, "tiles": made["tiles"], "error": error, **result,
               "tflops": round(problem["flops"] / result["ours_us"] * 1e-6, 1)}


def print_row(row):
    low, high = row["ci"]
    print(f"peer: name={row['shape']} {row['peer']}_over_imbrex={row['ratio']:.3f} "
          f"ci={low:.3f}..{high:.3f} aa={row['aa']:.3f} counts={'yes' if row['counts'] else 'no'} "
          f"tflops={row['tflops']} setting='{row['setting']}'", flush=True)


def add_ceilings(rows):
    """Of the most operations in a second that either side reached with this element type."""
    most = {}
    for row in rows:
        theirs = row["tflops"] * row["ours_us"] / row["anchor_us"]
        most[row["dtype"]] = max(most.get(row["dtype"], 0), row["tflops"], theirs)
    for row in rows:
        row["ceil_frac"] = round(row["tflops"] / most[row["dtype"]], 3)


def save(path, rows, device, kernels):
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda,
                "triton": kernels.triton.__version__ if kernels else None}
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row | {"host": name, "versions": versions}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", help="`products` of the bundle")
    parser.add_argument("device", help="cuda, cuda:1, …; host for a rehearsal")
    parser.add_argument("--only", default="", help="a part of the problems' names")
    parser.add_argument("--rounds", type=int, default=interleaved.ROUNDS)
    parser.add_argument("--save", default="products.jsonl", help="a file for lines of JSON")
    options = parser.parse_args()
    kind, _, number = options.device.partition(":")
    device = torch.device("cpu" if kind == "host" else f"cuda:{number or 0}")
    kernels, rows, failed = triton_kernels(), [], False
    with tempfile.TemporaryDirectory() as folder:
        ours = interleaved.Ours(options.program, options.device, folder)
        for problem in ours.problems():
            if options.only not in problem["name"]:
                continue
            try:
                for row in measured(problem, ours, device, kernels, options.rounds):
                    rows.append(row)
                    print_row(row)
            except ValueError as error:
                print(f"WRONG {error}")
                failed = True
        ours.close()
    add_ceilings(rows)
    save(options.save, rows, device, kernels)
    sys.exit(failed)


if __name__ == "__main__":
    main()

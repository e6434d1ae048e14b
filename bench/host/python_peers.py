#!/usr/bin/env python3
"""Times the kernels of bench_host beside what Python's users run on a CPU, in one process and in
turns: JAX (XLA), NumPy (OpenBLAS), a current oneDNN, PyTorch (oneDNN, MKL) and Halide, as far as
they are installed.

    python3 -m venv ~/peers && ~/peers/bin/pip install numpy jax onednn torch halide
    ~/peers/bin/python bench/host/python_peers.py build/dev/bench/host/libbench_host_library.so \\
        [--threads 2] [--rounds 9] [--only matmul]

Ours is right first: within a bound of the same in float64. A line of JSON for each workload
and peer has medians, and the median ratio of peer to ours, above 1 where ours is faster, with its 95 %
interval. XLA and PyTorch write to new arrays, as their users have it; what making one costs counts.
`torch.compile` is not used, and Halide's schedules are those of halide_peers.py. oneDNN is called as
onednn_peers.py says."""

import argparse
import ctypes
import json
import math
import os
import statistics
import sys
import time
from importlib.metadata import version

OPTIONS = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
OPTIONS.add_argument("library")
OPTIONS.add_argument("--threads", type=int, default=1)
OPTIONS.add_argument("--rounds", type=int, default=9)
OPTIONS.add_argument("--only", default="")
OPTIONS = OPTIONS.parse_args()

# Before anything is imported that counts processors.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: OPTIONS.threads])
for variable in "IMBREX", "OMP", "OPENBLAS", "MKL", "HL":
    os.environ[f"{variable}_NUM_THREADS"] = str(OPTIONS.threads)

import numpy as np  # noqa: E402

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None
try:
    import torch
except ImportError:
    torch = None

try:
    import halide_peers as halide
except ImportError:
    halide = None
try:
    import onednn_peers as onednn
except OSError:  # no such library
    onednn = None

LIBRARY = ctypes.CDLL(OPTIONS.library)
RANDOM = np.random.default_rng(1)


def ours(name, arrays, sizes):
    """A call of the library's; the last array is the result."""
    function = getattr(LIBRARY, f"bench_{name}")
    function.restype = None
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    arguments += [ctypes.c_bool(size) if isinstance(size, bool) else ctypes.c_int64(size) for size in sizes]
    return lambda: function(*arguments)


def of_jax(function, *arrays):
    compiled, given = jax.jit(function), [jnp.asarray(array) for array in arrays]
    return lambda: compiled(*given).block_until_ready()


def of_torch(function, *arrays, dtype=None):
    given = [torch.from_numpy(array).to(dtype) for array in arrays]

    def run():
        with torch.inference_mode():
            return function(*given)
    return run


def interval(ratios):
    """The 95 % interval of the median, by resampling."""
    samples = np.random.default_rng(1).choice(ratios, (1000, len(ratios)))
    return np.quantile(np.median(samples, axis=1), [0.025, 0.975])


def seconds(work):
    if OPTIONS.threads > 1:
        time.sleep(0.3)  # the threads of whoever ran before may spin for 0.2 s
        work()  # and its own have gone to sleep
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(workload, peer, run, theirs):
    first, other, ratios = [], [], []
    for number in range(OPTIONS.rounds + 2):
        one, two, three = seconds(run), seconds(theirs), seconds(run)
        if number < 2:  # warm up
            continue
        first.append(one)
        other.append(two)
        ratios.append(2 * two / (one + three))
    low, high = interval(ratios)
    print(json.dumps({"workload": workload, "threads": OPTIONS.threads, "peer": peer,
                      "ours_us": round(statistics.median(first) * 1e6, 1),
                      "peer_us": round(statistics.median(other) * 1e6, 1),
                      "ratio": round(statistics.median(ratios), 3),
                      "low": round(float(low), 3), "high": round(float(high), 3)}), flush=True)


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def bench(workload, run, result, expected, bound, peers):
    """`expected`: of the first rows of the result, in float64."""
    if OPTIONS.only not in workload:
        return
    run()
    got = result[: len(expected)].astype(np.float64)
    error = float(np.max(np.abs(got - expected)))
    if not error <= bound:
        sys.exit(f"{workload}: off by {error}, more than {bound}")
    for peer, theirs in peers.items():
        if theirs is None:
            continue
        try:
            made = theirs()
        except NotImplementedError:
            print(f"{workload}: {peer} has none on this processor", file=sys.stderr)
            continue
        compare(workload, peer, run, made)


def if_there(module, make):
    return make if module is not None else None


def bench_products():
    for m, n, k in [(size,) * 3 for size in (256, 512, 1000, 1024, 2048)] + [(64, 4096, 4096), (4096, 64, 4096)]:
        a, b, bias, c = floats(m, k), floats(k, n), floats(n), np.empty((m, n), np.float32)
        expected = a[:8].astype(np.float64) @ b
        bench(f"matmul f32 {m}x{n}x{k}", ours("matmul_f32", (a, b, c), (m, n, k)), c, expected, 1e-6 * k,
              {"XLA": if_there(jax, lambda: of_jax(jnp.matmul, a, b)),
               "NumPy": lambda: lambda: np.matmul(a, b, out=c),
               "oneDNN": if_there(onednn, lambda: onednn.matmul(a, b, c)),
               "PyTorch": if_there(torch, lambda: of_torch(torch.matmul, a, b)),
               "Halide": if_there(halide, lambda: halide.matmul(a, b, c))})
        if m == n and m in (512, 1024):
            z = expected + bias
            erf = np.vectorize(math.erf)
            bench(f"matmul+bias+gelu f32 {m}x{n}x{k}", ours("matmul_gelu", (a, b, bias, c), (m, n, k)), c,
                  0.5 * z * (1 + erf(z * 0.5**0.5)), 1e-6 * k,
                  {"XLA": if_there(jax, lambda: of_jax(
                      lambda a, b, bias: jax.nn.gelu(a @ b + bias, approximate=False), a, b, bias)),
                   "oneDNN": if_there(onednn, lambda: onednn.matmul_gelu(a, b, bias, c)),
                   "PyTorch": if_there(torch, lambda: of_torch(
                       lambda a, b, bias: torch.nn.functional.gelu(torch.addmm(bias, a, b)), a, b, bias)),
                   "Halide": if_there(halide, lambda: halide.matmul_gelu(a, b, bias, c))})
    if jax is None:
        return
    a, b = (np.asarray(jnp.asarray(floats(1024, 1024), jnp.bfloat16)) for _ in range(2))
    c = np.empty((1024, 1024), np.float32)
    wide = [x.astype(np.float32) for x in (a, b)]
    bench("matmul bf16 1024x1024x1024", ours("matmul_bf16", (a, b, c), (1024,) * 3), c,
          wide[0][:8].astype(np.float64) @ wide[1], 1e-3,
          {"XLA": lambda: of_jax(lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32), a, b),
           "oneDNN": if_there(onednn, lambda: onednn.matmul(a, b, c)),
           "PyTorch (result of bf16)": if_there(torch, lambda: of_torch(
               torch.matmul, *wide, dtype=torch.bfloat16))})


def bench_rows():
    for columns in 1024, 4096:
        x, scale, shift = floats(4096, columns) * 4, floats(columns), floats(columns)
        y = np.empty_like(x)
        first = x[:8].astype(np.float64)
        e = np.exp(first - first.max(1, keepdims=True))
        bench(f"softmax f32 4096x{columns}", ours("softmax", (x, y), x.shape), y, e / e.sum(1, keepdims=True), 1e-6,
              {"XLA": if_there(jax, lambda: of_jax(lambda x: jax.nn.softmax(x, axis=1), x)),
               "oneDNN": if_there(onednn, lambda: onednn.softmax(x, y)),
               "PyTorch": if_there(torch, lambda: of_torch(lambda x: torch.softmax(x, 1), x)),
               "Halide": if_there(halide, lambda: halide.softmax(x, y))})
        centred = first - first.mean(1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * scale + shift

        def layer_norm(x, scale, shift):
            centred = x - x.mean(1, keepdims=True)
            return centred * jax.lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-5) * scale + shift
        bench(f"layer norm f32 4096x{columns}", ours("layer_norm", (x, scale, shift, y), x.shape), y, normal, 1e-4,
              {"XLA": if_there(jax, lambda: of_jax(layer_norm, x, scale, shift)),
               "oneDNN": if_there(onednn, lambda: onednn.layer_norm(x, scale, shift, y)),
               "PyTorch": if_there(torch, lambda: of_torch(
                   lambda x, scale, shift: torch.nn.functional.layer_norm(x, (columns,), scale, shift), x, scale, shift)),
               "Halide": if_there(halide, lambda: halide.layer_norm(x, scale, shift, y))})
    a, b, c = floats(1 << 24), floats(1 << 24), np.empty(1 << 24, np.float32)
    bench("add f32 16M", ours("add", (a, b, c), a.shape), c, (a[:8] + b[:8]).astype(np.float64), 0,
          {"XLA": if_there(jax, lambda: of_jax(jnp.add, a, b)), "NumPy": lambda: lambda: np.add(a, b, out=c),
           "PyTorch": if_there(torch, lambda: of_torch(torch.add, a, b)),
           "Halide": if_there(halide, lambda: halide.add(a, b, c))})


def bench_attention():
    for heads, length, depth in (8, 1024, 64), (4, 4096, 128):
        for is_causal in False, True:
            q, k, v = (floats(heads, length, depth) for _ in range(3))
            o = np.empty_like(q)
            scores = q[0, :8].astype(np.float64) @ k[0].T / depth**0.5
            if is_causal:
                scores[np.arange(length) > np.arange(8)[:, None]] = -np.inf
            e = np.exp(scores - scores.max(1, keepdims=True))
            expected = e / e.sum(1, keepdims=True) @ v[0]

            def attend(q, k, v):
                scores = jnp.einsum("hid,hjd->hij", q, k) / depth**0.5
                if is_causal:
                    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
                return jnp.einsum("hij,hjd->hid", jax.nn.softmax(scores, axis=2), v)

            def attend_by_torch(q, k, v):
                return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=is_causal)
            bench(f"attention f32 {heads}x{length}x{depth}{' causal' if is_causal else ''}",
                  ours("attention", (q, k, v, o), (heads, length, depth, is_causal)), o[0], expected, 1e-4,
                  {"XLA": if_there(jax, lambda: of_jax(attend, q, k, v)),
                   "PyTorch": if_there(torch, lambda: of_torch(attend_by_torch, q, k, v))})


print(json.dumps({"numpy": np.__version__, "jax": jax and jax.__version__, "torch": torch and torch.__version__, "halide": halide and version("halide"),
                  "onednn": onednn and onednn.version(),
                  "threads": OPTIONS.threads, "rounds": OPTIONS.rounds}))
bench_products()
bench_rows()
bench_attention()

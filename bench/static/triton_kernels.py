"""The peer's kernels: a product of matrices and the forward pass of attention in Triton, as its
tutorials go about them, and how they are compiled without a GPU. Imported by a Python that has
Triton. `case` is a line of `bench_products --list`."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TYPES = {"f16": "fp16", "bf16": "bf16", "i8": "i8", "i32": "i32", "f8e4m3fn": "fp8e4nv",
         "f8e4m3fnuz": "fp8e4b8"}


@triton.jit
def gemm(a, b, c, M, N, K, a_row, b_row, c_row, BM: tl.constexpr, BN: tl.constexpr,
         BK: tl.constexpr, TRANSPOSED: tl.constexpr, MASKED: tl.constexpr, GROUP: tl.constexpr,
         SUM: tl.constexpr):
    # Blocks in groups of rows, so that neighbours in time share what the caches hold.
    block = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = block // (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    m = group * GROUP + (block % (GROUP * columns)) % height
    n = (block % (GROUP * columns)) // height
    row = m * BM + tl.arange(0, BM)
    column = n * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    # Rows beyond the edge read others in their place; they are not stored.
    from_a = a + (row % M)[:, None] * a_row + depth[None, :]
    if TRANSPOSED:
        from_b = b + (column % N)[None, :] * b_row + depth[:, None]
    else:
        from_b = b + depth[:, None] * b_row + (column % N)[None, :]
    sums = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, tl.cdiv(K, BK)):
        if MASKED:
            x = tl.load(from_a, mask=depth[None, :] < K - k * BK, other=0.0)
            y = tl.load(from_b, mask=depth[:, None] < K - k * BK, other=0.0)
        else:
            x = tl.load(from_a)
            y = tl.load(from_b)
        sums = tl.dot(x, y, sums, out_dtype=SUM)
        from_a += BK
        from_b += BK if TRANSPOSED else BK * b_row
    to = c + row[:, None] * c_row + column[None, :]
    tl.store(to, sums.to(c.dtype.element_ty), mask=(row[:, None] < M) & (column[None, :] < N))


@triton.jit
def attend(sums, total, most, queries, k, v, first, last, m, scale, D: tl.constexpr,
           BM: tl.constexpr, BN: tl.constexpr, DIAGONAL: tl.constexpr):
    row = m * BM + tl.arange(0, BM)
    key = tl.arange(0, BN)
    depth = tl.arange(0, D)
    for start in range(first, last, BN):
        start = tl.multiple_of(start, BN)
        keys = tl.load(k + (start + key)[None, :] * D + depth[:, None])
        scores = tl.dot(queries, keys)
        if DIAGONAL:
            seen = row[:, None] >= (start + key)[None, :]
            scores = tl.where(seen, scores * scale, -1.0e6)
            next = tl.maximum(most, tl.max(scores, 1))
            weights = tl.math.exp2(scores - next[:, None])
        else:
            next = tl.maximum(most, tl.max(scores, 1) * scale)
            weights = tl.math.exp2(scores * scale - next[:, None])
        shrink = tl.math.exp2(most - next)
        total = total * shrink + tl.sum(weights, 1)
        sums = sums * shrink[:, None]
        values = tl.load(v + (start + key)[:, None] * D + depth[None, :])
        sums = tl.dot(weights.to(v.dtype.element_ty), values, sums)
        most = next
    return sums, total, most


@triton.jit
def attention(q, k, v, o, scale, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              CAUSAL: tl.constexpr):
    """q, k, v, o are heads x S x D without gaps; S is a multiple of both tiles."""
    m, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * S * D
    here = (m * BM + tl.arange(0, BM))[:, None] * D + tl.arange(0, D)[None, :]
    queries = tl.load(q + base + here)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    scale = scale * 1.44269504  # exp2 for exp
    full = m * BM if CAUSAL else S
    sums, total, most = attend(sums, total, most, queries, k + base, v + base, 0, full, m, scale,
                               D, BM, BN, False)
    if CAUSAL:
        sums, total, most = attend(sums, total, most, queries, k + base, v + base, m * BM,
                                   (m + 1) * BM, m, scale, D, BM, BN, True)
    tl.store(o + base + here, (sums / total[:, None]).to(o.dtype.element_ty))


def target_of(name):
    if name.startswith("sm_"):
        return GPUTarget("cuda", int(name[3:].rstrip("af")), 32)
    return GPUTarget("hip", name, 64 if name.startswith("gfx9") else 32)


def source_of(case, masked, target):
    """What Triton's own launcher would ask for, of pointers, extents and strides that are multiples
    of 16 and of arrays of less than 2 GiB."""
    t, out = TYPES[case["type"]], TYPES[case["out"]]
    pointers, integers = [f"*{t}", f"*{t}", f"*{out}"], ["i32"] * 6
    if case["kind"] == "gemm":
        fn, signature = gemm, pointers + integers
        constants = {"BM": case["m"], "BN": case["n"], "BK": case["k"], "GROUP": 8,
                     "TRANSPOSED": case["transposed"], "MASKED": masked,
                     "SUM": tl.int32 if case["type"] == "i8" else tl.float32}
        divisible = range(len(signature))
    else:
        fn, signature = attention, [f"*{t}"] * 3 + [f"*{out}", "fp32", "i32"]
        constants = {"D": case["k"], "BM": case["m"], "BN": case["n"],
                     "CAUSAL": case["causal"]}
        divisible = [0, 1, 2, 3, 5]
    names = dict(zip(fn.arg_names, signature + ["constexpr"] * len(constants)))
    attrs = {}
    for i in divisible:
        attrs[(i,)] = [["tt.divisibility", 16]]
        if target.backend == "hip" and signature[i].startswith("*"):
            attrs[(i,)].append(["tt.pointer_range", 32])
    return ASTSource(fn=fn, signature=names, constexprs=constants, attrs=attrs)


def compile_case(case, machine, masked=True, **options):
    target = target_of(machine)
    return triton.compile(source_of(case, masked, target), target=target, options=options)

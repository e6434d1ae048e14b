"""Kernels of bench_host in Halide, with schedules written for them: each function takes arrays of
NumPy, the result last, and returns a call that computes it. Threads are those of HL_NUM_THREADS."""

import halide as hl

LANES = hl.get_host_target().natural_vector_size(hl.Float(32))
ROWS, VECTORS = 6, 4 if LANES == 16 else 2  # of sums in registers, as of ours

x, y, xi, yi, panel = (hl.Var(name) for name in ("x", "y", "xi", "yi", "panel"))


def given(array):
    """A parameter of the array's extents, with the array as its value."""
    parameter = hl.ImageParam(hl.Float(32), array.ndim)
    parameter.set(hl.Buffer(array))
    stride = 1
    for axis, extent in enumerate(reversed(array.shape)):
        parameter.dim(axis).set_bounds(0, extent).set_stride(stride)
        stride *= extent
    return parameter


def calls(function, result):
    for variable, extent in zip(function.args(), reversed(result.shape)):
        function.bound(variable, 0, extent)
    function.compile_jit()
    into = hl.Buffer(result)
    return lambda: function.realize(into)


def sums_of(a, b, m, n, k):
    """(x, y) -> sum over k of a(k, y) b(x, k), and what to do when the function that takes it has a
    schedule. b is copied into panels first, as wide as the sums in registers."""
    width = LANES * VECTORS
    step = hl.RDom([(0, k)])
    panels, sums = hl.Func("panels"), hl.Func("sums")
    panels[xi, y, panel] = b[hl.min(panel * width + xi, n - 1), y]
    sums[x, y] = 0.0
    sums[x, y] += a[step, y] * panels[x % width, step, x // width]

    def schedule(out):
        panels.compute_at(out, x).vectorize(xi, LANES)
        out.tile(x, y, xi, yi, width, ROWS, hl.TailStrategy.GuardWithIf).reorder(xi, yi, y, x)
        out.vectorize(xi, LANES).unroll(xi).unroll(yi).parallel(x)
        sums.compute_at(out, y).vectorize(x, LANES).unroll(x).unroll(y)
        sums.update().reorder(x, y, step).vectorize(x, LANES).unroll(x).unroll(y)

    return sums, schedule


def matmul(a, b, c):
    sums, schedule = sums_of(given(a), given(b), *c.shape, a.shape[1])
    out = hl.Func("out")
    out[x, y] = sums[x, y]
    schedule(out)
    return calls(out, c)


def matmul_gelu(a, b, bias, c):
    sums, schedule = sums_of(given(a), given(b), *c.shape, a.shape[1])
    out = hl.Func("out")
    z = sums[x, y] + given(bias)[x]
    out[x, y] = z * hl.f32(0.5) * (1 + hl.erf(z * hl.f32(0.5**0.5)))
    schedule(out)
    return calls(out, c)


def over(of, columns, start, combine):
    """(y) -> the numbers of a row combined, four vectors of partial results at a time."""
    step = hl.RDom([(0, columns)])
    total = hl.Func()
    total[y] = start
    total[y] = combine(total[y], of[step, y])

    def schedule(out):
        total.compute_at(out, y)
        total.update().atomic().vectorize(step, LANES * 4)

    return total, schedule


def sum_over(of, columns):
    return over(of, columns, hl.f32(0), lambda total, one: total + one)


def by_rows(out, result, *parts):
    out.vectorize(x, LANES).parallel(y, 16)
    for schedule in parts:
        schedule(out)
    return calls(out, result)


def softmax(of, result):
    columns, values = of.shape[1], given(of)
    powers, out = hl.Func("powers"), hl.Func("out")
    most, schedule_most = over(values, columns, hl.f32(float("-inf")), hl.max)
    powers[x, y] = hl.exp(values[x, y] - most[y])
    total, schedule_total = sum_over(powers, columns)
    out[x, y] = powers[x, y] * (1.0 / total[y])
    return by_rows(out, result, schedule_most, schedule_total,
                   lambda out: powers.compute_at(out, y).vectorize(x, LANES))


def layer_norm(of, scale, shift, result):
    columns, values = of.shape[1], given(of)
    squares, out = hl.Func("squares"), hl.Func("out")
    total, schedule_total = sum_over(values, columns)
    centred = values[x, y] - total[y] / columns
    squares[x, y] = centred * centred
    variance, schedule_variance = sum_over(squares, columns)
    out[x, y] = centred / hl.sqrt(variance[y] / columns + hl.f32(1e-5)) * given(scale)[x] + given(shift)[x]
    return by_rows(out, result, schedule_total, schedule_variance)


def add(a, b, result):
    out = hl.Func("out")
    out[x] = given(a)[x] + given(b)[x]
    out.split(x, y, x, 1 << 20).vectorize(x, LANES).parallel(y)
    return calls(out, result)

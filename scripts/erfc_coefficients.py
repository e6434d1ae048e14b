#!/usr/bin/env python3
"""Prints kErfcExponent of backend/math/constants.h: a polynomial for log2(erfc x). Needs mpmath.

The error that matters is that of erf = 1 - 2^polynomial, so the minimax fit (Remez's exchange, on a
grid of Chebyshev's points) is weighted. The coefficients are then rounded from the highest to the
lowest, each time fitting the rest anew to what remains, by least squares.
"""

import mpmath as mp

POINTS = 400


def grid(low, high):
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * POINTS))
            for i in range(POINTS)]


def value(coefficients, x):
    return mp.polyval(coefficients[::-1], x)


def extrema(errors):
    """The places of the largest error between changes of sign."""
    runs = [[0]]
    for i in range(1, len(errors)):
        if (errors[i] > 0) != (errors[i - 1] > 0):
            runs.append([])
        runs[-1].append(i)
    return [max(run, key=lambda i: abs(errors[i])) for run in runs]


def minimax(xs, targets, weights, degree):
    count = degree + 2
    chosen = [round((POINTS - 1) * (1 - mp.cos(mp.pi * i / (count - 1))) / 2) for i in range(count)]
    for _ in range(30):
        system = mp.matrix(count, count)
        for row, i in enumerate(chosen):
            for power in range(degree + 1):
                system[row, power] = xs[i] ** power
            system[row, degree + 1] = (-1) ** row / weights[i]
        solution = mp.lu_solve(system, mp.matrix([targets[i] for i in chosen]))
        coefficients, level = list(solution[:degree + 1]), abs(solution[degree + 1])
        errors = [w * (t - value(coefficients, x)) for x, t, w in zip(xs, targets, weights)]
        found = extrema(errors)
        while len(found) > count:
            found.remove(min(found[0], found[-1], key=lambda i: abs(errors[i])))
        if len(found) < count or max(map(abs, errors)) < level * mp.mpf("1.01"):
            break
        chosen = found
    return coefficients


def least_squares(xs, targets, weights, degree):
    columns = [[w * x ** power for x, w in zip(xs, weights)] for power in range(degree + 1)]
    normal = mp.matrix(degree + 1, degree + 1)
    for i, a in enumerate(columns):
        for j, b in enumerate(columns):
            normal[i, j] = mp.fdot(a, b)
    weighted = [w * t for t, w in zip(targets, weights)]
    return list(mp.lu_solve(normal, mp.matrix([mp.fdot(a, weighted) for a in columns])))


def rounded(number, bits):
    mantissa, exponent = mp.frexp(number)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def fit(low, high, degree, bits):
    xs = grid(mp.mpf(low), mp.mpf(high))
    targets = [mp.log(mp.erfc(x), 2) for x in xs]
    weights = [mp.erfc(x) * mp.log(2) / mp.erf(x) for x in xs]
    best = minimax(xs, targets, weights, degree)
    rest = [value(best, x) for x in xs]
    result = []
    for power in range(degree, -1, -1):
        top = rounded(least_squares(xs, rest, weights, power)[-1], bits)
        result.insert(0, top)
        rest = [r - top * x ** power for x, r in zip(xs, rest)]
    error = max(abs(w * (t - value(result, x))) for x, t, w in zip(xs, targets, weights))
    print(", ".join(float(c).hex() for c in result), "// 2^" + mp.nstr(mp.log(error, 2), 3))


mp.mp.prec = 200
fit("0.5", "3.94", 6, 24)
mp.mp.prec = 300
fit("0.65", "5.93", 18, 53)

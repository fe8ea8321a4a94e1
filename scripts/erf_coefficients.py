#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the coefficients of src/kernels/erf.h: minimax polynomials by the exchange of Remez.

A fit minimises the largest error over an interval, relative to what the kernel makes of it. The
coefficients are then rounded to floats one after the other, highest power first, and the rest is
fitted anew around each. Doubles and the standard library suffice.
"""
import math
import struct


POINTS, ROUNDS = 4000, 30


def as_float(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def solve(rows):
    """Gaussian elimination with pivoting of rows [a .. b]."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def value(c, x):
    y = 0.0
    for a in reversed(c):
        y = y * x + a
    return y


def fit(f, low, high, degree, fixed=(), offset=0.0):
    """The coefficients below those in fixed, and the largest error relative to f + offset."""
    count = degree + 1 - len(fixed)
    grid = [low + (high - low) * (1 - math.cos(math.pi * i / POINTS)) / 2 for i in range(POINTS + 1)]
    truth = [f(x) for x in grid]
    at = [round(POINTS * (i + 0.5) / (count + 1)) for i in range(count + 1)]
    best, best_error = [], math.inf
    for _ in range(ROUNDS):
        rows = []
        for k, i in enumerate(at):
            x, y = grid[i], truth[i]
            rows.append([x**p for p in range(count)]
                        + [(-1) ** k * (y + offset), y - x**count * value(fixed, x)])
        c = solve(rows)[:-1]
        error = [(value(c + list(fixed), x) - y) / (y + offset) for x, y in zip(grid, truth)]
        worst = max(map(abs, error))
        if worst < best_error:
            best, best_error = c, worst
        extremes = alternating(error)
        while len(extremes) > count + 1:
            ends_lower_first = abs(error[extremes[0]]) < abs(error[extremes[-1]])
            extremes.pop(0 if ends_lower_first else -1)
        if len(extremes) < count + 1 or extremes == at:
            break
        at = extremes
    return best, best_error


def alternating(error):
    """Where the error is largest in each run of one sign."""
    at = []
    for i, e in enumerate(error):
        if not at or (e > 0) != (error[at[-1]] > 0):
            at.append(i)
        elif abs(e) > abs(error[at[-1]]):
            at[-1] = i
    return at


def rounded(f, low, high, degree, offset):
    fixed = []
    for _ in range(degree + 1):
        c, _ = fit(f, low, high, degree, fixed, offset)
        fixed.insert(0, as_float(c[-1]))
    steps = [low + (high - low) * i / 20000 for i in range(20001)]
    return fixed, max(abs(value(fixed, x) - f(x)) / (f(x) + offset) for x in steps)


def show(name, f, low, high, degree, offset=0.0):
    c, error = rounded(f, low, high, degree, offset)
    print(f"{name}, lowest power first; relative error {error:.1e}")
    print("  " + ", ".join(f"{a:.9g}" for a in c))


SHIFT = 1.875  # u = (a - SHIFT) / (a + SHIFT), so a = SHIFT (1 + u) / (1 - u)
REACH = 12.98  # beyond it the normal distribution function is no normal float


def shifted_mills(u):
    """(a + SHIFT) M(a), where M(a) = Phi(-a) / phi(a) is the ratio of Mills."""
    a = SHIFT * (1 + u) / (1 - u)
    return (a + SHIFT) * math.sqrt(math.pi / 2) * math.exp(a * a / 2) * math.erfc(a / math.sqrt(2))


def erf_excess(s):
    """erf(x) / x - 1, s = x^2."""
    x = math.sqrt(s)
    return math.erf(x) / x - 1 if x > 1e-8 else 2 / math.sqrt(math.pi) - 1


if __name__ == "__main__":
    show("(a + 1.875) M(a) in (a - 1.875) / (a + 1.875), 1 <= a <= 12.98", shifted_mills,
         (1 - SHIFT) / (1 + SHIFT), (REACH - SHIFT) / (REACH + SHIFT), 8)
    show("erf(x) / x - 1 in x^2, |x| <= 3/4", erf_excess, 0.0, 0.5625, 5, 1.0)

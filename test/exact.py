# SPDX-License-Identifier: MIT
"""Compares `tally reduce`, `scan` and `window` of exact sums and products with math.fsum and fractions. Run by
test_exact.sh."""
import math
import os
import random
import struct
import subprocess
import sys
import time
from fractions import Fraction

TALLY = sys.argv[1]
seed = int(os.environ.get("TALLY_TEST_SEED") or time.time())
print("seed", seed)
random.seed(seed)
failed = checks = 0


def same(got, want, what):
    global failed, checks
    checks += 1
    if got != want:
        failed += 1
        print("DIFFERENT: %s: got %s want %s" % (what, got, want))


def hexes(values, form="<d"):
    size = struct.calcsize(form)
    return [int.from_bytes(struct.pack(form, v), "little").__format__("#0%dx" % (2 * size + 2)) for v in values]


def tally(verb, op, values, *options, dtype="f64"):
    raw = b"".join(struct.pack("<f" if dtype == "f32" else "<d", v) for v in values)
    done = subprocess.run([TALLY, verb, op, "--hex", "--format", "raw", "--dtype", dtype, *options, "-"], input=raw,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split()


def data(kind, n):
    if kind == "near":
        return [random.gauss(0, 1) for _ in range(n)]
    if kind == "wide":
        return [math.ldexp(random.random() - 0.5, random.randint(-1070, 1000)) for _ in range(n)]
    if kind == "cancel":
        half = [math.ldexp(random.random(), random.randint(-60, 300)) for _ in range(n // 2)]
        both = half + [-v for v in half] + [5e-324, 1e-300]
        random.shuffle(both)
        return both
    if kind == "ties":
        return [1.0 + 2 ** -52 * random.randint(0, 3), 2 ** -53, random.choice([0.0, 5e-324, -5e-324])]
    return [random.randint(-9, 9) * 5e-324 for _ in range(n)]  # subnormal


def to_f32(x):
    """The f32 nearest to a fraction, ties to even."""
    if not x:
        return 0.0
    e = max(math.frexp(float(x))[1] - 24, -149)
    while abs(x) >= Fraction(2) ** (e + 24):
        e += 1
    m = round(x / Fraction(2) ** e)  # to even
    return math.ldexp(m, e)


for kind in ("near", "wide", "cancel", "ties", "subnormal"):
    for n in (1, 7, 130, 9001):
        x = data(kind, n)
        same(tally("reduce", "sum:exact", x), hexes([math.fsum(x) + 0.0]), "sum %s %d" % (kind, n))
        mean = sum(map(Fraction, x)) / len(x)
        same(tally("reduce", "mean:exact", x), hexes([float(mean) + 0.0]), "mean %s %d" % (kind, n))
    x = data(kind, 300)
    n, w = len(x), min(20, len(x))
    same(tally("scan", "sum:exact", x), hexes([math.fsum(x[: i + 1]) + 0.0 for i in range(n)]), "scan " + kind)
    same(tally("window", "sum:exact", x, "-w", str(w), "--edges", "valid"),
         hexes([math.fsum(x[i: i + w]) + 0.0 for i in range(n - w + 1)]), "window " + kind)
    f32 = [struct.unpack("<f", struct.pack("<f", v))[0] for v in x if abs(v) < 1e38]
    if f32:
        total = sum(map(Fraction, f32))
        same(tally("reduce", "sum:exact", f32, dtype="f32"), hexes([to_f32(total)], "<f"), "f32 " + kind)
        same(tally("reduce", "sum:exact:f64", f32, dtype="f32"), hexes([math.fsum(f32) + 0.0]), "f32:f64 " + kind)

# products of pairs, in any order, and without some of them
for kind in ("near", "wide", "cancel", "subnormal"):
    for n in (1, 50, 3001):
        x, y = data(kind, n), data("near" if kind == "wide" else kind, n)
        n = min(len(x), len(y))
        pairs = list(zip(x, y))
        for there in ([1] * n, [random.randint(0, 1) for _ in range(n)]):
            with open("y.raw", "wb") as f:
                f.write(b"".join(struct.pack("<d", v) for _, v in pairs))
            with open("v.raw", "wb") as f:
                f.write(bytes(there))
            total = sum((Fraction(a) * Fraction(b) for (a, b), v in zip(pairs, there) if v), Fraction(0))
            same(tally("reduce", "dot:exact", [a for a, _ in pairs], "--with", "y.raw", "--valid", "v.raw"),
                 hexes([float(total) + 0.0]), "dot %s %d" % (kind, n))
            left = [a for (a, _), v in zip(pairs, there) if v]
            same(tally("reduce", "sum:exact", [a for a, _ in pairs], "--valid", "v.raw"),
                 hexes([math.fsum(left) + 0.0]), "valid %s %d" % (kind, n))
            if left:
                mean = sum(map(Fraction, left)) / len(left)
                same(tally("reduce", "mean:exact", [a for a, _ in pairs], "--valid", "v.raw"),
                     hexes([float(mean) + 0.0]), "valid mean %s %d" % (kind, n))
            random.shuffle(pairs)

# ---- operators in f64, of whole numbers on whose way nothing is rounded but the result ----


def moment(x, k):
    mean = Fraction(sum(x), len(x))
    return sum((v - mean) ** k for v in x)


def divide(a, b):
    """As f64 divides."""
    return a / b if b else math.nan if not a or a != a else math.copysign(math.inf, a)


def skew(x, sample=0):
    n, m2, m3 = len(x), float(moment(x, 2)), float(moment(x, 3))
    g = divide(math.sqrt(n) * m3, m2 * math.sqrt(m2))
    return g if not sample else math.sqrt(n * (n - 1.0)) / (n - 2.0) * g if n > 2 else math.nan


def kurt(x, sample=0):
    n, m2, m4 = len(x), float(moment(x, 2)), float(moment(x, 4))
    g = divide(n * m4, m2 * m2) - 3.0
    return g if not sample else (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * g + 6.0) if n > 3 else math.nan


def fall(x):
    return max(max(x[i] - min(x[i:]) for i in range(len(x))), 0)


def weighted(x, y, ddof):
    total = sum(y)
    if total <= ddof:
        return math.nan
    mean = Fraction(sum(a * b for a, b in zip(x, y)), total)
    return float(sum(b * (a - mean) ** 2 for a, b in zip(x, y))) / (total - ddof)


def at(x, y, best):
    return y[x.index(best(x))]


for n in (1, 2, 4, 64, 256):  # a power of two: means have few bits
    x = [random.randint(-30, 30) for _ in range(n)]
    y = [random.randint(-9, 9) for _ in range(n)]
    wanted = [max(x) - min(x), sum(v * v for v in x), math.sqrt(sum(v * v for v in x)), skew(x), skew(x, 1), kurt(x),
              kurt(x, 1), fall(x)]
    ops = "range,sumsq,norm,skew,skew:1,kurt,kurt:sample=1,drawdown"
    got = tally("reduce", ops, map(float, x))[-len(wanted):]
    for op, g, w in zip(ops.split(","), got, hexes([abs(w) if w != w else w + 0.0 for w in wanted])):
        same(g, w, "%s of %s" % (op, x))
    holes = [v for a in x for v in (a, math.nan)]
    names = ",".join("nan" + op for op in ops.split(","))
    same(tally("reduce", names, holes)[-len(wanted):], got, "nan forms of %s" % x)
    same(tally("reduce", ops, map(float, x), dtype="f32")[-len(wanted):], got, "f32 of %s" % x)
    weights = [2 ** random.randint(0, 1)] * n
    ops = "wvar,wvar:1,wstd:ddof=1,atmin,atmax"
    for second, wanted in ((weights, [weighted(x, weights, 0), weighted(x, weights, 1),
                                      math.sqrt(weighted(x, weights, 1)), weights[0], weights[0]]),
                           (y, [None] * 3 + [at(x, y, min), at(x, y, max)])):
        with open("w.raw", "wb") as f:
            f.write(b"".join(struct.pack("<d", v) for v in second))
        got = tally("reduce", ops, map(float, x), "--with", "w.raw")[-5:]
        for op, g, w in zip(ops.split(","), got, wanted):
            if w is not None:
                same(g, hexes([abs(w) if w != w else w + 0.0])[0], "%s of %s, %s" % (op, x, second))

print("%d passed, %d failed" % (checks - failed, failed))
sys.exit(failed != 0)

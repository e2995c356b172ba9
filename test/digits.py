# SPDX-License-Identifier: MIT
"""Compares the exact sums of include/tally_digits.h with fractions, by ctypes. Run by test_exact.sh.

    digits.py LIBRARY

Rows are added in any order and in parts that are merged and taken back, each sum in the least memory. A result must be
the fraction (or its root) rounded once: whether it is, whole numbers decide."""
import ctypes as c
import math
import os
import random
import struct
import sys
import time
from fractions import Fraction

from rounded import rounded

tally = c.CDLL(sys.argv[1])
seed = int(os.environ.get("TALLY_TEST_SEED") or time.time())
print("seed", seed)
random.seed(seed)
checks = failed = 0
NAMES = ("sum mean dot weighted_mean var_pop var_samp stddev_pop stddev_samp covar_pop covar_samp corr slope").split()
F32, F64 = 11, 12


class Head(c.Structure):
    _fields_ = [("count", c.c_int64), ("nan", c.c_int64), ("plus", c.c_int64), ("minus", c.c_int64),
                ("first", c.c_int32), ("used", c.c_int32), ("room", c.c_int32), ("waiting", c.c_uint32)]


class Sums(c.Structure):
    _fields_ = [(name, c.c_void_p) for name in ("x", "y", "xx", "yy", "xy")]


def check(ok, *what):
    global checks, failed
    checks += 1
    if not ok:
        failed += 1
        print("DIFFERENT:", *what)


class Digits:
    """A tally_digits in the least memory; grown as the header says."""

    def __init__(self):
        self.memory = bytearray(48)

    def call(self, name, *arguments):
        while True:
            buffer = (c.c_char * len(self.memory)).from_buffer(self.memory)
            capacity = getattr(tally, name)(buffer, *arguments)
            del buffer
            if not capacity:
                return
            least = struct.unpack_from("<i", self.memory, 40)[0]
            check(least < capacity <= 136, name, "room", capacity)
            self.memory.extend(bytes(48 + 8 * capacity - len(self.memory)))
            struct.pack_into("<i", self.memory, 40, capacity)

    def add(self, x, sign=1):
        self.call("tally_digits_add", c.c_double(x), sign)

    def product(self, x, y, sign=1):
        self.call("tally_digits_add_product", c.c_double(x), c.c_double(y), sign)

    def merge(self, other, sign=1):
        self.call("tally_digits_merge", bytes(other.memory), sign)

    def bytes(self):
        return bytes(self.memory)


class Rows:
    """The five sums of rows (x, y)."""

    def __init__(self):
        self.sum = [Digits() for _ in range(5)]

    def add(self, x, y, sign=1):
        x_, y_, xx, yy, xy = self.sum
        x_.add(x, sign)
        y_.add(y, sign)
        xx.product(x, x, sign)
        yy.product(y, y, sign)
        xy.product(x, y, sign)

    def merge(self, other, sign=1):
        for a, b in zip(self.sum, other.sum):
            a.merge(b, sign)

    def value(self, which, dtype=F64):
        kept = [d.bytes() for d in self.sum]
        sums = Sums(*(c.cast(c.c_char_p(k), c.c_void_p) for k in kept))
        out = c.create_string_buffer(8)
        there = tally.tally_statistic_value(NAMES.index(which), c.byref(sums), dtype, out)
        return there, struct.unpack("<d" if dtype == F64 else "<f", out.raw[: 8 if dtype == F64 else 4])[0]


def wanted(which, rows):
    """The fraction of a statistic and whether it is its root; None: there is none."""
    n = len(rows)
    x, y = [r[0] for r in rows], [r[1] for r in rows]
    sx, sy = sum(x), sum(y)
    sxx, syy = sum(v * v for v in x), sum(v * v for v in y)
    sxy = sum(a * b for a, b in rows)
    a, b, d = n * sxy - sx * sy, n * sxx - sx * sx, n * syy - sy * sy
    part = n - which.endswith("samp")
    over = n * part
    if which == "corr":
        top, under, root = a * abs(a), b * d, True
    else:
        top, under, root = {"sum": (sx, 1, False), "mean": (sx, n, False), "dot": (sxy, 1, False),
                            "weighted_mean": (sxy, sy, False), "slope": (a, b, False), "var": (b, over, False),
                            "stddev": (b, over, True), "covar": (a, over, False)}[
            which if which in ("sum", "mean", "dot", "slope", "weighted_mean") else which.split("_")[0]]
    return (None if not n or not under else Fraction(top) / under), root


def number(kind):
    if kind == "near":
        return random.gauss(1e8, 1)
    if kind == "small":
        return float(random.randint(-3, 3))
    if kind == "wide":
        return math.ldexp(random.random() - 0.5, random.randint(-1074, 1023))
    if kind == "tiny":
        return random.randint(-9, 9) * 5e-324
    if kind == "large":
        return random.choice([-1, 1]) * math.ldexp(random.random(), 1024)
    return random.choice([0.0, -0.0, 1.0, -1.0, 2.0 ** -53, 1 + 2.0 ** -52, 1e100, -1e100, 2.0 ** -1074])


usual = 150 if os.environ.get("TALLY_TEST_LONG") else 50
for case in range(int(os.environ.get("CASES") or usual)):
    kind = random.choice(["near", "small", "wide", "tiny", "large", "special"])
    rows = [(number(kind), number(kind)) for _ in range(random.randint(0, 12))]
    if random.random() < 0.2:
        rows = [(x, 3.0) for x, _ in rows]
    if case < 4:  # a weighted mean, 1 + 2^-53, +-2^-300 beside it, and its opposite: a tie, nearly
        sign, part = (1.0, -1.0)[case % 2], (2.0 ** -300, -2.0 ** -300)[case // 2]
        rows = [(sign, 1.0), (sign * 2.0 ** -53, 1.0), (0.0, -1.0), (sign * part, 1.0), (0.0, -1.0)]
    whole, parts, gone = Rows(), [Rows(), Rows()], Rows()
    for x, y in rows:
        whole.add(x, y)
        random.choice(parts).add(x, y)
    extra = [(number("wide"), number("special")) for _ in range(3)]
    for x, y in extra:
        parts[0].add(x, y)
        gone.add(x, y)
    parts[1].merge(parts[0])
    if random.random() < 0.5:
        parts[1].merge(gone, -1)
    else:
        for x, y in extra:
            parts[1].add(x, y, -1)
    exact = [(Fraction(x), Fraction(y)) for x, y in rows]
    for which in NAMES:
        f, root = wanted(which, exact)
        for dtype in (F64, F32):
            for added in (whole, parts[1]):
                there, value = added.value(which, dtype)
                if f is None:
                    check(not there and value != value, which, rows, "has no value, and got", there, value)
                    continue
                want = rounded(f, root, dtype == F32)
                check(there == 1 and struct.pack("<d", value) == struct.pack("<d", want), which, rows, root,
                      "got", value, "wanted", want)
    # as a tally_exact and back
    state, again = c.create_string_buffer(576), c.create_string_buffer(576)
    check(tally.tally_digits_exact(parts[1].sum[0].bytes(), state) == 0, "exact")
    back = Digits()
    back.call("tally_digits_merge_exact", state, 1)
    tally.tally_digits_exact(back.bytes(), again)
    check(state.raw == again.raw, "there and back", rows)
    value = c.c_double()
    for name in ("sum", "mean"):
        tally.tally_exact_value(None, state, b"%s:exact" % name.encode(), F64, c.byref(value))
        there, got = whole.value(name)
        check(not rows or value.value == got, name, "of the state", rows)

inf, nan = math.inf, math.nan
for rows, which, want in [
    ([(inf, 1.0), (1.0, 1.0)], "sum", inf), ([(inf, 1.0), (-inf, 1.0)], "sum", nan), ([(nan, 1.0)], "mean", nan),
    ([(inf, 0.0)], "dot", nan), ([(inf, -2.0)], "dot", -inf), ([(1.0, inf)], "weighted_mean", nan),
    ([(inf, 2.0), (1.0, 1.0)], "weighted_mean", inf), ([(inf, 1.0), (2.0, 1.0)], "var_pop", nan),
    ([(1.0, inf), (2.0, 1.0)], "corr", nan), ([(1e308, 1.0), (1e308, 1.0)], "sum", inf),
]:
    added = Rows()
    for x, y in rows:
        added.add(x, y)
    there, got = added.value(which)
    check(there == 1 and struct.pack("<d", got) == struct.pack("<d", want), which, rows, "got", got)
    added.add(1.0, 1.0)
    for x, y in rows:
        added.add(x, y, -1)
    check(added.value("mean")[1] == 1.0, "infinities stay behind", rows)

# what is no sum
good = Digits()
good.add(1.5)
sound = good.bytes()
check(tally.tally_digits_sound(sound, len(sound)) == 1, "sound")
for at in range(32, 48 + 8 * 4):
    for bit in range(8):
        bad = bytearray(sound)
        bad[at] ^= 1 << bit
        tally.tally_digits_sound(bytes(bad), len(bad))  # may be another sum
for short in range(len(sound)):
    check(tally.tally_digits_sound(sound[:short], short) == 0, "cut to", short)
for first, used in ((-1, 4), (0, -1), (133, 4), (1 << 30, 4), (4, 1 << 30), (0, 3), (0, 5)):
    bad = bytearray(sound)
    struct.pack_into("<ii", bad, 32, first, used)
    check(tally.tally_digits_sound(bytes(bad), len(bad)) == 0, "first, used", first, used)
check(tally.tally_statistic_needs(12) == 0 and tally.tally_statistic_needs(-1) == 0, "no such statistic")
fine = Digits()
fine.product(2.0 ** -1000, 2.0 ** -1000)
check(tally.tally_digits_exact(fine.bytes(), c.create_string_buffer(576)) == 1, "digits below 2^-1074")

print("%d checks, %d failed" % (checks, failed))
sys.exit(failed > 0 or checks < 1000)

# SPDX-License-Identifier: MIT
"""Fractions, and their square roots, rounded once; exact statistics by them; elements that make
these hard, and views of them."""

import ctypes as c
import math
import random
import struct
from fractions import Fraction

NAMES = "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64".split()
FORMAT = dict(zip(NAMES, "bBhHiIqQe?fd"))
inf, nan = math.inf, math.nan


def rounded(f, root, narrow):
    """f, or its root with the sign of f, rounded once to even."""
    if not f:
        return 0.0
    a = abs(f)
    bits, least = (24, -149) if narrow else (53, -1074)
    guess = (
        a.numerator.bit_length() - a.denominator.bit_length()
    )  # 2^(guess - 1) < a < 2^(guess + 1)
    if root:
        guess //= 2
    unit = max(guess - bits - 1, least - 2)
    while True:  # the units of 2^unit in it, rounded down, and whether something is left
        scaled = a / Fraction(2) ** (2 * unit if root else unit)
        whole = (
            math.isqrt(scaled.numerator // scaled.denominator)
            if root
            else scaled.numerator // scaled.denominator
        )
        if unit >= least and whole < 2**bits:
            break
        unit += 1
    left = scaled - (whole * whole if root else whole)
    half = Fraction(whole) + Fraction(1, 4) if root else Fraction(1, 2)  # (whole + 1/2)^2 - whole^2
    if left > half or (left == half and whole % 2):
        whole += 1
    try:
        value = math.ldexp(whole, unit)
    except OverflowError:
        value = math.inf
    if narrow and value >= 2.0**128:
        value = math.inf
    return -value if f < 0 and value else value  # never -0


# ---- statistics ----

OPS = {  # how many inputs each has
    "mean": 1,
    "sumsq": 1,
    "norm": 1,
    "var": 1,
    "std": 1,
    "wmean": 2,
    "cov": 2,
    "corr": 2,
    "slope": 2,
}


def special(op, rows):
    """The value for infinite elements."""
    if op in ("sumsq", "norm"):
        return inf
    if op == "mean":
        return sum(x for x, _ in rows)
    if op == "wmean":

        def one(values):  # the sum of values without NaN
            signs = {v for v in values if math.isinf(v)}
            finite = sum(Fraction(v) for v in values if not math.isinf(v))
            return (
                signs.pop() if len(signs) == 1 else nan if signs else rounded(finite, False, False)
            )

        products = [
            (
                math.copysign(inf, x) * y
                if math.isinf(x)
                else x * math.copysign(inf, y) if math.isinf(y) else Fraction(x) * Fraction(y)
            )
            for x, y in rows
        ]
        if any(p != p for p in products):
            return nan
        top, under = one(products), one([y for _, y in rows])
        return (
            top if not under else top / under if math.isfinite(top) or math.isfinite(under) else nan
        )
    return nan


def expected(op, ddof, rows, narrow=False):
    """rows: pairs (x, y); None: left out."""
    skips = op.startswith("nan")
    op = op[3:] if skips else op
    rows = [r for r in rows if r is not None]
    if skips:
        rows = [r for r in rows if r[0] == r[0] and r[1] == r[1]]
    n = len(rows)
    if any(x != x or y != y for x, y in rows):
        return nan
    if any(isinstance(v, float) and math.isinf(v) for r in rows for v in r):
        v = special(op, rows)
        return abs(v) if v != v else v
    x, p = integers([r[0] for r in rows])
    y, q = integers([r[1] for r in rows])
    sx, sy, sxx, sxy = sum(x), sum(y), sum(v * v for v in x), sum(a * b for a, b in zip(x, y))
    a, b, d = n * sxy - sx * sy, n * sxx - sx * sx, n * sum(v * v for v in y) - sy * sy
    part = n - Fraction(ddof)
    if op in ("sumsq", "norm"):
        return rounded(Fraction(sxx, p * p), op == "norm", narrow)
    if n <= ddof or not n:
        return nan
    top, under = {
        "mean": (sx, n * p),
        "var": (b, n * part * p * p),
        "std": (b, n * part * p * p),
        "cov": (a, n * part * p * q),
        "slope": (a * p, b * q),
        "corr": (a * abs(a), b * d),
        "wmean": (sxy, sy * p),
    }[op]
    return rounded(Fraction(top) / under, op in ("std", "corr"), narrow) if under else nan


def integers(values):
    """Integers, and what divides all of them."""
    ratios = [v.as_integer_ratio() for v in values]
    most = max((b for _, b in ratios), default=1)  # powers of two
    return [a * (most // b) for a, b in ratios], most


# ---- elements ----


def element(kind, dtype):
    if dtype[0] in "iu":
        bits = int(dtype[1:])
        low, high = (
            (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "i" else (0, (1 << bits) - 1)
        )
        if kind == "near":  # nanoseconds of a day
            return min(high, 1700000000123456789 % (high + 1) + random.randint(0, 999))
        edges = [low, high, low + 1, high - 1, 0, 1, max(low, -1)]
        return {"wide": random.randint(low, high), "edge": random.choice(edges)}.get(
            kind, random.randint(max(low, -9), 9)
        )
    if kind == "near":
        v = random.gauss(1e8, 1)
    elif kind == "wide":
        v = math.ldexp(random.random() - 0.5, random.randint(-1074, 1023))
    elif kind == "tiny":
        v = random.randint(-9, 9) * 5e-324
    elif kind == "large":
        v = random.choice([1e300, -1e300, 1.7976931348623157e308]) * random.random()
    elif kind == "special":
        v = random.choice([inf, -inf, nan, 0.0, -0.0, 1.0, 2.5, -3.0, 1.0])
    elif kind == "holes":
        v = random.choice([nan, random.gauss(0, 1), random.gauss(5, 1)])
    else:
        v = float(random.randint(-3, 3))
    if dtype == "f64":
        return v
    try:
        return struct.unpack("<" + FORMAT[dtype], struct.pack("<" + FORMAT[dtype], v))[0]
    except OverflowError:
        return math.copysign(inf, v) if kind == "special" else 1.0


KINDS = "near wide tiny large special holes small edge".split()


class View(c.Structure):
    pass


View._fields_ = [
    ("data", c.c_void_p),
    ("dtype", c.c_int),
    ("rows", c.c_int64),
    ("n", c.c_int64),
    ("row_stride", c.c_int64),
    ("stride", c.c_int64),
    ("offsets", c.c_void_p),
    ("valid", c.c_void_p),
    ("valid_offset", c.c_int64),
    ("next", c.POINTER(View)),
]


def array(values, dtype):
    return c.create_string_buffer(
        struct.pack("<%d%s" % (len(values), FORMAT[dtype]), *values),
        max(1, len(values) * struct.calcsize(FORMAT[dtype])),
    )


class Input:
    """n elements of one or two columns, perhaps with validity; row i is rows[i]."""

    def __init__(self, n, inputs, kind, dtype, bitmap):
        self.dtype, self.kept = dtype, []
        columns = [[element(kind, dtype) for _ in range(n)] for _ in range(inputs)]
        there = [
            [random.random() < 0.8 for _ in range(n)] if bitmap else [True] * n for _ in columns
        ]
        self.view = self.next = None
        for values, bits in reversed(list(zip(columns, there))):
            data, shift = array(values, dtype), random.randint(0, 9)
            view = View(
                c.cast(data, c.c_void_p), NAMES.index(dtype) + 1, 1, n, n, 1, None, None, 0, None
            )
            self.kept += [data, view]
            if bitmap:
                packed = bytearray((n + shift) // 8 + 1)
                for i, bit in enumerate(bits):
                    packed[i + shift >> 3] |= bit << (i + shift & 7)
                buffer = c.create_string_buffer(bytes(packed), len(packed))
                view.valid, view.valid_offset = c.cast(buffer, c.c_void_p), shift
                self.kept.append(buffer)
            if self.view is not None:
                view.next = c.pointer(self.view)
            self.view = view
        pairs = zip(columns[0], columns[-1] if inputs == 2 else [0] * n)
        self.rows = [r if all(b[i] for b in there) else None for i, r in enumerate(pairs)]

    def shape(self, rows, n, row_stride, stride, offsets=None):
        """Makes it a view, and returns the rows of each sequence."""
        views = [self.view] + ([self.view.next.contents] if self.view.next else [])
        for v in views:
            v.rows, v.n, v.row_stride, v.stride = rows, n, row_stride, stride
            if offsets:
                self.offsets = (c.c_int64 * len(offsets))(*offsets)
                v.offsets = c.cast(self.offsets, c.c_void_p)
        if offsets:
            return [self.rows[a:b] for a, b in zip(offsets, offsets[1:])]
        return [[self.rows[r * row_stride + i * stride] for i in range(n)] for r in range(rows)]

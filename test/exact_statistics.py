# SPDX-License-Identifier: MIT
"""Compares exact statistics (var:exact and its like) with fractions, rounded once, by ctypes: types, views, validity,
scans, windows, ranges, streams, groups, fragments. Run by test_exact.sh.

    exact_statistics.py LIBRARY"""
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
cases = int(os.environ.get("CASES", "500"))
print("seed", seed)
random.seed(seed)
checks = failed = 0
inf, nan = math.inf, math.nan
NAMES = "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64".split()
FORMAT = dict(zip(NAMES, "bBhHiIqQe?fd"))
F64 = 12


class View(c.Structure):
    pass


View._fields_ = [("data", c.c_void_p), ("dtype", c.c_int), ("rows", c.c_int64), ("n", c.c_int64),
                 ("row_stride", c.c_int64), ("stride", c.c_int64), ("offsets", c.c_void_p), ("valid", c.c_void_p),
                 ("valid_offset", c.c_int64), ("next", c.POINTER(View))]


class Scan(c.Structure):
    _fields_ = [("exclusive", c.c_int), ("reverse", c.c_int), ("init", c.c_void_p)]


class Window(c.Structure):
    _fields_ = [("before", c.c_int64), ("after", c.c_int64), ("edges", c.c_int), ("min_count", c.c_int64),
                ("step", c.c_int64)]


tally.tally_error.restype = c.c_char_p
tally.tally_stream_room.restype = tally.tally_stream_results.restype = c.c_int64


def opened(device):
    ctx = c.c_void_p()
    if tally.tally_open(c.byref(ctx), device.encode()):
        sys.exit(tally.tally_error(None).decode())
    return ctx


contexts = [opened("cpu,threads=1"), opened("cpu,threads=3")]


def fine(ctx, status, what):
    global failed
    if status:
        failed += 1
        print("FAILED: %s: %s" % (what, tally.tally_error(ctx).decode()))
    return not status


def same(got, want, *what):
    global checks, failed
    checks += 1
    if struct.pack("<d", got) != struct.pack("<d", want):
        failed += 1
        if failed < 20:
            print("DIFFERENT:", *what, "got", got.hex(), "wanted", want.hex())


# ---- the reference ----

OPS = {  # how many inputs each has
    "mean": 1, "sumsq": 1, "norm": 1, "var": 1, "std": 1, "wmean": 2, "cov": 2, "corr": 2, "slope": 2}


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
            return signs.pop() if len(signs) == 1 else nan if signs else rounded(finite, False, False)
        products = [math.copysign(inf, x) * y if math.isinf(x) else x * math.copysign(inf, y) if math.isinf(y)
                    else Fraction(x) * Fraction(y) for x, y in rows]
        if any(p != p for p in products):
            return nan
        top, under = one(products), one([y for _, y in rows])
        return top if not under else top / under if math.isfinite(top) or math.isfinite(under) else nan
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
    top, under = {"mean": (sx, n * p), "var": (b, n * part * p * p), "std": (b, n * part * p * p),
                  "cov": (a, n * part * p * q), "slope": (a * p, b * q), "corr": (a * abs(a), b * d),
                  "wmean": (sxy, sy * p)}[op]
    return rounded(Fraction(top) / under, op in ("std", "corr"), narrow) if under else nan


def integers(values):
    """Integers, and what divides all of them."""
    ratios = [v.as_integer_ratio() for v in values]
    most = max((b for _, b in ratios), default=1)  # powers of two
    return [a * (most // b) for a, b in ratios], most


# ---- data ----

def element(kind, dtype):
    if dtype[0] in "iu":
        bits = int(dtype[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "i" else (0, (1 << bits) - 1)
        if kind == "near":  # nanoseconds of a day
            return min(high, 1700000000123456789 % (high + 1) + random.randint(0, 999))
        edges = [low, high, low + 1, high - 1, 0, 1, max(low, -1)]
        return {"wide": random.randint(low, high), "edge": random.choice(edges)}.get(
            kind, random.randint(max(low, -9), 9))
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


def array(values, dtype):
    return c.create_string_buffer(struct.pack("<%d%s" % (len(values), FORMAT[dtype]), *values), max(
        1, len(values) * struct.calcsize(FORMAT[dtype])))


class Input:
    """n elements of one or two columns, perhaps with validity; row i is rows[i]."""

    def __init__(self, n, inputs, kind, dtype, bitmap):
        self.dtype, self.kept = dtype, []
        columns = [[element(kind, dtype) for _ in range(n)] for _ in range(inputs)]
        there = [[random.random() < 0.8 for _ in range(n)] if bitmap else [True] * n for _ in columns]
        self.view = self.next = None
        for values, bits in reversed(list(zip(columns, there))):
            data, shift = array(values, dtype), random.randint(0, 9)
            view = View(c.cast(data, c.c_void_p), NAMES.index(dtype) + 1, 1, n, n, 1, None, None, 0, None)
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


def values_of(buffer, count, narrow):
    return struct.unpack("<%d%s" % (count, "f" if narrow else "d"), bytes(buffer)[: count * (4 if narrow else 8)])


def out_view(count, narrow, rows=1):
    data = c.create_string_buffer(max(8, count * rows * 8))
    return data, View(c.cast(data, c.c_void_p), F64 - narrow, rows, count, count, 1, None, None, 0, None)


def pick():
    """An operator, its text, a type, and whether its result is an f32."""
    op = random.choice(list(OPS))
    nanform = random.random() < 0.4
    dtype = random.choice("i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64".split() + ["i64", "f64", "f64", "f64"])
    ddof = random.choice([0, 1, 1, 2, 0.5]) if op in ("var", "std", "cov") else 0
    text = ("nan" if nanform else "") + op + ":exact" + (":ddof=%g" % ddof if ddof else "")
    narrow = op in ("mean", "wmean") and dtype in ("f16", "f32")
    if narrow and random.random() < 0.5:
        text, narrow = text + ":f64", False
    return ("nan" if nanform else "") + op, text.encode(), ddof, dtype, narrow, OPS[op]


def reduction(case):
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx = contexts[case & 1]
    n = random.choice([0, 1, 2, 3, 5, 20, 60, 200])
    kind = random.choice(KINDS)
    a = Input(n, inputs, kind, dtype, random.random() < 0.3)
    way = random.randint(0, 3)
    if way == 0:
        sequences = a.shape(1, n, n, 1)
    elif way == 1:  # columns
        k = random.randint(1, 20)
        sequences = a.shape(k, n // k, 1, k)
    elif way == 2:
        k = random.randint(1, 5)
        sequences = a.shape(k, n // k // 2, n // k, 2)
    else:
        cuts = sorted(random.randint(0, n) for _ in range(4))
        sequences = a.shape(len(cuts) - 1, 0, 0, 1, cuts)
    out, _ = out_view(len(sequences), narrow)
    if fine(ctx, tally.tally_reduce(ctx, text, c.byref(a.view), out), text):
        for k, (got, rows) in enumerate(zip(values_of(out, len(sequences), narrow), sequences)):
            same(got, expected(op, ddof, rows, narrow), text, dtype, kind, "way", way, "row", k, rows[:20])


def series(case):
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx = contexts[case & 1]
    n, kind = random.choice([1, 9, 40]), random.choice(KINDS)
    a = Input(n, inputs, kind, dtype, random.random() < 0.3)
    out, view = out_view(n, narrow)
    exclusive = random.randint(0, 1)
    if fine(ctx, tally.tally_scan(ctx, text, c.byref(a.view), c.byref(view), c.byref(Scan(exclusive, 0, None))), text):
        for i, got in enumerate(values_of(out, n, narrow)):
            same(got, expected(op, ddof, a.rows[: i + 1 - exclusive], narrow), "scan", text, dtype, kind, i, a.rows)
    before, after = random.randint(0, 9), random.randint(0, 3)
    options = Window(before, after, 1, 0, 0)
    if fine(ctx, tally.tally_window(ctx, text, c.byref(a.view), c.byref(view), c.byref(options)), text):
        for i, got in enumerate(values_of(out, n, narrow)):
            rows = a.rows[max(0, i - before): i + after + 1]
            same(got, expected(op, ddof, rows, narrow), "window", text, dtype, kind, i, rows)
    ends = sorted([random.randint(0, n) for _ in range(2)] for _ in range(n))
    start, end = [(c.c_int64 * n)(*(f(e) for e in ends)) for f in (min, max)]
    if fine(ctx, tally.tally_window_ranges(ctx, text, c.byref(a.view), start, end, c.c_int64(n), c.byref(view),
                                           c.c_int64(0)), text):
        for i, got in enumerate(values_of(out, n, narrow)):
            same(got, expected(op, ddof, a.rows[start[i]: end[i]], narrow), "ranges", text, dtype, kind, i)


def stream(case):
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx = contexts[case & 1]
    n, kind, size = random.choice([1, 9, 80]), random.choice(KINDS), struct.calcsize(FORMAT[dtype])
    a = Input(n, inputs, kind, dtype, random.random() < 0.3)
    s, more = c.c_void_p(), c.c_int64()
    if not fine(ctx, tally.tally_stream_reduce(ctx, text, a.view.dtype, c.byref(s)), text):
        return
    at, views = 0, [a.view] + ([a.view.next.contents] if inputs == 2 else [])
    data = [v.data for v in views]
    shift = [v.valid_offset for v in views]
    while at < n:
        m = min(n - at, random.randint(1, 30))
        for v, d, b in zip(views, data, shift):
            v.data, v.n, v.valid_offset = d + at * size, m, b + at if v.valid else 0
        fine(ctx, tally.tally_stream_push_view(s, c.byref(a.view), None), text)
        at += m
    out, _ = out_view(1, narrow)
    if fine(ctx, tally.tally_stream_finish(s, out, c.byref(more)), text):
        same(values_of(out, 1, narrow)[0], expected(op, ddof, a.rows, narrow), "stream", text, dtype, kind, a.rows)
    tally.tally_stream_close(s)
    if inputs == 2:
        return
    b, groups = Input(n, 1, kind, dtype, False), random.randint(1, 5)
    codes = [random.randrange(groups) for _ in range(n)]
    fine(ctx, tally.tally_stream_reduce_groups(ctx, text, b.view.dtype, c.byref(s)), text)
    fine(ctx, tally.tally_stream_push_groups(s, c.c_void_p(b.view.data), (c.c_int32 * n)(*codes), c.c_int64(n),
                                             c.c_int64(groups)), text)
    out, _ = out_view(groups, narrow)
    if fine(ctx, tally.tally_stream_finish(s, out, c.byref(more)), text):
        for g, got in enumerate(values_of(out, groups, narrow)):
            rows = [r for r, k in zip(b.rows, codes) if k == g]
            same(got, expected(op, ddof, rows, narrow), "groups", text, dtype, kind, g, rows)
    tally.tally_stream_close(s)


def pieces(a, n, most):
    """Cuts the n elements of each sequence of a view; yields where each piece begins, and its length."""
    views = [a.view] + ([a.view.next.contents] if a.view.next else [])
    whole, size, at = [(v, v.data, v.valid_offset) for v in views], struct.calcsize(FORMAT[a.dtype]), 0
    while at < n:
        m = min(n - at, random.randint(1, most))
        for v, data, shift in whole:
            v.data, v.n = data + at * v.stride * size, m
            v.valid_offset = shift + at * v.stride if v.valid else 0
        yield at, m
        at += m
    for v, data, shift in whole:
        v.data, v.n, v.valid_offset = data, n, shift


def pushed(ctx, verb, text, a, k, n, options, out):
    """Pushes the k sequences of a view into a stream of many, piece by piece. The first piece may come as a fragment.
    out: a view of the results. Returns the status, and how many elements came as a fragment."""
    s, f, first, made, status = c.c_void_p(), c.c_void_p(), 0, 0, 0
    begins, size = verb < 2 and random.random() < 0.4, 4 if out.dtype == F64 - 1 else 8
    fine(ctx, (tally.tally_stream_reduce_rows(ctx, text, a.view.dtype, c.c_int64(k), c.byref(s)) if verb == 0 else
               tally.tally_stream_scan_rows(ctx, text, a.view.dtype, c.c_int64(k), None, c.byref(s)) if verb == 1 else
               tally.tally_stream_window_rows(ctx, text, a.view.dtype, c.c_int64(k), c.byref(options), c.byref(s))),
         text)
    if not s:
        return -1, 0
    for at, m in pieces(a, n, 7):
        if at == 0 and begins:
            status = tally.tally_fragment_of_view(ctx, text, c.byref(a.view), c.c_int64(0), c.byref(f))
            status = status or tally.tally_stream_resume(s, f)
            tally.tally_fragment_free(f)
            first, made = m, m if verb else 0
        elif not status:
            to = View.from_buffer_copy(out)
            to.data, to.n = out.data + made * size, tally.tally_stream_results(s, c.c_int64(m))
            status = tally.tally_stream_push_view(s, c.byref(a.view), c.byref(to) if verb else None)
            made += to.n
    if not status:
        to = View.from_buffer_copy(out)
        to.data = out.data + made * size
        status = tally.tally_stream_finish_view(s, c.byref(to)) if verb != 1 else 0
    tally.tally_stream_close(s)
    return status, first


def many(case):
    """Streams of many sequences, which are rows or columns."""
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx, k, n = contexts[case & 1], random.choice([0, 1, 3, 40]), random.choice([1, 9, 30])
    a = Input(n * k, inputs, random.choice(KINDS), dtype, random.random() < 0.3)
    sequences, options = a.shape(k, n, *random.choice([(n, 1), (1, k)])), Window(random.randint(0, 4), 1, 1, 0, 0)
    for verb in range(3):
        results = n if verb else 1
        data, out = out_view(results, narrow, k)
        status, first = pushed(ctx, verb, text, a, k, n, options, out)
        if not fine(ctx, status, text):
            return
        for r, rows in enumerate(sequences):
            got = values_of(data, k * results, narrow)[r * results: (r + 1) * results]
            for i in range(first if verb == 1 else 0, results):
                part = rows[: i + 1] if verb == 1 else rows[max(0, i - options.before): i + 2] if verb else rows
                same(got[i], expected(op, ddof, part, narrow), "many", verb, text, dtype, "row", r, i, part)


def merged(ctx, parts, text):
    """Merges fragments in any order, some through their bytes; returns the bytes of the whole."""
    random.shuffle(parts)
    while len(parts) > 1:
        left, right = parts.pop(), parts.pop()
        if random.random() < 0.3:
            right = loaded(ctx, saved(ctx, right, text), text)
        fine(ctx, tally.tally_fragment_merge(left, right), text)
        tally.tally_fragment_free(right)
        parts.insert(random.randint(0, len(parts)), left)
    return parts[0]


def saved(ctx, f, text):
    size = c.c_size_t()
    fine(ctx, tally.tally_fragment_save(f, None, c.byref(size)), text)
    buffer = c.create_string_buffer(size.value)
    fine(ctx, tally.tally_fragment_save(f, buffer, c.byref(size)), text)
    return buffer.raw


def loaded(ctx, data, text):
    f = c.c_void_p()
    fine(ctx, tally.tally_fragment_load(ctx, data, c.c_size_t(len(data)), c.byref(f)), text)
    return f


def fragments(case):
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx, k, n = contexts[case & 1], random.choice([1, 1, 3]), random.choice([0, 1, 12, 50])
    a, size = Input(n * k, inputs, random.choice(KINDS), dtype, random.random() < 0.3), struct.calcsize(FORMAT[dtype])
    sequences = a.shape(k, n, n, 1)
    views = [a.view] + ([a.view.next.contents] if inputs == 2 else [])
    data, shift, kept = [v.data for v in views], [v.valid_offset for v in views], []
    for _ in range(2):
        parts, cuts = [], [0] + sorted(random.randint(0, n) for _ in range(3)) + [n]
        for start, end in zip(cuts, cuts[1:]):
            for v, d, b in zip(views, data, shift):
                v.data, v.n, v.valid_offset = d + start * size, end - start, b + start if v.valid else 0
            f = c.c_void_p()
            if not fine(ctx, tally.tally_fragment_of_view(ctx, text, c.byref(a.view), c.c_int64(start), c.byref(f)),
                        text):
                return
            parts.append(f)
        whole = merged(ctx, parts, text)
        out, _ = out_view(k, narrow)
        kept.append(saved(ctx, whole, text))
        if fine(ctx, tally.tally_fragment_result(whole, out), text):
            for got, rows in zip(values_of(out, k, narrow), sequences):
                same(got, expected(op, ddof, rows, narrow), "fragment", text, dtype, rows)
        tally.tally_fragment_free(whole)
    same(float(kept[0] == kept[1]), 1.0, "bytes of fragments of", text, dtype)
    f = c.c_void_p()
    for at in random.sample(range(len(kept[0])), 5):
        bad = bytearray(kept[0])
        bad[at] ^= 1 << random.randint(0, 7)
        status = tally.tally_fragment_load(ctx, bytes(bad), c.c_size_t(len(bad)), c.byref(f))
        same(float(status != 0), 1.0, "altered", at)


def long(dtype, kind, n, bitmap):
    """Lengths that threads share, and blocks of every sort."""
    for inputs, ops in ((1, ("mean", "var", "std", "norm", "nanvar")), (2, ("cov", "corr", "slope", "nancorr"))):
        a = Input(n, inputs, kind, dtype, bitmap)
        for op in ops:
            want = expected(op, 0, a.rows)
            for ctx in contexts:
                out, _ = out_view(1, False)
                text = (op + ":exact:f64").encode()
                if fine(ctx, tally.tally_reduce(ctx, text, c.byref(a.view), out), text):
                    same(values_of(out, 1, False)[0], want, "long", text, dtype, kind, n)


# ---- sum:checked ----

def judged(ctx, status, text, sums, dtype, buffer, what):
    """Compares a call's status and results with the sums, or says where the first is that does not fit."""
    global checks, failed
    low, high = (0, 2 ** 64 - 1) if dtype[0] == "u" else (-2 ** 63, 2 ** 63 - 1)
    wrong = next((i for i, v in enumerate(sums) if v is not None and not low <= v <= high), None)
    checks += 1
    got = list(struct.unpack("<%d%s" % (len(sums), "Q" if dtype[0] == "u" else "q"), bytes(buffer)[: 8 * len(sums)]))
    said = tally.tally_error(ctx).decode() if status else ""
    if wrong is None:
        good = not status and got == [v or 0 for v in sums]
    else:
        good = status and "is %d, and 64 bits hold" % sums[wrong] in said and text % wrong in said
        good = good and (what.startswith("stream") or not any(bytes(buffer)))
    if not good:
        failed += 1
        print("DIFFERENT:", what, dtype, "status", status, said, "sums", sums, "got", got, "place", wrong)


def checked(case):
    dtype, kind = random.choice(["i64", "u64", "i32", "u8", "i64", "u64"]), random.choice(["edge", "wide", "small"])
    ctx, n = contexts[case & 1], random.choice([1, 2, 5, 30])
    a, op = Input(n, 1, kind, dtype, random.random() < 0.3), b"sum:checked"
    x = [r[0] if r else 0 for r in a.rows]
    code = NAMES.index("u64" if dtype[0] == "u" else "i64") + 1
    out = c.create_string_buffer(8 * n)
    judged(ctx, tally.tally_reduce(ctx, op, c.byref(a.view), out), "the sum is%.0s", [sum(x)], dtype, out, "reduce")
    out = c.create_string_buffer(8 * n)
    view = View(c.cast(out, c.c_void_p), code, 1, n, n, 1, None, None, 0, None)
    judged(ctx, tally.tally_scan(ctx, op, c.byref(a.view), c.byref(view), None), "running sum number %d is",
           [sum(x[: i + 1]) for i in range(n)], dtype, out, "scan")
    out = c.create_string_buffer(8 * n)
    view.data = c.cast(out, c.c_void_p)
    status = tally.tally_scan(ctx, op, c.byref(a.view), c.byref(view), c.byref(Scan(1, 0, None)))
    judged(ctx, status, "running sum number %d is",
           [sum(x[:i]) for i in range(n)], dtype, out, "exclusive scan")
    before, after = random.randint(0, 3), random.randint(0, 2)
    options = Window(before, after, 1, 0, 0)
    windows = [sum(x[max(0, i - before): i + after + 1]) for i in range(n)]
    out = c.create_string_buffer(8 * n)
    view.data = c.cast(out, c.c_void_p)
    judged(ctx, tally.tally_window(ctx, op, c.byref(a.view), c.byref(view), c.byref(options)), "window number %d is",
           windows, dtype, out, "window")
    if n >= 4:
        out = c.create_string_buffer(8 * n)
        rows = a.shape(2, n // 2, n // 2, 1)
        judged(ctx, tally.tally_reduce(ctx, op, c.byref(a.view), out), "the sum of sequence %d is",
               [sum(r[0] for r in row if r) for row in rows], dtype, out, "rows")
        a.shape(1, n, n, 1)
    if a.view.valid:
        return
    size = struct.calcsize(FORMAT[dtype])
    for verb, sums, text in ((0, [sum(x)], "the sum is%.0s"), (1, [sum(x[: i + 1]) for i in range(n)], "number %d is"),
                             (2, windows, "window number %d is")):
        s, more, made, status, at = c.c_void_p(), c.c_int64(), 0, 0, 0
        out = c.create_string_buffer(8 * n + 8 * 100)
        fine(ctx, (tally.tally_stream_reduce(ctx, op, a.view.dtype, c.byref(s)) if verb == 0 else
                   tally.tally_stream_scan(ctx, op, a.view.dtype, None, c.byref(s)) if verb == 1 else
                   tally.tally_stream_window(ctx, op, a.view.dtype, c.byref(options), c.byref(s))), op)
        while at < n and not status:
            m = min(n - at, random.randint(1, 9))
            status = tally.tally_stream_push(s, c.c_void_p(a.view.data + at * size), c.c_int64(m),
                                             c.c_void_p(c.addressof(out) + 8 * made), c.byref(more))
            made, at = made + more.value, at + m
        if not status:
            status = tally.tally_stream_finish(s, c.c_void_p(c.addressof(out) + 8 * made), c.byref(more))
        judged(ctx, status, text, sums, dtype, out, "stream %d" % verb)
        tally.tally_stream_close(s)


def checked_parts(case):
    """sum:checked of many sequences: streams, fragments and groups."""
    dtype, kind = random.choice(["i64", "u64", "i32", "u8", "i64", "u64"]), random.choice(["edge", "wide", "small"])
    ctx, k, n, op = contexts[case & 1], random.choice([1, 2, 5]), random.choice([1, 4, 20]), b"sum:checked"
    a = Input(n * k, 1, kind, dtype, random.random() < 0.3)
    way = random.choice([(n, 1), (1, k)])
    sequences = [[r[0] if r else 0 for r in rows] for rows in a.shape(k, n, *way)]
    code, which = NAMES.index("u64" if dtype[0] == "u" else "i64") + 1, " of sequence %d is" if k > 1 else " is%.0s"
    before, after = random.randint(0, 3), random.randint(0, 2)
    sums = [[[sum(x)] for x in sequences],
            [[sum(x[: i + 1]) for i in range(n)] for x in sequences],
            [[sum(x[max(0, i - before): i + after + 1]) for i in range(n)] for x in sequences]]
    for verb in range(3):
        results = n if verb else 1
        out = c.create_string_buffer(8 * k * results)
        view = View(c.cast(out, c.c_void_p), code, k, results, results, 1, None, None, 0, None)
        status, first = pushed(ctx, verb, op, a, k, n, Window(before, after, 1, 0, 0), view)
        for x in sums[1] if verb == 1 else []:
            x[:first] = [None] * first
        if verb == 0:
            judged(ctx, status, "the sum" + which, [x[0] for x in sums[0]], dtype, out, "rows")
        else:
            said = judge_many(ctx, status, sums[verb], dtype, out)
            same(float(said), 1.0, "checked", verb, dtype, tally.tally_error(ctx), status, sums[verb], first)
    parts, out = [], c.create_string_buffer(8 * k)
    for start, _ in pieces(a, n, 9):
        parts.append(c.c_void_p())
        fine(ctx, tally.tally_fragment_of_view(ctx, op, c.byref(a.view), c.c_int64(start), c.byref(parts[-1])), op)
    whole = merged(ctx, parts, op)
    status = tally.tally_fragment_result(whole, out)
    judged(ctx, status, "the sum" + which, [x[0] for x in sums[0]], dtype, out, "merged")
    tally.tally_fragment_free(whole)
    if a.view.valid or way != (n, 1):
        return
    s, x = c.c_void_p(), [v for row in sequences for v in row]
    codes, out = [random.randrange(k) for _ in x], c.create_string_buffer(8 * k)
    fine(ctx, tally.tally_stream_reduce_groups(ctx, op, a.view.dtype, c.byref(s)), op)
    for at, m in ((0, len(x) // 2), (len(x) // 2, len(x) - len(x) // 2)):
        fine(ctx, tally.tally_stream_push_groups(
            s, c.c_void_p(a.view.data + at * struct.calcsize(FORMAT[dtype])), (c.c_int32 * m)(*codes[at: at + m]),
            c.c_int64(m), c.c_int64(k)), op)
    judged(ctx, tally.tally_stream_finish(s, out, None), "the sum of group %d is",
           [sum(v for v, g in zip(x, codes) if g == group) for group in range(k)], dtype, out, "groups")
    tally.tally_stream_close(s)


def judge_many(ctx, status, sums, dtype, out):
    """Whether results of many sequences are the sums, or the status says one that does not fit, with its place."""
    low, high = (0, 2 ** 64 - 1) if dtype[0] == "u" else (-2 ** 63, 2 ** 63 - 1)
    flat = [v for x in sums for v in x]
    wrong = [(r, i) for r, x in enumerate(sums) for i, v in enumerate(x) if v is not None and not low <= v <= high]
    if not wrong:
        got = struct.unpack("<%d%s" % (len(flat), "Q" if dtype[0] == "u" else "q"), bytes(out))
        return not status and all(v is None or v == w for v, w in zip(flat, got))
    said = tally.tally_error(ctx).decode()
    return status and any("number %d%s is %d, and 64 bits hold" % (
        i, " of sequence %d" % r if len(sums) > 1 else "", sums[r][i]) in said for r, i in wrong)


def refused(op, words, call=None):
    """A call that is refused in words."""
    global checks, failed
    a, out = Input(3, 1, "small", "i64", False), c.create_string_buffer(64)
    f = c.c_void_p()
    status = (call or (lambda: tally.tally_reduce(contexts[0], op, c.byref(a.view), out)))()
    said = tally.tally_error(contexts[0]).decode()
    checks += 1
    if not status or words not in said:
        failed += 1
        print("DIFFERENT:", op, "is not refused with", words, "but", status, said)


f = c.c_void_p()
refused(b"mean:checked", "the suffix :checked is for sums of integers")
refused(b"sum:checked:exact", "the suffix :checked is for sums of integers")
refused(b"max:exact", "the suffix :exact is for")
refused(b"sum:exact", "integers are added exactly without the suffix")
for case in range(cases):
    reduction(case)
    checked(case)
    if case % 4 == 0:
        series(case)
        stream(case)
        many(case)
        fragments(case)
        checked_parts(case)
for dtype, kind in (("f64", "near"), ("f64", "wide"), ("f32", "near"), ("i64", "near"), ("f64", "holes"),
                    ("u64", "wide")):
    long(dtype, kind, 9001, random.random() < 0.3)
long("f64", "near", 70000, False)
long("i64", "wide", 70000, False)
print("%d checks, %d failed" % (checks, failed))
sys.exit(failed > 0 or checks < 1000)

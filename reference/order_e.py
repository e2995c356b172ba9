#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Order E, v1, a second time: written from doc/order.md and README.md, not from order_e.c, in plain Python, no NumPy.

    order_e.py vectors.json      checks every vector; exit 0 if all are right

Where order_e.c walks trees, this one pushes elements on a binary counter (section 4 of the order). Numbers of f32 are
Python floats that struct rounds after each operation; 53 bits are more than 2 * 24 + 1, so rounding twice is rounding
once. Exact sums are Python's integers. Integers of 64 bits are kept modulo 2^64.
"""
import json
import math
import struct
import sys
from fractions import Fraction

M64 = (1 << 64) - 1
NAN = float("nan")
INF = float("inf")


# ---- numbers: bits <-> values; "i64" values are Python integers, signed ----
def from_bits(kind, bits):
    if kind == "i64":
        return bits - (1 << 64) if bits >> 63 else bits
    return struct.unpack("<f" if kind == "f32" else "<d", bits.to_bytes(4 if kind == "f32" else 8, "little"))[0]


def to_bits(kind, x):
    if kind == "i64":
        return x & M64
    if x != x:
        return 0x7FC00000 if kind == "f32" else 0x7FF8000000000000
    return int.from_bytes(struct.pack("<f" if kind == "f32" else "<d", x), "little")


def wrap(x):
    return from_bits("i64", x & M64)


def to_f32(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:  # beyond the largest f32, and it rounds to more than that
        return INF if x > 0 else -INF


ROUND = {"f32": to_f32, "f64": lambda x: x, "i64": wrap}


def divide(a, b):
    if b == 0:
        return NAN if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1.0, b)
    return a / b


# ---- data (README.md, "The data") ----
def splitmix64(state):
    while True:
        state = (state + 0x9E3779B97F4A7C15) & M64
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & M64
        yield z ^ z >> 31


def data_bits(kind, how, seed, n):
    width, fraction, top = (32, 23, 255) if kind == "f32" else (64, 52, 2047)
    found = []
    for _, r in zip(range(n), splitmix64(seed)):
        if kind == "i64":
            found.append((r % 2001 - 1000) & M64 if how == "plain" else r)
            continue
        m, e = r % (1 << fraction), top // 2 - 2 + (r >> 53) % 4
        if how == "wide":
            e = (r >> 52) % 2048 % top
        elif how == "tiny":
            e = (r >> 53) % 4
        elif how == "zeros":
            m, e = 0, 0
        elif how == "hostile":
            m, e = {0: (m | 1, top), 1: (0, top), 2: (0, 0), 3: (m, 0), 4: (m, top - 1),
                    5: (m, 1)}.get((r >> 55) % 64, (m, e))
        found.append((r >> 63) << (width - 1) | e << fraction | m)
    return found


def fnv(bits, width):
    h = 0xCBF29CE484222325
    for b in bits:
        for byte in b.to_bytes(width, "little"):
            h = ((h ^ byte) * 0x100000001B3) & M64
    return h


# ---- operators ----
def total_order(x):
    """A key for numbers that are not NaN: by value, and -0 below +0."""
    return (x, math.copysign(1.0, x)) if isinstance(x, float) else (x, 0)


class Operator:
    """`out` and `acc` are the types of results and of the arithmetic; states are tuples."""

    seedable = True

    def __init__(self, kind, param, masked):
        self.kind, self.param, self.masked = kind, param, masked
        self.acc = self.out = kind
        self.setup()

    def setup(self):
        pass

    def leaves_out(self, x):
        return self.masked and x != x

    def real(self, x):
        """An element in the arithmetic's type."""
        return float(x) if self.kind == "i64" and self.acc == "f64" else x

    def saved(self, s, width):
        """The state's fields as bits, as fragments hold them."""
        return [to_bits(self.acc, v) for v in s]


class Sum(Operator):
    nothing = 0

    def lift(self, x, i):
        return (x,)

    def combine(self, a, b, na, nb):
        return (ROUND[self.acc](a[0] + b[0]),)

    def seed(self, v):
        return (v,)

    def lower(self, s, n):
        return s[0] + (0 if self.kind == "i64" else 0.0)

    def empty(self):
        return self.nothing if self.kind == "i64" else float(self.nothing)


class Prod(Sum):
    nothing = 1

    def combine(self, a, b, na, nb):
        return (ROUND[self.acc](a[0] * b[0]),)

    def lower(self, s, n):
        return s[0]


class Mean(Operator):
    seedable = False

    def setup(self):
        if self.kind == "i64":
            self.out = "f64"

    def lift(self, x, i):
        return (x,)

    def combine(self, a, b, na, nb):  # Python's integers do not wrap
        return (a[0] + b[0] if self.kind == "i64" else ROUND[self.acc](a[0] + b[0]),)

    def lower(self, s, n):
        if self.kind == "i64":
            size = abs(s[0])
            quotient = (float(size >> 64) * 2.0**64 + float(size & M64)) / float(n)
            return 0.0 - quotient if s[0] < 0 else quotient
        return ROUND[self.acc](divide(s[0] + 0.0, ROUND[self.acc](float(n))))

    def empty(self):
        return NAN

    def saved(self, s, width):
        return [s[0] & M64, s[0] >> 64 & M64] if self.kind == "i64" else super().saved(s, width)


class Var(Operator):
    seedable = False

    def setup(self):
        self.acc = self.out = "f64"

    def lift(self, x, i):
        return (self.real(x), self.real(x) - self.real(x))

    def combine(self, a, b, na, nb):
        w = float(nb) / (float(na) + float(nb))
        d = b[0] - a[0]
        return (a[0] + d * w, (a[1] + b[1]) + (d * d) * (float(na) * w))

    def lower(self, s, n):
        f = float(n) - self.param
        return divide(s[1], f) if f > 0 else NAN

    def empty(self):
        return NAN


class Min(Operator):
    side = -1

    def lift(self, x, i):
        return (x, i)

    def combine(self, a, b, na, nb):
        """The left one, unless the right one is beyond it; a NaN is beyond all."""
        if a[0] != a[0]:
            return a
        if b[0] != b[0]:
            return b
        left, right = total_order(a[0]), total_order(b[0])
        return b if (right < left if self.side < 0 else right > left) else a

    def seed(self, v):
        """A NaN before the minimum of what is no NaN is left out, as an element would be."""
        return None if self.leaves_out(v) else (v, 0)

    def lower(self, s, n):
        return s[0]

    def empty(self):
        if self.kind == "i64":
            return (1 << 63) - 1 if self.side < 0 else -1 << 63
        return NAN

    def saved(self, s, width):
        bits = to_bits(self.kind, s[0])
        if bits >> (8 * width - 1) and self.kind != "i64":  # keys of numbers below 0: the other bits turned round
            bits ^= (1 << (8 * width - 1)) - 1
        return [bits]


class Max(Min):
    side = 1


class Argmin(Min):
    seedable = False

    def setup(self):
        self.out = "i64"

    def lower(self, s, n):
        return s[1]

    def empty(self):
        return -1

    def saved(self, s, width):
        return super().saved(s, width) + [s[1]]


class Ema(Operator):
    def setup(self):
        if self.kind == "i64":
            self.acc = self.out = "f64"

    def lift(self, x, i):
        r = ROUND[self.acc]
        return (r(1.0 - r(self.param)), self.real(x), self.real(x))

    def combine(self, a, b, na, nb):
        r = ROUND[self.acc]
        return (r(a[0] * b[0]), a[1], r(b[2] + r(b[0] * r(a[2] - b[1]))))

    def seed(self, v):
        return (1.0, v, v)

    def lower(self, s, n):
        return s[2]

    def empty(self):
        return NAN


CLASSES = {"sum": Sum, "prod": Prod, "mean": Mean, "var": Var, "min": Min, "max": Max, "argmin": Argmin, "ema": Ema}


def operator(name, kind):
    word, _, param = name.partition(":")
    masked = word.startswith("nan")
    return CLASSES[word[3:] if masked else word](kind, float(param or 0), masked)


# ---- the order: a node is (elements that it covers, elements that count, state); without a state it is ABSENT ----
def join(op, a, b):
    if not a[1] and a[2] is None:
        return (a[0] + b[0],) + b[1:]
    if not b[1] and b[2] is None:
        return (a[0] + b[0],) + a[1:]
    return (a[0] + b[0], a[1] + b[1], op.combine(a[2], b[2], a[1], b[1]))


class Counter:
    def __init__(self, op, init=None):
        self.op, self.stack, self.n = op, [], 0
        self.start = (0, 0, None if init is None else op.seed(init))

    def push(self, x):
        i, self.n = self.n, self.n + 1
        top = (1, 0, None) if self.op.leaves_out(x) else (1, 1, self.op.lift(x, i))
        while self.stack and self.stack[-1][0] == top[0]:
            top = join(self.op, self.stack.pop(), top)
        self.stack.append(top)

    def result(self):
        s = self.start
        for entry in self.stack:
            s = join(self.op, s, entry)
        return self.op.empty() if s[2] is None else self.op.lower(s[2], s[1])


def reduce(op, x):
    c = Counter(op)
    for v in x:
        c.push(v)
    return c.result()


def scan(op, x, exclusive=0, reverse=0, init=None):
    c, found = Counter(op, init), []
    for v in reversed(x) if reverse else x:
        if exclusive:
            found.append(c.result())
        c.push(v)
        if not exclusive:
            found.append(c.result())
    return found[::-1] if reverse else found


def window(op, x, before, after, edges, min_count, step):
    found = []
    for i in range(len(x)):
        inside = [j for j in range(i - before, i + after + 1) if 0 <= j < len(x)]
        whole = len(inside) == before + after + 1
        if edges == "valid" and not whole:
            continue
        part = [x[j] for j in inside]
        counted = sum(not op.leaves_out(v) for v in part)
        partial = edges == "shrink" or min_count > 0
        found.append(reduce(op, part) if counted >= min_count and (whole or partial) else op.empty())
    return found[::step]


# ---- fragments: a dictionary from (level, first element) to the node ----
def slab(op, x, start, end):
    """Every element is a node of its own, and siblings join as long as there are any."""
    f = {}
    for i in range(start, end):
        merge(op, f, {(0, i): (1, 0, None) if op.leaves_out(x[i]) else (1, 1, op.lift(x[i], i))})
    return f


def merge(op, f, more):
    for (level, at), entry in more.items():
        while (level, at ^ 1 << level) in f:
            other = f.pop((level, at ^ 1 << level))
            entry = join(op, other, entry) if at >> level & 1 else join(op, entry, other)
            at &= ~(1 << level)
            level += 1
        f[level, at] = entry


# ---- exact sums ----
class Exact:
    def __init__(self):
        self.units = self.n = 0  # units of 2^-1074
        self.kinds = [0, 0, 0]  # NaN, inf, -inf

    def add(self, x):
        self.n += 1
        if x != x or x in (INF, -INF):
            self.kinds[0 if x != x else 1 if x > 0 else 2] += 1
        else:
            self.units += int(Fraction(x) * 2**1074)

    def words(self):
        digits = [self.units >> 32 * k & 0xFFFFFFFF for k in range(67)]
        return [w & M64 for w in digits + [self.units >> 32 * 67] + self.kinds + [self.n]]

    def value(self, kind, masked, mean):
        n = self.n - self.kinds[0] * masked
        if (mean and not n) or (self.kinds[0] and not masked) or (self.kinds[1] and self.kinds[2]):
            return NAN
        if self.kinds[1] or self.kinds[2]:
            return INF if self.kinds[1] else -INF
        return nearest(Fraction(self.units, 2**1074) / (n if mean else 1), kind)


def nearest(x, kind):
    """The float nearest to a fraction, ties to even; never -0."""
    digits, least, most = (24, -149, 128) if kind == "f32" else (53, -1074, 1024)
    if not x:
        return 0.0
    e = abs(x).numerator.bit_length() - x.denominator.bit_length() - digits - 1
    while abs(x) >= Fraction(2) ** (e + digits):
        e += 1
    e = max(e, least)
    m = round(x / Fraction(2) ** e)  # of a fraction: to nearest, ties to even
    if abs(m) * Fraction(2) ** e >= Fraction(2) ** most:
        return INF if x > 0 else -INF
    return math.ldexp(float(m), e) if m else 0.0


# ---- the vectors ----
def read_data(rows):
    """The values of each dataset, after a look at whether the generator gave the same here."""
    data = {}
    for d in rows:
        bits = data_bits(d["type"], d["kind"], d["seed"], d["n"])
        width = 4 if d["type"] == "f32" else 8
        if [f"{b:0{2 * width}x}" for b in bits[:3]] != d["first"] or f"{fnv(bits, width):016x}" != d["fnv"]:
            sys.exit(f"data {d['name']}: the generator gives other elements")
        data[d["name"]] = (d["type"], [from_bits(d["type"], b) for b in bits], bits)
    return data


def nodes_of(op, f, kind):
    width = 4 if kind == "f32" else 8
    of_acc = 4 if op.acc == "f32" else 8
    found = []
    for (level, at), entry in sorted(f.items(), key=lambda item: item[0][1]):
        fields = op.saved(entry[2], width if isinstance(op, Min) else of_acc)
        sizes = [width, 8] if isinstance(op, Min) else [of_acc] * len(fields)
        found.append({"at": at, "level": level, "state": [f"{v:0{2 * w}x}" for v, w in zip(fields, sizes)]})
    return found


def compute(v, kind, x):
    """Type and values of a vector's results, and what else it says."""
    if v["verb"] == "exact":
        name, masked = v["op"].split(":")[0], v["op"].startswith("nan")
        e, found = Exact(), []
        for n in v["n"]:
            for value in x[e.n:n]:
                e.add(value)
            found.append(e.value(kind, masked, name.endswith("mean")))
        return kind, found, {"state": [f"{w:x}" for w in e.words()]}
    op = operator(v["op"], kind)
    if v["verb"] == "reduce":
        return op.out, [reduce(op, x[:n]) for n in v["n"]], {}
    if v["verb"] == "scan":
        init = from_bits(op.out, int(v["init"], 16)) if "init" in v else None
        return op.out, scan(op, x[: v["n"]], v["exclusive"], v["reverse"], init), {}
    if v["verb"] == "window":
        return op.out, window(op, x[: v["n"]], *(v[k] for k in ("before", "after", "edges", "min_count", "step"))), {}
    f, more = {}, {}
    for i, part in enumerate(v["order"]):
        merge(op, f, slab(op, x, v["cuts"][part], v["cuts"][part + 1]))
        if i == 2 and "nodes" in v:
            more["nodes"] = nodes_of(op, f, kind)
    s = (0, 0, None)
    for key in sorted(f, key=lambda k: k[1]):
        s = join(op, s, f[key])
    return op.out, [op.empty() if s[2] is None else op.lower(s[2], s[1])], more


def main():
    with open(sys.argv[1]) as file:
        golden = json.load(file)
    if golden["order"] != "E v1":
        sys.exit("these vectors are of another order")
    data, wrong = read_data(golden["data"]), 0
    for v in golden["vectors"]:
        kind, x, _ = data[v["data"]]
        out, values, more = compute(v, kind, x)
        width = 4 if out == "f32" else 8
        bits = [to_bits(out, value) for value in values]
        got = {"bits": [f"{b:0{2 * width}x}" for b in bits], "fnv": f"{fnv(bits, width):016x}", **more}
        for key in ("bits", "fnv", "state", "nodes"):
            if key in v and v[key] != got[key]:
                wrong += 1
                print(f"DIFFERENT: {v['verb']} {v['op']} of {v['data']}: {key} {got[key]}\n    in {v}")
    print(f"order_e.py: {len(golden['vectors'])} vectors, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())

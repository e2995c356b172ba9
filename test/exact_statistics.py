# SPDX-License-Identifier: MIT
"""Compares exact statistics (var:exact and its like) with fractions, rounded once, by ctypes:
types, views, validity, scans, windows, ranges, streams, groups, fragments. Run by test_exact.sh.

    exact_statistics.py LIBRARY"""

import ctypes as c
import math
import os
import random
import struct
import sys
import time

from rounded import FORMAT, KINDS, OPS, Input, View, expected

tally = c.CDLL(sys.argv[1])
seed = int(os.environ.get("TALLY_TEST_SEED") or time.time())
cases = int(os.environ.get("CASES") or ("500" if os.environ.get("TALLY_TEST_LONG") else "200"))
print("seed", seed)
random.seed(seed)
checks = failed = 0
inf, nan = math.inf, math.nan
F64 = 12


class Scan(c.Structure):
    _fields_ = [("exclusive", c.c_int), ("reverse", c.c_int), ("init", c.c_void_p)]


class Window(c.Structure):
    _fields_ = [
        ("before", c.c_int64),
        ("after", c.c_int64),
        ("edges", c.c_int),
        ("min_count", c.c_int64),
        ("step", c.c_int64),
    ]


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


def count(good, *what):
    global checks, failed
    checks += 1
    if not good:
        failed += 1
        if failed < 20:
            print("DIFFERENT:", *what)


def same(got, want, *what):
    good = struct.pack("<d", got) == struct.pack("<d", want)
    count(good, *what, "got", got.hex(), "wanted", want.hex())


def finish():
    print("%d checks, %d failed" % (checks, failed))
    sys.exit(failed > 0 or checks < 1000)


def values_of(buffer, count, narrow):
    return struct.unpack(
        "<%d%s" % (count, "f" if narrow else "d"), bytes(buffer)[: count * (4 if narrow else 8)]
    )


def out_view(count, narrow, rows=1):
    data = c.create_string_buffer(max(8, count * rows * 8))
    return data, View(
        c.cast(data, c.c_void_p), F64 - narrow, rows, count, count, 1, None, None, 0, None
    )


def pick():
    """An operator, its text, a type, and whether its result is an f32."""
    op = random.choice(list(OPS))
    nanform = random.random() < 0.4
    dtype = random.choice(
        "i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64".split() + ["i64", "f64", "f64", "f64"]
    )
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
            same(
                got,
                expected(op, ddof, rows, narrow),
                text,
                dtype,
                kind,
                "way",
                way,
                "row",
                k,
                rows[:20],
            )


def series(case):
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx = contexts[case & 1]
    n, kind = random.choice([1, 9, 40]), random.choice(KINDS)
    a = Input(n, inputs, kind, dtype, random.random() < 0.3)
    out, view = out_view(n, narrow)
    exclusive = random.randint(0, 1)
    if fine(
        ctx,
        tally.tally_scan(
            ctx, text, c.byref(a.view), c.byref(view), c.byref(Scan(exclusive, 0, None))
        ),
        text,
    ):
        for i, got in enumerate(values_of(out, n, narrow)):
            same(
                got,
                expected(op, ddof, a.rows[: i + 1 - exclusive], narrow),
                "scan",
                text,
                dtype,
                kind,
                i,
                a.rows,
            )
    before, after = random.randint(0, 9), random.randint(0, 3)
    options = Window(before, after, 1, 0, 0)
    if fine(
        ctx, tally.tally_window(ctx, text, c.byref(a.view), c.byref(view), c.byref(options)), text
    ):
        for i, got in enumerate(values_of(out, n, narrow)):
            rows = a.rows[max(0, i - before) : i + after + 1]
            same(got, expected(op, ddof, rows, narrow), "window", text, dtype, kind, i, rows)
    ends = sorted([random.randint(0, n) for _ in range(2)] for _ in range(n))
    start, end = [(c.c_int64 * n)(*(f(e) for e in ends)) for f in (min, max)]
    if fine(
        ctx,
        tally.tally_window_ranges(
            ctx, text, c.byref(a.view), start, end, c.c_int64(n), c.byref(view), c.c_int64(0)
        ),
        text,
    ):
        for i, got in enumerate(values_of(out, n, narrow)):
            same(
                got,
                expected(op, ddof, a.rows[start[i] : end[i]], narrow),
                "ranges",
                text,
                dtype,
                kind,
                i,
            )


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
        same(
            values_of(out, 1, narrow)[0],
            expected(op, ddof, a.rows, narrow),
            "stream",
            text,
            dtype,
            kind,
            a.rows,
        )
    tally.tally_stream_close(s)
    if inputs == 2:
        return
    b, groups = Input(n, 1, kind, dtype, False), random.randint(1, 5)
    codes = [random.randrange(groups) for _ in range(n)]
    fine(ctx, tally.tally_stream_reduce_groups(ctx, text, b.view.dtype, c.byref(s)), text)
    fine(
        ctx,
        tally.tally_stream_push_groups(
            s, c.c_void_p(b.view.data), (c.c_int32 * n)(*codes), c.c_int64(n), c.c_int64(groups)
        ),
        text,
    )
    out, _ = out_view(groups, narrow)
    if fine(ctx, tally.tally_stream_finish(s, out, c.byref(more)), text):
        for g, got in enumerate(values_of(out, groups, narrow)):
            rows = [r for r, k in zip(b.rows, codes) if k == g]
            same(got, expected(op, ddof, rows, narrow), "groups", text, dtype, kind, g, rows)
    tally.tally_stream_close(s)


def pieces(a, n, most):
    """Cuts the n elements of each sequence; yields where each piece begins, and its length."""
    views = [a.view] + ([a.view.next.contents] if a.view.next else [])
    whole, size, at = (
        [(v, v.data, v.valid_offset) for v in views],
        struct.calcsize(FORMAT[a.dtype]),
        0,
    )
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
    """Pushes the k sequences of a view into a stream of many, piece by piece. The first piece may
    come as a fragment. out: a view of the results. Returns the status, and how many elements came
    as a fragment."""
    s, f, first, produced, status = c.c_void_p(), c.c_void_p(), 0, 0, 0
    begins, size = verb < 2 and random.random() < 0.4, 4 if out.dtype == F64 - 1 else 8
    fine(
        ctx,
        (
            tally.tally_stream_reduce_rows(ctx, text, a.view.dtype, c.c_int64(k), c.byref(s))
            if verb == 0
            else (
                tally.tally_stream_scan_rows(
                    ctx, text, a.view.dtype, c.c_int64(k), None, c.byref(s)
                )
                if verb == 1
                else tally.tally_stream_window_rows(
                    ctx, text, a.view.dtype, c.c_int64(k), c.byref(options), c.byref(s)
                )
            )
        ),
        text,
    )
    if not s:
        return -1, 0
    for at, m in pieces(a, n, 7):
        if at == 0 and begins:
            status = tally.tally_fragment_of_view(
                ctx, text, c.byref(a.view), c.c_int64(0), c.byref(f)
            )
            status = status or tally.tally_stream_resume(s, f)
            tally.tally_fragment_free(f)
            first, produced = m, m if verb else 0
        elif not status:
            to = View.from_buffer_copy(out)
            to.data, to.n = out.data + produced * size, tally.tally_stream_results(s, c.c_int64(m))
            status = tally.tally_stream_push_view(s, c.byref(a.view), c.byref(to) if verb else None)
            produced += to.n
    if not status:
        to = View.from_buffer_copy(out)
        to.data = out.data + produced * size
        status = tally.tally_stream_finish_view(s, c.byref(to)) if verb != 1 else 0
    tally.tally_stream_close(s)
    return status, first


def many(case):
    """Streams of many sequences, which are rows or columns."""
    op, text, ddof, dtype, narrow, inputs = pick()
    ctx, k, n = contexts[case & 1], random.choice([0, 1, 3, 40]), random.choice([1, 9, 30])
    a = Input(n * k, inputs, random.choice(KINDS), dtype, random.random() < 0.3)
    sequences, options = a.shape(k, n, *random.choice([(n, 1), (1, k)])), Window(
        random.randint(0, 4), 1, 1, 0, 0
    )
    for verb in range(3):
        results = n if verb else 1
        data, out = out_view(results, narrow, k)
        status, first = pushed(ctx, verb, text, a, k, n, options, out)
        if not fine(ctx, status, text):
            return
        for r, rows in enumerate(sequences):
            got = values_of(data, k * results, narrow)[r * results : (r + 1) * results]
            for i in range(first if verb == 1 else 0, results):
                part = (
                    rows[: i + 1]
                    if verb == 1
                    else rows[max(0, i - options.before) : i + 2] if verb else rows
                )
                same(
                    got[i],
                    expected(op, ddof, part, narrow),
                    "many",
                    verb,
                    text,
                    dtype,
                    "row",
                    r,
                    i,
                    part,
                )


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
    a, size = Input(
        n * k, inputs, random.choice(KINDS), dtype, random.random() < 0.3
    ), struct.calcsize(FORMAT[dtype])
    sequences = a.shape(k, n, n, 1)
    views = [a.view] + ([a.view.next.contents] if inputs == 2 else [])
    data, shift, kept = [v.data for v in views], [v.valid_offset for v in views], []
    for _ in range(2):
        parts, cuts = [], [0] + sorted(random.randint(0, n) for _ in range(3)) + [n]
        for start, end in zip(cuts, cuts[1:]):
            for v, d, b in zip(views, data, shift):
                v.data, v.n, v.valid_offset = (
                    d + start * size,
                    end - start,
                    b + start if v.valid else 0,
                )
            f = c.c_void_p()
            if not fine(
                ctx,
                tally.tally_fragment_of_view(
                    ctx, text, c.byref(a.view), c.c_int64(start), c.byref(f)
                ),
                text,
            ):
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
    for inputs, ops in (
        (1, ("mean", "var", "std", "norm", "nanvar")),
        (2, ("cov", "corr", "slope", "nancorr")),
    ):
        a = Input(n, inputs, kind, dtype, bitmap)
        for op in ops:
            want = expected(op, 0, a.rows)
            for ctx in contexts:
                out, _ = out_view(1, False)
                text = (op + ":exact:f64").encode()
                if fine(ctx, tally.tally_reduce(ctx, text, c.byref(a.view), out), text):
                    same(values_of(out, 1, False)[0], want, "long", text, dtype, kind, n)


if __name__ == "__main__":
    for case in range(cases):
        reduction(case)
        if case % 4 == 0:
            series(case)
            stream(case)
            many(case)
            fragments(case)
    for dtype, kind in (
        ("f64", "near"),
        ("f64", "wide"),
        ("f32", "near"),
        ("i64", "near"),
        ("f64", "holes"),
        ("u64", "wide"),
    ):
        long(dtype, kind, 9001, random.random() < 0.3)
    long("f64", "near", 70000, False)
    long("i64", "wide", 70000, False)
    finish()

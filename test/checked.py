# SPDX-License-Identifier: MIT
"""Sums of integers that 64 bits may not hold (sum:checked), beside integers of any width: reduce,
scan, windows, streams, fragments, groups. Run by test_exact.sh.

    checked.py LIBRARY"""

import ctypes as c
import random
import struct

from exact_statistics import (
    Scan,
    Window,
    cases,
    contexts,
    count,
    fine,
    finish,
    merged,
    pieces,
    pushed,
    same,
    tally,
)
from rounded import FORMAT, NAMES, Input, View


def judged(ctx, status, text, sums, dtype, buffer, what):
    """Compares status and results with the sums, or says where the first is that does not fit."""
    low, high = (0, 2**64 - 1) if dtype[0] == "u" else (-(2**63), 2**63 - 1)
    wrong = next((i for i, v in enumerate(sums) if v is not None and not low <= v <= high), None)
    got = list(
        struct.unpack(
            "<%d%s" % (len(sums), "Q" if dtype[0] == "u" else "q"), bytes(buffer)[: 8 * len(sums)]
        )
    )
    said = tally.tally_error(ctx).decode() if status else ""
    if wrong is None:
        good = not status and got == [v or 0 for v in sums]
    else:
        good = status and "is %d, and 64 bits hold" % sums[wrong] in said and text % wrong in said
        good = good and (what.startswith("stream") or not any(bytes(buffer)))
    count(good, what, dtype, "status", status, said, "sums", sums, "got", got, "place", wrong)


def checked(case):
    dtype, kind = random.choice(["i64", "u64", "i32", "u8", "i64", "u64"]), random.choice(
        ["edge", "wide", "small"]
    )
    ctx, n = contexts[case & 1], random.choice([1, 2, 5, 30])
    a, op = Input(n, 1, kind, dtype, random.random() < 0.3), b"sum:checked"
    x = [r[0] if r else 0 for r in a.rows]
    code = NAMES.index("u64" if dtype[0] == "u" else "i64") + 1
    out = c.create_string_buffer(8 * n)
    judged(
        ctx,
        tally.tally_reduce(ctx, op, c.byref(a.view), out),
        "the sum is%.0s",
        [sum(x)],
        dtype,
        out,
        "reduce",
    )
    out = c.create_string_buffer(8 * n)
    view = View(c.cast(out, c.c_void_p), code, 1, n, n, 1, None, None, 0, None)
    judged(
        ctx,
        tally.tally_scan(ctx, op, c.byref(a.view), c.byref(view), None),
        "running sum number %d is",
        [sum(x[: i + 1]) for i in range(n)],
        dtype,
        out,
        "scan",
    )
    out = c.create_string_buffer(8 * n)
    view.data = c.cast(out, c.c_void_p)
    status = tally.tally_scan(ctx, op, c.byref(a.view), c.byref(view), c.byref(Scan(1, 0, None)))
    sums = [sum(x[:i]) for i in range(n)]
    judged(ctx, status, "running sum number %d is", sums, dtype, out, "exclusive scan")
    before, after = random.randint(0, 3), random.randint(0, 2)
    options = Window(before, after, 1, 0, 0)
    windows = [sum(x[max(0, i - before) : i + after + 1]) for i in range(n)]
    out = c.create_string_buffer(8 * n)
    view.data = c.cast(out, c.c_void_p)
    judged(
        ctx,
        tally.tally_window(ctx, op, c.byref(a.view), c.byref(view), c.byref(options)),
        "window number %d is",
        windows,
        dtype,
        out,
        "window",
    )
    if n >= 4:
        out = c.create_string_buffer(8 * n)
        rows = a.shape(2, n // 2, n // 2, 1)
        judged(
            ctx,
            tally.tally_reduce(ctx, op, c.byref(a.view), out),
            "the sum of sequence %d is",
            [sum(r[0] for r in row if r) for row in rows],
            dtype,
            out,
            "rows",
        )
        a.shape(1, n, n, 1)
    if a.view.valid:
        return
    size = struct.calcsize(FORMAT[dtype])
    for verb, sums, text in (
        (0, [sum(x)], "the sum is%.0s"),
        (1, [sum(x[: i + 1]) for i in range(n)], "number %d is"),
        (2, windows, "window number %d is"),
    ):
        s, more, made, status, at = c.c_void_p(), c.c_int64(), 0, 0, 0
        out = c.create_string_buffer(8 * n + 8 * 100)
        fine(
            ctx,
            (
                tally.tally_stream_reduce(ctx, op, a.view.dtype, c.byref(s))
                if verb == 0
                else (
                    tally.tally_stream_scan(ctx, op, a.view.dtype, None, c.byref(s))
                    if verb == 1
                    else tally.tally_stream_window(
                        ctx, op, a.view.dtype, c.byref(options), c.byref(s)
                    )
                )
            ),
            op,
        )
        while at < n and not status:
            m = min(n - at, random.randint(1, 9))
            status = tally.tally_stream_push(
                s,
                c.c_void_p(a.view.data + at * size),
                c.c_int64(m),
                c.c_void_p(c.addressof(out) + 8 * made),
                c.byref(more),
            )
            made, at = made + more.value, at + m
        if not status:
            status = tally.tally_stream_finish(
                s, c.c_void_p(c.addressof(out) + 8 * made), c.byref(more)
            )
        judged(ctx, status, text, sums, dtype, out, "stream %d" % verb)
        tally.tally_stream_close(s)


def checked_parts(case):
    """sum:checked of many sequences: streams, fragments and groups."""
    dtype, kind = random.choice(["i64", "u64", "i32", "u8", "i64", "u64"]), random.choice(
        ["edge", "wide", "small"]
    )
    ctx, k, n, op = (
        contexts[case & 1],
        random.choice([1, 2, 5]),
        random.choice([1, 4, 20]),
        b"sum:checked",
    )
    a = Input(n * k, 1, kind, dtype, random.random() < 0.3)
    way = random.choice([(n, 1), (1, k)])
    sequences = [[r[0] if r else 0 for r in rows] for rows in a.shape(k, n, *way)]
    code, which = NAMES.index("u64" if dtype[0] == "u" else "i64") + 1, (
        " of sequence %d is" if k > 1 else " is%.0s"
    )
    before, after = random.randint(0, 3), random.randint(0, 2)
    sums = [
        [[sum(x)] for x in sequences],
        [[sum(x[: i + 1]) for i in range(n)] for x in sequences],
        [[sum(x[max(0, i - before) : i + after + 1]) for i in range(n)] for x in sequences],
    ]
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
            same(
                float(said),
                1.0,
                "checked",
                verb,
                dtype,
                tally.tally_error(ctx),
                status,
                sums[verb],
                first,
            )
    parts, out = [], c.create_string_buffer(8 * k)
    for start, _ in pieces(a, n, 9):
        parts.append(c.c_void_p())
        fine(
            ctx,
            tally.tally_fragment_of_view(
                ctx, op, c.byref(a.view), c.c_int64(start), c.byref(parts[-1])
            ),
            op,
        )
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
        fine(
            ctx,
            tally.tally_stream_push_groups(
                s,
                c.c_void_p(a.view.data + at * struct.calcsize(FORMAT[dtype])),
                (c.c_int32 * m)(*codes[at : at + m]),
                c.c_int64(m),
                c.c_int64(k),
            ),
            op,
        )
    judged(
        ctx,
        tally.tally_stream_finish(s, out, None),
        "the sum of group %d is",
        [sum(v for v, g in zip(x, codes) if g == group) for group in range(k)],
        dtype,
        out,
        "groups",
    )
    tally.tally_stream_close(s)


def judge_many(ctx, status, sums, dtype, out):
    """Whether results are the sums, or the status says one that does not fit, with its place."""
    low, high = (0, 2**64 - 1) if dtype[0] == "u" else (-(2**63), 2**63 - 1)
    flat = [v for x in sums for v in x]
    wrong = [
        (r, i)
        for r, x in enumerate(sums)
        for i, v in enumerate(x)
        if v is not None and not low <= v <= high
    ]
    if not wrong:
        got = struct.unpack("<%d%s" % (len(flat), "Q" if dtype[0] == "u" else "q"), bytes(out))
        return not status and all(v is None or v == w for v, w in zip(flat, got))
    said = tally.tally_error(ctx).decode()
    return status and any(
        "number %d%s is %d, and 64 bits hold"
        % (i, " of sequence %d" % r if len(sums) > 1 else "", sums[r][i])
        in said
        for r, i in wrong
    )


def refused(op, words):
    """A call that is refused in words."""
    a, out = Input(3, 1, "small", "i64", False), c.create_string_buffer(64)
    status = tally.tally_reduce(contexts[0], op, c.byref(a.view), out)
    said = tally.tally_error(contexts[0]).decode()
    count(status and words in said, op, "is not refused with", words, "but", status, said)


refused(b"mean:checked", "the suffix :checked is for sums of integers")
refused(b"sum:checked:exact", "the suffix :checked is for sums of integers")
refused(b"max:exact", "the suffix :exact is for")
refused(b"sum:exact", "integers are added exactly without the suffix")
for case in range(cases):
    checked(case)
    if case % 4 == 0:
        checked_parts(case)
finish()

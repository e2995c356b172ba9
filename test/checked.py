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

OP = b"sum:checked"


def judged(ctx, status, text, sums, dtype, buffer, what):
    """Compares status and results with the sums, or says where the first is that does not fit."""
    low, high = (0, 2**64 - 1) if dtype[0] == "u" else (-(2**63), 2**63 - 1)
    wrong = next((i for i, v in enumerate(sums) if v is not None and not low <= v <= high), None)
    got = list(
        struct.unpack(
            "<%d%s" % (len(sums), "Q" if dtype[0] == "u" else "q"), bytes(buffer)[: 8 * len(sums)]
        )
    )
    message = tally.tally_error(ctx).decode() if status else ""
    if wrong is None:
        good = not status and got == [v or 0 for v in sums]
    else:
        good = status and "is %d, and 64 bits hold" % sums[wrong] in message and text % wrong in message
        good = good and (what.startswith("stream") or not any(bytes(buffer)))
    count(good, what, dtype, "status", status, message, "sums", sums, "got", got, "place", wrong)


class Made:
    """Random integers of a type, and the type, options and sums of their results."""

    def __init__(self, n, k=1):
        self.dtype, kind = random.choice(["i64", "u64", "i32", "u8", "i64", "u64"]), random.choice(
            ["edge", "wide", "small"]
        )
        self.a = Input(n * k, 1, kind, self.dtype, random.random() < 0.3)
        self.code = NAMES.index("u64" if self.dtype[0] == "u" else "i64") + 1
        before, after = random.randint(0, 3), random.randint(0, 2)
        self.options, self.n, self.k = Window(before, after, 1, 0, 0), n, k

    def sums(self, x):
        """The results of reduce, scan and window on the numbers x."""
        before, after = self.options.before, self.options.after
        return [
            [sum(x)],
            [sum(x[: i + 1]) for i in range(len(x))],
            [sum(x[max(0, i - before) : i + after + 1]) for i in range(len(x))],
        ]

    def results(self, each):
        """Memory for k times `each` results, and the view of it."""
        out = c.create_string_buffer(8 * self.k * each)
        at = c.cast(out, c.c_void_p)
        return out, View(at, self.code, self.k, each, each, 1, None, None, 0, None)


def checked(case):
    """sum:checked of one sequence."""
    ctx, n = contexts[case & 1], random.choice([1, 2, 5, 30])
    m = Made(n)
    a, x = m.a, [r[0] if r else 0 for r in m.a.rows]
    sums = m.sums(x)
    calls = (
        ("reduce", "the sum is%.0s", sums[0], tally.tally_reduce, ()),
        ("scan", "running sum number %d is", sums[1], tally.tally_scan, (None,)),
        (
            "exclusive scan",
            "running sum number %d is",
            [0] + sums[1][:-1],
            tally.tally_scan,
            (c.byref(Scan(1, 0, None)),),
        ),
        ("window", "window number %d is", sums[2], tally.tally_window, (c.byref(m.options),)),
    )
    for what, text, wanted, call, options in calls:
        out, view = m.results(n)
        to = c.byref(view) if options else out
        status = call(ctx, OP, c.byref(a.view), to, *options)
        judged(ctx, status, text, wanted, m.dtype, out, what)
    if n >= 4:
        out, _ = m.results(n)
        rows = [sum(r[0] for r in row if r) for row in a.shape(2, n // 2, n // 2, 1)]
        status = tally.tally_reduce(ctx, OP, c.byref(a.view), out)
        judged(ctx, status, "the sum of sequence %d is", rows, m.dtype, out, "rows")
        a.shape(1, n, n, 1)
    if not a.view.valid:
        for verb, text in enumerate(("the sum is%.0s", "number %d is", "window number %d is")):
            status, out = streamed(ctx, verb, m)
            judged(ctx, status, text, sums[verb], m.dtype, out, "stream %d" % verb)


def streamed(ctx, verb, m):
    """Pushes the numbers in random pieces. Returns the first status that is not 0, and results."""
    s, more, produced, status, at = c.c_void_p(), c.c_int64(), 0, 0, 0
    view, size = m.a.view, struct.calcsize(FORMAT[m.dtype])
    out = c.create_string_buffer(8 * m.n + 8 * 100)
    opens = (tally.tally_stream_reduce, tally.tally_stream_scan, tally.tally_stream_window)
    options = ((), (None,), (c.byref(m.options),))
    fine(ctx, opens[verb](ctx, OP, view.dtype, *options[verb], c.byref(s)), OP)
    while at < m.n and not status:
        n = min(m.n - at, random.randint(1, 9))
        x, to = c.c_void_p(view.data + at * size), c.c_void_p(c.addressof(out) + 8 * produced)
        status = tally.tally_stream_push(s, x, c.c_int64(n), to, c.byref(more))
        produced, at = produced + more.value, at + n
    if not status:
        to = c.c_void_p(c.addressof(out) + 8 * produced)
        status = tally.tally_stream_finish(s, to, c.byref(more))
    tally.tally_stream_close(s)
    return status, out


def checked_parts(case):
    """sum:checked of many sequences: streams, fragments and groups."""
    ctx, k, n = contexts[case & 1], random.choice([1, 2, 5]), random.choice([1, 4, 20])
    m, way = Made(n, k), random.choice([(n, 1), (1, k)])
    sequences = [[r[0] if r else 0 for r in rows] for rows in m.a.shape(k, n, *way)]
    which = " of sequence %d is" if k > 1 else " is%.0s"
    sums = [list(verb) for verb in zip(*map(m.sums, sequences))]
    for verb in range(3):
        out, view = m.results(n if verb else 1)
        status, first = pushed(ctx, verb, OP, m.a, k, n, m.options, view)
        for x in sums[1] if verb == 1 else []:
            x[:first] = [None] * first
        if verb == 0:
            judged(ctx, status, "the sum" + which, [x[0] for x in sums[0]], m.dtype, out, "rows")
        else:
            message, error = judge_many(ctx, status, sums[verb], m.dtype, out), tally.tally_error(ctx)
            same(float(message), 1.0, "checked", verb, m.dtype, error, status, sums[verb], first)
    parts, (out, _) = [], m.results(1)
    for start, _ in pieces(m.a, n, 9):
        parts.append(c.c_void_p())
        view, to = c.byref(m.a.view), c.byref(parts[-1])
        fine(ctx, tally.tally_fragment_of_view(ctx, OP, view, c.c_int64(start), to), OP)
    whole = merged(ctx, parts, OP)
    status = tally.tally_fragment_result(whole, out)
    judged(ctx, status, "the sum" + which, [x[0] for x in sums[0]], m.dtype, out, "merged")
    tally.tally_fragment_free(whole)
    if not m.a.view.valid and way == (n, 1):
        checked_groups(ctx, m, [v for row in sequences for v in row])


def checked_groups(ctx, m, x):
    """A stream of groups with random codes, of the numbers x, in two pieces."""
    s, half, size = c.c_void_p(), len(x) // 2, struct.calcsize(FORMAT[m.dtype])
    codes, (out, _) = [random.randrange(m.k) for _ in x], m.results(1)
    fine(ctx, tally.tally_stream_reduce_groups(ctx, OP, m.a.view.dtype, c.byref(s)), OP)
    for at, end in ((0, half), (half, len(x))):
        data, of = c.c_void_p(m.a.view.data + at * size), (c.c_int32 * (end - at))(*codes[at:end])
        status = tally.tally_stream_push_groups(s, data, of, c.c_int64(end - at), c.c_int64(m.k))
        fine(ctx, status, OP)
    status = tally.tally_stream_finish(s, out, None)
    sums = [sum(v for v, g in zip(x, codes) if g == group) for group in range(m.k)]
    judged(ctx, status, "the sum of group %d is", sums, m.dtype, out, "groups")
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
    message = tally.tally_error(ctx).decode()
    return status and any(
        "number %d%s is %d, and 64 bits hold"
        % (i, " of sequence %d" % r if len(sums) > 1 else "", sums[r][i])
        in message
        for r, i in wrong
    )


def refused(op, words):
    """A call that is refused in words."""
    a, out = Input(3, 1, "small", "i64", False), c.create_string_buffer(64)
    status = tally.tally_reduce(contexts[0], op, c.byref(a.view), out)
    message = tally.tally_error(contexts[0]).decode()
    count(status and words in message, op, "is not refused with", words, "but", status, message)


refused(b"mean:checked", "the suffix :checked is for sums of integers")
refused(b"sum:checked:exact", "the suffix :checked is for sums of integers")
refused(b"max:exact", "the suffix :exact is for")
refused(b"sum:exact", "integers are added exactly without the suffix")
for case in range(cases):
    checked(case)
    if case % 4 == 0:
        checked_parts(case)
finish()

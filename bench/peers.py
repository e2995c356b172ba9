#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peers.py - the Python peers: NumPy, pandas, bottleneck, SciPy, TA-Lib, Tulip.

    peers.py [--rounds R] [--json FILE] [--ceiling build/ceiling.so] [--small] [PROBLEM...]

The same problems, sizes and kind of data as bench.c, one thread. The ceiling (ceiling.c as a shared object) runs
interleaved in this process, so a ratio is one of this minute. A peer that is not installed is named and left out.
TA-Lib and Tulip work in f64; their ratio counts the f64 bytes that they move.
"""
import argparse
import ctypes
import json
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")


def library(name):
    try:
        return __import__(name, fromlist=["*"])
    except ImportError:
        print(f"not installed: {name}")
        return None


np = library("numpy")
pd, bn, ndimage, talib, tulip = map(library, ("pandas", "bottleneck", "scipy.ndimage", "talib", "tulipy"))
TYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}


class Ceiling:
    """The best loop for a size class and a kind; timed on the row's own arrays."""

    class Loop(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("run", ctypes.c_void_p)]

    def __init__(self, path):
        self.lib = ctypes.CDLL(os.path.abspath(path))
        self.lib.ceiling_time.restype = ctypes.c_double
        self.best = {}

    def seconds(self, kind, dst, src, size):
        # the loops want whole pages; NumPy's arrays start anywhere
        d, s = (ctypes.c_void_p(-(-p // 4096) * 4096) for p in (dst, src))
        size = (size - 4096) // 64 * 64
        read, written = ctypes.c_size_t(size), ctypes.c_size_t(size if kind else 0)
        if kind not in self.best:
            best = (ctypes.POINTER(self.Loop) * 1)()
            self.lib.ceiling_pick(1, d, written, s, read, 5, best, None, 1)
            self.best[kind] = best[0]
        return self.lib.ceiling_time(self.best[kind], 1, d, written, s, read, 1)


def array(kind, n, seed=1):
    rng = np.random.default_rng(seed)
    if kind[0] == "f":
        return rng.random(n, dtype=TYPES[kind])
    return rng.integers(-(1 << 20), 1 << 20, n, dtype=TYPES[kind])


def segments(count, total):
    """Offsets of a Pareto cut at 10^6 whose sum is `total`; see problem.c (other draws, the same law)."""
    u = np.random.default_rng(2).random(count)
    low, high = 0.2, 4.0
    for _ in range(30):
        alpha = (low + high) / 2
        lengths = np.minimum(np.floor((1 - u) ** (-1 / alpha)), 1e6).astype(np.int64)
        low, high = (alpha, high) if lengths.sum() > total else (low, alpha)
    return np.concatenate(([0], np.cumsum(lengths)))


def peers(op, kind, shape, size, n):
    """(name, call of x, works in f64 whatever x is) for a problem."""
    if shape == "reduce":
        calls = {"sum": np.sum, "max": np.max, "mean": np.mean, "argmax": np.argmax,
                 "var": lambda x: np.var(x, dtype="float64")}
        yield f"numpy {op}", calls[op], False
        if op == "var":
            yield "numpy var (in f32)", np.var, False
    elif shape == "scan":
        out = np.empty(n, TYPES[kind])
        yield "numpy cumsum", lambda x: np.cumsum(x, out=out), False
    elif shape == "rows":
        yield "numpy sum(axis=1)", lambda x: x.reshape(-1, size).sum(axis=1), False
    elif shape == "columns":
        yield "numpy sum(axis=0)", lambda x: x.reshape(-1, size).sum(axis=0), False
    elif shape == "segments":
        at = segments(size, n)[:-1]
        yield "numpy add.reduceat", lambda x: np.add.reduceat(x, at[at < len(x)]), False
    elif shape == "window" and op == "mean":
        if pd:
            yield "pandas rolling mean", lambda x: pd.Series(x, copy=False).rolling(size).mean(), False
        if bn:
            yield "bottleneck move_mean", lambda x: bn.move_mean(x, size), False
        if ndimage:
            yield "scipy uniform_filter1d", lambda x: ndimage.uniform_filter1d(x, size), False
        if talib and size <= 100000:
            yield "TA-Lib SMA (f64)", lambda x: talib.SMA(x, size), True
        if tulip:
            yield "Tulip sma (f64)", lambda x: tulip.sma(x, size), True
    elif shape == "window" and op == "max":
        if pd:
            yield "pandas rolling max", lambda x: pd.Series(x, copy=False).rolling(size).max(), False
        if bn:
            yield "bottleneck move_max", lambda x: bn.move_max(x, size), False
        if ndimage and size <= 100000:
            yield "scipy maximum_filter1d", lambda x: ndimage.maximum_filter1d(x, size), False
        if talib and size <= 512:
            yield "TA-Lib MAX (f64)", lambda x: talib.MAX(x, size), True
    elif shape == "window" and op == "sum" and bn:
        yield "bottleneck move_sum", lambda x: bn.move_sum(x, size), False


def bars():
    """The problems of rows.def, once each; those that fit a cache are the C program's."""
    here = os.path.dirname(os.path.abspath(__file__))
    words = [line.split('"')[1] for line in open(os.path.join(here, "rows.def")) if line.startswith("BAR(")]
    return [w for w in dict.fromkeys(words) if count(w.split(":")[3]) > 1 << 20]


def count(text):
    base, _, power = text.partition("^")
    return int(base) ** int(power or 1)


def row(word, ceiling, rounds, shrink, report):
    op, kind, shape, n = word.split(":")
    shape, _, size = shape.partition("=")
    n, size = count(n) >> shrink, int(size or 0)
    if kind not in TYPES:
        return
    x = array(kind, n)
    copy = shape in ("scan", "window")
    contenders = list(peers(op, kind, shape, size, n))
    if not contenders:
        return
    wide = x.astype("float64") if any(f for _, _, f in contenders) else x
    out = np.empty_like(x) if copy else x
    times = {name: [] for name, _, _ in contenders}
    top = []
    for r in range(rounds + 1):
        if ceiling:
            top.append(ceiling.seconds(1 if copy else 0, out.ctypes.data, x.ctypes.data, x.nbytes))
        for name, call, f64 in contenders:
            if len(times[name]) >= 2 and max(times[name]) > 3:
                continue  # slow ones: the first call and one more
            start = time.perf_counter()
            call(wide if f64 else x)
            times[name].append(time.perf_counter() - start)
    ways = 2 if copy else 1
    best = x.nbytes * ways / statistics.median(top[1:]) / 1e9 if top else float("nan")
    print(f"{word}{f' / {1 << shrink}' if shrink else ''}\n    {'ceiling':28} {best:8.2f} GB/s", flush=True)
    for name, _, f64 in contenders:
        gbps = n * (8 if f64 else x.itemsize) * ways / statistics.median(times[name][1:] or times[name]) / 1e9
        print(f"    {name:28} {gbps:8.2f} GB/s  {gbps / best:5.2f} of the ceiling", flush=True)
        if report:
            line = {"problem": word, "threads": 1, "name": name, "kind": "python", "gbps": round(gbps, 3)}
            line["ratio"] = round(gbps / best, 4) if top else None
            print(json.dumps(line), file=report, flush=True)


def main():
    a = argparse.ArgumentParser(description="the Python peers of tally")
    a.add_argument("--rounds", type=int, default=7)
    a.add_argument("--json")
    a.add_argument("--ceiling", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "build", "ceiling.so"))
    a.add_argument("--small", action="store_true", help="an eighth of the sizes, for a quick look")
    a.add_argument("problems", nargs="*")
    a = a.parse_args()
    if not np:
        return
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ceiling = Ceiling(a.ceiling) if os.path.exists(a.ceiling) else None
    report = open(a.json, "a") if a.json else None
    for m in (np, pd, bn, talib):
        if m:
            print(m.__name__, m.__version__)
    for word in a.problems or bars():
        row(word, ceiling, a.rounds, 3 if a.small else 0, report)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""What windows of pandas, Polars and SQL (DuckDB) mean in tally (doc/windows.md): random cases with ties and falling
keys. Run by test_parity.sh with the shared library; exit 77 where one of them is not installed."""
import ctypes
import os
import random
import subprocess
import sys
import time

try:
    import duckdb
    import numpy as np
    import pandas as pd
    import polars as pl
except ImportError as missing:
    print("parity: skipped:", missing)
    sys.exit(77)

lib = ctypes.CDLL(sys.argv[1])
tally = sys.argv[2]
cases = int(sys.argv[3]) if len(sys.argv) > 3 else 400
seed = int(os.environ.get("TALLY_TEST_SEED") or time.time())
print("seed", seed)
random.seed(seed)
F64, I64, SHRINK, ALL, ROW = 12, 7, 1, 0, 1


class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int)] + [
        (name, ctypes.c_int64) for name in ("rows", "n", "row_stride", "stride")] + [
            ("offsets", ctypes.c_void_p), ("valid", ctypes.c_void_p), ("valid_offset", ctypes.c_int64),
            ("next", ctypes.c_void_p)]


class KeyWindow(ctypes.Structure):
    _fields_ = [("low", ctypes.c_int64), ("high", ctypes.c_int64), ("low_real", ctypes.c_double),
                ("high_real", ctypes.c_double), ("low_open", ctypes.c_int), ("high_open", ctypes.c_int),
                ("ties", ctypes.c_int), ("lows", ctypes.c_void_p), ("highs", ctypes.c_void_p),
                ("parts", ctypes.c_void_p), ("low_part", ctypes.c_int64), ("high_part", ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = [("before", ctypes.c_int64), ("after", ctypes.c_int64), ("edges", ctypes.c_int),
                ("min_count", ctypes.c_int64), ("step", ctypes.c_int64)]


ctx = ctypes.c_void_p()
lib.tally_error.restype = ctypes.c_char_p


def call(name, *args):
    if getattr(lib, name)(ctx, *args):
        raise RuntimeError("%s: %s" % (name, lib.tally_error(ctx).decode()))


def flat(a, dtype):
    return View(a.ctypes.data, dtype, 1, len(a), len(a), 1, None, None, 0, None)


def by_keys(keys, x, **window):
    """(sum of the places, number of rows) of each row's window; nan where it has none."""
    k = np.array(keys, np.int64)
    start, end = np.empty(len(k), np.int64), np.empty(len(k), np.int64)
    w = KeyWindow(**window)
    p = ctypes.POINTER(ctypes.c_int64)
    ends = start.ctypes.data_as(p), end.ctypes.data_as(p)
    call("tally_window_bounds", ctypes.byref(flat(k, I64)), ctypes.byref(w), *ends)
    out = np.empty(len(k))
    call("tally_window_ranges", b"sum", ctypes.byref(flat(x, F64)), *ends, ctypes.c_int64(len(k)),
         ctypes.byref(flat(out, F64)), ctypes.c_int64(0))
    return np.where(end > start, out, np.nan)


def by_rows(x, before, after):
    out = np.empty(len(x))
    options = Options(before, after, SHRINK, 0, 0)
    call("tally_window", b"sum", ctypes.byref(flat(x, F64)), ctypes.byref(flat(out, F64)), ctypes.byref(options))
    return out


def same(got, want, what):
    if not np.array_equal(np.asarray(got, float), np.asarray(want, float), equal_nan=True):
        sys.exit("DIFFERENT: %s:\n got %s\nwant %s" % (what, got, want))


assert lib.tally_open(ctypes.byref(ctx), b"cpu,threads=1") == 0
for case in range(cases):
    n, w = random.randint(1, 40), random.randint(1, 12)
    step = random.choice([0, 1, 4])
    rising = np.cumsum([random.randint(0, step) for _ in range(n)]).tolist()
    x = np.array([2.0 ** (i % 50) for i in range(n)])  # every set of rows has its own sum, exactly
    closed = random.choice(["right", "both", "left", "neither"])
    open_low, open_high = int(closed in ("right", "neither")), int(closed in ("left", "neither"))
    what = "case %d: keys %s w %d closed %s" % (case, rising, w, closed)

    series = pd.Series(x, index=pd.to_datetime(np.array(rising, np.int64), unit="ns"))
    want = series.rolling(pd.Timedelta(w, "ns"), closed=closed, min_periods=1).sum().to_numpy()
    same(by_keys(rising, x, low=-w, high=0, low_open=open_low, high_open=open_high, ties=ROW), want, "pandas " + what)
    falling = series.iloc[::-1]
    want = falling.rolling(pd.Timedelta(w, "ns"), closed=closed, min_periods=1).sum().to_numpy()
    same(by_keys(rising[::-1], x[::-1].copy(), low=0, high=w, low_open=open_high, high_open=open_low, ties=ROW), want,
         "pandas, falling " + what)

    want = series.rolling(pd.Timedelta(w, "ns"), closed=closed, center=True, min_periods=1).sum().to_numpy()
    half, even = w // 2, w % 2 == 0
    same(by_keys(rising, x, low=-half, high=half, low_open=open_low and even, high_open=open_high and even, ties=ALL),
         want, "pandas, centred " + what)

    ends = {"right": (w - 1, 0), "both": (w, 0), "left": (w, -1), "neither": (w - 1, -1)}[closed]
    if closed in ("right", "both") or w > 1:
        want = pd.Series(x).rolling(w, closed=closed, min_periods=1).sum().fillna(0).to_numpy()
        same(by_rows(x, *ends), want, "pandas, rows " + what)
    want = pd.Series(x).rolling(w, center=True, min_periods=1).sum().to_numpy()
    same(by_rows(x, w // 2, (w - 1) // 2), want, "pandas, centred rows " + what)

    period, offset = w, random.randint(-15, 6)
    frame = pl.DataFrame({"t": rising, "x": x}).with_columns(pl.col("t").cast(pl.Int64).set_sorted())
    name = "none" if closed == "neither" else closed
    rolled = frame.rolling("t", period="%di" % period, offset="%di" % offset, closed=name).agg(
        pl.col("x").sum(), pl.len().alias("n"))
    want = np.where(rolled["n"].to_numpy() > 0, rolled["x"].to_numpy(), np.nan)
    same(by_keys(rising, x, low=offset, high=offset + period, low_open=open_low, high_open=open_high, ties=ALL), want,
         "Polars offset %d %s" % (offset, what))

    before, after = random.randint(-3, 9), random.randint(-3, 9)
    if case % 10 == 0 and before + after >= 0:
        side = ["%d %s" % (abs(v), "preceding" if (v < 0) == flip else "following")
                for v, flip in ((before, False), (after, True))]
        order = random.choice(["asc", "desc"])
        lines = pd.DataFrame({"i": range(n), "t": rising if order == "asc" else rising[::-1], "x": x})
        want = duckdb.sql("select sum(x) over (order by t %s range between %s and %s) as s from lines order by i"
                          % (order, side[0], side[1])).df()["s"].to_numpy()
        low, high = (-before, after) if order == "asc" else (-after, before)
        same(by_keys(lines["t"].tolist(), x, low=low, high=high, ties=ALL), want, "SQL %s %s %s" % (side, order, what))


# ---- the command line: tally window --by host,time --last ... on CSV, in nanoseconds and in plain numbers ----

def by_cli(text, *how):
    ran = subprocess.run([tally, "window", "sum", "--by", "host,t", "--column", "x", "--threads", "2", *how],
                         input=text.encode(), stdout=subprocess.PIPE, check=True)
    return np.array(ran.stdout.split(), float)


def frame_of(n, step):
    """Lines of three hosts: the times rise in each, with ties."""
    ticks = np.cumsum([random.randint(0, step) for _ in range(n)]) * random.choice([1, 7, 250, 10**9])
    return pd.DataFrame({"host": [random.choice("abc") for _ in range(n)], "t": ticks + 1714564800 * 10**9,
                         "x": [2.0 ** (i % 50) for i in range(n)]})


for case in range(cases // 10):
    lines = frame_of(random.randint(1, 200), random.choice([0, 1, 4]))
    unit = max(1, int(lines["t"].diff().max() or 1)) if len(lines) > 1 else 1
    w = unit * random.randint(1, 9) + random.randint(0, 1)
    closed = random.choice(["right", "both", "left", "neither"])
    times = pd.to_datetime(lines["t"], unit="ns")
    form = random.choice(["", "Z", "+02:00"])
    stamps = [v.strftime("%Y-%m-%dT%H:%M:%S.") + "%09d%s" % (v.microsecond * 1000 + v.nanosecond, form) for v in times]
    text = lines.assign(t=stamps).to_csv(index=False)
    plain = lines.to_csv(index=False)
    what = "case %d: w %d closed %s\n%s" % (case, w, closed, text)

    def beside(want, *how):
        same(by_cli(text, "--last", "%dns" % w, "--closed", closed, *how), want, what + " ".join(how))
        numbers = [v[:-2] if v.endswith("ns") else v for v in how]  # --next=7ns is 7 there
        same(by_cli(plain, "--last", str(w), "--closed", closed, *numbers), want, "plain " + what + " ".join(how))

    def pandas_has(**how):
        rolled = lines.set_index(times).groupby("host")["x"].rolling(pd.Timedelta(w, "ns"), closed=closed,
                                                                    min_periods=1, **how).sum()
        out = np.zeros(len(lines))
        for host, places in lines.groupby("host").groups.items():
            out[places] = rolled[host].fillna(0)
        return out

    beside(pandas_has())
    if closed != "neither" or w > 1:
        beside(pandas_has(center=True), "--center")
    named = "none" if closed == "neither" else closed
    frame = pl.DataFrame({"i": range(len(lines)), "t": times.to_numpy(), "host": lines["host"].tolist(),
                          "x": lines["x"].to_numpy()})
    for after in (0, 3 * unit, -unit):
        if w + after <= 0:
            continue
        ordered = frame.sort("host", "t", "i")
        rolled = ordered.rolling("t", period="%dns" % (w + after), offset="%dns" % -w, closed=named,
                                 group_by="host").agg(pl.col("x").sum())
        order = ordered["i"].to_numpy()
        want = np.empty(len(lines))
        want[order] = rolled["x"].to_numpy()
        beside(want, "--ties", "all", *(["--next=%dns" % after] if after else []))
print("%d cases agree with pandas %s, Polars %s and DuckDB %s"
      % (cases, pd.__version__, pl.__version__, duckdb.__version__))

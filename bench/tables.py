#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables and fields as people have them, beside the tools that people use for them. Whole processes on files that are
in the page cache, and time windows in memory too.

    python3 bench/tables.py [--tally build/tally] [--library build/libtally.so] [--folder DIR] [--rounds 3]
                            [--threads 1] [--mib 1024] [--rows 10000000] [--field-mib 4096] [--files 4]
                            [city] [windows] [field]

  city      mean by one of 1000 cities, a CSV of --mib: datamash, and DuckDB and Polars where Python has them
  windows   mean of the last second, 100 rows in it, --rows rows: in memory (a copy, pandas, Polars) and from CSV
  field     mean over time of --files NetCDF files of 10^6 cells, --field-mib in all: reading them (cat), cdo, ncra

Every time is the best of --rounds, all programs in turns; a ratio says how many times as long as tally it is. A peer
that is not here is left out with a line. What is written goes to a folder of its own, which is removed."""

import argparse
import array
import ctypes
import importlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("jobs", nargs="*", metavar="city windows field")
parser.add_argument("--tally", default="build/tally")
parser.add_argument("--library", default="build/libtally.so")
parser.add_argument("--folder", help="where files are written (default: that of temporary files)")
for name, value in (("rounds", 3), ("threads", 1), ("mib", 1024), ("rows", 10**7), ("field-mib", 4096), ("files", 4)):
    parser.add_argument("--" + name, type=int, default=value)
o = parser.parse_args()
TALLY, THREADS = os.path.abspath(o.tally), str(o.threads)


def command(*words, shell=False, into=None):
    """A process to be timed; its output is thrown away, or goes to a file."""
    def call():
        with open(into or os.devnull, "wb") as f:
            subprocess.run(words[0] if shell else words, shell=shell, stdout=f, check=True)
    return call


def race(title, amount, unit, calls):
    """Times the calls in turns and prints them; amount: what one of them does, for its speed."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(o.rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begin)
    print(title)
    for name, seconds in best.items():
        ratio = seconds / best["tally"]
        print("  %-28s %9.3f s %9.3f %s %8.2f x tally" % (name, seconds, amount / seconds, unit, ratio))
    sys.stdout.flush()


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print("  (%s is not here)" % name)


def program(name):
    found = shutil.which(name)
    if not found:
        print("  (%s is not here)" % name)
    return found


def python(text):
    return command(sys.executable, "-c", text)


def city():
    random.seed(1)
    block = "".join("city%03d,%.2f,%d\n" % (random.randrange(1000), random.gauss(15, 8), random.randrange(100))
                    for _ in range(1 << 16)).encode()
    with open("city.csv", "wb") as f:
        f.write(b"city,temp,wind\n")
        while f.tell() < o.mib << 20:
            f.write(block)
    size = os.path.getsize("city.csv")
    calls = {"tally": command(TALLY, "reduce", "mean", "--by", "city", "--column", "temp", "city.csv", "--threads",
                              THREADS, into="city.out"),
             "cat (reading alone)": command("cat", "city.csv")}
    if program("datamash"):
        calls["datamash -s -g"] = command("datamash -t, --header-in -s -g1 mean 2 <city.csv", shell=True)
    if module("duckdb"):
        calls["DuckDB"] = python("import duckdb; c = duckdb.connect(); c.execute('set threads=%s'); c.execute("
                                 "\"select city, avg(temp) from 'city.csv' group by city\").fetchall()" % THREADS)
    if module("polars"):
        calls["Polars"] = python("import os; os.environ['POLARS_MAX_THREADS'] = '%s'\nimport polars as p; "
                                 "p.scan_csv('city.csv').group_by('city').agg(p.col('temp').mean()).collect()"
                                 % THREADS)
    race("city: %d MiB, 1000 cities, %s thread(s); bar 0.5 GB/s, a tenth of datamash" % (size >> 20, THREADS),
         size / 1e9, "GB/s", calls)


class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rows", ctypes.c_int64), ("n", ctypes.c_int64),
                ("row_stride", ctypes.c_int64), ("stride", ctypes.c_int64), ("offsets", ctypes.c_void_p),
                ("valid", ctypes.c_void_p), ("valid_offset", ctypes.c_int64), ("next", ctypes.c_void_p)]


class KeyWindow(ctypes.Structure):  # tally_key_window of include/tally.h
    _fields_ = [("low", ctypes.c_int64), ("high", ctypes.c_int64), ("low_real", ctypes.c_double),
                ("high_real", ctypes.c_double), ("low_open", ctypes.c_int), ("high_open", ctypes.c_int),
                ("ties", ctypes.c_int), ("lows", ctypes.c_void_p), ("highs", ctypes.c_void_p),
                ("parts", ctypes.c_void_p), ("low_part", ctypes.c_int64), ("high_part", ctypes.c_int64)]


def library(keys, values, span):
    """The windows of `span` ticks by the library, from arrays in memory."""
    lib, n = ctypes.CDLL(os.path.join(START, o.library)), len(keys)
    lib.tally_dtype_name.restype = lib.tally_error.restype = ctypes.c_char_p
    types = {lib.tally_dtype_name(d): d for d in range(1, 13)}
    context = ctypes.c_void_p()
    assert lib.tally_open(ctypes.byref(context), b"cpu,threads=" + THREADS.encode()) == 0
    start, end, out = (array.array(c, bytes(8 * n)) for c in "qqd")

    def at(a):
        return ctypes.c_void_p(a.buffer_info()[0])

    def view(a, name):
        return View(a.buffer_info()[0], types[name], 1, n, n, 1, None, None, 0, None)

    window = KeyWindow(low=-span, high=0, low_open=1, ties=1)
    k, x, y = view(keys, b"i64"), view(values, b"f64"), view(out, b"f64")

    def call():
        bad = lib.tally_window_bounds(context, ctypes.byref(k), ctypes.byref(window), at(start), at(end))
        bad = bad or lib.tally_window_ranges(context, b"mean", ctypes.byref(x), at(start), at(end), ctypes.c_int64(n),
                                             ctypes.byref(y), ctypes.c_int64(0))
        if bad:
            sys.exit(lib.tally_error(context).decode())
    call.kept = keys, values, out  # views have addresses only
    return call


def windows():
    n, second = o.rows, 10**9
    keys = array.array("q", range(0, n * second // 100, second // 100))
    random.seed(2)
    some = array.array("d", (random.random() for _ in range(1 << 16)))
    values = (some * (n // len(some) + 1))[:n]
    memory = bytearray(16 * n)

    def copy():
        memory[: 8 * n] = memoryview(keys).cast("B")
        memory[8 * n:] = memoryview(values).cast("B")

    calls = {"tally": library(keys, values, second), "copy of keys and values": copy}
    pandas, polars = module("pandas"), module("polars")
    if pandas:
        numpy = importlib.import_module("numpy")
        series = pandas.Series(numpy.frombuffer(values), index=numpy.frombuffer(keys, "i8").view("M8[ns]"))
        calls["pandas rolling('1s')"] = lambda: series.rolling("1s").mean()
    if polars:
        frame = polars.DataFrame({"t": polars.Series(keys).cast(polars.Datetime("ns")), "x": polars.Series(values)})
        calls["Polars rolling"] = lambda: frame.rolling("t", period="1s").agg(polars.col("x").mean())
    race("windows: %d rows, 100 in each, %s thread(s), in memory; bar 0.4 of copy, a 20th of pandas" % (n, THREADS),
         n / 1e6, "Mrow/s", calls)
    with open("times.csv", "w") as f:
        f.write("time,x\n")
        for i in range(0, n, 1 << 16):
            for j in range(i, min(i + (1 << 16), n)):
                clock = 1 + j // 8640000, j // 360000 % 24, j // 6000 % 60, j // 100 % 60, j % 100
                f.write("1970-01-%02dT%02d:%02d:%02d.%02d" % clock + ",%.4f\n" % values[j])
    calls = {"tally": command(TALLY, "window", "mean", "--by", "time", "--last", "1s", "--column", "x", "times.csv",
                              "--threads", THREADS, into="windows.out")}
    if pandas:
        calls["pandas"] = python("import pandas as p; p.read_csv('times.csv', index_col=0, parse_dates=True)"
                                 ".x.rolling('1s').mean().to_csv('pandas.out')")
    if polars:
        calls["Polars"] = python("import os; os.environ['POLARS_MAX_THREADS'] = '%s'\nimport polars as p; "
                                 "p.read_csv('times.csv', try_parse_dates=True).set_sorted('time').rolling('time', "
                                 "period='1s').agg(p.col('x').mean()).write_csv('polars.out')" % THREADS)
    race("windows from CSV to CSV: %d MiB" % (os.path.getsize("times.csv") >> 20), os.path.getsize("times.csv") / 1e9,
         "GB/s", calls)


def field():
    if not program("cdo"):
        return print("field: cdo makes the files")
    steps, names = max(o.field_mib // 4 // o.files, 1), []
    for k in range(o.files):
        names.append("field%d.nc" % k)
        subprocess.run(["cdo", "-s", "-O", "-f", "nc4", "-b", "F32", "-settaxis,%d-01-01,00:00,1hour" % (2000 + k),
                        "-duplicate,%d" % steps, "-random,r1000x1000,%d" % (k + 1), names[-1]], check=True)
    size = sum(os.path.getsize(n) for n in names)
    calls = {"tally": command(TALLY, "reduce", "mean", "--axis", "time", "--variable", "random", *names, "-o",
                              "tally.nc", "--threads", THREADS),
             "cat (reading alone)": command("cat", *names),
             "cdo timmean": command("cdo", "-s", "-O", "-timmean", "-cat", *names, "cdo.nc"),
             "cdo timmean -mergetime": command("cdo", "-s", "-O", "-timmean", "-mergetime", *names, "cdo.nc")}
    if program("ncra"):
        calls["ncra"] = command("ncra", "-O", *names, "ncra.nc")
    race("field: %d files, %d MiB, %d steps of 10^6 cells, %s thread(s); bar: the speed of reading" %
         (o.files, size >> 20, steps * o.files, THREADS), size / 1e9, "GB/s", calls)


START = os.getcwd()
folder = tempfile.mkdtemp(prefix="tally-tables-", dir=o.folder)
try:
    os.chdir(folder)
    for job in o.jobs or ["city", "windows", "field"]:
        {"city": city, "windows": windows, "field": field}[job]()
finally:
    os.chdir(START)
    shutil.rmtree(folder)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package beside NumPy, pandas, bottleneck and numbagg on one thread, and what a call from Python costs.

    python bench/python.py [--tally build/tally] [--quick]

Every figure is the best of several rounds, the two sides in turns. `--tally` is the command line, whose `bench` says
what the same call costs in C. A peer that is not installed is left out."""

import argparse
import importlib
import json
import os
import platform
import subprocess
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np

import tally

parser = argparse.ArgumentParser()
parser.add_argument("--tally", help="the command line, for the cost of a call in C")
parser.add_argument("--quick", action="store_true", help="a second for each figure at most")
options = parser.parse_args()


def once(call, repeat):
    begin = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - begin) / repeat


def best(*calls, seconds=None):
    """The best time of each call, in turns."""
    seconds = seconds or (0.3 if options.quick else 2.0)
    for call in calls:
        call()
    repeats = [max(1, int(0.02 / max(once(call, 1), 1e-8))) for call in calls]
    times = [float("inf")] * len(calls)
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for i, call in enumerate(calls):
            times[i] = min(times[i], once(call, repeats[i]))
    return times


def say(what, tally_s, other_s, bar=None):
    ratio = other_s / tally_s
    verdict = "" if bar is None else f"  bar {bar}: {'kept' if ratio >= bar else 'MISSED'}"
    print(f"{what:46} tally {tally_s * 1e6:10.2f} us, other {other_s * 1e6:12.2f} us, {ratio:7.2f} times{verdict}")


tally.device("cpu,threads=1")
print(
    platform.processor() or platform.machine(),
    "python",
    platform.python_version(),
    "numpy",
    np.__version__,
    tally.device(),
)
with open("/proc/cpuinfo") as f:
    print(
        next((line.split(":")[1].strip() for line in f if line.startswith("model name")), ""), "load", os.getloadavg()
    )

# ---- a call ----
x = np.ones(64, "f4")
out = np.empty((), "f4")
with_out, without, nothing = best(lambda: tally.sum(x, out=out), lambda: tally.sum(x), lambda: None)
print(
    f"tally.sum of 64 f32 with out= {1e9 * (with_out - nothing):.0f} ns, without {1e9 * (without - nothing):.0f} ns"
)
if options.tally:
    said = subprocess.run(
        [options.tally, "bench", "sum:f32:reduce:64", "--threads", "1", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    cell = json.loads(said.stdout)
    cell = cell[0] if isinstance(cell, list) else cell
    seconds = cell.get("seconds") or cell["cells"][0]["seconds"]
    over = 1e9 * (with_out - nothing - seconds)
    verdict = "kept" if over <= 1000 else "MISSED"
    print(f"the call in C {1e9 * seconds:.0f} ns, so Python adds {over:.0f} ns  bar 1000: {verdict}")

# ---- sums ----
for n, bar, label in ((64, 0.5, "64"), (1 << 16, 2, "256 KB"), (1 << 27, 1.3, "512 MB")):
    if options.quick and n == 1 << 27:
        n, bar, label = 1 << 24, None, "64 MB"
    x = np.ones(n, "f4")
    tally_s, other_s = best(lambda: tally.sum(x), lambda: np.sum(x))
    say(f"sum of f32, {label}, against numpy", tally_s, other_s, bar)
del x

# ---- rolling windows ----
x = np.random.default_rng(1).standard_normal(1 << (16 if options.quick else 20))
peers = {
    "pandas": (20, lambda pd: lambda x: lambda s=pd.Series(x): s.rolling(50).mean()),
    "bottleneck": (3, lambda bn: lambda x: lambda: bn.move_mean(x, 50)),
    "numbagg": (2, lambda nb: lambda x: lambda: nb.move_mean(x, window=50, min_count=50)),
}
for name, (bar, make) in peers.items():
    try:
        peer = make(importlib.import_module(name))
    except ImportError:
        print(f"{name} is not installed")
        continue
    for n, wanted in ((4096, None), (x.size, bar)):
        tally_s, other_s = best(lambda: tally.rolling(x[:n], 50).mean(), peer(x[:n]))
        say(f"rolling(x, 50).mean(), {n} f64, against {name}", tally_s, other_s, wanted)
out = np.empty_like(x)
with_out, without, copy = best(
    lambda: tally.window(x, "mean", 50, out=out), lambda: tally.window(x, "mean", 50), lambda: np.copyto(out, x)
)
print(f"window(x, 'mean', 50) of {x.size} f64 with out= {1e6 * with_out:.0f} us, without {1e6 * without:.0f} us,")
print(f"    numpy.copyto {1e6 * copy:.0f} us, tally.count {1e6 * best(lambda: tally.count(x))[0]:.0f} us")
others = {
    "sum": (lambda pd, r: r.sum, lambda bn: bn.move_sum),
    "min": (lambda pd, r: r.min, lambda bn: bn.move_min),
    "max": (lambda pd, r: r.max, lambda bn: bn.move_max),
    "var": (lambda pd, r: r.var, lambda bn: lambda x, w: bn.move_var(x, w, ddof=1)),
    "std": (lambda pd, r: r.std, lambda bn: lambda x, w: bn.move_std(x, w, ddof=1)),
}
for op, (of_pandas, of_bottleneck) in others.items():
    method = getattr(tally.Rolling, op)
    for name, make in (
        ("pandas", lambda pd: of_pandas(pd, pd.Series(x).rolling(50))),
        ("bottleneck", lambda bn: lambda: of_bottleneck(bn)(x, 50)),
    ):
        try:
            peer = make(importlib.import_module(name))
        except ImportError:
            continue
        tally_s, other_s = best(lambda: method(tally.rolling(x, 50)), peer)
        say(f"rolling(x, 50).{op}(), {x.size} f64, against {name}", tally_s, other_s)

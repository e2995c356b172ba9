#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls from Python on arrays of a GPU: tally beside PyTorch and CuPy, in microseconds a call.

    python bench/python_gpu.py [SECONDS]     # needs a tally that is installed, torch and cupy, and a GPU

Two times of each: many calls, then one wait (what the host and the device need); and a wait after each call. The
results of tally on PyTorch's tensors stand beside PyTorch, those on CuPy's arrays beside CuPy. It begins nothing new
after SECONDS (default 120)."""

import os
import statistics
import sys
import time

os.environ.setdefault("TALLY_CODE", "best")
import cupy
import torch

import tally

LIMIT = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 120)
ROUNDS = 11
TABLES = [(1000000, 3), (3000000, 7), (10000000, 2), (400, 60000), (32000, 4000), (4000, 40000), (2048, 100000)]
TABLES += [(100, 1000001)]
SIZES = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28]


def seconds(call, count, wait, each):
    start = time.perf_counter()
    for _ in range(count):
        call()
        if each:
            wait()
    wait()
    return time.perf_counter() - start


def rounds(calls, wait, each):
    """Microseconds of each call: medians of rounds in which the calls take turns, so that a busy machine slows all."""
    counts = [max(1, min(1000, int(4e-3 / seconds(call, 1, wait, each)))) for call in calls]
    times = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, count, seen in zip(calls, counts, times):
            seen.append(seconds(call, count, wait, each) / count * 1e6)
    return map(statistics.median, times)


def row(name, calls):
    """calls: of tally on torch, torch, tally on cupy, cupy; None: there is no such function."""
    if time.monotonic() > LIMIT:
        return print(f"{name:22} left out for time")
    wait = torch.cuda.synchronize
    for call in calls:
        for _ in range(4):  # kernels are compiled, memory is there
            call and call()
    wait()
    cells = []
    for each in (False, True):
        measured = rounds([call for call in calls if call], wait, each)
        on_torch, torch_us, on_cupy, cupy_us = (call and next(measured) for call in calls)
        cells.append(f"{on_torch:9.1f} {torch_us:9.1f} {torch_us / on_torch:5.2f}")
        if on_cupy:
            cells[-1] += f" {on_cupy:9.1f}" + (f" {cupy_us:9.1f} {cupy_us / on_cupy:5.2f}" if cupy_us else " " * 16)
    print(f"{name:22} {cells[0]:50} | {cells[1]}", flush=True)


def flat(n):
    x = torch.randn(n, device="cuda")
    y = cupy.from_dlpack(x)
    out, out_cupy = torch.empty_like(x), cupy.empty_like(y)
    pool = torch.nn.functional.avg_pool1d
    line = x.reshape(1, 1, -1)
    return {
        "sum": (lambda: tally.sum(x), lambda: torch.sum(x), lambda: tally.sum(y), lambda: cupy.sum(y)),
        "cumsum": (
            lambda: tally.cumulative_sum(x),
            lambda: torch.cumsum(x, 0),
            lambda: tally.cumulative_sum(y),
            lambda: cupy.cumsum(y),
        ),
        "cumsum out=": (
            lambda: tally.cumulative_sum(x, out=out),
            lambda: torch.cumsum(x, 0, out=out),
            lambda: tally.cumulative_sum(y, out=out_cupy),
            lambda: cupy.cumsum(y, out=out_cupy),
        ),
        "mean": (lambda: tally.mean(x), lambda: torch.mean(x), lambda: tally.mean(y), lambda: cupy.mean(y)),
        "var": (lambda: tally.var(x), lambda: torch.var(x), lambda: tally.var(y), lambda: cupy.var(y)),
        "max": (lambda: tally.max(x), lambda: torch.max(x), lambda: tally.max(y), lambda: cupy.max(y)),
        "argmax": (lambda: tally.argmax(x), lambda: torch.argmax(x), lambda: tally.argmax(y), lambda: cupy.argmax(y)),
        "window mean 50": (
            lambda: tally.window(x, "mean", 50),
            lambda: pool(line, 50, 1),
            lambda: tally.window(y, "mean", 50),
            None,
        ),
        "rolling mean 50, f32": (
            lambda: tally.rolling(x, 50, dtype="float32").mean(),
            lambda: pool(line, 50, 1),
            lambda: tally.rolling(y, 50, dtype="float32").mean(),
            None,
        ),
    }


def matrices():
    x = torch.randn(4096, 8192, device="cuda")
    y = cupy.from_dlpack(x)
    half = torch.randn(1 << 26, device="cuda").to(torch.bfloat16)
    for axis in (0, 1):
        row(
            f"sum 4096 x 8192 axis {axis}",
            (
                lambda: tally.sum(x, axis=axis),
                lambda: torch.sum(x, axis),
                lambda: tally.sum(y, axis=axis),
                lambda: cupy.sum(y, axis),
            ),
        )
    for n, columns in TABLES:
        z = torch.randn(n, columns, device="cuda")
        row(f"sum {n} x {columns} axis 0", (lambda: tally.sum(z, axis=0), lambda: torch.sum(z, 0), None, None))
    row("sum bf16 2^26", (lambda: tally.sum(half), lambda: torch.sum(half), None, None))
    row("sum f32 2^20, out=", out_of(1 << 20))


def out_of(n):
    x = torch.randn(n, device="cuda")
    y, out = cupy.from_dlpack(x), torch.empty((), device="cuda")
    out_cupy = cupy.empty((), "f4")
    return (
        lambda: tally.sum(x, out=out),
        lambda: torch.sum(x, 0, out=out),
        lambda: tally.sum(y, out=out_cupy),
        lambda: cupy.sum(y, out=out_cupy),
    )


def main():
    card = torch.cuda.get_device_name()
    print(f"{card}, torch {torch.__version__}, cupy {cupy.__version__}, tally {tally.__version__}")
    head = f"{'tally':>9} {'torch':>9} ratio {'tally':>9} {'cupy':>9} ratio"
    print(f"{'us a call':22} {'many calls, one wait':50} | a wait after each")
    print(f"{'':22} {head:50} | {head}")
    matrices()
    for log in SIZES:
        for name, calls in flat(1 << log).items():
            row(f"{name} 2^{log}", calls)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

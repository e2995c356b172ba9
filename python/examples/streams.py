#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CuPy's streams: each stream has its own work, and nothing waits until a number is wanted."""

import cupy
import numpy as np

import tally


def main():
    x = np.random.default_rng(7).standard_normal((4, 1 << 20)).astype("float32")
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in x]
    results = []
    for stream, part in zip(streams, x):
        with stream:  # tally's calls go to the current stream, as CuPy's do
            y = cupy.asarray(part)
            y *= 2
            results.append((tally.sum(y), tally.rolling(y, 50).mean()[49:].max(), tally.cumulative_sum(y)[-1]))
    for stream in streams:
        stream.synchronize()
    with tally.device("cpu"):
        for part, (total, top, last) in zip(x * 2, results):
            assert total.get() == last.get() == tally.sum(part)  # in bits
            assert top.get() == tally.rolling(part, 50).mean()[49:].max()
    with tally.config(results="host"), streams[0]:
        number = tally.sum(cupy.asarray(x[0]))  # waits, and is a number of the host
    print("the processors' bits in", len(streams), "streams:", type(number) is np.float32)


if __name__ == "__main__":
    main()

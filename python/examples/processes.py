#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sum and a variance by several processes: each folds a part of a file into a fragment, the fragments come back in
any order, and together they have the bits of one call on the whole. The same works with any engine that pickles."""

import concurrent.futures
import functools
import multiprocessing
import os
import random
import tempfile
from array import array

import tally

ELEMENTS, PART = 200_000, 12_345
OPS = ("sum", "var:ddof=1")


def read(path, start, count):
    values = array("d")
    with open(path, "rb") as file:
        file.seek(start * values.itemsize)
        values.fromfile(file, min(count, ELEMENTS - start))
    return values


def fold(path, start):
    values = read(path, start, PART)
    return [tally.Fragment(op, values, start) for op in OPS]


def main():
    rng = random.Random(7)
    values = array("d", [rng.uniform(-1, 1) * 10.0 ** rng.randint(-3, 3) for _ in range(ELEMENTS)])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "values.raw")
        with open(path, "wb") as file:
            values.tofile(file)
        starts = list(range(0, ELEMENTS, PART))
        rng.shuffle(starts)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            work = [pool.submit(fold, path, start) for start in starts]
            parts = [done.result() for done in concurrent.futures.as_completed(work)]
    for k, op in enumerate(OPS):
        whole = functools.reduce(lambda a, b: a + b, [part[k] for part in parts])
        print(op, "of", len(parts), "parts: the bits of one call:", whole.result() == tally.reduce(values, op))


if __name__ == "__main__":
    main()

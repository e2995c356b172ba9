#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sum and a variance by tasks of Ray on this machine: each task folds a part into a fragment, tasks merge fragments
pairwise as they come, and the result has the bits of one call on the whole."""

import numpy as np
import ray

import tally

OPS = ("sum", "var:ddof=1")


@ray.remote
def fold(x, start, stop):
    return [tally.Fragment(op, x[start:stop], start) for op in OPS]


@ray.remote
def merge(a, b):
    return [left + right for left, right in zip(a, b)]


def main():
    x = (np.random.default_rng(7).integers(-(2**20), 2**20, 200_000) / 1000).astype("float32")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        stored = ray.put(x)
        cuts = [*range(0, len(x), 12_345), len(x)]
        waiting = [fold.remote(stored, a, b) for a, b in zip(cuts, cuts[1:])]
        while len(waiting) > 1:
            (one, two), rest = ray.wait(waiting, num_returns=2)  # those that are ready first, in any order
            waiting = [*rest, merge.remote(one, two)]
        for op, whole in zip(OPS, ray.get(waiting[0])):
            print(op, "the bits of one call:", whole.result() == tally.reduce(x, op))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()

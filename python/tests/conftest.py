# SPDX-License-Identifier: MIT
"""Helpers of all tests. TALLY_CLI is the command line, of the same build's law; without it tests of parity are
skipped."""

import os
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import tally

_here = os.path.dirname(os.path.dirname(tally.__file__))  # for the processes that tests start
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_here, os.environ.get("PYTHONPATH")]))

settings.register_profile(
    "tally",
    max_examples=int(os.environ.get("TALLY_EXAMPLES", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tally")

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
FLOATS = ["float16", "float32", "float64"]


def numbers(rng, shape, dtype, special=True):
    """Random elements: all integers of a type, and floats with zeros of both signs, NaN and infinities among them."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)).astype(dtype)
    if special:
        for value in (0.0, -0.0, np.nan, np.inf, -np.inf):
            x[rng.random(shape) < 0.01] = value
    return x


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture
def rng():
    return np.random.default_rng(int(os.environ.get("TALLY_TEST_SEED", "20261122")))


@pytest.fixture
def cli(tmp_path):
    """cli(x, "reduce", "sum", ...) -> the digest that the command line prints."""
    program = os.environ.get("TALLY_CLI")
    if not program:
        pytest.skip("TALLY_CLI is not set")

    def run(x, *arguments):
        path = tmp_path / "x.npy"
        np.save(path, x)
        done = subprocess.run([program, *arguments, "--digest", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[-1]

    return run

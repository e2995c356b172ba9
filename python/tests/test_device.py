# SPDX-License-Identifier: MIT
"""Data on a GPU. With a driver that computes nothing (test/fake): the way of arrays in and out, and sentences. With a
GPU, and PyTorch or CuPy: the processors' bits."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tally
from conftest import numbers

FAKE = pathlib.Path(__file__).parent.parent.parent / "test" / "fake"

WAYS = """
import contextlib
import numpy as np, tally

class Space:  # a library whose arrays say that they are on a device; the driver takes the host's memory for it
    float32 = "f4"
    float64 = "f8"

    @staticmethod
    def empty(shape, dtype):
        return Here(np.zeros(shape, dtype))

class Here:
    def __init__(self, x, stream=None):
        self.x, self.device = x, contextlib.nullcontext()
        self.__cuda_array_interface__ = dict(x.__array_interface__, strides=x.strides, stream=stream)

    def __array_namespace__(self):
        return Space

def sentence(call, words):
    try:
        call()
    except ValueError as e:
        assert words in str(e), e
    else:
        raise SystemExit(words)

assert tally.device("cuda:0,probe=off").isa == "cuda:0"
x = np.arange(1000, dtype="f4").reshape(10, 100)
for stream in (None, 1, 2):
    y = Here(x, stream)
    for _ in range(3):
        assert tally.sum(y, axis=1).x.shape == (10,) and tally.sum(y).x.shape == () and tally.var(y).x.dtype == "f8"
        assert tally.scan(y, "sum", axis=1).x.shape == (10, 100)
        assert tally.window(y, "mean", 3, axis=0, edges="valid").x.shape == (8, 100)
        out = np.empty(10, "f4")
        assert tally.sum(y, axis=1, out=out) is out
        assert tally.sum(Here(x[:, ::2]), axis=0).x.shape == (50,)
    sentence(lambda: tally.sum(Here(x[:, 1:])), "no single stride walks what is folded: make it contiguous")
    sentence(lambda: tally.sum(x, axis=0, out=Here(np.empty((100, 2), "f4")[:, 0])), "out is on a device: it must be")
    sentence(lambda: tally.cumulative_sum(y, axis=1, include_initial=True), "are for host memory in this version")
    sentence(lambda: tally.rolling(y, 3).mean(), "x: rolling takes host memory")
    assert tally.Fragment("sum", y, start=5) == tally.Fragment("sum", x, start=5)
    assert tally.Fragment("dot", y, next=y) == tally.Fragment("dot", x, next=x)
    sentence(lambda: tally.Fragment("sum", Here(x[:, 1:])), "no single stride walks what is folded")
    sentence(lambda: tally.Fragment("sum", y, where=x > 5), "elements can be left out of host memory")
    sentence(lambda: tally.Fragment._of_rows("sum", y, 0), "a fragment of rows takes host memory")
    sentence(lambda: tally.digest(y), "bring it to the host")
try:
    tally.sum(type("Bare", (), {"__cuda_array_interface__": y.__cuda_array_interface__})())
except TypeError as e:
    assert "makes no arrays: give out=" in str(e), e
"""


def test_ways_to_a_device(tmp_path):
    if not FAKE.is_dir():
        pytest.skip("the repository's test/fake is not here")
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the compiler of the driver is not to be watched")
    for name, file in (("cuda", "libcuda.so.1"), ("nvrtc", "libnvrtc.so.13")):
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", FAKE / f"{name}.c", "-o", tmp_path / file], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", WAYS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(params=["torch", "cupy"])
def to_device(request):
    if not any(d["name"].startswith("cuda") and d["usable"] for d in tally.devices()):
        pytest.skip("there is no CUDA device")
    library = pytest.importorskip(request.param)
    return (lambda x: library.as_tensor(x, device="cuda")) if request.param == "torch" else library.asarray


def test_a_device_has_the_bits_of_the_processors(to_device, rng):
    with tally.device("cpu"):  # where the host's arrays are computed
        compare(to_device, rng)


def compare(to_device, rng):
    for dtype in ("float32", "float64", "int32", "uint8"):
        x = numbers(rng, (300, 1000), dtype)
        y = to_device(x)
        for op in ("sum", "nanmean", "max", "argmin", "var"):
            for axis in (None, 0, 1):
                mine = tally.reduce(y, op, axis=axis)
                assert type(mine) is type(y)
                mine = mine.cpu().numpy() if hasattr(mine, "cpu") else mine.get()
                assert tally.digest(mine) == tally.digest(tally.reduce(x, op, axis=axis)), (dtype, op, axis)
            for axis in (0, 1):
                for verb in (lambda a: tally.scan(a, op, axis=axis), lambda a: tally.window(a, op, 20, axis=axis)):
                    mine = verb(y)
                    mine = mine.cpu().numpy() if hasattr(mine, "cpu") else mine.get()
                    assert tally.digest(mine) == tally.digest(verb(x)), (dtype, op, axis)
        out = np.empty(1000, tally.sum(x, axis=0).dtype)
        tally.sum(y, axis=0, out=out)
        assert tally.digest(out) == tally.digest(tally.sum(x, axis=0))

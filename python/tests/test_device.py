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
    int64 = "i8"

    @staticmethod
    def empty(shape, dtype):
        return Here(np.zeros(shape, dtype))

class Here:
    def __init__(self, x, stream=None):
        self.x, self.device = x, contextlib.nullcontext()
        self.__cuda_array_interface__ = dict(x.__array_interface__, strides=x.strides, stream=stream)

    def __array_namespace__(self):
        return Space

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return self.x[at]

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
    sentence(lambda: tally.cumulative_sum(y, axis=1, include_initial=True), "are for arrays of PyTorch and CuPy")
    assert tally.Fragment("sum", y, start=5) == tally.Fragment("sum", x, start=5)
    assert tally.Fragment("dot", y, next=y) == tally.Fragment("dot", x, next=x)
    sentence(lambda: tally.Fragment("sum", Here(x[:, 1:])), "no single stride walks what is folded")
    sentence(lambda: tally.Fragment("sum", y, where=x > 5), "elements can be left out of arrays of PyTorch and CuPy")
    sentence(lambda: tally.Fragment._of_rows("sum", y, 0), "a fragment of rows takes host memory")
    sentence(lambda: tally.digest(y), "bring it to the host")

def here(given, want):
    for a, b in zip(given, want) if type(given) is tuple else [(given, want)]:
        assert type(a) is Here and tally.digest(a.x) == tally.digest(b), (a.x, b)

# keys, ranges and windows of time: the driver's host memory is the processors', so these are computed
rng = np.random.default_rng(1)
x = rng.standard_normal(500).round(2)
other = rng.standard_normal(500)
keys, codes = np.repeat(rng.integers(0, 9, 100), 5), rng.integers(0, 7, 500)
times = rng.integers(0, 900, 500)
times.sort()
for stream in (None, 1, 2):
    on = lambda a: Here(a, stream)
    here(tally.runs(on(keys)), tally.runs(keys))
    here(tally.runs(on(keys[::-1])), tally.runs(keys[::-1]))
    here(tally.runs(on(keys[:0])), tally.runs(keys[:0]))
    here(tally.groups(on(codes), 7), tally.groups(codes, 7))
    order, offsets = tally.groups(codes, 7)
    here(tally.take(on(x), on(order)), tally.take(x, order))
    here(tally.take(on(x[::-2]), np.arange(9)), x[::-2][:9])
    assert tally.digest(tally.take(x, on(order))) == tally.digest(tally.take(x, order))
    assert tally.by_key(on(x), on(codes), "sum", groups=7).x.shape == (7,)
    assert tally.by_key(on(x), codes, "dot", groups=7, next=on(x)).x.shape == (7,)
    assert tally.by_key(x, on(codes), "max", groups=7).shape == (7,)
    start, end = tally.bounds(times, -9, 0)
    here(tally.bounds(on(times), -9, 0), (start, end))
    for a, b in ((on(start), on(end)), (start, on(end)), (start, end)):
        here(tally.ranges(on(x), a, b, "sum"), tally.ranges(x, start, end, "sum"))
    assert tally.digest(tally.ranges(x, on(start), on(end), "max")) == tally.digest(tally.ranges(x, start, end, "max"))
    here(tally.ranges(on(x), start, end, "dot", next=on(other)), tally.ranges(x, start, end, "dot", next=other))
    assert tally.rolling(on(x), 5).mean().x.shape == (500,)  # by the device
    gaps, falling = np.where(x > 1, np.nan, x), np.arange(500.0)[::-1]  # in host memory, windows of ranges
    square, days = gaps.reshape(20, 25), np.arange(0, 50, 2)
    for a, b, row, more in (
        (on(gaps), gaps, times, {}),
        (on(gaps), gaps, times, dict(step=3, min_periods=4)),
        (on(square), square, days, dict(axis=1, min_periods=2)),
        (on(square[:, ::-2]), square[:, ::-2], days[:20], dict(axis=0, closed="left")),
        (gaps, gaps, times, {}),
    ):
        mine, want = tally.rolling(a, 20, on=on(row), **more), tally.rolling(b, 20, on=row, **more)
        for name in ("sum", "mean", "count"):
            given = getattr(mine, name)()
            here(Here(given) if a is b else given, getattr(want, name)())
    here(tally.rolling(on(x), 20, on=times).cov(on(other)), tally.rolling(x, 20, on=times).cov(other))
    here(tally.rolling(on(x), 20, on=on(times)).corr(other), tally.rolling(x, 20, on=times).corr(other))
    here(tally.rolling(on(gaps), 20.0, on=on(falling)).var(), tally.rolling(gaps, 20.0, on=falling).var())
    assert tally.Exact(on(x[::3])) == tally.Exact(x[::3])
sentence(lambda: tally.groups(on(codes), 6), "codes: element ")
sentence(
    lambda: tally.take(on(x), on(order + 1)),
    "is 500: must be in 0..499, the places of elements",
)
sentence(lambda: tally.bounds(on(codes), -1, 0), "keys: row ")
sentence(lambda: tally.ranges(on(x), on(end), on(start), "sum"), "start")
sentence(lambda: tally.ranges(on(x), on(start), on(end + 1), "sum"), "end")
sentence(lambda: tally.ranges(on(x), on(start.astype("i4")), on(end), "sum"), "start must be int64, dense and aligned")
sentence(lambda: tally.runs(on(x.reshape(5, 100))), "keys must have one axis, with strides of whole elements")
sentence(lambda: tally.segments(on(x), on(offsets.astype("i4")), "sum"), "offsets must be int64, dense")
other_stream = "order is on cuda:0 and x on cuda:0, in another stream: must be one device and one stream"
sentence(lambda: tally.take(Here(x, 1), Here(order, 2)), other_stream)
try:
    tally.sum(type("Bare", (), {"__cuda_array_interface__": y.__cuda_array_interface__})())
except TypeError as e:
    assert "makes no arrays: give out=" in str(e), e
"""

# CuPy as far as tally knows it, with memory of the driver that computes nothing
CUPY = """
import ctypes, sys, types, weakref
import numpy as np

driver = ctypes.CDLL("libcuda.so.1")
waits = ctypes.c_int.in_dll(driver, "fake_cuda_count")  # its first member
driver.cuCtxPushCurrent_v2(ctypes.c_void_p(1))

class Stream:
    captured = False
    def __init__(self, ptr):
        self.ptr = ptr
    def is_capturing(self):
        return self.captured

current = Stream(0)

class ndarray:
    def __init__(self, shape, dtype):
        bytes, address = int(np.prod(shape)) * np.dtype(dtype).itemsize, ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(bytes)) == 0
        block = (ctypes.c_char * bytes).from_address(address.value)
        self.x = x = np.frombuffer(block, dtype).reshape(shape)
        self.data = types.SimpleNamespace(ptr=address.value, device_id=0)
        self.dtype, self.shape, self.strides = x.dtype, x.shape, x.strides

ndarray.__module__ = "cupy"
cupy = sys.modules["cupy"] = types.ModuleType("cupy")
cupy.ndarray = ndarray
cupy.cuda = types.SimpleNamespace(get_current_stream=lambda device: current)

def array(x):
    a = ndarray(x.shape, x.dtype)
    a.x[...] = x
    return a

import tally

def sentence(call, words):
    try:
        call()
    except ValueError as e:
        assert words in str(e), e
    else:
        raise SystemExit(words)

x = np.arange(12, dtype="f4").reshape(3, 4)
y = array(x)
current.captured = True
try:
    tally.sum(y)
except ValueError as e:
    assert "stream is captured into a graph: make each call of tally once before" in str(e), e
else:
    raise SystemExit("a context was opened during a capture")
current.captured = False
tally.device("cuda:0,probe=off")
for _ in range(2):
    r = tally.sum(y, axis=0)
    assert type(r) is ndarray and r.shape == (4,) and r.dtype == "f4", r
    assert tally.cumulative_sum(y, axis=1).shape == (3, 4) and tally.var(y).dtype == "f8"
    out = np.empty(4, "f4")
    assert tally.sum(y, axis=0, out=out) is out
    with tally.config(results="host"):
        assert type(tally.sum(y)) is np.float32 and type(tally.runs(array(np.array([1, 1, 2])))) is np.ndarray
# nothing waits, also where another stream becomes current
for current in (Stream(0), Stream(2), Stream(0)):
    before = waits.value
    tally.sum(y, axis=0), tally.cumulative_sum(y, axis=1), tally.max(y), tally.window(y, "mean", 2, axis=0)
    assert waits.value == before, (waits.value, before)
    tally.sum(y, axis=0, out=np.empty(4, "f4"))
    assert waits.value > before
# a stream without an owner is waited for and left
driver.fake_cuda_stream.restype = ctypes.c_void_p
class Other:
    def __init__(self, x, stream):
        face = dict(x.x.__array_interface__, stream=stream, data=(x.data.ptr, False))
        self.__cuda_array_interface__, self.x = face, x
for number in (driver.fake_cuda_stream(0), driver.fake_cuda_stream(0)):
    current, before = Stream(number), waits.value
    tally.sum(Other(y, number), axis=0, out=ndarray((4,), "f4"))
    assert waits.value > before
    before = waits.value
    tally.sum(y, axis=0)
    assert waits.value == before
current = Stream(0)
tally.sum(y)
# an error of the device may be that of a call which nothing waited for
tally.max(y)
ctypes.c_int.in_dll(driver, "fake_cuda_push_fails").value = 1
out = ndarray((), "f4")
driver.cuCtxPopCurrent_v2(None)  # a context that is current is not pushed
sentence(lambda: tally.sum(y, out=out), "nothing waited for: the last of tally on this stream was 'max')")
driver.cuCtxPushCurrent_v2(ctypes.c_void_p(1))
tally.sum(y)
# memory comes from an allocator, and goes back to it
class Pool:
    held, streams = {}, set()

    def allocate(self, bytes, stream):
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(bytes)) == 0
        self.held[address.value] = bytes
        self.streams.add(stream)
        return address.value

    def deallocate(self, address, bytes, stream):
        assert self.held.pop(address) == bytes

big = ndarray((1 << 20,), "f4")
tally.use_allocator(Pool())
for current in (Stream(2), Stream(0)):
    tally.cumulative_sum(big), tally.sum(big)
assert Pool.held and Pool.streams >= {1, 2}, Pool.streams
tally.use_allocator(None)
tally.sum(big)
assert not Pool.held
sentence(lambda: tally.use_allocator("pool"), "allocator is 'pool': must be 'torch', 'cupy', an object or None")
sentence(lambda: tally.use_allocator(5), "allocator is 5: must have allocate and deallocate")
sentence(lambda: tally.config(results="there"), "results is 'there': must be 'device' or 'host'")
class Empty(Pool):
    allocate = lambda self, bytes, stream: None
tally.use_allocator(Empty())
try:
    tally.cumulative_sum(big)
except MemoryError:
    pass
else:
    raise SystemExit("memory from nowhere")
tally.use_allocator(None)
# a stream lives as long as a context works in it
current = Stream(2)
kept = weakref.ref(current)
tally.sum(y)
current = Stream(2)  # another object of the same stream takes nothing over
tally.sum(y)
assert kept() is not None
current = Stream(0)
assert kept() is not None
tally.sum(y)
assert kept() is None
# rolling: NaN in the rows of a window is its result only if the window needs all its rows
blanked = []
cupy.copyto = lambda out, value, where: blanked.append(value)
ndarray.__getitem__ = lambda self, at: self.x[at]
ndarray.__setitem__ = lambda self, at, value: self.x.__setitem__(at, value)
for least, times in ((3, 0), (2, 1), (1, 1)):
    blanked.clear()
    assert tally.rolling(y, 3, axis=1, min_periods=least).sum().dtype == "f8"
    assert len(blanked) == times, (least, blanked)
try:
    tally.dot(y, type("Other", (), {"__cuda_array_interface__": dict(x.__array_interface__, stream=2)})())
except ValueError as e:
    assert "in another stream: must be one device and one stream" in str(e), e
else:
    raise SystemExit("two streams")
"""


@pytest.mark.parametrize("script", [WAYS, CUPY])
def test_ways_to_a_device(tmp_path, script):
    if not FAKE.is_dir():
        pytest.skip("the repository's test/fake is not here")
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the compiler of the driver is not to be watched")
    for name, file in (("cuda", "libcuda.so.1"), ("nvrtc", "libnvrtc.so.13")):
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", FAKE / f"{name}.c", "-o", tmp_path / file], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
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

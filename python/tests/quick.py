# SPDX-License-Identifier: MIT
"""The package without any other: a few seconds, for test/test_python.sh, where nothing can be downloaded. NumPy is
compared with if it is there. What is tested with care is in the other files here, which pytest runs."""

import ctypes
import math
import os
import pickle
import random
import struct
import subprocess
import sys
import tempfile
from array import array

import tally

rng = random.Random(20261123)
done = 0


def expect(fact, *what):
    global done
    done += 1
    if not fact:
        sys.exit(f"FAILED: {what}")


def raises(kind, words, call):
    try:
        call()
    except kind as e:
        expect(words in str(e), words, str(e))
    else:
        expect(False, words, "nothing was raised")


def bits(x):
    return bytes(x) if isinstance(x, (array, tally.Array)) else struct.pack("d", x)


def floats(n, code="d"):
    return array(code, [rng.uniform(-1, 1) * 10.0 ** rng.randint(-3, 3) for _ in range(n)])


def command_line(x, letter, *words):
    with tempfile.NamedTemporaryFile(suffix=".raw") as file:
        file.write(bytes(x))
        file.flush()
        program = [os.environ["TALLY_CLI"], *words, "--dtype", letter, "--digest", file.name]
        said = subprocess.run(program, capture_output=True, text=True)
        expect(said.returncode == 0, said.stderr)
        return said.stdout.split()[-1]


# the bits of the command line, and the law
for code, letter in (("f", "f32"), ("d", "f64"), ("h", "i16"), ("Q", "u64")):
    x = floats(5000, code) if code in "fd" else array(code, [rng.randrange(30000) for _ in range(5000)])
    for op in ("sum", "mean", "var", "max", "argmin", "nansum"):
        one = tally.reduce(memoryview(x).cast("B").cast(code, (1, 5000)), op, axis=1)
        expect(tally.digest(one) == command_line(x, letter, "reduce", op), code, op)
        expect(tally.scan(x, op)[-1] == tally.reduce(x, op), code, op)
        expect(tally.window(x, op, 50)[-1] == tally.reduce(x[-50:], op) or op == "argmin", code, op)
    expect(tally.digest(tally.scan(x, "sum")) == command_line(x, letter, "scan", "sum"), code)
    expect(tally.digest(tally.window(x, "mean", 50)) == command_line(x, letter, "window", "mean", "-w", "50"), code)

# every operator has a function, with its documentation
for op in tally.operators():
    function = getattr(tally, {"and": "and_", "or": "or_"}.get(op, op))
    expect(function.__doc__ and "No elements give" in function.__doc__, op)

# threads, instruction sets, cuts: one result
x = floats(100_000)
want = tally.digest(tally.window(x, "std", 50))
for name in ["cpu,threads=1", *(f"cpu,isa={isa}" for isa in tally.devices()[0]["isas"].split())]:
    with tally.device(name):
        expect(tally.digest(tally.window(x, "std", 50)) == want, name)
cuts = [0, *sorted(rng.sample(range(1, len(x)), 6)), len(x)]
parts = [tally.Fragment("sum", x[a:b], a) for a, b in zip(cuts, cuts[1:])]
rng.shuffle(parts)
whole = pickle.loads(pickle.dumps(parts[0]))
for part in parts[1:]:
    whole = whole + part
expect(whole.result() == tally.sum(x), "fragments")
stream = tally.Stream.window("mean", "float64", 9)
pushed = [v for a, b in zip(cuts, cuts[1:]) for v in stream.push(x[a:b])] + stream.finish().tolist()
expect(bits(array("d", pushed)) == bits(tally.window(x, "mean", 9)), "stream")
expect(tally.Exact(x).sum() == math.fsum(x), "exact")

# what is left out, second arrays, ranges, times
where = bytes(rng.randrange(2) for _ in x)
kept = [v for v, there in zip(x, where) if there]
expect(tally.max(x, where=where) == max(kept) and tally.count(x, where=where) == len(kept), "where")
expect(tally.reduce(x, "sum:f64", where=b"\1") == tally.sum(x) and tally.sum(x, where=b"\0") == 0, "all, none")
expect(tally.dot(array("q", [1, 2, 3]), array("q", [4, 5, 6])) == 32, "dot")
expect(tally.wmean([1.0, 2.0], [3, 1]) == 1.25 and tally.scan([1, 2], "dot", next=[3, 4]).tolist() == [3, 11], "two")
expect(tally.rolling(x, 20).corr(x)[-1] <= 1.0, "corr")
start, end = tally.bounds(array("q", [0, 1, 1, 5]), -1, 0)
expect(tally.ranges(x[:4], start, end, "sum")[2] == tally.sum(x[:3]), "ranges")
start, end = tally.bounds(array("Q", [2**64 - 3, 2**64 - 2, 2**64 - 1]), -2, 0, closed="right")
expect(start.tolist() == [0, 0, 1] and end.tolist() == [1, 2, 3], "large keys")
start, end = tally.bounds(array("q", [4, 2, 1]), -2, 0)
expect(start.tolist() == [0, 1, 2] and end.tolist() == [2, 3, 3], "falling keys")
expect(tally.rolling(x[:4], 2, on=array("q", [0, 1, 1, 5])).sum().tolist()[3] == x[3], "times")
expect(tally.by_key(array("d", [1, 2, 4]), [1, 0, 1], "sum").tolist() == [2.0, 5.0], "keys")
keys, values = tally.sum(array("d", [1, 2, 4, 8]), by=["b", "a", "b", None], sort=True)
expect(keys == ["a", "b"] and values.tolist() == [2.0, 5.0], "by text")
keys, values = tally.sum(array("d", [1, 2, 4]), by=[array("i", [7, 7, -1]), array("d", [0.0, -0.0, 1.5])])
expect((keys[0].tolist(), keys[1].tolist(), values.tolist()) == ([7, -1], [0.0, 1.5], [3.0, 4.0]), "by two keys")
running = tally.rolling(array("d", [1, 2, 4, 8]), 2, by=["b", "a", "b", "a"], min_periods=1).sum()
expect(running.tolist() == [1.0, 2.0, 5.0, 10.0], "windows by group")
parts = [tally.Fragment("mean", x[a:b], a, where=where[a:b]) for a, b in zip(cuts, cuts[1:])]
expect((parts[1] + parts[0]).end == cuts[2] and parts[0].result() == tally.mean(x[: cuts[1]], where=where[: cuts[1]]))
stream = tally.Stream.scan("dot", "float64")
pushed = [stream.push(x[a:b], next=x[a:b], where=where[a:b]) for a, b in zip(cuts, cuts[1:])]
expect(b"".join(map(bytes, pushed)) == bytes(tally.scan(x, "dot", next=x, where=where)), "streams of two")
expect(tally.Exact(x, where=where).sum() == math.fsum(kept), "exact, where")
for at in (0, 77, len(x) - 1):
    nan = array("d", x)
    nan[at] = math.nan
    for n in (200, len(x)):
        seen = tally.rolling(nan[-n:], 9, min_periods=1).min()
        expect(bits(seen) == bits(tally.window(nan[-n:], "nanmin", 9, edges="shrink")), "NaN", at, n)
with tally.progress(lambda done, total: None):
    expect(tally.digest(tally.window(x, "std", 50)) == want, "progress")

# wrong arguments
raises(ValueError, "axis is 1: x has 1 axes", lambda: tally.sum(x, axis=1))
raises(ValueError, "median", lambda: tally.reduce(x, "median"))
raises(ValueError, "out overlaps x", lambda: tally.scan(memoryview(x)[:-1], "sum", out=memoryview(x)[1:]))
raises(ValueError, "'dot' takes two arrays", lambda: tally.reduce(x, "dot"))
raises(ValueError, "where has shape (2,)", lambda: tally.sum(x, where=b"\0\1"))
raises(ValueError, "range 0 is 0..9: must be", lambda: tally.ranges([1.0], [0], [9], "sum"))
raises(ValueError, "on: windows of time", lambda: tally.rolling(x, "2s"))
# windows around a time: an odd length has its half between two ticks, and takes no end more
at, ones = array("q", [0, 1, 2, 3, 4, 6]), array("d", [1, 2, 4, 8, 16, 32])
for closed, length, sums in (
    ("right", 2, [3, 6, 12, 24, 16, 32]),
    ("left", 2, [1, 3, 6, 12, 24, 32]),
    ("both", 2, [3, 7, 14, 28, 24, 32]),
    ("neither", 4, [3, 7, 14, 28, 24, 32]),
    *((each, 3, [3, 7, 14, 28, 24, 32]) for each in ("right", "left", "both", "neither")),
):
    around = tally.rolling(ones, length, on=at, center=True, closed=closed).sum().tolist()
    expect(around == sums, "center", closed, length, around)

# each refusal names the argument
raises(TypeError, "init is 1.5: must be an integer, a value of int64", lambda: tally.scan([1, 2], "sum", init=1.5))
raises(ValueError, "must be a value of float64", lambda: tally.scan([1.0], "sum", init=10**400))
raises(TypeError, "text is 3: must be a string", lambda: tally.define("a", 3))
raises(ValueError, "name is 'a\\x00b': must have no zero bytes", lambda: tally.define("a\0b", ""))
raises(TypeError, "device is 3: must be a string", lambda: tally.device(3))
raises(TypeError, "start is 1.5: must be an integer", lambda: tally.Fragment("sum", [1.0], start=1.5))
raises(ValueError, "start is 1", lambda: tally.Fragment("sum", [1.0], start=10**30))
raises(TypeError, "start is None: must be an integer", lambda: tally.Stream("sum", "float64", start=None))
raises(TypeError, "before is 1.5: must be", lambda: tally.window([1.0, 2.0], "sum", before=1.5, by=[1, 1]))
raises(ValueError, "min_count is 1", lambda: tally.window([1.0, 2.0], "sum", 2, min_count=10**30, by=[1, 1]))
raises(TypeError, "x has floats, and an integer that is larger", lambda: tally.sum([1.5, 10**400]))
raises(TypeError, "by has a key (1, [2]) of type", lambda: tally.sum([1.0, 2.0], by=[(1, [2]), (3, [4])]))
raises(ValueError, "w and before or after: give", lambda: tally.window(x, "sum", 3, before=1))
for w in (0, -1, 2.5, 2.0, float("nan"), "3"):
    said = f"w is {w!r}: must be an integer of at least 1"
    raises(ValueError, said, lambda: tally.window(x[:3], "sum", w))
raises(ValueError, "window is 0: must be greater than 0", lambda: tally.rolling(x[:3], 0, on=[1, 2, 3]).sum())
raises(ValueError, "results is 'x': must be 'device' or 'host'", lambda: tally.config(results="x"))
raises(TypeError, "callback is 3: must be callable", lambda: tally._core.progress(3))
for wrong in (7, object):
    raises(TypeError, f"dtype is {wrong!r}: must be one of", lambda: tally.sum(x, dtype=wrong))
for name, function in vars(tally._core).items():
    if type(function) is type(len):  # a function of the extension
        raises(TypeError, "99", lambda: function(*[None] * 99))
expect(repr(tally.Fragment("sum", x[:6])) == "<tally.Fragment sum of float64, elements 0 to 6>", "a fragment's repr")
expect(repr(tally.Stream("sum", "float32", 3)).endswith("elements 3 to 3>"), "a stream's repr")
expect(repr(tally.device("cpu")).startswith("<tally.device cpu: "), "a device's repr")
expect(repr(tally._core.empty((0,), "int8")) == "tally.Array([], dtype='int8')", "an array's repr")
raises(TypeError, "must be an array", lambda: tally.sum(object()))
raises(TypeError, "x is of type dict: must be an array; x['a'] is one of its members", lambda: tally.sum({"a": [1]}))
raises(TypeError, "x is of type dict: must be an array", lambda: tally.sum({}))
raises(ValueError, "x is one number: must have at least one axis", lambda: tally.cumulative_sum(3.0))
raises(ValueError, "x is one number: must have at least one axis", lambda: tally.rolling(3.0, 2).sum())
raises(ValueError, "read-only", lambda: tally.sum(x, out=memoryview(bytes(8)).cast("d", ())))
raises(ValueError, "", lambda: tally.Fragment.from_bytes(bytes(whole)[:-1]))
expect(tally.sum((ctypes.c_int * 3)(1, 2, 3)) == 6, "ctypes")
if os.uname().machine == "x86_64":  # subnormal numbers are 0 for the caller, as after torch.set_flush_denormal(True)
    tiny = array("f", [1e-40, -2e-40, 3e-40])

    def tiny_results():
        begun = tally.scan(array("d", [0.0, 0.0]), "sum", init=-1e-310)
        rolled = [tally.rolling(tiny, 2, dtype=d).max() for d in ("float64", "float32")]
        return [bits(tally.sum(tiny)), *map(bytes, [begun, *rolled])]

    libm, was = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()
    libm.fegetenv(was)
    flushing = (ctypes.c_uint32 * 8)(*was[:7], was[7] | 0x8040)
    want = tiny_results()
    libm.fesetenv(flushing)
    got = tiny_results()
    libm.fesetenv(was)
    expect(got == want, "flushing subnormals", got, want)
for seed in (0, 2**64 - 1):
    expect("equal the law" in tally.verify(200, seed), "verify", seed)
raises(OverflowError, "", lambda: tally.verify(1, 2**64))

try:
    import numpy as np
except ImportError:
    np = None
if np is not None:
    y = np.asarray(x).reshape(100, 1000)
    for axis in (None, 0, 1, (0, 1)):
        expect(np.array_equal(tally.max(y[:, ::-2], axis=axis), np.max(y[:, ::-2], axis=axis)), "numpy", axis)
    expect(tally.sum(y.T) == tally.sum(np.ascontiguousarray(y.T)) and type(tally.sum(y)) is np.float64, "numpy")
    masked = np.ma.masked_array(y, y < 0)
    expect(np.array_equal(tally.min(masked, axis=0), masked.min(axis=0).data), "masked")
print(f"{done} facts hold, with Python {sys.version.split()[0]}, {'NumPy ' + np.__version__ if np else 'no NumPy'}")

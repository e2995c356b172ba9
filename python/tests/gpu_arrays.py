#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arrays on a GPU in Python: PyTorch, CuPy and JAX (DLPack, __cuda_array_interface__), on a machine that has one.

    python python/tests/gpu_arrays.py [SECONDS]     # needs an installed tally, NumPy, and some of torch, cupy, jax

Every result is compared with that of the processors, byte by byte, and must be an array of the input's library. It
begins nothing new after SECONDS (default 45: most of it is the compiling of kernels when they are used first), and says
so. The last line says how many comparisons were made; it ends with 1 if one failed, or if there was none.
scripts/gpu-check python builds the package and runs this. (Data on a GPU, and what cannot be said, is otherwise tested
in test_device.py.)"""

import importlib
import os
import sys
import time
import traceback

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes the GPU's memory otherwise
os.environ.setdefault("TALLY_CODE", "quick")
import numpy as np

import tally

DTYPES = ["float32", "float64", "int32", "float16", "uint8"]
OPS = ["sum", "mean", "argmin", "var", "nansum", "minmax"]
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 45.0
begin, compared, left_out, failures = time.monotonic(), 0, 0, []


def numbers(rng, shape, dtype):
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 200, shape).astype(dtype)
    x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)).astype(dtype)
    x[rng.random(shape) < 0.01] = -0.0
    x.ravel()[x.size // 3] = np.nan  # one, in a row and a column
    return x


def late():
    global left_out
    left_out += time.monotonic() - begin > SECONDS
    return time.monotonic() - begin > SECONDS


class Torch:
    name = "torch"

    def __init__(self):
        self.torch = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise RuntimeError("torch has no CUDA")
        self.kind = self.torch.Tensor

    def put(self, x):
        return self.torch.from_numpy(x.copy()).to("cuda")

    def get(self, x):
        return x.cpu().numpy()

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device="cuda")

    def busy(self, x):
        """x again, but ready only after work on another stream."""
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            self.torch.cuda._sleep(50_000_000)
            y = x + 0
        return y, stream


    def stream(self):
        stream = self.torch.cuda.Stream()
        return stream, self.torch.cuda.stream(stream), lambda: self.torch.cuda._sleep(200_000_000), stream.query


class CuPy:
    name = "cupy"

    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.cupy.zeros(1)
        self.kind = self.cupy.ndarray

    def put(self, x):
        return self.cupy.asarray(x)

    def get(self, x):
        return x.get()

    def empty(self, shape, dtype):
        return self.cupy.empty(shape, dtype)


    def stream(self):
        wait = self.cupy.RawKernel(
            'extern "C" __global__ void wait() { long long t = clock64(); while (clock64() - t < 200000000) ; }', "wait"
        )
        stream = self.cupy.cuda.Stream(non_blocking=True)
        return stream, stream, lambda: wait((1,), (1,), ()), lambda: stream.done


class Interface:
    """What has __cuda_array_interface__ and nothing else, as Numba's arrays: results go to out=."""

    def __init__(self, x):
        self.keep, self.__cuda_array_interface__ = x, x.__cuda_array_interface__


class Jax:
    name = "jax"

    def __init__(self):
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        if not any(d.platform == "gpu" for d in self.jax.devices()):
            raise RuntimeError("jax has no GPU")
        self.kind = self.jax.Array

    def put(self, x):
        return self.jax.device_put(x, self.jax.devices("gpu")[0])

    def get(self, x):
        return np.asarray(x)


def same(what, mine, want):
    global compared
    compared += 1
    mine, want = np.asarray(mine), np.asarray(want)
    if mine.dtype != want.dtype or mine.shape != want.shape or mine.tobytes() != want.tobytes():
        failures.append(f"{what}: {mine.dtype}{mine.shape} {mine.ravel()[:4]} and {want.dtype}{want.shape}")


def views(library, rng, dtype):
    """Arrays on the host and the same on the device, of several strides."""
    x = numbers(rng, (37, 1500), dtype)
    y = library.put(x)
    yield "dense", x, y
    if library.name != "jax":  # whose slices are copies
        yield "every second", x[:, ::2], y[:, ::2]
        yield "transposed", x.T, y.T
    yield "three axes", x.reshape(37, 30, 50), y.reshape(37, 30, 50)


def verbs(x, op, axis):
    yield "reduce", lambda a: tally.reduce(a, op, axis=axis)
    if axis is not None and op != "count":
        yield "scan", lambda a: tally.scan(a, op, axis=axis)
        yield "window", lambda a: tally.window(a, op, 20, axis=axis, edges="shrink")


def results(library):
    """Those that are of the input's own kind."""
    rng = np.random.default_rng(7)
    for number, dtype in enumerate(DTYPES):
        for label, x, y in views(library, rng, dtype):
            for op in OPS if number < 2 else OPS[:2]:
                for axis in (None, 0, x.ndim - 1):
                    for verb, call in verbs(x, op, axis):
                        if late():
                            continue
                        what = f"{library.name} {label} {dtype} {op} {verb} axis={axis}"
                        try:
                            mine = call(y)
                            if not isinstance(mine, library.kind):
                                failures.append(f"{what}: a {type(mine).__name__}")
                            same(what, library.get(mine), call(x))
                        except Exception as e:
                            if "no single stride walks" not in str(e) or label == "dense":
                                failures.append(f"{what}: {type(e).__name__}: {e}")
                            # else as documented: such arrays are made contiguous first


def into(library, out_of):
    """out=: host memory, and memory of another library on the device."""
    rng = np.random.default_rng(8)
    for dtype in ("float32", "float64", "int32"):
        x = numbers(rng, (300, 1000), dtype)
        y = library.put(x)
        for op in ("sum", "mean", "argmin"):
            if late():
                continue
            want = tally.reduce(x, op, axis=0)
            out = np.empty_like(want)
            tally.reduce(y, op, axis=0, out=out)
            same(f"{library.name} {dtype} {op} into the host", out, want)
            for other in out_of:
                out = other.empty(want.shape, str(want.dtype))
                got = tally.reduce(y, op, axis=0, out=out)
                assert got is out
                same(f"{library.name} {dtype} {op} into {other.name}", other.get(out), want)
                out = other.empty(x.shape, str(tally.scan(x[:1, :1], op, axis=0).dtype))
                tally.scan(y, op, axis=1, out=out)
                same(f"{library.name} {dtype} scan {op} into {other.name}", other.get(out), tally.scan(x, op, axis=1))


def more(libraries):
    rng = np.random.default_rng(9)
    x = numbers(rng, 3_000_000, "float32")
    x[np.isnan(x)] = 0
    for library in libraries:
        y = library.put(x)
        same(f"{library.name} 3 000 000", library.get(tally.sum(y)), tally.sum(x))
        if library.name != "jax" and not late():
            same(f"{library.name} scan", library.get(tally.cumulative_sum(y)), tally.cumulative_sum(x))
            offsets = np.array([0, 5, 100_000, 3_000_000])
            mine = tally.segments(y, offsets, "sum")
            same(f"{library.name} segments", library.get(mine), tally.segments(x, offsets, "sum"))
            same(f"{library.name} bare interface", *bare(y, x))
            try:  # two arrays on a device: where the library takes them
                mine = tally.dot(y, library.put(x[::-1].copy()))
                same(f"{library.name} dot", library.get(mine), tally.dot(x, x[::-1]))
            except (TypeError, ValueError) as e:
                print(f"{library.name}: two arrays on a device are refused: {e}")
        if library.name == "torch":
            busy, stream = library.busy(y)
            with library.torch.cuda.stream(stream):
                same("torch, ready on another stream", library.get(tally.sum(busy)), tally.sum(x))
            flat = y.to(library.torch.bfloat16)
            host = library.torch.from_numpy(x).to(library.torch.bfloat16)
            same("torch bfloat16", library.get(tally.sum(flat)), np.asarray(tally.sum(host)))


def keyed(library):
    """Keys, gathers, windows of ranges and of times, rolling windows: results stay on the device."""
    rng = np.random.default_rng(11)
    n, rows = 200_000, (40, 5000)
    x, gaps = rng.standard_normal(n).astype("float32"), numbers(rng, n, "float64")
    keys, codes = np.repeat(rng.integers(0, 50, n // 4), 4), rng.integers(0, 1000, n)
    times = np.sort(rng.integers(0, 10 * n, n))
    order, offsets = tally.groups(codes, 1000)
    start, end = tally.bounds(times, -500, 0)
    at = {id(a): library.put(a) for a in (x, gaps, keys, codes, times, order, offsets, start, end)}
    wide = {dtype: numbers(rng, rows, dtype) for dtype in ("float32", "float64", "int32")}
    full = wide["float32"].copy()
    full[np.isnan(full)] = 0
    wide["float32 without NaN"] = full
    cases = [
        ("runs", lambda on: tally.runs(on(keys))),
        ("runs of int32", lambda on: tally.runs(on(keys.astype("int32")))),
        ("runs backwards", lambda on: tally.runs(on(np.ascontiguousarray(keys[::-1])))),
        ("order", lambda on: tally.groups(on(codes), 1000)[0]),
        ("offsets", lambda on: tally.groups(on(codes), 1000)[1]),
        ("take", lambda on: tally.take(on(x), on(order))),
        ("take by the host's", lambda on: tally.take(on(gaps), order)),
        ("by_key", lambda on: tally.by_key(on(x), on(codes), "sum")),
        ("by_key of the host's", lambda on: tally.by_key(on(gaps), codes, "nanmean")),
        ("by_key of two", lambda on: tally.by_key(on(x), on(codes), "dot", next=on(gaps))),
        ("segments", lambda on: tally.segments(on(x), on(offsets), "max")),
        ("bounds", lambda on: tally.bounds(on(times), -500, 0)[0]),
        ("ranges", lambda on: tally.ranges(on(gaps), on(start), on(end), "nansum")),
        ("ranges by the host's", lambda on: tally.ranges(on(x), start, end, "mean")),
        ("rolling times", lambda on: tally.rolling(on(gaps), 500, on=on(times)).mean()),
        ("rolling times of the host", lambda on: tally.rolling(on(x), 500, on=times, closed="both").sum()),
        ("rolling cov", lambda on: tally.rolling(on(x), 30).cov(on(gaps))),
        ("rolling count", lambda on: tally.rolling(on(gaps), 30).count()),
        ("rolling step", lambda on: tally.rolling(on(gaps), 30, step=7).mean()),
        ("rolling left", lambda on: tally.rolling(on(x), 30, closed="left").max()),
        ("rolling float32", lambda on: tally.rolling(on(x), 30, dtype="float32").mean()),
    ]
    for name, array in wide.items():
        at[id(array)] = library.put(array)
        for op in ("sum", "mean", "max", "std", "count"):
            for more in (
                dict(axis=1),
                dict(axis=0, min_periods=3),
                dict(axis=1, min_periods=19),
                dict(axis=1, center=True, min_periods=0),
            ):
                cases.append(
                    (
                        f"rolling {op} {name} {more}",
                        lambda on, a=array, op=op, more=more: tally.rolling(on(a), 20, **more).agg(op),
                    )
                )
    for label, call in cases:
        if late():
            continue
        try:
            mine = call(lambda a: at[id(a)] if id(a) in at else library.put(a))
            if not isinstance(mine, library.kind):
                failures.append(f"{library.name} {label}: a {type(mine).__name__}")
            same(f"{library.name} {label}", library.get(mine), call(lambda a: a))
        except Exception as e:
            failures.append(f"{library.name} {label}: {type(e).__name__}: {e}")
    wrong = library.put(codes + 1)
    for call in (lambda: tally.groups(wrong, 1000), lambda: tally.take(library.put(x), library.put(order + n))):
        try:
            call()
            failures.append(f"{library.name}: a code or place that is not there was taken")
        except ValueError as e:
            same(f"{library.name}: the sentence", ": must be in 0.." in str(e), True)


def ordered(library, other):
    """Calls in the library's current stream: ordered, and without a wait."""
    rng = np.random.default_rng(12)
    x = rng.standard_normal((300, 1000)).astype("float32")
    y, places = library.put(x), library.put(x > 0.5)
    calls = {
        "sum": lambda a, w: tally.sum(a),
        "sum of rows": lambda a, w: tally.sum(a, axis=1),
        "scan": lambda a, w: tally.cumulative_sum(a, axis=0),
        "window": lambda a, w: tally.window(a, "mean", 20, axis=1, edges="shrink"),
        "rolling mean": lambda a, w: tally.rolling(a, 7, axis=1).mean(),
        "rolling sum": lambda a, w: tally.rolling(a, 7, axis=1, min_periods=2).sum(),
        "rolling count": lambda a, w: tally.rolling(a, 7, axis=1, step=3).count(),
        "where": lambda a, w: tally.sum(a, where=w, axis=1),
        "initial": lambda a, w: tally.cumulative_sum(a, axis=1, include_initial=True),
    }
    for name, call in calls.items():
        if late():
            continue
        call(y, places)  # compiles
        stream, current, busy, done = library.stream()
        with current:
            busy()
            z = y + 1
            mine = call(z, places)
            if done():
                failures.append(f"{library.name} {name}: the call waited")
        stream.synchronize()
        same(f"{library.name} {name} in a stream", library.get(mine), call(x + np.float32(1), x > 0.5))
        stream = current = busy = done = None  # CuPy destroys the stream
        same(f"{library.name} {name} after it", library.get(call(y, places)), call(x, x > 0.5))
    stream, current, _, _ = library.stream()
    if other is not None:
        out = other.empty((), "float32")
        with current:
            try:
                tally.sum(y, out=out)
                failures.append(f"{library.name}: out of another stream was taken")
            except ValueError as e:
                same(f"{library.name}: the sentence", "in another stream: must be one device" in str(e), True)
    with tally.config(results="host"):
        same(f"{library.name} on the host", tally.sum(y, axis=1), tally.sum(x, axis=1))
        same(f"{library.name} a number", type(tally.sum(y)) is np.float32, True)


def replayed(library, _):
    """Graphs: captured once, replayed while the data changes; and memory from the library's pool."""
    rng = np.random.default_rng(14)
    arrays = [rng.standard_normal((300, 1000)).astype("float32") for _ in range(4)]
    calls = {
        "sum": lambda a: tally.sum(a),
        "columns": lambda a: tally.mean(a, axis=0),
        "scan": lambda a: tally.cumulative_sum(a, axis=1),
        "flat": lambda a: tally.cumulative_sum(a.reshape(-1)),
        "window": lambda a: tally.window(a, "mean", 20, axis=1, edges="shrink"),
        "argmax": lambda a: tally.argmax(a, axis=1),
    }
    for pool in (None, library.name):
        tally.use_allocator(pool)
        y = library.put(arrays[0])
        wanted = [[call(x) for call in calls.values()] for x in arrays]
        for call in calls.values():
            call(y)
        if late():
            continue
        if library.name == "torch":
            graph = library.torch.cuda.CUDAGraph()
            with library.torch.cuda.graph(graph):
                results = [call(y) for call in calls.values()]
            replay = graph.replay
        else:
            stream = library.cupy.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                results = [call(y) for call in calls.values()]
                graph = stream.end_capture()
            written = library.cupy.cuda.get_current_stream()  # `stream` does not wait for it

            def replay(graph=graph, stream=stream, written=written):
                written.synchronize()
                graph.launch(stream)
                stream.synchronize()

        for k in (1, 2, 3, 0):
            y[...] = library.put(arrays[k])
            replay()
            for name, mine, want in zip(calls, results, wanted[k]):
                same(f"{library.name} {name} in a graph, pool {pool}", library.get(mine), want)
        del graph, replay
    tally.use_allocator(None)


def compiled(library, _):
    """torch.compile(mode="reduce-overhead"), which makes graphs of the operators of tally.torch."""
    import tally.torch as tt

    call = library.torch.compile(lambda x: tt.cumulative_sum(x * 2, 1) + tt.mean(x, 1, True), mode="reduce-overhead")
    rng = np.random.default_rng(15)
    for _ in range(6):
        x = rng.standard_normal((30, 1000)).astype("float32")
        want = tally.cumulative_sum(x * np.float32(2), axis=1) + tally.mean(x, axis=1, keepdims=True)
        same("torch compiled", library.get(call(library.put(x))), want)


def any_axes(library, _):
    """Axes that no single stride visits, and elements that are left out."""
    rng = np.random.default_rng(13)
    for dtype in ("float32", "int32"):
        x = numbers(rng, (7, 40, 6, 9), dtype)
        w = rng.random(x.shape) < 0.7
        y, v = library.put(x), library.put(w)
        for axis in ((0, 2), (1, 3), (0, 1, 3), None, 2):
            for op in ("sum", "nanmax", "argmin"):
                for more in (dict(), dict(where=True), dict(where=True, next=True)):
                    if late() or (more.get("next") and op != "sum"):
                        continue
                    name, call = ("dot" if "next" in more else op), dict(axis=axis, keepdims=True)
                    a, b = (
                        tally.reduce(
                            p, name, **call, where=q if more else None, next=p if "next" in more else None
                        )
                        for p, q in ((y, v), (x, w))
                    )
                    same(f"{library.name} {dtype} {name} {axis} {list(more)}", library.get(a), b)
        if late():
            continue
        t, u = (y.permute(2, 0, 3, 1) if library.name == "torch" else y.transpose(2, 0, 3, 1)), x.transpose(2, 0, 3, 1)
        same(f"{library.name} {dtype} transposed", library.get(tally.sum(t)), tally.sum(u))
        row, line = library.put(w[0, 0, 0]), w[0, 0, 0]
        same(f"{library.name} {dtype} row", library.get(tally.sum(y, where=row)), tally.sum(x, where=line))
        for call in (lambda: tally.sum(y, where=v[0, 0, 0, :4]), lambda: tally.sum(y, where=y)):
            try:
                call()
                failures.append(f"{library.name}: a wrong where was taken")
            except (TypeError, ValueError) as e:
                same(f"{library.name}: the sentence", str(e).startswith("where has "), True)


def bare(y, x):
    out = np.empty((), "float32")
    tally.sum(Interface(y), out=out)
    return out, tally.sum(x)


def jax_results(library):
    """JAX's arrays cannot be written: results go to the host, or to another library."""
    rng = np.random.default_rng(10)
    for dtype in ("float32", "float64", "int32"):
        x = numbers(rng, (37, 1500), dtype)
        y = library.put(x)
        for op in ("sum", "mean", "argmin"):
            for axis in (None, 0, 1):
                if late():
                    continue
                want = tally.reduce(x, op, axis=axis)
                out = np.empty(np.shape(want), np.asarray(want).dtype)
                tally.reduce(y, op, axis=axis, out=out)
                same(f"jax {dtype} {op} axis={axis}", out, want)
    try:
        tally.sum(y)
    except TypeError as e:
        if "give out=" not in str(e):
            failures.append(f"jax without out=: {e}")


def main():
    print([d["text"] for d in tally.devices() if d["name"].startswith("cuda")])
    tally.device("cpu")  # where the host's arrays are computed; those on a GPU are computed there
    libraries = []
    for make in (Torch, CuPy, Jax):
        try:
            libraries.append(make())
        except Exception as e:
            print(f"{make.__name__}: left out: {e}")
    writers = [library for library in libraries if library.name != "jax"]
    steps = [(more, [writers])] + [(into, [library, writers]) for library in writers]
    steps += [(jax_results, [library]) for library in libraries if library.name == "jax"]
    steps += [(keyed, [library]) for library in writers]
    steps += [(step, [library, None]) for step in (any_axes, replayed) for library in writers]
    steps += [(compiled, [library, None]) for library in writers if library.name == "torch"]
    for library in writers:
        other = [each for each in writers if each is not library]
        steps.append((ordered, [library, other[0] if other else None]))
    for step, arguments in [*steps, *((results, [library]) for library in writers)]:
        try:
            step(*arguments)
        except Exception:
            failures.append(f"{step.__name__} {arguments[0] and getattr(arguments[0], 'name', '')}")
            traceback.print_exc()
        spent = time.monotonic() - begin
        print(f"{step.__name__} {getattr(arguments[0], 'name', '')}: {compared} compared, {spent:.1f} s")
    for failure in failures[:40]:
        print("FAILED", failure)
    print(" ".join(library.name for library in libraries) or "no library", f"{left_out} cases were left out for time")
    print(f"{compared - len(failures)} passed, {len(failures)} failed")
    return bool(failures) or not compared


if __name__ == "__main__":
    sys.exit(main())

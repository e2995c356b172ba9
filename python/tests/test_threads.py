# SPDX-License-Identifier: MIT
"""Threads, fork, leaks, a process that is killed in the middle of a call."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import tally
from conftest import numbers


def test_threads_at_once(rng):
    data = [numbers(rng, 20000 + 7 * i, "float32", special=False) for i in range(8)]
    want = [(tally.sum(x), tally.digest(tally.scan(x, "var"))) for x in data]
    wrong = []

    def work(i):
        for _ in range(20):
            with tally.device("cpu,threads=%d" % (1 + i % 2)):
                if (tally.sum(data[i]), tally.digest(tally.scan(data[i], "var"))) != want[i]:
                    wrong.append(i)
            try:
                tally.reduce(data[i], "nothing")
            except ValueError as e:
                if "nothing" not in str(e):
                    wrong.append(str(e))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and tally.device().name == "auto"


def test_a_python_without_the_gil_stays_without_it():
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("this Python has the GIL")
    code = "import sys, tally; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-W", "error", "-c", code]).returncode == 0


def test_other_threads_run_meanwhile():
    x, ticks, stop = np.ones(1 << 25, "f4"), [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    tally.window(x, "var", 100)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(begin < t < end for t in ticks) > (end - begin) / 0.05


def test_one_stream_serves_one_thread():
    stream, x, said = tally.Stream.window("var", "float64", 1000), np.ones(1 << 21), []

    def push():
        try:
            stream.push(x)
        except ValueError as e:
            said.append(str(e))

    threads = [threading.Thread(target=push) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all("in use by another thread" in s for s in said)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes(rng):
    x = rng.standard_normal(100000)
    want = tally.sum(x)
    child = os.fork()
    if not child:
        os._exit(0 if tally.sum(x) == want and tally.scan(x, "sum")[-1] == want else 1)
    assert os.waitpid(child, 0)[1] == 0


CALLS = {
    "reduce": lambda x: tally.sum(x),
    "axis": lambda x: tally.var(x.reshape(10, -1), axis=0),
    "scan": lambda x: tally.scan(x, "sum"),
    "window": lambda x: tally.window(x, "mean", 9),
    "rolling": lambda x: tally.rolling(x, 9, step=2).sum(),
    "buffer": lambda x: tally.scan(memoryview(x), "sum"),
    "list": lambda x: tally.sum([1, 2, 3]),
    "dlpack": lambda x: np.from_dlpack(tally.scan(memoryview(x), "sum")),
    "unused capsules": lambda x: (
        tally.scan(memoryview(x), "sum").__dlpack__(),
        tally.scan(memoryview(x), "sum").__dlpack__(max_version=(1, 0)),
    ),
    "arrow": lambda x: tally.scan(pa.array(x), "sum"),
    "unused arrow": lambda x: tally.scan(memoryview(x), "sum").__arrow_c_array__(),
    "chunks": lambda x: tally.sum(pa.chunked_array([x[:5], x[5:]])),
    "fragment": lambda x: (tally.Fragment("sum", x[:7]) + tally.Fragment("sum", x[7:], 7)).result(),
    "stream": lambda x: tally.Stream.window("sum", "float64", 5).push(x),
    "scan after": lambda x: tally.Stream.scan("sum", "float64", after=tally.Fragment("sum", x[:5])).push(x[5:]),
    "scan after error": lambda x: pytest.raises(ValueError, tally.Stream.scan, "max", "float64", after=b"no"),
    "exact": lambda x: (tally.Exact(x) - tally.Exact(x.reshape(4, -1)[:, ::2])).mean(),
    "exact error": lambda x: pytest.raises(TypeError, tally.Exact, [1, 2]),
    "runs": lambda x: tally.runs(x),
    "by_key": lambda x: tally.by_key(x, np.arange(1000) % 7, "sum"),
    "groups error": lambda x: pytest.raises(ValueError, tally.groups, np.arange(1000), 5),
    "take error": lambda x: pytest.raises(ValueError, tally.take, x, np.array([1000])),
    "error": lambda x: pytest.raises(ValueError, tally.sum, x, axis=5),
    "out error": lambda x: pytest.raises(ValueError, tally.sum, x, out=np.empty(3)),
    "dtype error": lambda x: pytest.raises(TypeError, tally.sum, np.array([None])),
    "segments": lambda x: tally.segments(x, [0, 5, 900], "sum"),
    "segments error": lambda x: pytest.raises(ValueError, tally.segments, x, np.array([3, 1]), "sum"),
    "offsets error": lambda x: pytest.raises(ValueError, tally.scan, x, "sum", offsets=[[0, 1000]]),
    "where": lambda x: tally.sum(x, where=x > 5),
    "masked": lambda x: tally.scan(np.ma.masked_array(x, x > 5)[::2], "sum"),
    "nulls": lambda x: tally.sum(pa.chunked_array([pa.array([1, None]), pa.array([None, 3])])),
    "two": lambda x: tally.cov(x.reshape(10, 100).T, x.reshape(100, 10), axis=(0, 1)),
    "two error": lambda x: pytest.raises(ValueError, tally.dot, x, x[:5]),
    "where error": lambda x: pytest.raises(TypeError, tally.sum, x, where=x),
    "ranges": lambda x: tally.ranges(x, *tally.bounds(x, -3.0, 0.0), "sum"),
    "ranges error": lambda x: pytest.raises(ValueError, tally.ranges, x, [0], [9999], "sum"),
    "times": lambda x: tally.rolling(x, 5.0, on=x).sum(),
    "pairs": lambda x: tally.rolling(x, 5).cov(x),
    "progress": lambda x: tally.progress(print).__enter__().__exit__(),
    "device": lambda x: tally.device("cpu,threads=1").__exit__(),
}


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer keeps freed memory")
@pytest.mark.parametrize("name", CALLS)
def test_calls_leak_nothing(name):
    call, x, most = CALLS[name], np.arange(1000.0), 2000
    tracemalloc.start()
    for _ in range(most):  # Python and NumPy keep some freed blocks: the second round finds them
        call(x)
    gc.collect()
    before_x, first, before = sys.getrefcount(x), tracemalloc.get_traced_memory()[0], resident()
    for _ in range(most):
        call(x)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 24 * most, f"{grown} bytes of Python's memory: an object has more"
    assert sys.getrefcount(x) == before_x
    assert resident() - before < 4 << 20  # 2000 lost arrays of 8 KB would be 16 MB


def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import numpy as np, tally\nx = np.ones(1 << 27, 'f4')\nprint('go', flush=True)\n"
        "while True: tally.window(x, 'var', 999)"
    )
    before = set(os.listdir("/dev/shm"))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout.readline() == b"go\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    new = set(os.listdir("/dev/shm")) - before  # other programs of this machine have some there too
    assert os.listdir(tmp_path) == [] and not [name for name in new if "tally" in name or str(process.pid) in name]


@pytest.mark.parametrize(
    "call",
    [
        # each element is many: strides of 0
        "tally.sum(as_strided(np.ones(1 << 20, 'i1'), (1 << 20, 1 << 20), (0, 1)))",
        "tally.sum(as_strided(np.ones(1 << 20, 'i1'), (1 << 20, 1 << 20), (0, 1)), axis=1)",
        "tally.window(np.ones(1 << 28, 'i1'), 'var', 5, out=np.empty(1 << 28))",
        "tally.rolling(np.ones((300, 1 << 16)), 999, axis=0).std()",
        "tally.ranges(np.ones(1 << 16), *np.tile([[0], [1 << 16]], 1 << 22), 'var')",
    ],
)
def test_control_c_in_a_long_call(call):
    """The exception comes while the call is under way, not at its end."""
    code = (
        "import numpy as np, tally, sys\nfrom numpy.lib.stride_tricks import as_strided\nprint('go', flush=True)\n"
        f"try:\n    while True: {call}\nexcept KeyboardInterrupt:\n    sys.exit(7)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"go\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(60) == 7
    finally:
        process.kill()
        process.stdout.close()


LONG = {
    "reduce": lambda x: tally.sum(x),
    "rows": lambda x: tally.var(x.reshape(1 << 12, -1), axis=1),
    "packed": lambda x: tally.sum(x.reshape(1 << 13, -1)[:, ::2]),
    "scan": lambda x: tally.scan(x, "max"),
    "window": lambda x: tally.window(x, "max", 5),
    "rolling": lambda x: tally.rolling(x, 5, dtype="float64").max(),
    "fragment": lambda x: tally.Fragment("var", x.reshape(1 << 13, -1)[:, ::2]),
    "ranges": lambda x: tally.ranges(x[:1000], np.zeros(1 << 25, "i8"), np.full(1 << 25, 100), "max"),
}


@pytest.mark.parametrize("name", LONG)
def test_progress(name, monkeypatch):
    """It rises to the total, tells no other thread, and its exceptions end the call."""
    x, heard = np.ones(1 << 25, "i1"), []
    with tally.progress(lambda *where: heard.append(where)):
        for _ in range(30):  # until one takes long enough
            LONG[name](x)
            if heard:
                break
    assert not heard or heard[-1][0] == heard[-1][1]
    assert all(0 <= done <= total for done, total in heard)
    assert all(a[0] <= b[0] for a, b in zip(heard, heard[1:]))
    heard.clear()
    LONG["reduce"](x)
    assert not heard


def test_progress_is_heard_and_can_stop_a_call():
    many, heard = np.lib.stride_tricks.as_strided(np.ones(1 << 20, "i1"), (1 << 17, 1 << 20), (0, 1)), []

    def stop(done, total):  # the whole would take minutes
        heard.append(done)
        if len(heard) == 3:
            raise ZeroDivisionError(f"at {done} of {total}")

    with pytest.raises(ZeroDivisionError, match=f"of {1 << 37}"), tally.progress(stop):
        tally.sum(many)
    assert len(heard) == 3 and 0 < heard[0] < heard[1] < heard[2]


def test_progress_is_of_a_thread():
    heard = []
    with tally.progress(lambda *where: heard.append(threading.get_ident())):
        thread = threading.Thread(target=lambda: tally.window(np.ones(1 << 25, "i1"), "var", 99))
        thread.start()
        thread.join()
    assert not heard
    with pytest.raises(TypeError, match="callback is 5: must be callable"):
        tally.progress(5)


def test_sequences_that_are_long_enough_to_be_cut():
    x = np.ones((1 << 27) + 1000, "i1")
    x[5], x[1 << 26], x[-7] = 3, 5, 9
    assert tally.sum(x) == x.size + 2 + 4 + 8 and tally.argmax(x) == x.size - 7
    out = np.empty_like(x)
    tally.scan(x, "max", out=out)
    assert (
        out[4] == 1
        and out[5] == 3
        and out[(1 << 26) - 1] == 3
        and out[1 << 26] == 5
        and out[-8] == 5
        and out[-7] == 9
    )
    tally.window(x, "max", 4, edges="shrink", out=out)
    for at, value in (
        (0, 1),
        (5, 3),
        (8, 3),
        (9, 1),
        (1 << 26, 5),
        ((1 << 26) + 3, 5),
        ((1 << 26) + 4, 1),
        (x.size - 1, 1),
        (x.size - 7, 9),
    ):
        assert out[at] == value, at
    del out
    tally.scan(x, "max", out=x)  # in place
    assert x[4] == 1 and x[-8] == 5 and x[-1] == 9

# SPDX-License-Identifier: MIT
"""Documentation that is true: docstrings and the README by doctest, the stubs by mypy and its stubtest; import time.
The notebook and the examples run, and say what they said when they were written."""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import tally
from tally import _fragment

HERE = pathlib.Path(__file__).parent.parent
EXAMPLES = HERE / "examples"


def test_docstrings():
    for name in tally.__all__:
        thing = getattr(tally, name)
        assert thing.__doc__, name
        if name != "Array":
            assert inspect.signature(thing) is not None
    for module in (tally, _fragment):
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        things = (
            [getattr(tally, n) for n in tally.__all__] if module is tally else [_fragment.Fragment, _fragment.Stream]
        )
        for thing in [module, *things]:
            for test in doctest.DocTestFinder(recurse=False).find(thing, globs={"tally": tally}, name=str(thing)):
                runner.run(test)
        assert runner.failures == 0 and runner.tries > (8 if module is _fragment else 100) - 1


@pytest.mark.parametrize("name", ["README.md", "nulls.md", "../README.md", "../doc/from.md"])
def test_pages(name):
    for peer in ("pandas", "polars", "pyarrow", "xarray", "dask"):
        pytest.importorskip(peer)
    if "from.md" in name and not (HERE / name).exists():
        pytest.skip("an sdist has no doc/")
    assert doctest.testfile(str(HERE / name), module_relative=False).failed == 0


@pytest.mark.parametrize("name", ["pandas", "polars", "xarray"])
def test_accessors(name):
    pytest.importorskip(name)
    assert doctest.testmod(importlib.import_module(f"tally.{name}")).failed == 0


def test_every_operator_has_a_function():
    words = {"and": "and_", "or": "or_"}
    for op in tally.operators():
        assert callable(getattr(tally, words.get(op, op)))
    assert set(tally.__all__) <= set(dir(tally))


def test_stubs(tmp_path):
    pytest.importorskip("mypy")
    subprocess.run([sys.executable, "-P", HERE / "make_stubs.py", "--check"], check=True)
    sample = tmp_path / "sample.py"
    sample.write_text(
        "import array\nimport numpy as np\nimport tally\n"
        "x = np.arange(6.0)\n"
        "tally.sum(x, axis=0, keepdims=True)\n"
        "tally.var([1, 2], correction=1)\n"
        "tally.cumulative_sum(array.array('d'), include_initial=True)\n"
        "a, b = tally.reduce(x, ['sum', 'max'])\n"
        "tally.rolling(x, 3, closed='left').mean()\n"
        "tally.rolling(x, '2s', on=x, ties='all').cov(x)\n"
        "tally.cov(x, [1.0], correction=1, where=x > 2)\n"
        "start, end = tally.bounds([1, 2], -1, 0)\n"
        "tally.ranges(x, start, end, 'dot', next=x)\n"
        "with tally.progress(lambda done, total: print(done)):\n    tally.reduce(x, 'sum')\n"
        "f: tally.Fragment = tally.Fragment('sum', x) + tally.Fragment('sum', x, 6)\n"
        "with tally.device('cpu') as d:\n    d.threads + 1\n"
        "tally.sum(x, axs=0)  # error\n"
        "tally.rolling(x, 3, closed='up')  # error\n"
        "tally.ema(x, spam=3)  # error\n"
        "tally.dot(x)  # error\n"
        "tally.progress(5)  # error\n"
        "tally.reduce(5 + 1j, 'sum')  # error\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", sample], capture_output=True, text=True, cwd=tmp_path
    )
    wrong = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert wrong == [n for n, line in enumerate(sample.read_text().splitlines(), 1) if "# error" in line], done.stdout
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    allowed = tmp_path / "allowed"
    allow = ["tally.Array.__buffer__"] if sys.version_info < (3, 12) else []
    allow += [f"tally.{name}" for name in ("dask", "torch") if not importlib.util.find_spec(name)]
    allowed.write_text("\n".join(allow))
    command = [sys.executable, "-m", "mypy.stubtest", "tally", "--ignore-missing-stub", "--ignore-disjoint-bases"]
    command += ["--mypy-config-file", config, "--allowlist", allowed]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer takes its time")
def test_import_brings_nothing():
    code = "import sys, tally; print([m for m in ('numpy', 'pandas', 'typing', 'inspect') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


def test_no_name_is_wrong_in_a_sentence():
    """Sentences name arguments of Python, not fields of C."""
    for wrong in (lambda: tally.sum(b"", axis=5), lambda: tally.window([1.0], "sum", before=-1)):
        with pytest.raises(ValueError) as e:
            wrong()
        assert not re.search(r"in->|out->|options", str(e.value))


# ---- examples ----


def test_notebook(monkeypatch):
    """Its cells, in order, without a kernel: each prints what the notebook shows."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf().axes[0].get_title()) or plt.close("all"))
    names, book = {}, json.loads((EXAMPLES / "promise.ipynb").read_text())
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec("".join(cell["source"]), names)
        shown = "".join("".join(o.get("text", "")) for o in cell["outputs"])
        assert said.getvalue() == shown
    assert len(drawn) == 3 and all(drawn)
    assert (EXAMPLES / "promise.ipynb").stat().st_size < 150_000


SAID = {
    "fields": "mean over time: ('lat', 'lon') float32 degC 9a7c9ad7a98694db\n"
    "running sum: ('lat', 'lon', 'time') b1dc7706a17ed1b0\n"
    "the same bits in chunks of {'time': 30} True\n"
    "the same bits in chunks of {'time': 7, 'lat': 5, 'lon': 4} True\n"
    "the same bits in chunks of {'lat': 1} True\n",
    "processes": "sum of 17 parts: the bits of one call: True\nvar:ddof=1 of 17 parts: the bits of one call: True\n",
    "training": "cpu: loss 143.206 at first, 1.02528 after 30 steps\n"
    "cpu: loss 143.206 at first, 1.02528 after 30 steps\n"
    "the same bits on all threads: True\n",
    "streams": "the processors' bits in 4 streams: True\n",
    "ray_parts": "sum the bits of one call: True\nvar:ddof=1 the bits of one call: True\n",
}
NEEDS = {"fields": ("xarray", "dask"), "ray_parts": ("ray",), "training": ("torch",), "streams": ("cupy",)}


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="other libraries are not to be watched")
@pytest.mark.parametrize("name, needs", [(name, NEEDS.get(name, ())) for name in SAID])
def test_example(name, needs, tmp_path):
    for library in needs:
        if library == "cupy" and not pytest.importorskip(library).is_available():
            pytest.skip("there is no GPU")
        pytest.importorskip(library)
    environment = {**os.environ, "HOME": str(tmp_path), "RAY_AUTH_MODE": "disabled"}
    program = [sys.executable, "-P", EXAMPLES / f"{name}.py"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = "".join(line for line in done.stdout.splitlines(True) if not line.startswith("cuda:"))
    assert said.replace("the same bits on the GPU: True\n", "") == SAID[name]

# SPDX-License-Identifier: MIT
"""The notebook and the examples run, and say what they said when they were written."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


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

# SPDX-License-Identifier: MIT
"""tally.dask on random chunkings: the bits of tally on the whole array, whatever the chunks and the scheduler are."""

import doctest

import numpy as np
import pytest
from conftest import numbers, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

import tally

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import tally.dask as td  # noqa: E402

OPS = ["sum", "mean", "var:1", "nanstd", "prod", "max", "nanmin", "argmin", "minmax", "ema:0.1", "first", "any"]
REAL = ["sum:f64", "sum:exact", "nanmean:exact", "mean:f64:exact"]  # of floats alone


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def chunks_of(draw, n):
    """Random parts of n, empty ones among them."""
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    return tuple(b - a for a, b in zip([0, *cuts], [*cuts, n]))


@st.composite
def arrays(draw):
    """An array, and the same for dask in random chunks."""
    shape = tuple(draw(st.lists(st.integers(0, 40), min_size=1, max_size=3)))
    if len(shape) == 1 and draw(st.booleans()):
        shape = (draw(st.integers(0, 5000)),)
    dtype = draw(st.sampled_from(["float32", "float64", "int8", "int64", "uint16", "bool"]))
    x = numbers(np.random.default_rng(draw(st.integers(0, 1 << 30))), shape, dtype, special=draw(st.booleans()))
    return x, da.from_array(x, chunks=tuple(chunks_of(draw, n) for n in shape))


@settings(max_examples=40)
@given(st.data(), arrays())
def test_reduce(data, both):
    x, y = both
    op = data.draw(st.sampled_from(OPS + REAL * (x.dtype.kind == "f")))
    axes = st.lists(st.integers(0, x.ndim - 1), min_size=1, unique=True).map(tuple)
    axis = data.draw(st.one_of(st.sampled_from([None, 0, -1]), axes))
    keepdims = data.draw(st.booleans()) and op != "minmax"
    want = tally.reduce(x, op, axis=axis, keepdims=keepdims)
    lazy = td.reduce(y, op, axis=axis, keepdims=keepdims)
    assert lazy.dtype == np.asarray(want).dtype and lazy.shape == np.shape(want)
    assert same_bits(lazy.compute(), want)


@settings(max_examples=40)
@given(st.data(), arrays())
def test_scan(data, both):
    x, y = both
    ops = ["sum", "mean", "max", "argmin", "minmax", "ema:0.1", "nanvar"] + ["sum:exact"] * (x.dtype.kind == "f")
    op = data.draw(st.sampled_from(ops))
    options = {name: data.draw(st.booleans()) for name in ("exclusive", "reverse")}
    if op in ("sum", "max", "ema:0.1") and x.dtype != bool:
        options["init"] = data.draw(st.sampled_from([None, 3]))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    lazy = td.scan(y, op, axis=axis, **options)
    want = tally.scan(x, op, axis=axis, **options)
    assert lazy.shape == want.shape and same_bits(lazy.compute(), want)


def test_big_endian_numbers_and_exact_means_of_bools():
    x = np.arange(6.0).astype(">f8")
    assert same_bits(td.scan(da.from_array(x, chunks=4), "sum").compute(), tally.scan(x, "sum"))
    x = x > 1
    assert td.reduce(da.from_array(x, chunks=4), "mean:exact").compute() == tally.reduce(x, "mean:exact") == 4 / 6


def test_empty_chunks():
    """dask 2026.8 reverses an array with empty chunks into one of no elements."""
    x = np.arange(3.0)
    for chunks in ((2, 0, 0, 1), (0, 3), (0, 0, 3, 0)):
        y = da.from_array(x, chunks=(chunks,))
        assert same_bits(td.scan(y, "sum", reverse=True).compute(), tally.scan(x, "sum", reverse=True))
        assert same_bits(td.window(y, "sum", 2).compute(), tally.window(x, "sum", 2))


@settings(max_examples=40)
@given(st.data(), arrays())
def test_window(data, both):
    x, y = both
    op = data.draw(st.sampled_from(["sum", "mean", "max", "nanvar", "argmin"]))
    options = {name: data.draw(st.integers(0, 9)) for name in ("before", "after")}
    options["min_count"] = data.draw(st.integers(0, options["before"] + options["after"] + 1))
    options["edges"] = data.draw(st.sampled_from(["missing", "shrink", "valid"]))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    if not x.size:
        return
    lazy = td.window(y, op, axis=axis, **options)
    want = tally.window(x, op, axis=axis, **options)
    assert lazy.shape == want.shape and same_bits(lazy.compute(), want)


def test_sequences_are_not_gathered(rng):
    """Along the first axis that is reduced every chunk goes to a task of its own."""
    x = numbers(rng, (60, 5, 70), "float32", special=False)
    y = da.from_array(x, chunks=(13, 2, 16))
    seen = []

    def see(block):
        seen.append(block.shape)
        return block

    for axis in (0, 2, (0, 2)):
        whole = td.reduce(y.map_blocks(see, dtype=y.dtype, meta=np.empty((0, 0, 0), "f4")), "mean", axis=axis)
        graph = whole.__dask_graph__()
        made = [k for k in graph if "_make_rows" in str(k)]
        assert len(made) == (5 * 3 if axis == (0, 2) else 5 * 3 * 5), axis
        assert same_bits(whole.compute(), tally.mean(x, axis=axis))
        if axis != (0, 2):
            running = td.scan(y.map_blocks(see, dtype=y.dtype, meta=np.empty((0, 0, 0), "f4")), "mean", axis=axis)
            assert len([k for k in running.__dask_graph__() if "_scan_rows" in str(k)]) == 5 * 3 * 5
            assert same_bits(running.compute(), tally.scan(x, "mean", axis=axis))
    assert max(shape[0] for shape in seen) == 13


def test_fragment_of_rows(rng):
    x = numbers(rng, (7, 1000), "float64", special=False)
    a, b = tally.Fragment._of_rows("minmax", x[:, :333], 0), tally.Fragment._of_rows("minmax", x[:, 333:], 333)
    assert same_bits(np.asarray((b + a).result()), tally.reduce(x, "minmax", axis=1))
    many = tally.Fragment.from_bytes(bytes(tally.Fragment._of_rows("sum", np.ascontiguousarray(x[:, :50].T), 0)))
    assert same_bits(np.asarray(many.result()), tally.sum(x[:, :50].T, axis=1))  # 50 results
    with pytest.raises(ValueError, match="sequences"):
        a + tally.Fragment._of_rows("minmax", x[:6, 333:], 333)


def test_schedulers_and_pickles(rng):
    x = numbers(rng, 20000, "float32", special=False)
    y = da.from_array(x, chunks=333)
    for scheduler in ("threads", "processes"):
        with dask.config.set(scheduler=scheduler):
            assert same_bits(td.reduce(y, "var").compute(), tally.var(x))
            assert same_bits(td.cumulative_sum(y).compute(), tally.cumulative_sum(x))
    assert same_bits(td.cumulative_prod(y[:9]).compute(), tally.cumulative_prod(x[:9]))


def test_docstrings():
    done = doctest.testmod(td)
    assert done.failed == 0 and done.attempted > 4


def test_nothing_is_computed_before_it_is_asked():
    def never(block):
        raise RuntimeError("computed")

    y = da.ones(100, chunks=10).map_blocks(never, dtype="float64", meta=np.empty(0))
    for lazy in (td.reduce(y, "sum"), td.scan(y, "sum"), td.window(y, "sum", 3)):
        with pytest.raises(RuntimeError, match="computed"):
            lazy.compute()


def test_errors():
    y = da.ones((4, 6), chunks=2)
    for wrong, words in (
        (lambda: td.reduce(y, "no"), "no"),
        (lambda: td.reduce(y, "sum", axis=2), "axis is 2"),
        (lambda: td.reduce(y.astype("i8"), "sum:exact"), "exact"),
        (lambda: td.scan(y, "sum"), "axis"),
        (lambda: td.scan(y, "mean", axis=0, init=1), "init"),
        (lambda: td.window(y, "sum", 3, axis=0, min_count=9), "min_count"),
        (lambda: td.window(y, "sum", 3, axis=0, edges="round"), "edges"),
        (lambda: td.window(y, "sum", 3, axis=-3), "axis is -3"),
        (lambda: td.window(y, "sum", before=-1, after=2, axis=0), "negative"),
        (lambda: td.reduce(y[y[:, 0] > 0], "sum"), "unknown"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            wrong()


def test_masked_chunks_stay_masked(rng):
    x, mask = rng.standard_normal((40, 6)), rng.random((40, 6)) < 0.4
    whole = np.ma.masked_array(x, mask)
    parts = da.ma.masked_array(da.from_array(x, chunks=(7, 3)), da.from_array(mask, chunks=(7, 3)))
    for op in ("sum", "mean", "argmax"):
        for axis in (None, 0, 1):
            mine = tally.dask.reduce(parts, op, axis=axis).compute()
            assert same_bits(np.asarray(mine), np.asarray(tally.reduce(whole, op, axis=axis)))
        for axis in (0, 1):
            assert same_bits(tally.dask.scan(parts, op, axis=axis).compute(), tally.scan(whole, op, axis=axis))
            mine = tally.dask.window(parts, op, 4, axis=axis).compute()
            assert same_bits(np.asarray(mine), tally.window(whole, op, 4, axis=axis))
    for op in ("sum:exact", "mean:exact", "var:exact:1", "nannorm:exact"):
        assert tally.dask.reduce(parts, op).compute() == tally.reduce(whole, op)
    assert same_bits(tally.dask.scan(parts[:, 0], "sum").compute(), tally.scan(whole[:, 0], "sum"))


def test_masks_times_and_lists():
    masked = da.ma.masked_array(np.arange(6.0), mask=[0, 1, 0, 0, 1, 0]).rechunk(4)
    assert tally.sum(masked) == 10.0 == tally.dask.reduce(masked, "sum").compute()
    assert tally.scan(masked, "sum").tolist() == tally.dask.scan(masked, "sum").compute().tolist()
    for x, op, words in (
        (da.from_array(np.array(["2024", "2025"], "M8[D]"), chunks=1), "max", r"x has times \(datetime64\[D\]\)"),
        (da.ones(3), ["sum", "max"], "op is .* must be the name of an operator"),
    ):
        for call in (tally.dask.reduce, tally.dask.scan, lambda x, op: tally.dask.window(x, op, 2)):
            with pytest.raises(TypeError, match=words):
                call(x, op)

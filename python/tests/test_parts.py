# SPDX-License-Identifier: MIT
"""Fragments, streams, exact sums and keys of elements that are left out (nulls of Arrow, masks, where=) and of two
arrays: the bits of one call on all of it; beside pyarrow, pandas and math.fsum."""

import math
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import DTYPES, numbers, same_bits
from hypothesis import given
from hypothesis import strategies as st
from test_left_out import ONE, TWO, arrow

import tally


def spelled(data, x, where):
    """The same elements left out, said in another way: (x, where)."""
    kinds = ["where", "masked", "both"] + (["arrow", "chunks"] if x.dtype != bool and x.ndim == 1 else [])
    kind = data.draw(st.sampled_from(kinds + (["plain"] if where.all() else [])))
    half = np.random.default_rng(len(x)).random(x.shape) < 0.5
    if kind == "masked":
        return np.ma.masked_array(x, ~where), None
    if kind == "both":
        return np.ma.masked_array(x, ~(where | half)), where | ~half
    if kind == "arrow":
        return arrow(np.ascontiguousarray(x), where), None
    if kind == "chunks":
        whole, cut = arrow(np.ascontiguousarray(x), where), len(x) // 3
        return pa.chunked_array([whole[:cut], whole[cut:]]), None
    return x, (None if kind == "plain" else where)


def case(data, dtypes=DTYPES, shape=None):
    """x, where, and the second array with its operator, of random strides."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = data.draw(st.integers(0, 90))
    x = numbers(rng, 2 * n, data.draw(st.sampled_from(dtypes)))[:: data.draw(st.sampled_from([2, -2]))]
    where = rng.random(n) < data.draw(st.sampled_from([0, 0.5, 0.9, 1]))
    if data.draw(st.booleans()):
        return x, where, None, data.draw(st.sampled_from(ONE)), rng
    y = numbers(rng, 3 * n, data.draw(st.sampled_from(DTYPES)))[::3]
    return x, where, y, data.draw(st.sampled_from(TWO)), rng


def cuts(data, n):
    places = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    return list(zip([0, *places], [*places, n]))


def piece(x, a, b):
    return None if x is None else x[a:b]


@given(st.data())
def test_fragments(data):
    x, where, y, op, rng = case(data)
    want = tally.reduce(x, op, next=y, where=where)
    parts = []
    for a, b in cuts(data, len(x)):
        part, there = spelled(data, x[a:b], where[a:b])
        parts.append(tally.Fragment(op, part, a, next=piece(y, a, b), where=there))
    whole = parts[0]
    for part in [parts[i] for i in rng.permutation(np.arange(1, len(parts)))]:
        whole = pickle.loads(pickle.dumps(part)) + whole
    assert same_bits(np.asarray(whole.result(), np.asarray(want).dtype), want)
    assert (whole.start, whole.end) == (0, len(x))


@given(st.data())
def test_fragments_of_several_axes(data):
    """In C order of the indices, whatever the strides are; masks and second arrays are broadcast."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    x = numbers(rng, (8, 6, 4), data.draw(st.sampled_from(DTYPES))).transpose(data.draw(st.permutations([0, 1, 2])))
    x = x[:: data.draw(st.sampled_from([1, 2, -1]))]
    where, y = rng.random(x.shape[1:]) < 0.7, numbers(rng, x.shape[2], "float32")
    assert tally.Fragment("count", x, where=where).result() == tally.reduce(x, "count", where=where)
    for op in ("dot", "cov"):
        want = tally.reduce(x, op, next=y, where=where)
        whole = tally.Fragment(op, np.ma.masked_array(x, ~np.broadcast_to(where, x.shape)), next=y)
        assert same_bits(np.asarray(whole.result(), want.dtype), want)


def type_of(op, x, y):
    """A stream's dtype: of two arrays their common type."""
    return str(x.dtype) if y is None else tally.Fragment(op, x[:0], next=y[:0]).dtype


@given(st.data())
def test_streams(data):
    x, where, y, op, _ = case(data, DTYPES[1:])
    folds, scans, scanned = tally.Stream(op, type_of(op, x, y)), tally.Stream.scan(op, type_of(op, x, y)), []
    for a, b in cuts(data, len(x)):
        part, there = spelled(data, x[a:b], where[a:b])
        folds.push(part, next=piece(y, a, b), where=there)
        scanned.append(np.asarray(scans.push(part, next=piece(y, a, b), where=there)))
    want = tally.reduce(x, op, next=y, where=where)
    assert same_bits(np.asarray(folds.result(), np.asarray(want).dtype), want)
    assert same_bits(np.concatenate(scanned), tally.scan(x, op, next=y, where=where))


@given(st.data())
def test_streams_of_windows(data):
    x, where, y, op, _ = case(data, DTYPES[1:])
    how = {"before": data.draw(st.integers(0, 6)), "after": data.draw(st.integers(0, 6))}
    how["edges"] = data.draw(st.sampled_from(["missing", "shrink", "valid"]))
    how["min_count"] = data.draw(st.integers(0, how["before"] + how["after"] + 1))
    stream, seen = tally.Stream.window(op, type_of(op, x, y), **how), []
    for a, b in cuts(data, len(x)):
        part, there = spelled(data, x[a:b], where[a:b])
        seen.append(np.asarray(stream.push(part, next=piece(y, a, b), where=there)))
    seen.append(np.asarray(stream.finish()))
    assert same_bits(np.concatenate(seen), tally.window(x, op, next=y, where=where, **how))


def test_a_scan_goes_on_after_a_fragment(rng):
    x, where = rng.standard_normal(500), rng.random(500) < 0.5
    stream = tally.Stream.scan("mean", "float64", after=tally.Fragment("mean", x[:300], where=where[:300]))
    assert same_bits(stream.push(x[300:], where=where[300:]), tally.scan(x, "mean", where=where)[300:])
    total = tally.Stream("wmean", "float64")
    total.push(x, next=x**2, where=where)
    rest = tally.Stream("wmean", "float64", 500)
    rest.push(x, next=x**2)
    both = pickle.loads(pickle.dumps(total)) + rest
    want = tally.wmean(np.tile(x, 2), np.tile(x**2, 2), where=np.append(where, np.ones(500, bool)))
    assert both.result() == want


@given(st.data())
def test_exact_sums(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    dtype = data.draw(st.sampled_from(["float16", "float32", "float64"]))
    x = numbers(rng, (9, 8, 5), dtype, special=False).transpose(data.draw(st.permutations([0, 1, 2])))[::-1, ::2]
    where = np.ascontiguousarray(rng.random(x.T.shape) < data.draw(st.sampled_from([0, 0.5, 1]))).T
    want = tally.Exact([float(v) for v in x[where]]) if where.any() else tally.Exact()
    assert tally.Exact(x, where=where) == want == tally.Exact(np.ma.masked_array(x, ~where))
    flat, there = x.ravel(), where.ravel()
    e = tally.Exact(arrow(flat, there)[3:])
    e.add(flat[:3], where=there[:3])
    assert e == want and e.count == where.sum() and (not where.any() or e.sum() == math.fsum(x[where].tolist()) + 0.0)
    e.subtract(pa.chunked_array([arrow(flat[:7], there[:7]), arrow(flat[7:], there[7:])]))
    assert e == tally.Exact()


# ---- keys ----

keys = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=40)


def masked(values, dtype):
    return np.ma.masked_array([i if v is None else v for i, v in enumerate(values)], [v is None for v in values], dtype)


@given(keys, st.sampled_from(["int8", "uint8", "int64", "uint64"]))
def test_runs_and_groups_with_nulls(values, dtype):
    runs = [i for i, v in enumerate(values) if i == 0 or values[i - 1] != v] + [len(values)]
    order = [i for g in range(4) for i, v in enumerate(values) if v == g]
    offsets = np.cumsum([0] + [values.count(g) for g in range(4)])
    of_pandas = pd.Series(values, dtype={"int8": "Int8", "uint8": "UInt8", "int64": "Int64", "uint64": "UInt64"}[dtype])
    for array in (masked(values, dtype), pa.array(values, dtype), of_pandas):
        assert np.asarray(tally.runs(array)).tolist() == runs
        found = tally.groups(array, 4)
        assert np.asarray(found[0]).tolist() == order and np.asarray(found[1]).tolist() == offsets.tolist()
    taken = tally.take(pa.array(values, dtype), np.arange(len(values))[::-1].copy())
    assert taken.to_pylist() == values[::-1]
    assert tally.take(masked(values, dtype), np.arange(len(values))[::-1].copy()).tolist() == values[::-1]


@given(keys, st.integers(0, 10**6))
def test_by_key_against_pandas(values, seed):
    """A group of nulls is no group, as in groupby(dropna=True); nulls of x are no elements."""
    rng = np.random.default_rng(seed)
    x = pd.Series(rng.integers(-9, 9, len(values)), dtype="Int64")
    x[rng.random(len(values)) < 0.3] = pd.NA
    codes = pd.Series(values, dtype="Int64")
    want = x.groupby(codes).agg(["sum", "count"]).reindex(range(4), fill_value=0)
    assert np.asarray(tally.by_key(x, codes, "sum", groups=4)).tolist() == want["sum"].tolist()
    mine = tally.by_key(pa.array(x), pa.array(codes), "count", groups=4)
    assert np.asarray(mine).tolist() == want["count"].tolist()
    most = max((v for v in values if v is not None), default=-1)
    assert len(tally.by_key(x, codes, "max")) == most + 1


def test_take_of_every_kind():
    order = np.array([1, 0, 1])
    for x in (
        pa.chunked_array([[1.5], [None]]),
        pd.Series([1.5, None], dtype="Float32"),
        pd.array([True, None]),
        pd.Series([1, None], dtype=pd.ArrowDtype(pa.int64())),
    ):
        assert pd.isna(list(pd.Series(tally.take(x, order)))).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="order has elements that are left out"):
        tally.take([1.0, 2.0], pa.array([1, None]))
    pl = pytest.importorskip("polars")
    assert tally.take(pl.Series([1, None]), order).to_list() == [None, 1, None]


def test_errors(rng):
    x, y = rng.standard_normal((2, 5))
    nulls = pa.array([1.0, None])
    two, one = tally.Stream.window("cov", "float64", 3), tally.Stream.scan("sum", "float64")
    for call, words in (
        (lambda: tally.Fragment("dot", x), "next: 'dot' takes two arrays, x and next"),
        (lambda: tally.Fragment("sum", x, next=y), "next: 'sum' takes one array"),
        (
            lambda: tally.Fragment("dot", x, next=y[:3]),
            r"the second array has shape \(3,\): must broadcast",
        ),
        (lambda: tally.Fragment("sum", x, where=np.ones(4, bool)), r"where has shape \(4,\)"),
        (lambda: tally.Stream("dot", "float64").push(x), "takes two arrays"),
        (lambda: tally.Stream("dot", "float32").push(x, next=y), "this stream takes float32"),
        (lambda: two.push(x), "next: 'cov' takes two arrays, x and next"),
        (lambda: one.push(x, next=y), "next: 'sum' takes one array"),
        (lambda: tally.Stream.scan("dot", "float32").push(x, next=y), "x and next are float64 with 1 axes"),
        (lambda: tally.Stream.scan("sum:exact", "float64").push(nulls), "a stream of 'sum:exact' takes arrays without"),
        (lambda: tally.Exact(x, where=np.ones(4, bool)), r"where has shape \(4,\)"),
        (lambda: tally.groups(pa.array([0, None, 7]), 2), "element 2 is 7: must be in 0..1"),
        (lambda: tally.bounds(nulls, -1, 0), "keys has elements that are left out"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="where has dtype float64"):
        one.push(x, where=x)
    with pytest.raises(TypeError, match="keyword"):
        one.push(x, wher=None)
    assert one.push(x).tolist() == tally.scan(x, "sum").tolist()  # nothing was pushed before


# ---- nothing left out ----


def test_fragments_and_streams(rng, tmp_path):
    x = (rng.standard_normal(10000) * 1e5).astype("float32")
    for op in ("sum", "var:1", "argmax", "nanmean"):
        cuts = sorted(rng.integers(0, len(x), 5))
        parts = [tally.Fragment(op, x[a:b], start=a) for a, b in zip([0, *cuts], [*cuts, len(x)])]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + pickle.loads(pickle.dumps(part))
        assert whole.result() == tally.reduce(x, op) and whole == tally.Fragment(op, x)
        assert hash(whole) == hash(tally.Fragment(op, x)) and tally.Fragment.from_bytes(bytes(whole)) == whole
        assert (whole.op, whole.dtype, whole.start, whole.end) == (op, "float32", 0, len(x))
        stream = tally.Stream(op, "float32")
        for a, b in zip([0, *cuts], [*cuts, len(x)]):
            stream.push(x[a:b])
            stream = pickle.loads(pickle.dumps(stream))
        assert stream.result() == tally.reduce(x, op) and stream.fragment == whole
    grid = x.reshape(100, 100)[:, ::3]
    assert tally.Fragment("sum", grid).result() == tally.sum(grid)
    assert tally.Fragment("minmax", x).result().tolist() == [x.min(), x.max()]
    assert tally.Fragment("sum", x[5:5], start=5).end == 5
    with pytest.raises(ValueError, match="must not overlap"):
        tally.Fragment("sum", x[:5]) + tally.Fragment("sum", x[4:], start=4)
    with pytest.raises(ValueError, match=r"lacks \[5, 6\)"):
        (tally.Fragment("sum", x[6:], start=6) + tally.Fragment("sum", x[:5])).result()
    with pytest.raises(ValueError, match=r"lacks \[0, 1\)"):
        tally.Fragment("sum", x, start=1).result()
    with pytest.raises(ValueError, match="checksum"):
        tally.Fragment.from_bytes(bytes(whole)[:-1] + b"x")
    with pytest.raises(ValueError, match="this stream takes float64"):
        tally.Stream("sum", "float64").push(x)
    with pytest.raises(TypeError):
        whole + 1


def test_a_scan_of_every_element_goes_on(rng):
    x = numbers(rng, 5000, "float32", special=False)
    for op in ("sum", "nanvar", "argmin", "ema:0.1"):
        for at in (0, 1, 4096, 4999):
            stream = tally.Stream.scan(op, "float32", after=tally.Fragment(op, x[:at]))
            assert same_bits(np.concatenate([stream.push(x[at:4999]), stream.push(x[4999:])]), tally.scan(x, op)[at:])
    for wrong, words in (
        (tally.Fragment("sum", x, 3), "lacks"),
        (tally.Fragment("max", x), "max"),
        (tally.Fragment("sum", x.astype("f8")), "f64"),
        (b"tally", "too short"),
    ):
        with pytest.raises(ValueError, match=words):
            tally.Stream.scan("sum", "float32", after=wrong)
    with pytest.raises(TypeError):
        tally.Stream.scan("sum", "float32", after="text")


def test_streams_of_results(rng):
    x = rng.standard_normal(5000)
    scan, window = (
        tally.Stream.scan("sum", "float64", init=3.0),
        tally.Stream.window("mean", "float64", 50, edges="shrink"),
    )
    scans, windows = [], []
    for part in np.array_split(x, 7):
        scans.append(scan.push(part[::-1][::-1]))
        windows.append(window.push(part))
    windows.append(window.finish())
    assert same_bits(np.concatenate(scans), tally.scan(x, "sum", init=3.0))
    assert same_bits(np.concatenate(windows), tally.window(x, "mean", 50, edges="shrink"))
    with pytest.raises(ValueError, match="finished"):
        window.push(x)
    with pytest.raises(ValueError, match="this stream takes float64"):
        scan.push(x.astype("f4"))
    with pytest.raises(TypeError):
        pickle.dumps(scan)

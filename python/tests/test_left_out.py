# SPDX-License-Identifier: MIT
"""Elements that are left out (nulls of Arrow, masks, where=, pandas.NA), and operators of two arrays. The bits are
those of the C library: of its command line (--valid, --with), and of other ways to say the same."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import DTYPES, numbers, same_bits
from test_rolling import whole

ONE = ["sum", "mean", "nanmean", "max", "argmin", "var:ddof=1", "count", "last", "any", "ema:0.5", "minmax"]
TWO = ["dot", "wmean", "cov", "cov:ddof=1", "corr", "slope", "nandot", "nancov", "nanslope"]


def bits_of(where):
    """Bits as Arrow has them, by hand."""
    return np.packbits(where.astype("u1"), bitorder="little").tobytes()


def arrow(x, where):
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(x.dtype), len(x), [pa.py_buffer(bits_of(where)), pa.py_buffer(x.tobytes())]
    )


def plain(result):
    """As NumPy has it."""
    if isinstance(result, pa.Scalar):
        return result.type.to_pandas_dtype()(result.as_py())
    return np.asarray(result)


@pytest.fixture
def say(tmp_path, cli):
    """say(x, words, where, next) -> the digest of the command line."""

    def run(x, *words, where=None, next=None):
        more = []
        for option, array in (("--valid", where), ("--with", next)):
            if array is not None:
                np.save(tmp_path / f"{option}.npy", array.astype("u1") if option == "--valid" else array)
                more += [option, str(tmp_path / f"{option}.npy")]
        return cli(x, *words, *more)

    return run


@pytest.mark.parametrize("dtype", ["int16", "uint64", "float16", "float32", "float64"])
def test_bits_of_the_command_line(say, rng, dtype):
    x, where = numbers(rng, (6, 70), dtype, special=False), rng.random((6, 70)) < 0.6
    flat, flat_where = x.ravel(), where.ravel()
    for op in ("sum", "mean", "argmax", "var"):
        assert tally.digest(tally.reduce(x, op, where=where)) == say(x, "reduce", op, where=where)
        mine = tally.reduce(x, op, axis=0, where=where)
        assert tally.digest(mine) == say(x, "reduce", op, "--axis", "0", where=where)
        mine = tally.scan(flat, op, where=flat_where)
        assert tally.digest(mine) == say(flat, "scan", op, where=flat_where)
        mine = tally.window(flat, op, 9, min_count=3, where=flat_where)
        assert tally.digest(mine) == say(flat, "window", op, "-w", "9", "--min-count", "3", where=flat_where)
    y = numbers(rng, (6, 70), "float32", special=False)
    for op in ("dot", "wmean", "cov:ddof=1", "corr", "slope"):
        assert tally.digest(tally.reduce(x, op, next=y)) == say(x, "reduce", op, next=y)
        mine = tally.reduce(x, op, axis=1, next=y, where=where)
        assert tally.digest(mine) == say(x, "reduce", op, "--axis", "1", next=y, where=where)
        mine = tally.scan(flat, op, next=y.ravel())
        assert tally.digest(mine) == say(flat, "scan", op, next=y.ravel())
        mine = tally.window(flat, op, 5, edges="shrink", next=y.ravel(), where=flat_where)
        assert tally.digest(mine) == say(
            flat, "window", op, "-w", "5", "--edges", "shrink", next=y.ravel(), where=flat_where
        )


@pytest.mark.parametrize("a", DTYPES[1:])
def test_two_types(a, rng, say):
    """The common type is that of doc/inputs.md; a scan's output is checked by the library."""
    for b in DTYPES[1:]:
        x, y = numbers(rng, 20, a, special=False), numbers(rng, 20, b, special=False)
        assert tally.scan(x, "dot", next=y).dtype == tally.dot(x, y).dtype
        if "float" in a and b in ("int8", "float32"):
            assert tally.digest(tally.dot(x, y)) == say(x, "reduce", "dot", next=y)


@given(st.data())
def test_views_of_any_kind(data):
    """Random shapes, slices, orders, masks and axes: the bits of the same elements in dense memory, and of each
    sequence alone."""
    shape = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))

    def view(dtype):
        x = numbers(rng, [2 * n + 1 for n in shape], dtype)
        x = x[tuple(slice(None, 2 * n, data.draw(st.sampled_from([1, 2, -1, -2]))) for n in shape)]
        x = np.broadcast_to(x[..., :1], x.shape) if data.draw(st.integers(0, 9)) == 0 else x
        return x.transpose(order)

    order = data.draw(st.permutations(range(len(shape))))
    x = view(data.draw(st.sampled_from(DTYPES)))
    where = np.ascontiguousarray(rng.random(x.T.shape) < 0.7).T
    if data.draw(st.booleans()):
        where = where[:1] if len(where) else where  # is broadcast
    op, y = data.draw(st.sampled_from([(op, None) for op in ONE])), None
    if data.draw(st.booleans()):
        y = numbers(rng, x.shape[1:] if data.draw(st.booleans()) else x.shape, data.draw(st.sampled_from(DTYPES)))
        op = (data.draw(st.sampled_from(TWO)), y)
    op, full = op[0], None if y is None else np.ascontiguousarray(np.broadcast_to(y, x.shape))
    dense, there = np.ascontiguousarray(x), np.ascontiguousarray(np.broadcast_to(where, x.shape))
    axis = data.draw(st.sampled_from([None, *range(x.ndim), (0, x.ndim - 1) if x.ndim > 1 else (0,)]))
    want = tally.reduce(dense, op, axis=axis, next=full, where=there)
    assert same_bits(tally.reduce(x, op, axis=axis, next=y, where=where), want)
    masked = np.ma.masked_array(x, ~there)
    assert same_bits(tally.reduce(masked, op, axis=axis, next=y), want)
    if axis is None:
        flat = None if full is None else full.ravel()
        assert same_bits(tally.reduce(dense.ravel(), op, next=flat, where=there.ravel()), want)
        if x.dtype != bool:
            assert same_bits(plain(tally.reduce(arrow(dense.ravel(), there.ravel()), op, next=flat)), want)
    at = data.draw(st.integers(0, x.ndim - 1))
    for verb in (
        lambda *a, **k: tally.scan(*a, op, axis=at, **k),
        lambda *a, **k: tally.window(*a, op, 3, axis=at, edges="shrink", **k),
    ):
        assert same_bits(verb(x, next=y, where=where), verb(dense, next=full, where=there))
        assert same_bits(verb(masked, next=y), verb(dense, next=full, where=there))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_sequence_alone(axis, rng):
    x, where = numbers(rng, (3, 9, 4), "float32"), rng.random((3, 9, 4)) < 0.6
    y = numbers(rng, (9, 4), "int16")
    for op, other in (("sum", None), ("argmax", None), ("dot", y), ("cov", y)):
        for verb in (
            lambda a, **k: tally.reduce(a, op, axis=axis if a.ndim == 3 else 0, **k),
            lambda a, **k: tally.scan(a, op, axis=axis if a.ndim == 3 else 0, **k),
            lambda a, **k: tally.window(a, op, 3, axis=axis if a.ndim == 3 else 0, edges="shrink", **k),
        ):
            whole = verb(x, next=other, where=where)
            for at in np.ndindex(*np.delete(x.shape, axis)):
                one = list(at)
                one.insert(axis, slice(None))
                one = tuple(one)
                part = None if other is None else np.broadcast_to(other, x.shape)[one]
                alone = verb(x[one], next=part, where=where[one])
                assert same_bits(whole[one] if whole.ndim == 3 else whole[at], alone), (op, at)


def test_all_there_and_none_there(rng):
    x = numbers(rng, (30, 7), "float32")
    for op in ONE:
        assert same_bits(tally.reduce(x, op, axis=0, where=True), tally.reduce(x, op, axis=0))
        assert same_bits(tally.scan(x, op, axis=0, where=np.ones(7, "u1")), tally.scan(x, op, axis=0))
        assert same_bits(
            tally.reduce(x, op, axis=0, where=False), np.repeat(tally.reduce(x[:0], op, axis=0)[:1], 7, axis=0)
        )
    nan = np.where(rng.random(x.shape) < 0.3, np.float32("nan"), x)
    for op in ("sum", "mean", "min", "argmax"):  # a nan form leaves out what where= could
        assert same_bits(tally.reduce(nan, "nan" + op), tally.reduce(nan, op, where=~np.isnan(nan)))


def test_exact_operators(rng):
    """What is left out of a sum without rounding is not there at all."""
    x, y, where = rng.standard_normal((3, 400))
    where = where > 0
    for op, other in (("sum:exact", None), ("mean:exact", None), ("dot:exact", y)):
        kept = None if other is None else other[where]
        assert tally.reduce(x, op, next=other, where=where) == tally.reduce(x[where], op, next=kept)
    assert tally.scan(x, "sum:exact", where=where)[-1] == tally.reduce(arrow(x, where), "sum:exact").as_py()


def test_arrow(rng):
    assert tally.scan(pa.array([0, None, 1, 0]), "any").to_pylist() == [False, False, True, True]
    x, where = numbers(rng, 1000, "float64"), rng.random(1000) < 0.5
    whole = arrow(x, where)
    assert tally.sum(pa.array([1, None, 3])).as_py() == 4 and tally.count(pa.array([None, 1.0])).as_py() == 1
    for op in ("sum", "max", "nanmean", "argmin"):
        want = tally.reduce(x, op, where=where)
        assert same_bits(plain(tally.reduce(whole, op)), want)
        part = tally.reduce(whole[13:977], op)  # an offset in the bits
        assert same_bits(plain(part), tally.reduce(x[13:977], op, where=where[13:977]))
        chunks = pa.chunked_array([whole[:7], whole[7:7], whole[7:500], x[500:503], whole[503:]])
        there = where.copy()
        there[500:503] = True
        assert same_bits(plain(tally.reduce(chunks, op)), tally.reduce(x, op, where=there))
        assert same_bits(np.asarray(tally.scan(chunks, op)), tally.scan(x, op, where=there))
    assert tally.sum(whole, where=rng.random(1000) < 2).as_py() == tally.sum(x, where=where) or np.isnan(x[where]).any()
    both = tally.reduce(whole, "count", where=where[::-1]).as_py()
    assert both == (where & where[::-1] & ~np.isnan(x)).sum()
    y = arrow(numbers(rng, 1000, "float32", special=False), where[::-1])
    assert same_bits(plain(tally.dot(whole, y)), tally.dot(x, np.asarray(y.fill_null(0)), where=where & where[::-1]))
    # more nulls after the end than before it: bits beyond the length are not read
    assert tally.sum(pa.array([1.0, 2.0, None])[:2]).as_py() == 3


def test_pandas(rng):
    s = pd.Series([1, None, 3], dtype="Int64", index=[5, 6, 7])
    assert tally.sum(s) == 4 and tally.cumulative_sum(s).tolist() == [1, 1, 4]
    assert tally.mean(pd.Series([1.5, None], dtype="Float32")) == 1.5
    assert tally.cov(pd.Series([1.0, 2.0]), pd.Series([2.0, 4.0]), correction=1) == 1.0
    assert tally.sum(pd.Series([1.5, None], dtype=pd.ArrowDtype(pa.float64()))) == 1.5
    with pytest.raises(TypeError, match=r"x has text: pandas.factorize"):
        tally.sum(pd.Series(["a", None], dtype="string"))


def test_masked_arrays(rng):
    x = np.ma.masked_array([1.0, 2.0, 4.0], [0, 1, 0])
    assert tally.sum(x) == 5 and tally.sum(np.ma.masked_array([1, 2])) == 3  # nomask
    assert tally.scan(x, "sum").tolist() == [1.0, 1.0, 5.0]
    assert tally.rolling(x, 2, min_periods=1).sum().tolist() == [1.0, 1.0, 4.0]
    with pytest.raises(TypeError, match="out is a masked array"):
        tally.scan(np.ones(3), "sum", out=x)
    record = np.ma.zeros(4, [("a", "u1"), ("b", "f8")])
    record["b"] = [1, 2, 3, 4]
    record["b"][1] = np.ma.masked
    assert tally.sum(record["b"]) == 8.0


def test_segments_and_keys(rng):
    x, y, where = rng.standard_normal(500), rng.standard_normal(500).astype("f4"), rng.random(500) < 0.6
    offsets = np.array([0, 3, 3, 200, 500])
    cuts = [slice(a, b) for a, b in zip(offsets, offsets[1:])]
    for op, other in (("sum", None), ("dot", y), ("cov", y)):
        part = [tally.reduce(x[c], op, next=None if other is None else other[c], where=where[c]) for c in cuts]
        assert same_bits(tally.segments(x, offsets, op, next=other, where=where), np.array(part))
        part = [tally.scan(x[c], op, next=None if other is None else other[c], where=where[c]) for c in cuts]
        assert same_bits(tally.scan(x, op, offsets=offsets, next=other, where=where), np.concatenate(part))
        codes = rng.integers(0, 5, 500)
        part = [
            tally.reduce(x[codes == k], op, next=None if other is None else other[codes == k], where=where[codes == k])
            for k in range(5)
        ]
        assert same_bits(tally.by_key(x, codes, op, next=other, where=where), np.array(part))
        if other is None:
            assert same_bits(np.asarray(tally.by_key(arrow(x, where), codes, op)), np.array(part))


def test_rolling_pairs_against_pandas(rng):
    for n, w, options in ((60, 5, {}), (60, 5, {"min_periods": 2}), (40, 4, {"center": True, "min_periods": 1})):
        x, y = whole(rng, (2, n), missing=0.2)
        for ddof in (1, 0):
            theirs = pd.Series(x).rolling(w, **options).cov(pd.Series(y), ddof=ddof)
            assert same_bits(tally.rolling(x, w, **options).cov(y, ddof=ddof), theirs)
        theirs = pd.Series(x).rolling(2).corr(pd.Series(y))  # 1, -1 or none, but that both round
        assert np.array_equal(np.rint(tally.rolling(x, 2).corr(y)), np.rint(theirs), equal_nan=True)
        x, y = rng.standard_normal((2, n))
        x[rng.random(n) < 0.2] = np.nan
        y[rng.random(n) < 0.2] = np.nan
        rows = pd.Series(np.arange(n)).rolling(w, **{**options, "min_periods": 0})
        there = pd.Series(x + y).rolling(w, **options).sum().notna()
        for op, text in (("cov", "nancov:1"), ("corr", "nancorr")):

            def each(window, text=text):
                return tally.reduce(x[window.astype(int)], text, next=y[window.astype(int)])

            theirs = rows.apply(each, raw=True).where(there)
            assert same_bits(getattr(tally.rolling(x, w, **options), op)(y), theirs)
    x, y = np.arange(6.0), np.ones(6)
    assert tally.rolling(x, 2).agg("dot", y).tolist()[1:] == [1, 3, 5, 7, 9]
    null = pa.array([1, None, 3, 4])
    assert tally.rolling(null, 2, min_periods=1).sum().to_pylist() == [1.0, 1.0, 3.0, 7.0]


def test_out_and_errors(rng):
    x, y = rng.standard_normal((2, 4, 5))
    out = np.empty(5)
    assert tally.dot(x, y, axis=0, out=out) is out and same_bits(out, tally.dot(x, y, axis=0))
    for call, words in (
        (lambda: tally.dot(x, y, axis=0, out=y[0]), "out overlaps the second array"),
        (lambda: tally.scan(x, "dot", axis=0, next=y, out=y), "out overlaps the second array"),
        (lambda: tally.reduce(x, "dot"), "next: 'dot' takes two arrays, x and next"),
        (lambda: tally.reduce(x, "sum", next=y), "next: 'sum' takes one array"),
        (
            lambda: tally.dot(x, y[:3]),
            r"the second array has shape \(3, 5\): must broadcast to that of x, \(4, 5\)",
        ),
        (lambda: tally.dot(x[0], y), "must broadcast"),
        (lambda: tally.sum(x, where=np.ones(4, bool)), r"where has shape \(4,\)"),
        (lambda: tally.sum(x, where=pa.array([1, None], pa.uint8())), "where has elements that are left out"),
        (lambda: tally.digest(pa.array([1, None])), "a digest takes arrays without"),
        (lambda: tally.segments(x[0], pa.array([0, None]), "sum"), "offsets has elements that are left out"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    for wrong in (np.ones(5), np.ones(5, int), "yes", object()):
        with pytest.raises(TypeError, match="where"):
            tally.sum(x, where=wrong)


def test_empty_lists_have_the_type_that_is_wanted():
    assert (
        tally.sum([], where=[]) == 0
        and tally.take([1, 2], []).tolist() == [] == tally.ranges([1], [], [], "sum").tolist()
    )
    assert tally.by_key([], [], "sum").tolist() == [] and tally.groups([], 2)[1].tolist() == [0, 0, 0]

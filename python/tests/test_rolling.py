# SPDX-License-Identifier: MIT
"""rolling(...) beside pandas, on random data with NaN and every word that both know, to the last
bit: pandas' operators on multiples of 60, of which neither library rounds anything but results; and
tally's reduction of each window that pandas' apply gives."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import numbers, same_bits

OPS = ["sum", "mean", "min", "max", "var", "std", "count", "first", "last"]
words = st.fixed_dictionaries(
    {},
    optional={
        "center": st.booleans(),
        "closed": st.sampled_from([None, "right", "both", "left", "neither"]),
        "min_periods": st.integers(0, 9),
        "step": st.integers(1, 4),
    },
)


def whole(rng, shape, dtype="float64", missing=0.0):
    """Of these the sums are exact, and in windows of up to 5 the means, of up to 4 the squares."""
    x = (60 * rng.integers(0 if dtype == "uint16" else -2, 3, shape)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(shape) < missing] = np.nan
    return x


def each_window(rolling, op):
    """tally's reduction of each window of pandas."""
    text = f"nan{op}:1" if op in ("var", "std") else "nan" + op
    return rolling.apply(lambda window: tally.reduce(window.copy(), text), raw=True)


def compare(op, rng, shape, dtype, missing, rolled, beside):
    """The operator in the windows of tally, rolled(x), and of pandas, beside(x)."""
    x = whole(rng, shape, dtype, missing)
    theirs = getattr(beside(x), op, None)
    exact = op not in ("var", "std") or beside(x).count().max() <= 4
    if theirs is not None and exact:  # pandas 2 has no first and last
        assert same_bits(getattr(rolled(x), op)(), theirs())
    if op != "count":
        x = (rng.standard_normal(shape) * 20).astype(dtype if dtype != "uint16" else "int16")
        if x.dtype.kind == "f":
            x[rng.random(shape) < missing] = np.nan
        assert same_bits(getattr(rolled(x), op)(), each_window(beside(x), op))


@pytest.mark.parametrize("op", OPS)
@given(
    n=st.integers(0, 40),
    w=st.integers(1, 12),
    options=words,
    dtype=st.sampled_from(["float64", "float32", "int64", "int8", "uint16"]),
    missing=st.sampled_from([0.0, 0.2, 0.9]),
    seed=st.integers(0, 10**6),
)
def test_against_pandas(op, n, w, options, dtype, missing, seed):
    if options.get("min_periods", 0) > w:
        return
    compare(
        op,
        np.random.default_rng(seed),
        n,
        dtype,
        missing,
        lambda x: tally.rolling(x, w, **options),
        lambda x: pd.Series(x).rolling(w, **options),
    )


@pytest.mark.parametrize("op", ["mean", "min", "max", "var:1", "std:1", "skew"])
def test_windows_say_what_is_missing(op, rng):
    """The windows that give a device's results (rolling.c, run_there)."""
    for dtype, gaps in (("f8", 0), ("f8", 300), ("i4", 0)):
        x = (rng.standard_normal(1000) * 99).astype(dtype)
        x[rng.integers(0, 1000, gaps)] = np.nan if gaps else 0
        if dtype == "i4" and op in ("min", "max"):
            continue  # which give integers
        for least in (1, 3, 6):
            mine = tally.rolling(x, 6, min_periods=least).agg(op)
            form = "nan" + op if gaps else op
            assert same_bits(mine, tally.window(x, form, 6, edges="shrink", min_count=least)), (dtype, gaps, least)


@given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 4), words, st.integers(0, 10**6))
def test_frames_roll_down_their_columns(w, n, columns, options, seed):
    if options.get("min_periods", 0) > w:
        return
    rng = np.random.default_rng(seed)
    for x, exact in ((whole(rng, (n, columns)), True), (rng.standard_normal((n, columns)), False)):
        theirs = pd.DataFrame(x).rolling(w, **options)
        mean = theirs.mean() if exact else each_window(theirs, "mean")
        for y in (x, np.asfortranarray(x), np.ascontiguousarray(x.T).T):
            assert same_bits(tally.rolling(y, w, **options).mean(), mean)
        turned = tally.rolling(x.T, w, axis=1, **options).sum().T
        assert same_bits(turned, each_window(theirs, "sum"))


def test_ddof(rng):
    x = whole(rng, 50)
    assert same_bits(tally.rolling(x, 5).var(ddof=0), pd.Series(x).rolling(5).var(ddof=0))
    assert same_bits(tally.rolling(x, 5).std(ddof=2), pd.Series(x).rolling(5).std(ddof=2))


def test_against_bottleneck(rng):
    bn = pytest.importorskip("bottleneck")
    x = whole(rng, 300)
    for name, other in (("sum", bn.move_sum), ("mean", bn.move_mean), ("min", bn.move_min), ("max", bn.move_max)):
        w, least = (16, 16) if name == "mean" else (20, 5)  # bottleneck multiplies by 1 / n
        mine = getattr(tally.rolling(x, w, min_periods=least), name)()
        assert same_bits(mine, other(x, w, min_count=least)), name


def test_a_result_is_the_reduction_of_its_window(rng):
    x = rng.standard_normal(200)
    mean = tally.rolling(x, 30).mean()
    for i in range(29, 200):
        assert mean[i] == tally.mean(x[i - 29 : i + 1])
    with_others = tally.rolling(np.concatenate([x * 1e30, x]), 30).mean()
    assert same_bits(with_others[229:], mean[29:])


@given(
    st.sampled_from(["sum", "mean", "prod", "min", "max", "var", "std"]),
    st.integers(1, 700),
    st.integers(1, 60),
    st.booleans(),
    st.sampled_from(["float64", "float32"]),
    st.lists(st.integers(0, 699), max_size=2),
    st.sampled_from([np.nan, np.inf, -np.inf]),
    st.integers(0, 2),
)
def test_one_nan_anywhere_is_seen(op, n, w, center, dtype, places, value, least):
    """The nan form runs if there is a NaN, the plain operator if not: the same results, wherever it is."""
    x = np.random.default_rng(n).standard_normal((n, 2)).astype(dtype)
    for place in places:
        x[place % n, place % 2] = value
    kept = dtype if op not in ("var", "std") else None
    mine = tally.rolling(x, w, center=center, min_periods=min(least, w), dtype=kept).agg(op)
    ahead = (w - 1) // 2 if center else 0
    full = tally.window(x, "nan" + op, before=w - 1 - ahead, after=ahead, axis=0, edges="shrink")
    count = tally.window(x, "count", before=w - 1 - ahead, after=ahead, axis=0, edges="shrink")
    empty = 0 if least == 0 and op in ("sum", "prod") else 1
    if not (dtype == "float32" and op == "prod") and (dtype == "float64" or op not in ("var", "std")):
        want = np.where(count >= max(min(least, w), empty), full, np.nan)
        assert np.array_equal(mine, want, equal_nan=True)
    theirs = pd.DataFrame(x).rolling(w, center=center, min_periods=min(least, w))
    if not np.isinf(value) and op in ("sum", "mean", "min", "max"):
        assert np.array_equal(np.isnan(mine), np.isnan(getattr(theirs, op)()))


def test_other_operators_and_types(rng):
    x = rng.standard_normal(40).astype("f4")
    assert tally.rolling(x, 5).agg("prod").dtype == np.float64
    assert tally.rolling(x, 5, dtype="float32").mean().dtype == np.float32
    assert same_bits(
        tally.rolling(x, 5, dtype="float32").sum(),
        np.where(np.arange(40) < 4, np.float32("nan"), tally.window(x, "sum", 5)),
    )
    assert tally.rolling(x, 5).argmax()[4] == np.argmax(x[:5])


def test_words_that_cannot_be_said():
    x = np.ones(5)
    for arguments, message in (
        (("2s",), "on: windows of time .'2s'. need the time of each row"),
        ((pd.Timedelta("2s"),), "need the time of each row"),
        ((2.5,), "window is 2.5: must be a number of rows, or a length of time"),
        ((-1,), "window is -1"),
        ((0,), "window is 0: must be 1"),
        ((2**80,), "window is"),
    ):
        with pytest.raises(ValueError, match=message):
            tally.rolling(x, *arguments)
    for words, message in (
        ({"min_periods": 4}, "min_periods is 4: must be at most the window, 3"),
        ({"min_periods": -1}, "min_periods is -1"),
        ({"closed": "up"}, "closed is 'up'"),
        ({"step": 0}, "step is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            tally.rolling(x, 3, **words)
    with pytest.raises(ValueError, match="dtype is 'int64': rolling gives float64"):
        tally.rolling(x, 3, dtype="int64").sum()
    with pytest.raises(ValueError, match="median"):
        tally.rolling(x, 3).agg("median")
    with pytest.raises(ValueError, match="use window"):
        tally.rolling(x, 3).agg("minmax")
    with pytest.raises(ValueError, match="axis is 1: x has 1 axes"):
        tally.rolling(x, 3, axis=1).sum()


@pytest.mark.parametrize("op", ["min", "max", "first", "last"])
def test_halves(op, rng):
    """Their minima are halves too, and results are float64 as of all types."""
    x = numbers(rng, 60, "float16", special=False)
    x[::7], x[1] = np.nan, 6e-8
    words = {"min_periods": 1}, {"min_periods": 2, "step": 3}, {"on": np.arange(60) // 2, "min_periods": 0}
    for more in words:
        mine, wide = (getattr(tally.rolling(each, 4, **more), op)() for each in (x, x.astype("float64")))
        assert same_bits(mine, wide)
    bfloat16 = tally._core.empty((4,), "bfloat16", np.array([0x3F80, 0x4000, 0x7FC0, 0xC040], "u2").tobytes())
    assert tally.rolling(bfloat16, 2, min_periods=1).min().tolist() == [1.0, 1.0, 2.0, -3.0]


@pytest.mark.parametrize("least", [None, 0, 1, 3])
@pytest.mark.parametrize("op", ["sum", "mean", "max", "count"])
def test_windows_of_times_in_matrices(op, least, rng):
    """Each column has the bits of that column alone, wherever the windows have too few observations."""
    x = numbers(rng, (40, 3), "float64", special=False)
    x[rng.random((40, 3)) < 0.3] = np.nan
    x[:, 2] = 1.0
    on = np.sort(rng.integers(0, 60, 40))
    for closed in ("right", "left"):
        words = {"on": on, "closed": closed, "min_periods": least}
        found = getattr(tally.rolling(x, 4, **words), op)()
        for at in range(3):
            assert same_bits(found[:, at], getattr(tally.rolling(x[:, at].copy(), 4, **words), op)())
            times = pd.Series(x[:, at], pd.DatetimeIndex(on.astype("M8[s]")))
            expected = getattr(times.rolling("4s", closed=closed, min_periods=least), op)()
            assert np.array_equal(np.isnan(expected), np.isnan(found[:, at]))


@pytest.mark.parametrize("op", ["sum", "mean", "min", "max", "prod", "var", "std"])
def test_one_nan_at_every_place(op, rng):
    """The results show that there is a NaN, wherever it is; windows by keys look at the elements."""
    n = 23
    for w in (1, 2, 5, 22, 23, 30):
        for dtype, closed in (("f4", "right"), ("f8", "right"), ("f8", "both"), ("f8", "left")):
            for wrong in (np.nan, np.inf):
                for at in (*range(n), None):
                    x = rng.standard_normal(n).astype(dtype)
                    if at is not None:
                        x[[at, (at + 1) % n]] = wrong, -wrong if wrong == np.inf else x[0]
                    least = int(rng.integers(1, w + 1))
                    rows = getattr(tally.rolling(x, w, closed=closed, min_periods=least), op)()
                    keys = tally.rolling(x, w, closed=closed, min_periods=least, on=np.arange(n))
                    assert same_bits(rows, getattr(keys, op)()), (w, closed, at)
                    grid = np.stack([rng.standard_normal(n).astype(dtype), x])
                    both = getattr(tally.rolling(grid, w, axis=1, closed=closed, min_periods=least), op)()
                    if wrong == np.inf or at is None:
                        assert same_bits(both[1], rows)
                    else:
                        assert np.array_equal(np.isnan(both[1]), np.isnan(rows))
    long = rng.standard_normal(20_000)
    for at in (3, 1500, 19_999):
        x = long.copy()
        x[at] = np.nan
        rows, keys = tally.rolling(x, 50), tally.rolling(x, 50, on=np.arange(20_000), min_periods=50)
        assert same_bits(getattr(rows, op)(), getattr(keys, op)())


def test_integers_that_leave_64_bits_are_computed_in_float64():
    most = np.array([2**63 - 1, 2**63 - 1, 5, 7, -(2**63), -(2**63)])
    table = most.reshape(2, 3)
    for given in (most, most[::-1], most.astype("u8"), np.repeat(most, 2)[::2]):
        wide = given.astype("f8")
        for name in ("sum", "prod"):
            got = getattr(tally.rolling(given, 2), name)()
            assert same_bits(got, getattr(tally.rolling(wide, 2), name)())
        on = np.arange(6)
        assert same_bits(tally.rolling(given, 2, on=on).sum(), tally.rolling(wide, 2, on=on).sum())
        assert same_bits(tally.rolling(given, 2).dot(given), tally.rolling(wide, 2).dot(wide))
        by = [0, 1, 0, 1, 0, 1]
        assert same_bits(tally.rolling(given, 2, by=by).sum(), tally.rolling(wide, 2, by=by).sum())
    floats = tally.rolling(table.astype("f8"), 2, axis=1).sum()
    assert same_bits(tally.rolling(table, 2, axis=1).sum(), floats)
    assert tally.rolling(most[:0], 2).sum().tolist() == []
    bytes_ = np.full(20, 100, "i1")
    assert tally.rolling(bytes_, 20).prod()[-1] == 1e40
    masked = np.ma.masked_array(most, mask=[0, 0, 1, 0, 0, 0])
    got = tally.rolling(masked, 2, min_periods=1).sum()
    assert got[1:4].tolist() == [2.0**64, 2.0**63, 7.0]
    left = pd.Series([2**63 - 1, None, 2**63 - 1, 3], dtype="Int64")
    sums = tally.rolling(left, 3, min_periods=1).sum().tolist()
    assert sums == [2.0**63, 2.0**63, 2.0**64, 2.0**63]

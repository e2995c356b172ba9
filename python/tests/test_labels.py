# SPDX-License-Identifier: MIT
"""Second arrays, where=, codes and times that have labels of their own: elements are paired by place, so labels that
differ are refused, and after x.align(other) the results are pandas'."""

import numpy as np
import pandas as pd
import pytest

import tally
from conftest import same_bits


@pytest.fixture
def pair():
    x = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    return x, pd.Series([30.0, 20.0, 10.0], index=["c", "b", "a"])


def test_second_array(pair):
    x, y = pair  # by label they rise together, by place one falls
    assert x.cov(y) == 10
    words = r"the second array differs from x in its index: .*x.align\(y, join='inner'\)"
    for call in (
        lambda: tally.corr(x, y),
        lambda: tally.reduce(x, "dot", next=y),
        lambda: tally.scan(x, "dot", next=y),
        lambda: tally.window(x, "dot", 2, next=y),
        lambda: tally.segments(x, [0, 3], "dot", next=y),
        lambda: tally.ranges(x, [0], [3], "dot", next=y),
        lambda: tally.rolling(x, 2).corr(y),
        lambda: tally.by_key(x, [0, 0, 0], "dot", next=y),
        lambda: tally.Fragment("dot", x, next=y),
        lambda: tally.Stream("dot", "float64").push(x, next=y),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    x, y = x.align(y, join="inner")
    assert tally.dot(x, y) == 140.0 and tally.corr(x, y) > 0
    assert tally.dot(x, y.to_numpy()) == tally.dot(x.to_numpy(), y) == 140.0  # only one of them has labels


def test_where(pair):
    x, y = pair
    for call in (
        lambda: tally.sum(x, where=y > 15),
        lambda: tally.cumulative_sum(x, where=y > 15),
        lambda: tally.by_key(x, [0, 0, 0], "sum", where=y > 15),
        lambda: tally.Exact(x, where=y > 15),
    ):
        with pytest.raises(ValueError, match="where differs from x in its index"):
            call()
    assert tally.sum(x, where=x > 1.5) == 5.0
    assert tally.sum(x, where=(y > 15).reindex(x.index)) == 5.0


def test_codes_and_times(pair):
    x, y = pair
    with pytest.raises(ValueError, match="codes differs from x in its index"):
        tally.by_key(x, (y > 15).astype(int), "sum")
    codes = (y > 15).astype(int).reindex(x.index)
    assert tally.by_key(x, codes, "sum").tolist() == x.groupby(codes).sum().tolist()
    times = pd.Series(pd.to_datetime([0, 1, 2], unit="s"), index=y.index)
    with pytest.raises(ValueError, match="on differs from x in its index"):
        tally.rolling(x, "1s", on=times)
    assert tally.rolling(x, "1s", on=times.set_axis(x.index)).sum().tolist() == [1.0, 2.0, 3.0]


def test_frames():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[5, 6])
    turned = frame[["b", "a"]]
    with pytest.raises(ValueError, match="the second array differs from x in its columns"):
        tally.reduce(frame, "dot", axis=0, next=turned)
    with pytest.raises(ValueError, match="the second array differs from x in its index"):
        tally.reduce(frame, "dot", axis=0, next=frame.set_axis([6, 5]))
    assert tally.reduce(frame, "dot", axis=0, next=frame).tolist() == [5.0, 25.0]
    weights = pd.Series([1.0, 2.0], index=["a", "b"])  # one for each column, as frame * weights
    assert tally.reduce(frame, "dot", axis=1, next=weights).tolist() == [7.0, 10.0]
    with pytest.raises(ValueError, match="the second array differs from x in its index"):
        tally.reduce(frame, "dot", axis=1, next=weights[::-1])


def test_xarray():
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("t", "y"), coords={"y": [10, 20, 30]})
    assert tally.sum(x) == 15.0 and isinstance(tally.sum(x, axis=0), xr.DataArray)
    assert same_bits(tally.cumulative_sum(x, axis=1), tally.cumulative_sum(x.values, axis=1))
    assert tally.sum(x[0]) == 3.0 and tally.max(x[1, 2]) == 5.0
    assert tally.sum(x, where=x > 3) == 9.0
    words = r"the second array differs from x in its coordinates along y: .*xarray.align\(x, y\)"
    with pytest.raises(ValueError, match=words):
        tally.reduce(x, "dot", next=x.assign_coords(y=[30, 20, 10]))
    with pytest.raises(ValueError, match="the second array has 2 elements along y: x has 3"):
        tally.reduce(x, "dot", next=x.rename(t="y", y="t"))
    times = xr.DataArray(np.array([1, 2, 3], "M8[s]"), dims="t")
    assert tally.rolling(np.ones(3), "2s", on=times).sum().tolist() == [1.0, 2.0, 2.0]


def test_keys_of_small_types_with_nulls_are_refused():
    for keys in (
        np.ma.array([1, 2, 3], mask=[0, 1, 0], dtype="i2"),
        pd.Series([None, 1, 3], dtype="Int16"),
        np.ma.array([1, 2, 3], mask=[0, 1, 0], dtype="f4"),
    ):
        with pytest.raises(ValueError, match="keys has elements that are left out"):
            tally.bounds(keys, -1, 0)
    with pytest.raises(ValueError, match="on has elements that are left out"):
        tally.rolling([1.0, 2.0, 3.0], 2, on=np.ma.array([1, 100, 2], mask=[0, 1, 0], dtype="i2"))


def test_streams_give_no_labels():
    stream = tally.Stream.window("sum", "float64", 3, center=True, edges="shrink")
    assert stream.push(pd.Series([1.0, 2.0, 3.0])).tolist() == [3, 6]
    later = stream.push(pd.Series([4.0, 5.0, 6.0], index=[3, 4, 5]))
    assert type(later) is np.ndarray and later.tolist() == [9, 12, 15]


def test_windows_of_times_have_at_most_63_bits():
    for on in ([30, 20, 10], [10, 20, 30]):
        for by in (None, ["a"] * 3):
            assert tally.rolling([1.0, 2.0, 3.0], 2**63 - 1, on=on, by=by).sum().tolist() == [1, 3, 6]
            with pytest.raises(ValueError, match=r"window is 9223372036854775808: must be at most 2\^63 - 1"):
                tally.rolling([1.0, 2.0, 3.0], 2**63, on=on, by=by)


def test_where_of_a_table_is_broadcast():
    x = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    for where in ([[True], [False]], [[True, False]], [[False]]):
        where = np.array(where)
        assert tally.sum(x, where=where).tolist() == tally.sum(x.to_numpy(), axis=0, where=where).tolist()
    with pytest.raises(ValueError, match=r"where has shape \(1, 3\)"):
        tally.sum(x, where=np.ones((1, 3), bool))


def test_rows_of_bytes_are_no_keys():
    class Rows:
        __array_interface__ = np.zeros((2, 3), "u1").T.__array_interface__

    with pytest.raises(ValueError, match=r"by has shape \(3, 2\)"):
        tally.sum([1.0, 2.0, 4.0], by=Rows())


def test_fragments_that_are_not_exact_are_no_exact_sums():
    parts = tally.Fragment("var", [1.0], 0)
    for i in range(1, 24):
        parts += tally.Fragment("var", [1.0 + i], 3 * i)
    with pytest.raises(ValueError, match="data is a fragment of 'var'"):
        tally.Exact.from_bytes(bytes(parts))


def test_words_of_other_libraries():
    """Arguments and functions that others have are told with what to write here."""
    x = pd.Series([1.0, 2.0, 3.0])
    for call, words in (
        (lambda: tally.sum(x, skipna=True), "sum has no skipna=: tally.nansum(x), or the operator 'nansum', leaves"),
        (lambda: tally.cumsum(x, skipna=True), "cumsum has no skipna=: tally.nansum(x), or the operator 'nansum'"),
        (lambda: tally.reduce(x, "mean", skipna=True), "mean has no skipna=: tally.nanmean(x)"),
        (lambda: tally.mean(x, numeric_only=True), "mean has no numeric_only=: x.select_dtypes('number') has"),
        (lambda: tally.sum(x, min_count=1), "sum has no min_count=: tally.count(x) says"),
        (lambda: tally.window(x, "sum", 2, min_periods=1), "sum has no min_periods=: tally.rolling(x, 20, min_per"),
        (
            lambda: tally.window(x, "sum", 2, step=2),
            "sum has no step=: tally.rolling(x, 20, step=2) takes it",
        ),
        (
            lambda: tally.window(x, "sum", 2, centre=True),
            "window got an unexpected keyword argument 'centre'",
        ),
        (
            lambda: tally.reduce(x, "sum", axes=0),
            "reduce got an unexpected keyword argument 'axes'",
        ),
        (
            lambda: tally.sum(x, axis=True),
            "axis is True: must be None, an integer or a tuple of integers",
        ),
        (
            lambda: tally.min(x, dtype="i8"),
            "dtype is 'i8': NumPy's has 64 bits and tally's 8: write int64 or int8",
        ),
        (
            lambda: tally.Stream("sum", "u8"),
            "dtype is 'u8': NumPy's has 64 bits and tally's 8: write uint64 or uint8",
        ),
        (lambda: tally.wmean(x, "abc"), "the second array is a string"),
        (lambda: tally.mean(x, ddof=1), "mean has no ddof=: var, std, cov and their nan forms take it"),
        (lambda: tally.rolling(x, 2).mean(numeric_only=True), "mean has no numeric_only="),
        (lambda: tally.rolling(x, 2).std(skipna=True), "std has no skipna=: NaN is no observation of a window"),
        (lambda: tally.rolling(x, 2, win_type="x"), "rolling got an unexpected keyword argument 'win_type'"),
        (lambda: tally.rolling(x, 2, min_samples=1), "rolling has no min_samples=: min_periods= is its name here"),
        (lambda: tally.sum(x, "time"), "sum: takes its arrays by place, and other arguments by name: dim='time'"),
        (lambda: tally.cumsum(x, 0), "cumsum: takes its arrays by place, and other arguments by name: axis=0"),
        (lambda: tally.dot(x, x, x), "dot: takes its arrays by place, and other arguments by name: next="),
    ):
        with pytest.raises(TypeError) as told:
            call()
        assert str(told.value).startswith(words)
    for call, words in (
        (lambda: tally.median, "module 'tally' has no attribute 'median': no operator of tally is one"),
        (lambda: tally.nancumsum, "module 'tally' has no attribute 'nancumsum': tally.scan(x, 'nansum')"),
        (lambda: tally.resample, "module 'tally' has no attribute 'resample': tally.sum(x, by=times.to_period('M'))"),
        (lambda: tally.nothing, "module 'tally' has no attribute 'nothing'"),
        (lambda: tally.rolling(x, 2).quantile, "rolling has no method 'quantile': no operator of tally is one"),
    ):
        with pytest.raises(AttributeError) as told:
            call()
        assert str(told.value).startswith(words)
    assert tally.rolling(x, window=2).sum().tolist()[1:] == [3, 5]
    with pytest.raises(ValueError, match="w: must be given, as in window"):
        tally.window(x, "mean")

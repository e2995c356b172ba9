# SPDX-License-Identifier: MIT
"""DataFrames of pandas and Polars and tables of Arrow: column by column, each result with the bits of the call on the
column alone, and names, index and library kept. by= of tables: the names of columns, or arrays; the groups, their order
and their index are those of pandas' groupby."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import numbers, same_bits

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

DTYPES = ["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"]
INDEXES = [
    lambda n: None,
    lambda n: pd.date_range("2024-03-30", periods=n, freq="h", tz="Europe/Oslo"),
    lambda n: pd.Index(list("abcab" * n)[:n], name="letter"),
    lambda n: pd.MultiIndex.from_arrays([np.arange(n) // 2, np.arange(n)], names=["x", None]),
]


@st.composite
def frames(draw):
    """Columns of several types, with names that may repeat, and one of several indexes."""
    n, k = draw(st.integers(0, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    columns = [numbers(rng, n, draw(st.sampled_from(DTYPES))) for _ in range(k)]
    frame = pd.DataFrame(dict(enumerate(columns)), index=draw(st.sampled_from(INDEXES))(n))
    names = draw(st.sampled_from([["a", "b", "c", "d"], ["a", "a", 3, None]]))[:k]
    frame.columns = pd.Index(names, name="what")
    return frame, columns, rng


def close(a, b):
    np.testing.assert_array_equal(np.asarray(a, "f8"), np.asarray(b, "f8"))


@given(frames(), st.sampled_from(["sum", "nanmean", "max", "nanmin", "std:1", "count", "argmax", "first", "any"]))
def test_reduce(case, op):
    frame, columns, _ = case
    found = tally.reduce(frame, op)
    assert isinstance(found, pd.Series) and found.index.equals(frame.columns) and found.index.name == "what"
    for column, value in zip(columns, found):
        want = tally.reduce(column, op)
        assert value == want or (value != value and want != want)
        assert want.dtype.kind not in "iu" or int(value) == int(want)  # no integer is rounded
    if op in ("count", "nanmin") and len(frame):
        close(found, {"count": frame.count, "nanmin": frame.min}[op]())
    assert [each.name for each in tally.reduce(frame, [op, "max"])] == [None, None]


@given(frames(), st.integers(1, 6))
def test_rows_of_results(case, w):
    frame, columns, _ = case
    for found, plain, rows in (
        (tally.cumulative_sum(frame), lambda x: tally.cumulative_sum(x), slice(None)),
        (tally.cummax(frame), lambda x: tally.scan(x, "max"), slice(None)),
        (tally.window(frame, "sum", w), lambda x: tally.window(x, "sum", w), slice(None)),
        (
            tally.window(frame, "max", before=1, after=w, edges="valid"),
            lambda x: tally.window(x, "max", before=1, after=w, edges="valid"),
            slice(min(1, len(frame)), max(len(frame) - w, min(1, len(frame)))),
        ),
        (tally.rolling(frame, w).mean(), lambda x: tally.rolling(x, w).mean(), slice(None)),
        (
            tally.rolling(frame, w, step=2, min_periods=0).var(),
            lambda x: tally.rolling(x, w, step=2, min_periods=0).var(),
            slice(None, None, 2),
        ),
    ):
        assert isinstance(found, pd.DataFrame) and found.columns.equals(frame.columns)
        assert found.index.equals(frame.index[rows]) and found.index.names == frame.index.names
        for at, column in enumerate(columns):
            assert same_bits(found.iloc[:, at].to_numpy(), plain(column))
            if len(column):
                one = tally.window(frame.iloc[:, at], "max", 1, edges="valid")
                assert one.index.equals(frame.index) and one.name == frame.columns[at]
    if all(column.dtype.kind != "f" for column in columns) and len(frame):
        close(tally.rolling(frame, w).max(), frame.rolling(w).max())
        close(tally.rolling(frame, w).count(), frame.rolling(w).count())


@given(frames(), st.integers(1, 6))
def test_other_libraries(case, w):
    _, columns, rng = case
    there = [rng.random(len(c)) < 0.8 for c in columns]
    names = list("abcd")[: len(columns)]
    arrays = [pa.array(c, mask=~t) for c, t in zip(columns, there)]
    table = pa.table(dict(zip(names, arrays)))
    for x in (table, pl.from_arrow(table), pa.RecordBatch.from_arrays(arrays, names=names)):
        for call in (
            lambda x: tally.cumulative_sum(x, include_initial=True),
            lambda x: tally.window(x, "max", w, edges="valid"),
            lambda x: tally.rolling(x, w, min_periods=1).sum(),
            lambda x: tally.segments(x, [0, len(columns[0]) // 2], "count"),
        ):
            found = call(x)
            assert type(found) is type(x)
            assert list(found.columns if type(x).__module__.startswith("polars") else found.column_names) == names
            for at, (column, t) in enumerate(zip(columns, there)):
                got = np.asarray(found[names[at]])
                assert same_bits(got, np.asarray(call(np.ma.masked_array(column, ~t))))
        one = tally.reduce(x, "sum")
        assert type(one) is type(x) and len(one[names[0]]) == 1
        for at, (column, t) in enumerate(zip(columns, there)):
            want = tally.reduce(np.ma.masked_array(column, ~t), "sum")
            assert same_bits(one[names[at]].to_numpy()[0], want)
    polars = pl.from_arrow(table)
    if len(polars):
        floats = [
            pl.col(pl.Float32, pl.Float64).fill_nan(None),
            pl.col(pl.Boolean, pl.Int8, pl.UInt16, pl.Int64, pl.UInt64),
        ]
        theirs = polars.select(floats).select(names).count()
        assert tally.count(polars).row(0) == theirs.row(0)


def test_both_axes_and_where(rng):
    x = rng.standard_normal((7, 3))
    frame = pd.DataFrame(x, columns=list("abc"), index=range(10, 17))
    assert same_bits(tally.sum(frame, axis=1).to_numpy(), tally.sum(x, axis=1))
    assert tally.sum(frame, axis=1).index.equals(frame.index)
    assert same_bits(tally.scan(frame, "max", axis=1).to_numpy(), tally.scan(x, "max", axis=1))
    assert list(tally.window(frame, "sum", 2, axis=1, edges="valid").columns) == ["b", "c"]
    assert tally.sum(frame, axis=(0, 1)) == tally.sum(x)
    where = rng.random((7, 3)) < 0.5
    for each in (where, pd.DataFrame(where, columns=frame.columns, index=frame.index)):
        assert same_bits(tally.sum(frame, where=each).to_numpy(), tally.sum(x, axis=0, where=where))
    row = where[:, :1]
    assert same_bits(tally.sum(frame, where=row[:, 0]).to_numpy(), tally.sum(x, axis=0, where=row))
    assert same_bits(tally.dot(frame, frame["b"]).to_numpy(), tally.dot(x, x[:, 1:2], axis=0))
    assert same_bits(tally.rolling(frame, 3).corr(frame["b"])["a"].to_numpy(), tally.rolling(x[:, 0], 3).corr(x[:, 1]))
    polars = pl.DataFrame(x, schema=list("abc"))
    assert same_bits(tally.max(polars, axis=1).to_numpy(), tally.max(x, axis=1))
    assert tally.scan(polars, "max", axis=1).columns == list("abc")
    assert same_bits(tally.max(polars.to_arrow(), axis=1).to_numpy(), tally.max(x, axis=1))
    assert tally.minmax(frame).shape == (2, 3) and tally.minmax(polars).height == 2
    assert tally.sum(pd.DataFrame(index=[1, 2])).shape == (0,)
    mixed = tally.sum(pd.DataFrame({"i": [2**62, 1], "f": [0.5, 0.5]}))
    assert mixed.dtype == object and mixed["i"] == 2**62 + 1 and mixed["f"] == 1.0
    assert tally.sum(pd.DataFrame({"i": [3], "f": [0.5]})).dtype == "float64"


def test_rows_of_several_types():
    """Along rows: the columns' common type, and nulls are left out."""
    frame = pd.DataFrame({"i": pd.array([1, None, 3], "Int64"), "f": [0.5, 1.5, 2.5], "b": [True, False, True]})
    assert tally.sum(frame, axis=1).tolist() == [2.5, 1.5, 6.5]
    assert tally.count(frame, axis=1).tolist() == [3, 2, 3] and tally.sum(frame, axis=(0, 1)) == 10.5
    assert tally.scan(frame, "sum", axis=1)["f"].tolist() == [1.5, 1.5, 5.5]
    for x in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        found = tally.sum(x, axis=1)
        assert (found.to_list() if hasattr(found, "to_list") else found.to_pylist()) == [2.5, 1.5, 6.5]
    flags = pd.DataFrame({"a": pd.array([True, None], "boolean"), "b": [False, True]})
    assert tally.any(flags, axis=1).tolist() == [True, True] and tally.sum(flags, axis=1).tolist() == [1, 1]
    times = pd.DataFrame({"t": pd.date_range("2024", periods=2, tz="Europe/Oslo")})
    with pytest.raises(TypeError, match="column 't' of x has times"):
        tally.max(times, axis=1)
    assert tally.minmax(times)["t"].tolist() == times["t"].tolist()


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64"])
def test_tables_of_one_type(rng, dtype):
    """All columns are computed at once: the bits are those of each column alone."""
    x = numbers(rng, (50, 4), dtype)
    frame = pd.DataFrame(x, columns=["a", "b", "b", 3], index=range(50, 100))
    for call in (
        lambda x: tally.sum(x),
        lambda x: tally.scan(x, "max"),
        lambda x: tally.window(x, "sum", 7, edges="valid"),
        lambda x: tally.rolling(x, 5, min_periods=2, step=3).mean(),
        lambda x: tally.argmax(x),
    ):
        found = call(frame)
        assert list(found.index if found.ndim == 1 else found.columns) == list(frame.columns)
        for at in range(4):
            alone = call(frame.iloc[:, at])
            mine = found.iloc[at] if found.ndim == 1 else found.iloc[:, at]
            assert same_bits(mine, alone) and (found.ndim == 1 or mine.index.equals(alone.index))
    with pytest.raises(TypeError, match="column 'a' of x|column 'a': op"):
        tally.and_(frame.astype("float64"))


def test_names_and_scalar_types():
    assert tally.rolling(pl.Series("px", [1.0, 2.0]), 2).sum().name == "px"
    assert tally.scan(pl.Series("b", [True, None]), "any").name == "b"
    frame = pd.DataFrame({"a": [1, 2], "t": pd.date_range("2024", periods=2)})
    assert type(tally.cumulative_sum(frame["a"])[0]) is np.int64 and type(tally.sum(frame["a"])) is np.int64
    assert type(tally.cumulative_sum([1, 2])[0]) is int
    assert type(np.asarray(tally.cumulative_sum([1, 2]))[0]) is np.int64
    for frame in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        found = tally.rolling(frame, "2D", on="t").sum()
        names = found.column_names if isinstance(found, pa.Table) else list(found.columns)
        assert names == ["a", "t"] and [float(v) for v in found["a"].to_numpy()] == [1.0, 3.0]
    assert tally.rolling(pd.DataFrame({"a": [1, 2, 3], "t": [1, 2, 3]}), 2, on="t", step=2).sum()["t"].tolist() == [
        1,
        3,
    ]


def test_what_is_refused():
    frame = pd.DataFrame({"a": [1.0], "city": ["Oslo"]})
    for x in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        for call in (
            tally.sum,
            tally.cumulative_sum,
            lambda x: tally.rolling(x, 2).mean(),
            lambda x: tally.max(x, axis=1),
        ):
            with pytest.raises(TypeError, match="column 'city' of x has (text|elements of Arrow's type)"):
                call(x)
    numbers = frame[["a"]]
    for call, words in (
        (lambda: tally.sum(numbers, out=np.empty(1)), "out: cannot be given where x is a table"),
        (lambda: tally.sum(numbers, keepdims=True), "keepdims: cannot be given"),
        (lambda: tally.sum(numbers, axis=2), "axis is 2: a table has the axes 0"),
        (lambda: tally.scan(numbers, "minmax"), "'minmax' gives several values"),
        (lambda: tally.cumulative_sum(numbers, include_initial=True), "include_initial: "),
        (lambda: tally.rolling(numbers, "2s", on="t"), "on is 't': x has 0 columns of this name: a"),
        (
            lambda: tally.mean(frame, by="City"),
            "by is 'City': did you mean 'city'[?] x has 0 columns of this name",
        ),
        (lambda: tally.sum(numbers, where=np.ones((1, 3), bool)), "where has shape"),
        (lambda: tally.dot(pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]})), "the second array has the columns b"),
        (lambda: tally.dot(numbers, numbers.set_axis([5])), "differs from x in its index"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    for x, words in (
        (pl.from_pandas(frame).lazy(), "x is a LazyFrame.*collect"),
        (pd.Series(["a"]), "x has text: pandas.factorize"),
        (pd.Series(["a"], dtype="category"), "x has categories: x.cat.codes"),
        (pd.Series([1, "a"]), "x has Python objects"),
        (pd.Series([1j]), "x has elements of type complex128"),
        (pa.array([1], pa.int32()).cast(pa.decimal128(12, 2)), r"decimal128\(12, 2\).*cast it to float64"),
        (pl.Series([1]).cast(pl.Decimal(10, 2)), r"decimal128\(10, 2\).*cast it to float64"),
        (pl.Series(["a"], dtype=pl.Categorical), "dictionary"),
    ):
        with pytest.raises(TypeError, match=words):
            tally.sum(x)


def test_accessors():
    import tally.pandas
    import tally.polars

    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0]}, index=list("xyz"))
    means = frame.rolling(2).mean()
    pd.testing.assert_frame_equal(frame.tally.rolling(2).mean(), means, check_exact=True)
    assert frame["a"].tally.cummax().equals(frame["a"].cummax()) and frame.tally.sum()["a"] == 7.0
    polars = pl.from_pandas(frame)
    assert polars.tally.rolling(2).sum()["a"].to_list()[1:] == [3.0, 6.0] and polars["a"].tally.max() == 4.0
    assert {"mean", "rolling", "cumsum", "reduce"} <= set(dir(frame.tally))
    with pytest.raises(AttributeError, match="tally has no method 'median'"):
        frame.tally.median()
    with pytest.raises(ValueError, match="rolling: give a window"):
        frame.tally.rolling()


# ---- words ----


@given(st.integers(1, 20), st.integers(0, 1000))
def test_words_of_pandas(n, seed):
    rng = np.random.default_rng(seed)
    x, ones = rng.standard_normal(n), rng.choice([-1.0, 1.0], n)
    assert tally.std(x, ddof=1) == tally.std(x, correction=1) or n == 1
    rounded = {"span": 5}, {"halflife": 3}  # whose weights are rounded
    for words in ({"span": 7}, {"com": 3}, {"halflife": 0.5}, {"alpha": 0.25}, *rounded):
        if words not in rounded:
            theirs = pd.Series(ones).ewm(**words, adjust=False).mean()
            assert same_bits(tally.ema(ones, **words), theirs.iloc[-1])
        if "alpha" not in words:
            (word, value), *_ = words.items()
            assert same_bits(tally.scan(x, f"ema:{word}={value}")[-1], tally.ema(x, **words))
            assert same_bits(tally.reduce(x, [f"ema:{word}={value}"])[0], tally.ema(x, **words))
    windows = tally.rolling(pd.Series(ones), 4, min_periods=3)
    beside = pd.Series(ones).rolling(4, min_periods=3)
    for op, places in (("skew", slice(3, None)), ("kurt", slice(None))):
        # whole numbers, but that both round
        mine, theirs = (getattr(each, op)()[places] for each in (windows, beside))
        assert np.array_equal(np.rint(mine), np.rint(theirs), equal_nan=True)
    w = 5
    for op in ("skew:1", "kurt:1"):

        def each(window, op=op):
            return tally.reduce(window.copy(), op)

        theirs = pd.Series(x).rolling(w).apply(each, raw=True)
        assert same_bits(getattr(tally.rolling(x, w), op[:4])(), theirs)
        assert same_bits(tally.rolling(x, w).agg(op), theirs)
    assert same_bits(tally.rolling(x, w).std(correction=0), tally.rolling(x, w).agg("std"))


def test_every_operator_rolls(rng):
    x, y = rng.standard_normal(20), rng.random(20)
    for op in tally.operators():
        name = {"and": "and_", "or": "or_"}.get(op, op)
        if op.startswith("nan") or op == "minmax":
            continue
        assert callable(getattr(tally.Rolling, name)), op
        if op in ("and", "or", "xor"):
            continue
        two = tally._core.operator(op + (":0.5" if op == "ema" else ""), "float64")["inputs"] == 2
        found = getattr(tally.rolling(x, 4), name)(*[y] * two, **({"alpha": 0.5} if op == "ema" else {}))
        text = {"ema": "ema:0.5", "skew": "skew:1", "kurt": "kurt:1"}.get(op, op)
        text = f"{op}:1" if op in ("var", "std", "cov", "wvar", "wstd") else text
        want = tally.reduce(x[16:], text, next=y[16:] if two else None)
        assert same_bits(np.float64(found[-1]), np.float64(want)), op
    with pytest.raises(TypeError, match="apply: .*tally.define"):
        tally.rolling(x, 2).apply(len)
    for call, words in (
        (lambda: tally.ema(x), "alpha, span, halflife, com: give one of them, not none"),
        (lambda: tally.ema(x, 0.5, span=3), "not alpha, span"),
        (lambda: tally.ema(x, span=0.5), "span is 0.5: must be at least 1"),
        (lambda: tally.ema(x, halflife=0), "halflife is 0.0: must be above 0"),
        (lambda: tally.ema(x, span=3, adjust=True), "adjust is True: .*z / w"),
        (lambda: tally.scan(x, "ema:span=ten"), "span is 'ten': must be a number"),
        (lambda: tally.var(x, correction=1, ddof=1), "correction and ddof"),
        (lambda: tally.sum(x, axis=0, dim="t"), "axis and dim"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="dim is 't': x is of type ndarray"):
        tally.sum(x, dim="t")


# ---- by= ----


@st.composite
def keyed_frames(draw):
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    city = pd.Series(rng.choice(["Oslo", "Rome", None, "Bern"], n))
    city[0] = "Oslo"  # of None alone pandas makes NaN; tally gives the keys as they are
    columns = {f"x{at}": numbers(rng, n, draw(st.sampled_from(["int64", "float64", "float32"]))) for at in range(2)}
    index = draw(st.sampled_from([None, pd.date_range("2024", periods=n, tz="Europe/Oslo")]))
    frame = pd.DataFrame({"x0": columns["x0"], "city": city.array, "day": rng.integers(0, 3, n), "x1": columns["x1"]})
    return frame if index is None else frame.set_axis(index)


@given(keyed_frames(), st.sampled_from(["city", ["city"], ["city", "day"], "day"]), st.booleans(), st.booleans())
def test_by_reduce(frame, by, sort, dropna):
    frame = frame.drop(columns="city") if by == "day" else frame
    keys = [by] if isinstance(by, str) else by
    values = [name for name in frame.columns if name not in keys]
    theirs = frame.groupby(by if isinstance(by, str) else keys if len(keys) > 1 else keys[0], sort=sort, dropna=dropna)
    for op in ("count", "nanmax", "sum"):
        found = tally.reduce(frame, op, by=by, sort=sort, dropna=dropna)
        assert list(found.columns) == values and list(found.index.names) == keys
        if op == "count":
            wanted = theirs[values].count()
            pd.testing.assert_frame_equal(found, wanted, check_index_type=False, check_exact=True)
        for name in values:
            alone = tally.reduce(frame[name], op, by=[frame[key] for key in keys], sort=sort, dropna=dropna)
            assert same_bits(found[name].to_numpy(), alone.to_numpy())
    both = tally.reduce(frame, ["count", "nanmax"], by=by)
    assert isinstance(both, tuple) and list(both[1].columns) == values


@given(keyed_frames(), st.integers(1, 4))
def test_by_rows(frame, w):
    values = ["x0", "day", "x1"]
    for found, alone in (
        (tally.cumulative_sum(frame, by="city"), lambda x: tally.cumulative_sum(x, by=frame["city"])),
        (tally.window(frame, "max", w, by="city"), lambda x: tally.window(x, "max", w, by=frame["city"])),
        (
            tally.rolling(frame, w, by="city", min_periods=1).mean(),
            lambda x: tally.rolling(x, w, by=frame["city"], min_periods=1).mean(),
        ),
    ):
        assert list(found.columns) == values and found.index.equals(frame.index)
        for name in values:
            assert same_bits(found[name].to_numpy(), alone(frame[name]).to_numpy())
    there = frame["city"].notna()
    theirs = frame[there].groupby("city")["day"].cumsum()
    assert tally.cumulative_sum(frame, by="city")["day"][there].equals(theirs)


@given(keyed_frames())
def test_by_other_libraries(frame):
    frame = frame.reset_index(drop=True)
    frame[["x0", "x1"]] = frame[["x0", "x1"]].fillna(1)  # which Polars and Arrow would have as nulls
    for x in (pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        found = tally.reduce(x, "nanmax", by=["city", "day"])
        want = tally.reduce(frame, "nanmax", by=["city", "day"])
        names = found.columns if isinstance(found, pl.DataFrame) else found.column_names
        assert type(found) is type(x) and names == ["city", "day", "x0", "x1"]
        for name in ("x0", "x1"):
            assert same_bits(np.asarray(found[name]), want[name].to_numpy())
        rest = x.drop(["city"]) if isinstance(x, pa.Table) else x.drop("city")
        running, plain = tally.scan(rest, "sum", by="day"), tally.scan(frame.drop(columns="city"), "sum", by="day")
        for name in ("x0", "x1"):
            assert same_bits(np.asarray(running[name]), plain[name].to_numpy())


def test_by_times_and_errors():
    t = pd.date_range("2024", periods=4)
    frame = pd.DataFrame({"k": list("abab"), "t": t, "x": [1.0, 2.0, 3.0, 4.0]})
    assert tally.max(frame, by="k")["t"].tolist() == [t[2], t[3]]
    found = tally.rolling(frame, "2D", on="t", by="k", min_periods=1).sum()
    assert list(found.columns) == ["t", "x"] and found["x"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert tally.rolling(frame, "3D", on="t", by="k", min_periods=1).sum()["x"].tolist() == [1.0, 2.0, 4.0, 6.0]
    assert tally.max(frame["t"], by=frame["k"]).tolist() == [t[2], t[3]]
    with pytest.raises(ValueError, match="by is 'q': x has 0 columns of this name: k, t, x"):
        tally.max(frame, by="q")
    with pytest.raises(TypeError, match="column 't' of x has times"):
        tally.mean(frame, by="k")
    with pytest.raises(TypeError, match="column 'k' of x has text"):
        tally.max(frame, by=frame["x"])


@pytest.mark.parametrize("n", [1, 40])
def test_few_rows_of_several_types(rng, n):
    """Columns of one type are computed by one call: each result is that of its column alone, in type and bits."""
    pa, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    columns = {f"{dtype}{at}": numbers(rng, n, dtype) for dtype in DTYPES for at in (0, 1)}
    tables = [pd.DataFrame(columns), polars.DataFrame(columns), pa.table(columns)]
    tables.append(polars.DataFrame(columns).with_columns(polars.when(polars.int_range(n) != 0).then(polars.all())))
    calls = [
        lambda x: tally.max(x),
        lambda x: tally.mean(x),
        lambda x: tally.cumulative_sum(x),
        lambda x: tally.window(x, "nanmin", 3, edges="valid"),
        lambda x: tally.rolling(x, 2, min_periods=1, step=3).mean(),
        lambda x: tally.segments(x, [0, n // 2, n], "argmax"),
        lambda x: tally.ranges(x, [0, n - 1], [n, n], "sum"),
        lambda x: tally.scan(x, "last", by=np.arange(n) % 3),
        lambda x: _tables_of(tally.mean(x, by=np.arange(n) % 3)),
    ]
    for table in tables:
        for call in calls:
            whole = call(table)
            for name in columns:
                column = table[name] if not isinstance(table, pa.Table) else table.column(name)
                mine, alone = whole[name], call(column)
                if isinstance(mine, polars.Series):
                    assert mine.dtype == getattr(alone, "dtype", mine.dtype)
                    mine, alone = mine.to_list(), alone.to_list() if isinstance(alone, polars.Series) else [alone]
                    assert same_bits(np.array(mine, "f8"), np.array(alone, "f8")), name
                elif isinstance(table, pa.Table):
                    alone = [alone] if isinstance(alone, pa.Scalar) else alone
                    assert mine.to_pylist() == pa.array(alone).to_pylist() or "float" in name
                    assert same_bits(np.array(mine.to_pylist(), "f8"), np.array(pa.array(alone).to_pylist(), "f8"))
                elif np.ndim(alone):
                    assert same_bits(mine, alone), name
                else:
                    assert mine == alone or (mine != mine and alone != alone), name


def _tables_of(found):
    """The values of what a reduction by keys gives."""
    return found.values if isinstance(found, tally.Keyed) else found


def test_keys_of_other_libraries_beside_a_table():
    keys = np.array([1, 1, 2])
    many = [keys, [1, 1, 2], ["x", "x", None], pl.Series(keys), pa.array(keys), pa.chunked_array([[1], [1, 2]])]
    many += [pd.Series(keys), pd.date_range("2024", periods=3, tz="UTC"), memoryview(b"aab"), keys.astype("M8[s]")]
    many += [tally.scan(bytes(3), "last"), [keys, ["q", "q", "r"]], pl.Series(["a", "b", "a"]).cast(pl.Categorical)]
    for table in (pl.DataFrame({"a": [1, 2, 3]}), pa.table({"a": [1, 2, 3]})):
        for by in many:
            found = tally.sum(table, by=by)
            want = tally.sum([1, 2, 3], by=by).values
            assert list(found["a"].to_pylist() if isinstance(table, pa.Table) else found["a"]) == want.tolist()
            assert tally.scan(table, "sum", by=by)["a"] is not None
    two = tally.sum(pl.DataFrame({"a": [1, 2, 3]}), by=[[1, 1, 2], ["q", "q", "r"]])
    assert two.columns == ["key", "key2", "a"]
    with pytest.raises(ValueError, match="by: x has a column 'a' too: by='a' takes it for the keys"):
        tally.sum(pl.DataFrame({"a": [1, 2]}), by=pl.Series("a", [1, 1]))
    words = pa.chunked_array([pa.array([""]).dictionary_encode(), pa.array(["b"]).dictionary_encode()])
    assert tally.sum([1, 2], by=words).values.tolist() == [1, 2]


def test_bare_arrays_and_indexes_of_pandas():
    keys = [1, 1, 2]
    assert tally.sum(pd.array([1, None, 2], dtype="int64[pyarrow]")) == 3
    assert tally.rolling(pd.array([1, 2, 3], dtype="int64[pyarrow]"), 2, by=keys).sum()[1] == 3
    assert tally.rolling(pd.Index([1, 2, 3]), 2, by=keys, min_periods=1).sum().tolist() == [1, 3, 3]

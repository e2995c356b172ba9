# SPDX-License-Identifier: MIT
"""by=: bits of each group alone; keys of every kind against pandas; missing keys; windows by group; errors."""

import array
import datetime
import decimal
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import DTYPES, numbers, same_bits
from hypothesis import given
from hypothesis import strategies as st

import tally

OPS = [
    "sum",
    "mean",
    "min",
    "nanmax",
    "argmax",
    "count",
    "nansum",
    "var:1",
    "std",
    "prod",
    "first",
    "minmax",
    "sum:exact",
]


def rows_of(codes):
    """The rows of each code, in the order of first appearance; -1 has none."""
    found = {}
    for row, code in enumerate(codes):
        if code >= 0:
            found.setdefault(code, []).append(row)
    return found


@given(
    st.lists(st.integers(-1, 12), max_size=200),
    st.sampled_from(DTYPES),
    st.sampled_from(OPS),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_bits_are_those_of_each_group_alone(codes, dtype, op, seed, some):
    rng = np.random.default_rng(seed)
    x = numbers(rng, len(codes), dtype)
    try:
        tally.reduce(x, op)
    except (TypeError, ValueError):  # such as sum:exact of integers
        return
    where = rng.random(len(codes)) < 0.7 if some else None
    part = (lambda rows: where[rows]) if some else (lambda rows: None)
    keys = [None if code < 0 else f"k{code % 5}" + "long" * code for code in codes]
    rows = rows_of(codes)
    got = tally.reduce(x, op, by=keys, where=where)
    assert got.keys == [keys[rows[code][0]] for code in rows]
    for value, code in zip(got.values, rows):
        assert same_bits(value, tally.reduce(x[rows[code]], op, where=part(rows[code])))
    for scan in (False, True):
        if scan:
            got = tally.scan(x, op, by=keys, where=where, exclusive=seed % 2 == 0)
        else:
            got = tally.window(x, op, 3, by=keys, where=where, edges="shrink", min_count=seed % 3)
        want = np.empty_like(got)
        want[...] = tally.reduce(x[:0], op)
        for each in rows.values():
            here = part(each)
            if scan:
                want[each] = tally.scan(x[each], op, where=here, exclusive=seed % 2 == 0)
            else:
                want[each] = tally.window(x[each], op, 3, where=here, edges="shrink", min_count=seed % 3)
        assert same_bits(got, want)


@pytest.mark.parametrize("op", ["dot", "cov", "corr", "wmean", "slope"])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_two_inputs_many_groups_and_threads(op, threads):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 200_000)).astype("f4")
    keys = rng.integers(0, 40_000, len(x)) * 1_000_003
    with tally.device(f"cpu,threads={threads}"):
        got = tally.reduce(x, op, by=keys, next=y)
        sums = tally.scan(x, "sum", by=keys)
    frame = pd.DataFrame({"k": keys}).groupby("k", sort=False).indices
    for at in rng.integers(0, len(got.keys), 200):
        rows = frame[got.keys[at]]
        assert same_bits(got.values[at], tally.reduce(x[rows], op, next=y[rows]))
        assert same_bits(sums[rows], tally.cumulative_sum(x[rows]))
    assert list(got.keys) == list(pd.unique(keys))


WORDS = ["b", "", "a", "Ünï", "sixteen letters!", "seventeen letters", "seventeen letterz", "x" * 40, "x" * 41]


def kinds(rng, n):
    """Keys of every kind, with about 7 values, as (name, keys as the library has them, keys as pandas has them)."""
    at = rng.integers(0, 7, n)
    text = np.array(WORDS)[rng.integers(0, len(WORDS), n)]
    objects = text.astype(object)
    some = [None if rng.random() < 0.2 else t for t in text]
    days = np.array(["2020-02-29", "1969-12-31", "2021-01-01"], "M8[D]")[rng.integers(0, 3, n)]
    floats = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -1e300])[rng.integers(0, 6, n)]
    stamps = pd.Series(days.astype("M8[ns]"))
    holes = stamps.mask(rng.random(n) < 0.2)
    for dtype in DTYPES:
        keys = (at - 3 * (np.dtype(dtype).kind != "u")).astype(dtype)
        yield dtype, keys, keys
    wide = at.astype("i8") * (1 << 60)
    yield "wide integers", wide, wide
    yield "u8 above 2^63", wide.astype("u8"), wide.astype("u8")
    yield "strided", np.repeat(wide, 2)[::2], wide
    yield "big-endian", at.astype(">i4"), at
    for width in ("f4", "f8"):
        yield f"NaN {width}", floats.astype(width), floats.astype(width)
    yield "numpy text", text, objects
    yield "numpy bytes", np.char.encode(text, "utf8"), objects
    yield "objects", objects, objects
    yield "list", list(text), objects
    yield "list with None", some, some
    yield "tuples", [(i, t) for i, t in zip(at, text)], [f"{i}{t}" for i, t in zip(at, text)]
    yield "days", days, days
    yield "dates", [d.item() for d in days], days
    yield "big-endian times", days.astype(">M8[s]"), days
    yield "lengths of time", days - days[0], days
    yield "pandas times", holes, holes
    yield "time zone", holes.dt.tz_localize("UTC"), holes
    yield "periods", stamps.dt.to_period("M"), stamps.dt.to_period("M")
    yield "categories", pd.Series(pd.Categorical(some)), some
    yield "index", pd.CategoricalIndex(some), some
    yield "Int64", pd.Series(at, dtype="Int64").mask(at == 2), pd.Series(at, dtype="float").mask(at == 2)
    for dtype in ("string[python]", "string[pyarrow]", "str"):
        yield dtype, pd.Series(some, dtype=dtype), some
    of_arrow = pd.ArrowDtype(pa.large_string())
    yield "pandas of Arrow", pd.Series(pa.chunked_array([some]).cast(pa.large_string()), dtype=of_arrow), some
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.string_view()):
        yield str(kind), pa.array(some, kind), some
    yield "chunks", pa.chunked_array([some[:3], [], some[3:]]), some
    yield "slice", pa.array(["no", *some])[1:], some
    yield "dictionary", pa.chunked_array(
        [pa.array(some[:3]).dictionary_encode(), pa.array(some[3:]).dictionary_encode()]
    ), some
    coded = pa.array(some).dictionary_encode()
    yield "one dictionary", pa.chunked_array([coded[:7], coded[7:7], coded[9:7], coded[7:]]), some
    where = [None if i > 2 else i for i in at.tolist()]
    twice = pa.DictionaryArray.from_arrays(pa.array(where, pa.int8()), pa.array(["x", "y", "x"]))
    yield "a word twice", twice, [None if i is None else "xyx"[i] for i in where]
    yield "Arrow bool", pa.array([i > 2 if i else None for i in at]), [i > 2 if i else None for i in at]
    yield "date32", pa.array(days), days
    yield "timestamp", pa.array(days).cast(pa.timestamp("us")), days
    yield "decimal", pa.array([decimal.Decimal(int(i)) / 4 for i in at]), at
    yield "fixed", pa.array([bytes([i, 0]) for i in at], pa.binary(2)), at
    yield "polars text", pl.Series(some, dtype=pl.String), some
    yield "polars categories", pl.Series(some, dtype=pl.Categorical), some
    yield "polars times", pl.Series(days), days
    yield "polars bool", pl.Series(at > 2), at > 2
    yield "polars lists", pl.Series([[i] for i in at]).list.first(), at
    yield "polars integers of 128 bits", pl.Series(at, dtype=pl.Int128), at
    yield "array.array", array.array("h", at.tolist()), at


@pytest.mark.parametrize("dropna", [True, False])
@pytest.mark.parametrize("sort", [True, False])
def test_keys_of_every_kind_against_pandas(sort, dropna):
    rng = np.random.default_rng(11)
    n = 300
    x = np.arange(n)
    for name, keys, plain in kinds(rng, n):
        got = tally.reduce(x, "sum", by=keys, sort=sort, dropna=dropna)
        found, values = got
        assert isinstance(got, tally.Keyed) and len(found) == len(values), name
        codes, unique = pd.factorize(pd.Series(list(plain)), use_na_sentinel=dropna)
        want = [int(x[codes == code].sum()) for code in range(len(unique))]
        if sort and name not in ("categories", "index", "polars categories", "lengths of time"):
            order = pd.Series(list(unique)).argsort().tolist() if name != "tuples" else None
            if order is None:
                continue
            want = [want[at] for at in order] if -1 not in order else None
        elif sort:
            want, values = sorted(want), np.sort(np.asarray(values))
        if want is not None:
            assert np.asarray(values).tolist() == want, (name, found)
        to_list = getattr(found, "to_pylist", None) or getattr(found, "to_list", None) or found.__iter__
        shown = list(to_list())
        assert sum(key is None or key is pd.NA or key is pd.NaT or key != key for key in shown) == (
            not dropna and pd.isna(pd.Series(list(plain))).any()
        ), name
        running = tally.cumulative_sum(x, by=keys, dropna=dropna)
        totals = pd.Series(x).groupby(codes).cumsum().where(codes >= 0, 0)
        assert np.asarray(running).tolist() == totals.tolist(), name


# text of all kinds of code points, which is told apart by its bytes; and what is no text beside it
TEXTS = ["", "a", "a\0", "k" * 16, "k" * 17, "k" * 16 + "j", "\0", "ä", "日本" * 9, "日本" * 9 + "x", None, np.nan]


@given(
    st.lists(st.sampled_from(TEXTS), max_size=40),
    st.lists(st.sampled_from([1, 1.0, ("t",), "\ud800", np.str_("a"), b"a", pd.NA, pd.NaT]), max_size=3),
    st.booleans(),
)
def test_lists_of_text_and_of_other_objects(text, others, dropna):
    keys, codes = text + others + text[::-1], {}
    gone = [key is None or key is pd.NA or key is pd.NaT or key != key for key in keys]
    for key, missing in zip(keys, gone):
        if not (missing and dropna):
            codes.setdefault(None if missing else key, len(codes))
    want = [0] * len(codes)
    for at, (key, missing) in enumerate(zip(keys, gone)):
        if not (missing and dropna):
            want[codes[None if missing else key]] += at
    found, sums = tally.reduce(list(range(len(keys))), "sum", by=keys, dropna=dropna) if keys else ([], [])
    assert list(sums) == want
    assert [None if key is pd.NA or key is pd.NaT or key != key else key for key in found] == list(codes)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["b", "a", None]), st.booleans()), min_size=1, max_size=60)
)
def test_several_keys_against_pandas(rows):
    x = pd.Series(np.arange(float(len(rows))), name="v")
    frame = pd.DataFrame(rows, columns=["k", "l", "m"])
    for sort in (False, True):
        for dropna in (False, True):
            want = x.groupby([frame["k"], frame["l"], frame["m"]], sort=sort, dropna=dropna).sum()
            for by in (frame, [frame["k"], frame["l"], frame["m"]], dict(frame.items())):
                got = tally.sum(x, by=by, sort=sort, dropna=dropna)
                pd.testing.assert_series_equal(got, want, check_index_type=False, check_exact=True)
    keys, values = tally.sum(x.to_numpy(), by=pl.DataFrame(rows, schema=["k", "l", "m"], orient="row"))
    assert len(keys) == 3 and len(keys[0]) == len(values)
    keys, values = tally.sum(x.to_numpy(), by=pa.table(frame))
    assert len(keys) == 3 and len(keys[0]) == len(values)


def test_results_are_of_the_library_of_x():
    k = list("abab")
    s = pd.Series([1.0, 2.0, 3.0, 4.0], name="v", index=[5, 6, 7, 8])
    got = tally.mean(s, by=pd.Series(k, index=s.index, name="k"))
    assert got.name == "v" and got.index.name == "k" and got.to_dict() == {"a": 2.0, "b": 3.0}
    running = tally.cumulative_sum(s, by=k)
    assert running.index.equals(s.index) and running.tolist() == [1.0, 2.0, 4.0, 6.0]
    assert isinstance(tally.sum(pl.Series(s), by=k).values, pl.Series)
    assert isinstance(tally.sum(pa.array(s), by=k).values, pa.Array)
    assert tally.sum([1, 2, 3, 4], by=k).values.tolist() == [4, 6]
    count, mean = tally.reduce(s, ["count", "mean"], by=k)
    assert count.tolist() == [2, 2] and mean.tolist() == [2.0, 3.0]
    assert tally.reduce(s, "minmax", by=k).to_numpy().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert tally.var(s, by=k, correction=1).tolist() == [2.0, 2.0]
    assert tally.dot(s, s * 2, by=k).tolist() == [20.0, 40.0]
    assert tally.sum(s[:0], by=[]).tolist() == []
    table, more = pd.DataFrame({"k": k, "v": s.to_numpy()}), np.array([1, 1, 1, 2])  # a name and an array
    theirs = table.groupby(["k", more]).sum()
    sums = tally.sum(table, by=["k", more], sort=True)
    pd.testing.assert_frame_equal(sums, theirs, check_exact=True)
    assert tally.cumsum(table, by=["k", list(more)])["v"].tolist() == [1.0, 2.0, 4.0, 4.0]
    both = tally.sum(pa.table(table), by=["k", pa.array(more)])
    assert both.to_pydict() == {"k": ["a", "b", "b"], "key": [1, 1, 2], "v": [4.0, 2.0, 4.0]}
    assert tally.sum(table[["v"]], by=["k", pd.NA, "l", 3]).index.tolist() == ["k", "l", 3]  # keys of the rows
    nulls = pa.array([1, None, 3, None])
    assert tally.sum(nulls, by=k).values.to_pylist() == [4, 0]
    assert tally.scan(nulls, "sum", by=k).to_pylist() == [1, 0, 4, 0]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=80),
    st.integers(1, 5),
    st.sampled_from(["right", "both", "left", "neither"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_rolling_by_group_is_rolling_in_each_group(rows, window, closed, timed, seed):
    rng = np.random.default_rng(seed)
    x = pd.Series(numbers(rng, len(rows), "f8"), name="v")
    keys = np.array([k for k, _ in rows])
    falls = seed % 3 == 0  # times of each group descend
    times = pd.Series(np.cumsum([gap for _, gap in rows]) * (-1 if falls else 1))
    how = {"closed": closed, "min_periods": seed % (window + 1), "center": seed % 5 == 0}
    if timed:
        how["on"] = pd.to_datetime(times, unit="s")
    names = ["sum", "mean", "max", "count", "std"]
    for name in names:
        length = f"{window}s" if timed else window
        got = getattr(tally.rolling(x, length, by=keys, **how), name)()
        want = np.empty(len(x))
        for key in set(keys):
            each = keys == key
            more = {**how, "on": how["on"][each]} if timed else how
            want[each] = getattr(tally.rolling(x[each], length, **more), name)()
        assert same_bits(got, want) and got.index.equals(x.index) and got.name == "v"
    y = pd.Series(rng.standard_normal(len(x)))
    got = tally.rolling(x, 3, by=keys, min_periods=2).cov(y)
    for key in set(keys):
        each = keys == key
        assert same_bits(got[each], tally.rolling(x[each], 3, min_periods=2).cov(y[each]))


def test_rolling_by_group_beside_pandas_and_missing_keys():
    x = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0])
    k = pd.Series(["a", None, "a", "b", "a"])
    got = tally.rolling(x, 2, by=k, min_periods=1).sum()
    want = x.groupby(k).rolling(2, min_periods=1).sum().droplevel(0).reindex(x.index)
    assert same_bits(got, want)
    assert tally.rolling(x, 2, by=k, min_periods=1, dropna=False).sum().tolist() == [1.0, 2.0, 4.0, 4.0, 8.0]
    assert isinstance(tally.rolling(pl.Series(x), 2, by=list("aabba")).sum(), pl.Series)
    assert isinstance(tally.rolling(x.to_numpy(), 2, by=k).sum(), np.ndarray)


X = np.arange(4.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tally.sum(X, by=["a", "b"]), "by has 2 elements: must have 4, one for each element of x"),
        (lambda: tally.sum(X, by="city"), "by is 'city': must be an array of keys"),
        (lambda: tally.sum(X, by={}), "by has no keys"),
        (lambda: tally.sum(X, by=pd.Grouper(freq="D")), "by is of type TimeGrouper: must be an array of keys"),
        (lambda: tally.sum(X, by=pl.col("k")), "by is of type Expr: must be an array of keys"),
        (lambda: tally.sum(X, by=pd.Series(X).groupby([1, 1, 2, 2])), "by is of type SeriesGroupBy: must be"),
        (lambda: tally.sum(pd.Series(X).groupby([1, 1, 2, 2])), r"x is of type SeriesGroupBy.*tally.sum\(x, by=keys\)"),
        (lambda: tally.sum(pd.DataFrame({"x": X}).groupby([1, 1, 2, 2])), "x is of type DataFrameGroupBy: must be"),
        (lambda: tally.sum([1, None]), r"of type NoneType: must be numbers; numpy.array\(x, 'float64'\) makes NaN"),
        (lambda: tally.sum(X, by=np.ones((2, 2))), r"by has shape \(2, 2\): must have one axis"),
        (lambda: tally.sum(X.reshape(2, 2), by=[1, 2, 3, 4]), "x has 2 axes"),
        (lambda: tally.sum(X, by=[1, 2, 3, 4], axis=0), "axis: cannot be given with by"),
        (lambda: tally.sum(X.reshape(2, 2), by=[1, 2], axis=2), "axis is 2: x has 2 axes"),
        (lambda: tally.sum(X.reshape(2, 2), by=[1, 2, 3], axis=0), "by has 3 keys: x has 2 steps along 0"),
        (lambda: tally.cumsum(X.reshape(2, 2), by=[1, None], axis=0), "by: step 1 has no key; drop"),
        (lambda: tally.sum(X, by=[1, 2, 3, 4], keepdims=True), "keepdims: cannot be given with by"),
        (lambda: tally.sum(X, by=[1, 2, 3, 4], out=np.zeros(4)), "out: cannot be given with by"),
        (lambda: tally.scan(X, "sum", by=[1, 2, 3, 4], offsets=[0, 4]), "offsets: cannot be given with by"),
        (lambda: tally.cumulative_sum(X, by=[1, 2, 3, 4], include_initial=True), "include_initial: cannot"),
        (lambda: tally.sum(X, by=[np.arange(4), np.arange(3)]), "keys have 4 and 3 elements"),
        (lambda: tally.sum(X, by=np.ones(4, complex)), "by has elements of type complex"),
        (lambda: tally.sum(X, by=[{}, {}, {}, {}]), "by has no keys|must be"),
        (lambda: tally.sum(X, by=pa.array([[1], [2], [1], [2]])), r"by has a key \[1\] of type .*list.*: must be"),
        (lambda: tally.sum(X, by=pl.Series([[1], [2], [1], [2]])), r"by has a key \[1\] of type .*list.*: must be"),
        (lambda: tally.rolling(X, 2, by=[1, 1, 2, 2], on=[1, 2, 3]).sum(), "on has 3 elements: must have 4"),
        (lambda: tally.cumulative_prod(X, by=[1, 1, 2, 2], include_initial=True), "include_initial: cannot be given"),
        (lambda: tally.sum(pd.Series(X), by=pd.Series(X, index=[1, 2, 3, 4])), "by differs from x in its index"),
        (lambda: tally.rolling(X, 2, by=[1, 2, 3]), r"by has 3 elements: must have one for each element of x"),
        (lambda: tally.rolling(X, 2, by=[1, 2, 3, 4], step=2), "by: cannot be given with step"),
        (lambda: tally.rolling(X, 5, on=[1, 0, 2, 1], by=[1, 1, 2, 2]).sum(), None),
        (
            lambda: tally.rolling(X, 5, on=[5, 1, 2, 1], by=[2, 1, 1, 1]).sum(),
            "on: row 3 is 1, after 2 in row 2 of the same group: the times of a group must be sorted",
        ),
    ],
)
def test_sentences_of_errors(call, words):
    if words is None:
        call()  # times need not be sorted across groups
        return
    with pytest.raises((ValueError, TypeError), match=words):
        call()


class Unequal:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise TypeError("not comparable")

    def __ne__(self, other):
        return False


def test_keys_of_rare_kinds():
    with pytest.raises(TypeError, match="not comparable"):  # it has a hash: its own exception
        tally.sum(X, by=[Unequal() for _ in X])
    index = pd.MultiIndex.from_arrays([["a", "b", "a", "b"], [1, 1, 2, 1]], names=["p", "q"])
    keys, sums = tally.sum(X, by=index)
    assert [key.name for key in keys] == ["p", "q"] and [list(key) for key in keys] == [["a", "b", "a"], [1, 1, 2]]
    assert sums.tolist() == [0, 4, 2]
    keys, sums = tally.sum(X, by=np.array([""] * 4, "U0"))
    assert keys.tolist() == [""] and sums.tolist() == [6]
    keys, sums = tally.sum(X, by=pa.array([(1, 2, 3)] * 3 + [(1, 2, 4)], pa.month_day_nano_interval()))
    assert len(keys) == 2 and sums.tolist() == [3, 3]
    keys, sums = tally.sum(X[:0], by=pa.array([], pa.dictionary(pa.int32(), pa.string())))
    assert len(keys) == 0 and sums.tolist() == []
    keys, sums = tally.sum(X, by=pl.Series([decimal.Decimal(each) for each in "1010"]))
    assert keys.to_list() == [1, 0] and sums.tolist() == [2, 4]
    keys, sums = tally.sum(X, by=pd.Series([pd.NA, 1, 2, pd.NA], dtype=object), dropna=False)
    assert keys[0] is pd.NA and list(keys[1:]) == [1, 2] and sums.tolist() == [3, 1, 2]
    assert tally.cumulative_prod(X + 1, by=["a", "b", "a", "b"]).tolist() == [1, 2, 3, 8]


@pytest.mark.parametrize("groups", [5, 40_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_many_rows(threads, groups):
    rng = np.random.default_rng(threads)
    n = 700_000
    at = np.minimum(rng.integers(0, groups, n), np.arange(n) // 7)  # new keys come late, too
    wide = at * (1 << 44) + 5
    some = np.where(rng.random(n) < 0.01, None, at.astype("U6"))
    columns = [
        at.astype("i4"),
        wide,
        wide.astype("f8"),
        at.astype("U6"),
        pa.array(some),
        pa.array(some, pa.string_view()),
    ]
    columns.append(pa.chunked_array([pa.array(some[:300_000]), pa.array(some[300_000:])]))
    columns.append(pa.array(np.char.add("a text of more than 16 bytes ", at.astype("U6"))))
    with tally.device(f"cpu,threads={threads}"):
        for column in columns:
            for dropna in (True, False):
                keys, values = tally.reduce(np.arange(n), "first", by=column, dropna=dropna)
                plain = column.to_pandas() if isinstance(column, (pa.Array, pa.ChunkedArray)) else column
                codes, unique = pd.factorize(plain, use_na_sentinel=dropna)
                first = pd.Series(np.arange(n)).groupby(codes).first()
                assert values.tolist() == first[first.index >= 0].tolist() and len(keys) == len(unique)


def test_blocks_of_large_results_are_kept_and_given_back():
    code = """
import numpy as np, tally
x = np.ones(1 << 23, "f4")
rss = lambda: 4096 * int(open("/proc/self/statm").read().split()[1])
a = tally.cumulative_sum(x); at = a.ctypes.data; a[:] = 7; before = rss(); del a
assert KEPT or rss() < before - (24 << 20), (before, rss())
b = tally.cumulative_sum(x); assert (not KEPT or b.ctypes.data == at) and b[-1] == 1 << 23 and b[0] == 1
c = tally.cumulative_sum(x); assert c.ctypes.data != b.ctypes.data and (b == c).all()
view = c[5:9]; del c
d = tally.cumulative_sum(x); d[:] = 0; assert view.tolist() == [6, 7, 8, 9]
held = [tally.scan(x[: n << 20], "sum") for n in range(1, 8) for _ in range(4)]; del held, b, d
"""
    for keep, kept in (("", True), ("0", False), ("16M", False), ("64M", True), ("1G", True)):
        run = [sys.executable, "-c", code.replace("KEPT", str(kept))]
        subprocess.run(run, check=True, env={**os.environ, "TALLY_KEEP": keep})


def test_dates_in_lists_are_keys():
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    keys, values = tally.sum([1, 2, 4], by=days, sort=True)
    assert keys == [days[1], days[0]] and values.tolist() == [2, 5]


def test_keys_that_their_library_does_not_sort_or_take():
    dates = pd.Series(pa.array([1, 0, 1, None], pa.date32()), dtype=pd.ArrowDtype(pa.date32()))
    assert tally.sum(pd.Series([1.0, 2.0, 4.0, 8.0]), by=dates).tolist() == [5.0, 2.0]
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["b", "a"])
    keys, values = tally.sum([1.0, 2.0, 4.0], by=runs, sort=True)
    assert keys.to_pylist() == ["a", "b"] and values.tolist() == [4.0, 3.0]
    half = np.array([2, 1, 2], "float16")
    for by in (half, pa.array(half), pd.Series(half)):
        keys, values = tally.sum([1.0, 2.0, 4.0], by=by, sort=True)
        assert [float(key) for key in keys.tolist()] == [1.0, 2.0] and values.tolist() == [2.0, 5.0]
    objects = pl.Series([pd.Interval(1, 2), pd.Interval(0, 1)], dtype=pl.Object)
    assert tally.sum([1.0, 2.0], by=objects, sort=True).values.tolist() == [2.0, 1.0]
    with pytest.raises(TypeError, match="sort: the keys of by have no order"):
        tally.sum([1.0, 2.0], by=[1, "1"], sort=True)
    with pytest.raises(ValueError, match="by is 'p'.*keys of the rows go into an array"):
        tally.sum(pd.DataFrame({"a": [1.0, 2.0]}), by=["p", "q"])
    times = pd.Series(pa.array([0, 1, 2], pa.duration("s")), dtype=pd.ArrowDtype(pa.duration("s")))
    assert tally.max(times, by=[0, 1, 0]).dtype == times.dtype


def test_words_of_pandas_by_group():
    x, keys = pd.Series([3.0, 1.0, 2.0, 5.0], name="x"), ["a", "b", "a", "b"]
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        mine, theirs = getattr(tally, name)(x, by=keys), getattr(x.groupby(keys), name)()
        assert mine.equals(theirs) and mine.name == "x"
    assert tally.cumsum([1.0, 2.0], by=["a", None]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_along_an_axis(axis):
    """Of an array of several axes each group of steps along one has the bits of its steps alone."""
    x = np.random.default_rng(3).standard_normal((12, 12, 12)).astype("float32")
    keys, where = np.arange(12) % 3, np.arange(12) != 5
    for array in (x, np.ma.masked_greater(x, 1), (x * 1e6).astype("M8[s]")):
        found = tally.reduce(array, "max", by=keys, axis=axis, where=where)
        assert found.keys.tolist() == [0, 1, 2]
        for key in range(3):
            at = (slice(None),) * (axis % 3) + (keys == key,)
            want = tally.reduce(array[at], "max", axis=axis, where=np.broadcast_to(where, x.shape)[at])
            assert same_bits(found.values.take(key, axis), want)
    assert tally.count(x, by=[None] * 12, axis=axis).values.size == 0
    for run in (
        lambda x, where, **by: tally.scan(x, "sum", exclusive=True, axis=axis, where=where, **by),
        lambda x, where, **by: tally.window(x, "minmax", 2, axis=axis, where=where, **by),
        lambda x, where, **by: tally.rolling(x, 2, axis=axis, **by).mean(),
    ):
        found = run(x, where, by=keys)
        for key in range(3):
            at = (slice(None),) * (axis % 3) + (keys == key,)
            assert same_bits(found[at], run(x[at], np.broadcast_to(where, x.shape)[at]))
    one_group = tally.cumsum(x, by=[None] * 12, dropna=False, axis=axis)
    assert same_bits(one_group, tally.cumsum(x, axis=axis))
    assert tally.scan(x[:0], "sum", by=[], axis=0).shape == (0, 12, 12)

# SPDX-License-Identifier: MIT
"""Times and lengths of time as values: min, max, first and last of times are times, sum and mean of lengths of time
are lengths of time, exactly; of NumPy, pandas, Polars, Arrow and lists. And keys of every kind of time for on=."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import same_bits

UNITS = ["D", "h", "s", "ms", "us", "ns", "ps"]


@st.composite
def arrays(draw, kind, units=UNITS):
    n = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    unit, high = draw(st.sampled_from(units)), draw(st.sampled_from([10, 10**9, 2**61]))
    x = rng.integers(-high, high, n).view(f"{kind}8[{unit}]")
    x[rng.random(n) < draw(st.sampled_from([0, 0.2]))] = "NaT"
    return x.astype(x.dtype.newbyteorder(draw(st.sampled_from("<>"))))


def plain(x, op):
    """What the operator gives, by Python's integers: None is NaT."""
    ticks = [None if np.isnat(v) else int(v.astype("i8")) for v in x]
    base = op[3:] if op.startswith("nan") else op
    there = [t for t in ticks if t is not None]
    if base == "count":
        return len(there)
    if op.startswith("nan"):
        kept = there
    elif base in ("first", "last"):
        kept = ticks
    else:
        kept = ticks if len(there) == len(ticks) else None
    if kept is None or (not kept and base != "sum"):
        return None
    if base == "mean":
        return round(Fraction(sum(kept), len(kept)))  # ties to even
    return {"min": min, "max": max, "sum": sum, "first": lambda v: v[0], "last": lambda v: v[-1]}[base](kept)


def ticks_of(value):
    return None if np.isnat(value) else int(value.astype("i8"))


@given(arrays("M"), st.sampled_from(["min", "max", "first", "last", "nanmin", "nanmax", "nanfirst", "nanlast"]))
def test_times(x, op):
    found = tally.reduce(x, op)
    assert found.dtype == x.dtype.newbyteorder("=") and ticks_of(found) == plain(x, op)
    scanned = tally.scan(x, op)
    assert [ticks_of(v) for v in scanned] == [plain(x[: i + 1], op) for i in range(len(x))]
    windows = tally.window(x, op, 3, edges="shrink")
    assert [ticks_of(v) for v in windows] == [plain(x[max(i - 2, 0) : i + 1], op) for i in range(len(x))]
    assert tally.count(x) == plain(x, "count")
    if len(x):
        gone = np.isnat(x)
        assert tally.argmax(x) == (gone.argmax() if gone.any() else x.astype("i8").argmax())
        two = np.stack([x, x[::-1]], axis=1)
        assert [ticks_of(v) for v in tally.reduce(two, op, axis=0)] == [plain(x, op), plain(x[::-1], op)]
        assert [ticks_of(v) for v in tally.minmax(x)] == [plain(x, "min"), plain(x, "max")]


@given(arrays("m"), st.sampled_from(["sum", "mean", "nansum", "nanmean", "min", "nanlast"]))
def test_lengths(x, op):
    want = plain(x, op)
    if want is not None and not -(2**63) < want < 2**63:
        with pytest.raises(OverflowError, match="a sum of these lengths of time is beyond 64 bits"):
            tally.reduce(x, op)
        return
    found = tally.reduce(x, op)
    assert found.dtype == x.dtype.newbyteorder("=") and ticks_of(found) == want
    if "mean" in op:
        windows = tally.window(x, op, 3, edges="shrink")
        assert [ticks_of(v) for v in windows] == [plain(x[max(i - 2, 0) : i + 1], op) for i in range(len(x))]
    where = np.arange(len(x)) % 2 == 0
    if op == "min":
        assert ticks_of(tally.reduce(x, op, where=where)) == plain(x[where], op)


@given(arrays("M", ["s", "ms", "us", "ns"]), st.sampled_from([None, "UTC", "Europe/Oslo", "+05:45"]))
def test_pandas(x, zone):
    x = x[np.isnat(x) | (abs(x.astype("i8").astype(float)) < 10**9)]  # years that time zones have
    series = pd.Series(
        pd.DatetimeIndex(x.astype(x.dtype.newbyteorder("="))).tz_localize("UTC").tz_convert(zone), name="t"
    )
    for op, theirs in (("nanmax", series.max()), ("nanmin", series.min()), ("max", series.max(skipna=False))):
        mine = tally.reduce(series, op)
        assert (pd.isna(mine) and pd.isna(theirs)) or (mine == theirs and str(mine.tz) == str(theirs.tz))
    run = tally.scan(series, "max")
    assert run.dtype == series.dtype and run.name == "t" and run.index.equals(series.index)
    if not series.isna().any():
        assert run.equals(series.cummax())
    frame = pd.DataFrame({"t": series, "x": np.arange(float(len(series)))})
    if len(frame):
        assert tally.nanmax(frame)["t"] is pd.NaT or tally.nanmax(frame)["t"] == series.max()
    spans = (series.dt.tz_convert(None) if zone else series) - pd.Timestamp("1970-01-01")
    if len(spans.dropna()):
        assert tally.nansum(spans) == spans.sum() and isinstance(tally.nanmean(spans), pd.Timedelta)
        mean = Fraction(sum(int(v) for v in spans.dropna().astype("i8")), len(spans.dropna()))
        assert tally.nanmean(spans).as_unit(spans.dt.unit)._value == round(mean)


def test_sums_beyond_64_bits():
    half = np.array([2**62, 2**62, -1], "m8[ns]")
    with pytest.raises(OverflowError, match="x: a sum of these lengths of time is beyond 64 bits"):
        tally.sum(half[:2])
    with pytest.raises(OverflowError):
        tally.cumulative_sum(half)
    with pytest.raises(OverflowError):  # -2^63 is NaT
        tally.sum(-half[:2])
    assert tally.sum(half) == np.timedelta64(2**63 - 1, "ns") and tally.mean(half[:2]) == half[0]
    assert np.isnat(tally.sum(np.array([2**62, 2**62, "NaT"], "m8[ns]")))
    with pytest.raises(OverflowError):
        tally.nansum(pd.Series(np.array([2**62, 2**62, "NaT"], "m8[ns]")))


def test_tables_keep_the_types_of_times():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    times = [datetime.datetime(2024, 1, 1, hour) for hour in (3, 1, 5)]
    frame = pl.DataFrame({"t": pl.Series(times).dt.replace_time_zone("Europe/Oslo"), "d": pl.Series(times).dt.date()})
    for x in (frame, frame.to_arrow(), frame.to_pandas()):
        for found in (tally.scan(x, "max"), tally.window(x, "max", 2)):
            assert type(found) is type(x)
            kinds = "dtypes" if isinstance(x, pd.DataFrame) else "schema"
            assert list(getattr(found, kinds)) == list(getattr(x, kinds))
            assert str(found["t"][2]) == str(x["t"][2])


def test_polars_and_arrow(rng):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    days = [datetime.date(2024, 2, 28), None, datetime.date(2024, 3, 1), datetime.date(2023, 1, 1)]
    stamps = [None if d is None else datetime.datetime(d.year, d.month, d.day, 7, 30) for d in days]
    spans = [datetime.timedelta(1), None, datetime.timedelta(2), datetime.timedelta(microseconds=1)]
    clock = [datetime.time(7), None, datetime.time(6), datetime.time(9)]
    for values, dtypes in (
        (days, [pl.Date, pa.date32(), pa.date64()]),
        (
            stamps,
            [pl.Datetime("ms"), pl.Datetime("ns", "Europe/Oslo"), pa.timestamp("s"), pa.timestamp("us", "Asia/Tokyo")],
        ),
        (spans, [pl.Duration("us"), pl.Duration("ns"), pa.duration("us")]),
        (clock, [pl.Time, pa.time32("s"), pa.time64("ns")]),
    ):
        for dtype in dtypes:
            if isinstance(dtype, pa.DataType):
                x = pa.array(values, dtype)
                chunks = pa.chunked_array([x[:1], x[1:]])
                value, some = lambda v: v.as_py(), lambda v: v.to_pylist()
                assert tally.scan(chunks, "max").equals(tally.scan(x, "max")) and tally.scan(x, "max").type == dtype
            else:
                x = pl.Series("v", values).cast(dtype) if values is not clock else pl.Series("v", values)
                value, some = lambda v: v, lambda v: v.to_list()
                assert tally.scan(x, "max").dtype == x.dtype and tally.scan(x, "max").name == "v"
            every = some(x)
            assert value(tally.max(x)) == max(v for v in every if v is not None)
            assert value(tally.min(x)) == min(v for v in every if v is not None)
            assert value(tally.first(x)) == every[0] and value(tally.last(x)) == every[-1]
            assert value(tally.count(x)) == 3
            if values is spans:
                assert value(tally.sum(x)) == datetime.timedelta(3, 0, 1) and value(
                    tally.mean(x)
                ) == datetime.timedelta(1)
            else:
                with pytest.raises(TypeError, match="x has times .*which have no 'sum'.*min"):
                    tally.sum(x)
    assert tally.max(pl.Series("d", [], pl.Date)) is None
    arrow = pd.Series(stamps, dtype=pd.ArrowDtype(pa.timestamp("us")))
    assert tally.max(arrow) == datetime.datetime(2024, 3, 1, 7, 30) and tally.scan(arrow, "min").dtype == arrow.dtype


def test_periods_and_lists():
    months = pd.period_range("2023-11", periods=4, freq="M")
    assert tally.max(months) == months[-1] and tally.scan(pd.Series(months[::-1]), "min").tolist() == list(months[::-1])
    day = datetime.date(2024, 5, 1)
    assert tally.max([day, day + datetime.timedelta(3)]) == day + datetime.timedelta(3)
    assert tally.mean([datetime.timedelta(1), datetime.timedelta(2)]) == datetime.timedelta(1.5)
    assert tally.max([pd.Timestamp("2024"), pd.Timestamp("2025")]) == pd.Timestamp("2025")
    masked = np.ma.masked_array(np.array([1, 5, 3], "m8[s]"), [False, True, False])
    assert tally.max(masked) == np.timedelta64(3, "s") and tally.mean(masked) == np.timedelta64(2, "s")
    for call, words in (
        (lambda: tally.std(np.array([1, 2], "m8[s]")), "x has lengths of time .*'std'"),
        (lambda: tally.rolling(np.array([1, 2], "M8[s]"), 2).max(), "rolling gives floats; tally.window"),
        (lambda: tally.var(pd.Series(months)), "x has times"),
    ):
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(ValueError, match="init: cannot be given where x has times"):
        tally.scan(np.array([1, 2], "M8[s]"), "max", init=3)
    assert tally.rolling(np.array([1, "NaT"], "M8[s]"), 2, min_periods=1).count().tolist() == [1.0, 1.0]


def test_keys_of_every_kind(rng):
    """The same windows for the same times, whatever says them."""
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    x, days = rng.standard_normal(30), np.cumsum(rng.integers(0, 3, 30)).astype("M8[D]")
    want = tally.rolling(x, "3D", on=days).sum()
    stamps = days.astype("M8[us]")
    for on in (
        days.astype(">M8[D]"),
        stamps.astype("M8[ps]"),
        stamps.astype(">M8[s]"),
        days - np.datetime64("2020-01-01"),
        days.tolist(),
        stamps.tolist(),
        [d - datetime.date(2020, 1, 1) for d in days.tolist()],
        pd.Series(stamps),
        pd.DatetimeIndex(stamps, tz="Asia/Tokyo"),
        pd.PeriodIndex(days.astype("M8[ns]"), freq="D"),
        pd.TimedeltaIndex(stamps - np.datetime64("2020-01-01")),
        pd.Series(stamps).convert_dtypes(dtype_backend="pyarrow"),
        pl.Series(days),
        pl.Series(stamps).dt.replace_time_zone("UTC"),
        pl.Series(days).cast(pl.Datetime("ns")) - datetime.datetime(2020, 1, 1),
        pa.array(days.tolist(), pa.date32()),
        pa.array(days.tolist(), pa.date64()),
        pa.chunked_array([pa.array(stamps[:7]), pa.array(stamps[7:])]),
        pa.array(stamps).cast(pa.int64()).cast(pa.duration("us")),
    ):
        assert same_bits(tally.rolling(x, "3D", on=on).sum(), want), type(on)
    for on in (
        pl.Series([datetime.date(2024, 1, 1), None]),
        pa.array([None, 1], pa.date32()),
        pd.to_datetime(["2024", None]),
    ):
        with pytest.raises(ValueError, match="on has times that are missing"):
            tally.rolling(x[:2], "3D", on=on)


def test_lists_with_zones():
    """A time of a list keeps its zone, and zones do not mix with times that have none."""
    zone = datetime.timezone(datetime.timedelta(hours=5))
    early, late = (datetime.datetime(2024, 1, 1, hour, tzinfo=zone) for hour in (3, 4))
    assert tally.max([early, late]) == late and tally.max([early, late]).utcoffset() == zone.utcoffset(None)
    for call in (tally.max, lambda x: tally.rolling([1.0, 2.0], "1h", on=x).sum()):
        with pytest.raises(ValueError, match="times with a zone and times without one"):
            call([early, late.replace(tzinfo=None)])


def test_two_values_of_each_row():
    """minmax of a table has two rows of the columns' types, of each row of a column it is an array of NumPy."""
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    times, days = pd.date_range("2024", periods=3, tz="Europe/Oslo"), pa.array([1, 2, 3], pa.date32())
    frame = pd.DataFrame({"t": times, "v": [1, 2, 3]})
    assert tally.minmax(frame)["t"].tolist() == [times[0], times[2]]
    for table in (pa.table({"d": days, "v": [1, 2, 3]}), pl.DataFrame({"d": pl.from_arrow(days), "v": [1, 2, 3]})):
        found = tally.minmax(table)
        found = found.to_pydict() if isinstance(found, pa.Table) else found.to_dict(as_series=False)
        assert found == {"d": [datetime.date(1970, 1, 2), datetime.date(1970, 1, 4)], "v": [1, 3]}
    naive = pd.Series(times.tz_localize(None))
    for x in (naive, pl.from_pandas(naive), pa.Array.from_pandas(naive), naive.astype("timestamp[us][pyarrow]")):
        all_three = tally.scan(x, "minmax"), tally.minmax(x, by=[0, 1, 2]), tally.segments(x, range(4), "minmax")
        for found in all_three:
            found = np.asarray(found[1] if isinstance(found, tally.Keyed) else found)
            assert found.shape == (3, 2) and (found[:, 1] == naive).all()
    for x in (frame["t"], pl.from_pandas(frame["t"]), pa.Array.from_pandas(frame["t"])):
        with pytest.raises(ValueError, match="'minmax' gives arrays of NumPy, whose times have no zone"):
            tally.scan(x, "minmax")


def kinds_of_times():
    """Times with a missing one, of every library."""
    pa, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    ticks = np.array([30, 10, -(2**63), 20, 10], "i8")
    x, span = ticks.view("M8[s]"), ticks.view("m8[s]")
    gone = np.isnat(x)
    yield x
    yield span
    yield x.astype(">M8[s]")
    yield np.ma.masked_array(x.copy(), gone)
    for zone in (None, "Europe/Oslo"):
        series = pd.Series(pd.DatetimeIndex(x).tz_localize("UTC").tz_convert(zone), index=list("abcde"))
        yield series
        yield pd.DatetimeIndex(series)
        yield pd.Series(pa.array(ticks, pa.timestamp("s", zone), mask=gone).to_pandas())
        yield pd.Series(pd.array(pa.array(ticks, pa.timestamp("s", zone), mask=gone)))
        yield pa.array(ticks, pa.timestamp("s", zone), mask=gone)
    yield pd.Series(span)
    yield pa.chunked_array([pa.array([30, 10, None], pa.duration("s")), pa.array([20, 10], pa.duration("s"))])
    yield pa.array([30, 10, None, 20, 10], pa.date32())
    for polars_type in ("Date", "Datetime", "Duration", "Time"):
        yield polars.Series("t", [30, 10, None, 20, 10]).cast(getattr(polars, polars_type))


def list_of(x):
    """The elements as Python's own, None where one is missing."""
    found = x.to_pylist() if hasattr(x, "to_pylist") else x.to_list() if hasattr(x, "to_list") else list(x)
    return [None if each is np.ma.masked or pd.isna(each) else each for each in found]


def test_take_keys_and_runs_of_times():
    for x in kinds_of_times():
        take_keys_and_runs(x)


def take_keys_and_runs(x):
    """Missing times are NaT in NumPy and pandas, which min and max give on; elsewhere they are left out."""
    values, nat = list_of(x), type(x).__module__.startswith(("numpy", "pandas")) and "pyarrow" not in str(x.dtype)
    nat = nat and not isinstance(x, np.ma.MaskedArray)
    assert list_of(tally.take(x, [4, 2, 0])) == [values[4], None, values[0]]
    taken = tally.take(x, [0])
    kind = (
        x.type
        if hasattr(x, "to_pylist")
        else x.dtype.newbyteorder("=")
        if hasattr(x.dtype, "newbyteorder")
        else x.dtype
    )
    assert (taken.type if hasattr(x, "to_pylist") else taken.dtype) == kind
    codes = [0, 1, 1, 0, 1]
    assert list_of(tally.by_key(x, codes, "max")) == [values[0], None if nat else values[1]]
    assert list_of(tally.by_key(x, codes, "nanmin")) == [values[3], values[1]]
    assert list_of(tally.by_key(x, codes, "first")) == [values[0], values[1]]
    assert list_of(tally.by_key(x, codes, "count")) == [2, 2]
    assert np.asarray(tally.runs(tally.take(x, [0, 0, 2, 2, 1, 4]))).tolist() == [0, 2, 4, 6]
    counts = tally.rolling(x, 2, by=codes, min_periods=0).count()
    assert list_of(counts) == [1, 1, 1, 2, 1]
    if "M8" in str(getattr(x, "dtype", "")) or "datetime" in str(getattr(x, "dtype", "")):
        for call in (lambda: tally.by_key(x, codes, "sum"), lambda: tally.by_key(x, codes, "var")):
            with pytest.raises(TypeError, match="x has times .* which have no '(sum|var)'"):
                call()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_bounds_of_times(unit):
    pa = pytest.importorskip("pyarrow")
    t = np.array([0, 5, 5, 20, 3600], "M8[s]").astype(f"M8[{unit}]")
    want = [each.tolist() for each in tally.bounds([0, 5, 5, 20, 3600], -5, 0)]
    for keys in (t, pd.Series(t), pa.array(t), t.tolist() if unit != "ns" else t, (t - t[0]), t.astype(f">M8[{unit}]")):
        for low in ("-5s", "-5000ms", datetime.timedelta(seconds=-5), np.timedelta64(-5, "s"), pd.Timedelta(-5, "s")):
            assert [np.asarray(each).tolist() for each in tally.bounds(keys, low, 0)] == want
    ahead = tally.bounds(t, 0, "1h", closed="left")
    assert np.asarray(ahead[1]).tolist() == [4, 5, 5, 5, 5]
    for low, words in (
        (-5, "low is -5: keys are times: must be 0 or a length of time"),
        ("-1M", "low is '-1M': months, quarters and years have no fixed length"),
        ("5 parsecs", "low is '5 parsecs': keys are times"),
    ):
        with pytest.raises(ValueError, match=words):
            tally.bounds(t, low, 0)
    with pytest.raises(ValueError, match="keys has times that are missing"):
        tally.bounds(np.array(["NaT"], "M8[s]"), 0, 0)
    if unit == "s":
        with pytest.raises(ValueError, match="low is '-5ms': must be a whole number of the units of keys, s"):
            tally.bounds(t, "-5ms", 0)


def test_times_that_are_not_sorted_are_told_by_their_name():
    with pytest.raises(ValueError, match="on: row 2 is 1970-01-01T00:00:03, after 1970-01-01T00:00:05: must be sorted"):
        tally.rolling([1, 2, 3, 4], "2s", on=np.array([1, 5, 3, 9], "M8[s]")).sum()
    with pytest.raises(ValueError, match=r"on has times of .*, and none is rounded: give on.astype\('int64'\)"):
        tally.rolling([1, 2], "2s", on=np.array([1, 2], "M8[as]")).sum()


@pytest.mark.parametrize("op", ["nanmax", "nanmin", "max"])
def test_where_with_nulls(op):
    """A null is neither True nor False, of times as of numbers."""
    x = pd.Series(pd.to_datetime(["2000-01-01", "2000-01-03", None, "2000-01-02"]))
    nulls = pd.Series([True, None, True, True], dtype="boolean")
    masked = np.ma.array([True, True, True, True], mask=[0, 1, 0, 0])
    for times in (x, x - x[0], pd.Series([1.0, 2.0, 3.0, 4.0])):
        for where in (nulls, masked if op[:3] == "nan" else nulls):
            with pytest.raises(ValueError, match="where has elements that are left out"):
                tally.reduce(times if where is nulls else times.to_numpy(), op, where=where)
    assert tally.nanmax(x, where=nulls.fillna(False)) == x[3]

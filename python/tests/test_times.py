# SPDX-License-Identifier: MIT
"""Windows of time and ranges, beside pandas and Polars, on random times with ties, to the last bit
as in test_rolling.py. The bits are those of each window's own rows."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import DTYPES, numbers, same_bits
from test_rolling import OPS, compare, each_window, whole

WORDS = st.fixed_dictionaries(
    {},
    optional={
        "center": st.booleans(),
        "closed": st.sampled_from([None, "right", "both", "left", "neither"]),
        "min_periods": st.integers(0, 5),
    },
)


def times_of(rng, n, unit, falling):
    """Few different times, so that there are ties."""
    times = np.sort(rng.integers(0, max(1, n), n)) * rng.integers(1, 4)
    times = times[::-1] if falling else times
    return (times + 1_700_000_000).astype(f"M8[{unit}]")


@pytest.mark.parametrize("op", OPS)
@given(
    n=st.integers(0, 30),
    length=st.integers(1, 12),
    words=WORDS,
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
    falling=st.booleans(),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
    dtype=st.sampled_from(["float64", "float32", "int64", "int8"]),
    seed=st.integers(0, 10**6),
)
def test_against_pandas(op, n, length, words, unit, falling, missing, dtype, seed):
    rng = np.random.default_rng(seed)
    times, window = times_of(rng, n, unit, falling), f"{length}{unit}"
    compare(
        op,
        rng,
        n,
        dtype,
        missing,
        lambda x: tally.rolling(x, window, on=times, **words),
        lambda x: pd.Series(x, index=pd.DatetimeIndex(times)).rolling(window, **words),
    )


@given(n=st.integers(1, 20), length=st.integers(1, 8), words=WORDS, seed=st.integers(0, 10**6))
def test_frames_and_steps(n, length, words, seed):
    rng = np.random.default_rng(seed)
    times, window = times_of(rng, n, "s", False), f"{length}s"
    for x in (whole(rng, (n, 3)), rng.standard_normal((n, 3))):
        frame = pd.DataFrame(x, index=pd.DatetimeIndex(times))
        theirs = each_window(frame.rolling(window, **words), "mean")
        assert same_bits(tally.rolling(frame, window, **words).mean(), theirs)
        columns = np.asfortranarray(x)
        assert same_bits(tally.rolling(columns, window, on=times, **words).mean(), theirs)
        steps = tally.rolling(x.T, window, on=times, axis=1, step=2, **words).mean().T
        assert same_bits(steps, theirs[::2])
    x, y = whole(rng, (n, 3)), whole(rng, (n, 3), missing=0.2)
    frame, other = (pd.DataFrame(each, index=frame.index) for each in (x, y))
    if frame[0].rolling(window, **words).count().max() > 5:
        return  # pandas rounds means of more
    for k in range(3):
        theirs = frame[k].rolling(window, **words).cov(other[k])
        assert same_bits(tally.rolling(x[:, k], window, on=times, **words).cov(y[:, k]), theirs)


def test_bits_are_those_of_the_rows(rng):
    x, times = rng.standard_normal(300).astype("f4"), times_of(rng, 300, "s", False)
    mine = tally.rolling(x, "20s", on=times, dtype="float32").sum()
    every = tally.rolling(x, "20s", on=times, ties="all", closed="both").mean()
    ticks = times.view("i8")
    for i in range(300):
        rows = (ticks > ticks[i] - 20) & (np.arange(300) <= i)
        assert same_bits(mine[i], tally.sum(x[rows]))
        rows = (ticks >= ticks[i] - 20) & (ticks <= ticks[i])
        assert same_bits(every[i], tally.mean(x[rows], dtype="float64"))


def test_against_polars(rng):
    pl = pytest.importorskip("polars")
    for closed in ("right", "both", "left", "neither"):
        x, times = whole(rng, 200), times_of(rng, 200, "us", False)
        frame = pl.DataFrame({"t": times, "x": x})
        groups = frame.rolling("t", period="9us", closed="none" if closed == "neither" else closed)
        theirs = groups.agg(pl.col("x").sum().alias("s"))
        mine = tally.rolling(frame["x"], "9us", on=frame["t"], closed=closed, ties="all", min_periods=0).sum()
        assert isinstance(mine, pl.Series)
        assert same_bits(mine, theirs["s"])


WAYS = {
    "string": "2s",
    "no number": "s",
    "timedelta": datetime.timedelta(seconds=2),
    "numpy": np.timedelta64(2000, "ms"),
    "pandas": pd.Timedelta("2s"),
    "offset": pd.offsets.Second(2),
    "fine": np.timedelta64(2 * 10**12, "ps"),
    "swapped": np.array([2], ">m8[s]")[0],
}


def test_ways_to_say_times_and_windows(rng):
    x, times = rng.standard_normal(50), times_of(rng, 50, "ms", False)
    times = times.astype("M8[s]")
    want = tally.rolling(x, "2s", on=times).sum()
    for name, window in WAYS.items():
        got = tally.rolling(x, window, on=times).sum()
        assert same_bits(got, want) or name == "no number", name
    stamps = pd.DatetimeIndex(times)
    for on in (
        times.astype("M8[ns]"),
        stamps,
        pd.Series(stamps),
        stamps.tz_localize("UTC").tz_convert("Asia/Tokyo"),
        pa.array(times),
        pa.array(stamps),
        pa.chunked_array([pa.array(times[:20]), pa.array(times[20:])]),
        [t.to_pydatetime() for t in stamps],
    ):
        assert same_bits(tally.rolling(x, "2s", on=on).sum(), want), type(on)
    assert same_bits(tally.rolling(x, 2, on=times.view("i8")).sum(), want)
    assert same_bits(tally.rolling(x, 2.0, on=times.view("i8").astype("f8")).sum(), want)
    assert same_bits(tally.rolling(pa.array(x), "2s", on=pa.array(times)).sum().to_numpy(), want)
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-05"], "M8[D]")
    for window in ("2D", pd.offsets.Day(2), datetime.timedelta(days=2)):
        assert tally.rolling([1.0, 2.0, 3.0], window, on=days).sum().tolist() == [1.0, 3.0, 3.0]
    for window in ("7D", pd.offsets.Week(1), np.timedelta64(1, "W")):
        assert tally.rolling([1.0, 2.0, 3.0], window, on=days).sum().tolist() == [1.0, 3.0, 6.0]


def test_byte_order_and_units(rng):
    x, times = rng.standard_normal(50), times_of(rng, 50, "ms", False).astype("M8[ms]")
    want = tally.rolling(x, "7ms", on=times).sum()
    for on in (
        times.astype(">M8[ms]"),
        times.astype(">M8[ns]"),
        np.stack([times, times], 1).astype(">M8[us]")[:, 1],
        times.astype("M8[1000us]"),
        times - times[0],
        (times - times[0]).astype(">m8[us]"),
        pd.TimedeltaIndex(times - times[0]),
        list(times),
        pa.array(times - times[0]),
    ):
        assert same_bits(tally.rolling(x, "7ms", on=on).sum(), want), (type(on), getattr(on, "dtype", None))
    ticks = times.view("i8")
    for on in (ticks.astype(">i8"), ticks.astype(">f8"), memoryview(ticks.astype(">i8"))):
        assert same_bits(tally.rolling(x, 7, on=on).sum(), want)
    days = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), datetime.date(2026, 1, 5)]
    for on in (days, pa.array(days), np.array(days, "M8[D]"), np.array(days, "M8[2D]").astype(">M8[D]")[[0, 1, 2]]):
        assert tally.rolling([1.0, 2.0, 3.0], "2D", on=on).sum().tolist() == [1.0, 3.0, 3.0], on
    months = np.array(["2026-01", "2026-02", "2026-03"], "M8[M]")  # their first days
    assert tally.rolling([1.0, 2.0, 3.0], "29D", on=months).sum().tolist() == [1.0, 2.0, 5.0]


@pytest.mark.parametrize("unit", ["ps", "fs", "as"])
def test_finer_than_nanoseconds(unit):
    """Either exact, or refused: nothing is cut."""
    x, per = np.ones(3), {"ps": 10**3, "fs": 10**6, "as": 10**9}[unit]
    whole = (np.array([1, 2, 5]) * per).astype(f"M8[{unit}]")
    for window in ("2ns", np.timedelta64(2 * per, unit), np.timedelta64(2, "ns")):
        assert tally.rolling(x, window, on=whole).sum().tolist() == [1.0, 2.0, 1.0]
    with pytest.raises(ValueError, match=rf"on has times of datetime64\[{unit}\] that are no whole number of ns"):
        tally.rolling(x, "2ns", on=whole + np.timedelta64(1, unit))
    with pytest.raises(ValueError, match="must be a whole number of nanoseconds"):
        tally.rolling(x, np.timedelta64(2 * per + 1, unit), on=whole)
    fine = np.array([1, 2, 5], f"M8[{unit}]")
    assert tally.rolling(x, 2, on=fine.astype("i8")).sum().tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize(
    "window",
    [
        np.timedelta64(1, "M"),
        np.timedelta64(2, "Y"),
        "1M",
        "2Y",
        "ME",
        "3mo",
        "1q",
        pd.offsets.MonthEnd(1),
        pd.offsets.DateOffset(months=1),
        pd.offsets.YearBegin(2),
    ],
)
def test_calendar_lengths(window):
    with pytest.raises(ValueError, match="months, quarters and years have no fixed length: give days, such as '30D'"):
        tally.rolling(np.ones(3), window, on=np.array([1, 2, 3], "M8[s]"))


def test_times_that_do_not_fit():
    for on, words in (
        (np.array([1, 2], "M8[Y]").astype("M8[Y]") + np.timedelta64(10**15, "Y"), "no whole number of s in 64 bits"),
        (np.array(["2026-01-01", "NaT"], ">M8[ns]"), "missing"),
        (np.array([1, 2], "m8[M]"), "months and years have no fixed length"),
        (np.array([1, 2], "m8"), "without a unit"),
        (["a", "b"], "on has elements of type string"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            tally.rolling(np.ones(2), "2s", on=on)
    with pytest.raises(ValueError, match="has no unit: give one"):
        tally.rolling(np.ones(2), np.timedelta64(5), on=np.array([1, 2], "M8[s]"))
    series = pd.Series(np.ones(3), index=pd.to_datetime([0, 1, 2], unit="s"))
    assert tally.rolling(series, np.timedelta64(2, "s")).sum().tolist() == [1.0, 2.0, 2.0]


@pytest.mark.parametrize("window", ["1h30min", "1.5h", " 1h 30m ", "1w", ".5min", "h"])
def test_lengths_in_words(window):
    seconds = {"1w": 604800, ".5min": 30, "h": 3600}.get(window, 5400)
    on = np.array([0, seconds - 1, 2 * seconds - 1], "M8[s]")
    assert tally.rolling([1.0, 2.0, 4.0], window, on=on).sum().tolist() == [1.0, 3.0, 4.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "uint32", "float16", "float32"])
def test_numbers_of_any_type_as_times(dtype):
    on = np.array([0, 1, 1, 1], dtype) if dtype == "bool" else np.array([0, 1, 2, 9], dtype)
    assert tally.rolling([1.0, 2.0, 4.0, 8.0], 2, on=on).sum().tolist()[:2] == [1.0, 3.0]
    start, end = tally.bounds(on, -1, 0)
    assert start.tolist()[:2] == [0, 0] and end.tolist()[0] == 1
    found = tally.rolling([1.0, 2.0, 4.0, 8.0], 1, on=on, by=[0, 1, 0, 1]).sum()
    assert found.tolist() == [1.0, 2.0, 4.0, 10.0 if dtype == "bool" else 8.0]


def test_errors_of_times():
    x, times = np.ones(3), np.array([1, 2, 3], "M8[s]")
    late = np.array([1, 3, 2], "M8[s]")
    for call, words in (
        (lambda: tally.rolling(x, "2 parsecs", on=times), "window is '2 parsecs'"),
        (lambda: tally.rolling(x, "0s", on=times), "above 0"),
        (lambda: tally.rolling(x, "-2s", on=times), "window is '-2s'"),
        (lambda: tally.rolling(x, "2ms", on=times), "a whole number of the units of on, s"),
        (lambda: tally.rolling(x, 2, on=times), "window is 2: must be"),
        (lambda: tally.rolling(x, "2s"), "on: windows of time"),
        (lambda: tally.rolling(pd.Series(x), "2s"), "on: windows of time"),
        (lambda: tally.rolling(x, "2s", on=late), "sorted|ascend|descend"),
        (lambda: tally.rolling(x, "2s", on=times[:2]).sum(), "on has 2 elements: must have 3"),
        (lambda: tally.rolling(x, "2s", on=np.array(["NaT", 1, 2], "M8[s]")), "NaT"),
        (lambda: tally.rolling(x, "2s", on=times, closed="up"), "closed is 'up'"),
        (lambda: tally.rolling(x, "2s", on=times, ties="some"), "ties is 'some'"),
        (lambda: tally.rolling(x, 2, on=np.array([1.0, np.nan, 2.0])), "window is 2|nan|NaN"),
        (lambda: tally.rolling(x, 2.5, on=np.array([1, 2, 3])), "window is 2.5: must be an integer, as on is"),
        (lambda: tally.rolling(x, 2**53 + 1, on=np.array([1.0, 2.0, 3.0])), "window is 9007199254740993: must be a n"),
        (lambda: tally.rolling(x, np.timedelta64(1500, "ps"), on=times), "window is"),
        (lambda: tally.rolling(x, "2s", on=np.array([1, 2, 3], "M8[ps]")), "no whole number of ns"),
        (lambda: tally.rolling(x, "2s", on=np.array([1, 2, 2**60], "M8[D]")), "no whole number of s"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises((TypeError, ValueError), match="on has elements of type"):
        tally.rolling(x, 2, on=np.array(["a", "b", "c"]))


# ---- ranges and bounds ----


@given(st.data())
def test_ranges(data):
    n, m = data.draw(st.integers(0, 60)), data.draw(st.integers(0, 20))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    x = numbers(rng, (n, 3), data.draw(st.sampled_from(DTYPES)))
    start = rng.integers(0, n + 1, m)
    end = rng.integers(start, n + 1) if m else start
    op = data.draw(st.sampled_from(["sum", "mean", "max", "nanvar", "argmin", "minmax"]))
    least = data.draw(st.integers(0, 4))
    want = [tally.reduce(x[a:b] if b - a >= least or op == "nanvar" else x[:0], op, axis=0) for a, b in zip(start, end)]
    if op == "nanvar":
        there = [np.count_nonzero(~np.isnan(x[a:b].astype(float)), axis=0) for a, b in zip(start, end)]
        want = [np.where(t >= least, w, np.nan) for w, t in zip(want, there)]
    got = tally.ranges(x, start, end, op, axis=0, min_count=least)
    if m:
        assert got.shape[:2] == (m, 3) and np.array_equal(got, np.array(want), equal_nan=got.dtype.kind == "f")
        back = tally.ranges(x.T[::-1], start, end, op, axis=1, min_count=least)
        assert same_bits(np.moveaxis(back, 1, 0)[:, ::-1], got) or np.isnan(got.astype(float)).any()
        if got.ndim == 2:
            out = np.empty((m, 6), got.dtype)[:, ::2]
            assert tally.ranges(x, start, end, op, axis=0, min_count=least, out=out) is out
            assert np.array_equal(out, got, equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("op", ["sum", "dot"])
def test_ranges_of_two_arrays_and_of_what_is_left_out(rng, op):
    x, where = rng.standard_normal((3, 40)), rng.random((3, 40)) < 0.6
    more = {"where": where, **({"next": rng.standard_normal(40)} if op == "dot" else {})}
    start = rng.integers(0, 41, 15)
    end = rng.integers(start, 41)
    try:
        mine = tally.ranges(x, start, end, op, axis=1, **more)
    except (TypeError, ValueError) as e:
        pytest.skip(f"the library refuses it: {e}")
    for r in range(3):
        for k in range(15):
            part = slice(start[k], end[k])
            one = {"where": where[r, part], **({"next": more["next"][part]} if op == "dot" else {})}
            assert same_bits(mine[r, k], tally.reduce(x[r, part], op, **one))


FAR = {"int32": 2**31, "int64": 2**63, "uint64": 2**64}


@st.composite
def windows_of_keys(draw):
    """Sorted keys, at the ends of their type too, and limits."""
    dtype = draw(st.sampled_from(["int32", "int64", "uint64", "float64"]))
    n, seed = draw(st.integers(1, 30)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    steps = sorted(int(v) for v in rng.integers(0, 20, n))
    if dtype == "float64":
        base = draw(st.sampled_from([0.0, 0.1, 2.0**53, 1e17, -1e300]))
        keys = sorted(base + v for v in steps)
    else:
        end = FAR[dtype]
        base = draw(st.sampled_from([0, end // 2, end - 21 if dtype == "uint64" else end // 2 - 21, 0]))
        base = -(end // 2) if dtype != "uint64" and draw(st.booleans()) else base
        keys = [base + v for v in steps]
    if draw(st.booleans()):
        keys = keys[::-1]
    limits = st.integers(-6, 6) | st.sampled_from([-(2**63), 2**63 - 1])
    return np.array(keys, dtype), draw(limits), draw(limits)


@given(windows_of_keys(), st.sampled_from(["both", "right", "left", "neither"]), st.sampled_from(["row", "all"]))
def test_bounds(window, closed, ties):
    """Beside integers of any width, or fractions: nothing is rounded."""
    keys, low, high = window
    if keys.dtype.kind == "f":
        low, high = max(low, -6) / 2, min(high, 6) / 2
    exact = [Fraction(k) for k in keys.tolist()]
    want, hole = [], False
    for i, here in enumerate(exact):
        rows = []
        for j, key in enumerate(exact):
            above = key - here > low if closed in ("right", "neither") else key - here >= low
            below = key - here < high if closed in ("left", "neither") else key - here <= high
            if above and below and (ties == "all" or j <= i or key != here):
                rows.append(j)
        want.append(rows)
        hole |= bool(rows) and rows[-1] - rows[0] + 1 != len(rows)
    if hole:
        with pytest.raises(ValueError, match="have the key"):
            tally.bounds(keys, low, high, closed=closed, ties=ties)
        return
    start, end = tally.bounds(keys, low, high, closed=closed, ties=ties)
    assert [list(range(a, b)) for a, b in zip(start, end)] == want, (keys, low, high)


def test_bounds_of_ties_and_falling_keys():
    start, end = tally.bounds([0, 1, 1, 2, 3], 0, 1, closed="right", ties="row")
    assert start.tolist() == [1, 3, 3, 4, 5] and end.tolist() == [3, 4, 4, 5, 5]  # other keys are not left out
    start, end = tally.bounds([1000, 925, 850, 500], -500, 0, closed="right")
    assert start.tolist() == [0, 1, 2, 3] and end.tolist() == [3, 4, 4, 4]
    inf = float("inf")
    start, end = tally.bounds([-inf, 1.0, inf], -inf, 0.0)
    assert start.tolist() == [0, 0, 0] and end.tolist() == [1, 2, 3]
    start, end = tally.bounds([-inf, 1.0, inf], -5.0, 5.0)
    assert start.tolist() == [0, 1, 2] and end.tolist() == [1, 2, 3]


def test_errors_of_ranges():
    x = np.arange(4.0)
    for call, words in (
        (lambda: tally.ranges(x, [0], [5], "sum"), "range 0 is 0..5: must be 0 <= start <= end <= 4, the"),
        (lambda: tally.ranges(x, [2], [1], "sum"), "range 0 is 2..1"),
        (lambda: tally.ranges(x, [-1], [1], "sum"), "range 0 is -1..1"),
        (lambda: tally.ranges(x, [0, 1], [1], "sum"), "start has 2 elements, end 1"),
        (lambda: tally.ranges(x, [0.5], [1], "sum"), "start has dtype float64: must be integers"),
        (lambda: tally.ranges(x.reshape(2, 2), [0], [1], "sum"), "axis"),
        (lambda: tally.bounds([2, 1, 3], 0, 1), "sorted|ascend|descend"),
        (lambda: tally.bounds([1, 2], 0, 1, closed=None), "closed is None"),
        (lambda: tally.bounds([1, 2], 0, 1, ties="none"), "ties is 'none'"),
        (lambda: tally.bounds([0, 1, 1, 2], -1, 1, ties="row"), "rows 1 and 2 have the key 1"),
        (lambda: tally.bounds([1.0, 2.0], -(2**53) - 1, 1), "low is -9007199254740993: must be a number that float64"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError):
        tally.bounds([1, 2], "a", 1)
    with pytest.raises(OverflowError, match="low is -1180591620717411303424: must be in -2.63..2.63 - 1"):
        tally.bounds([1, 2], -(2**70), 1)
    with pytest.raises(OverflowError, match="high is 9223372036854775808"):
        tally.bounds([1, 2], 1, 2**63)

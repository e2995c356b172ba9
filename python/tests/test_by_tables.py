# SPDX-License-Identifier: MIT
"""by= of tables: the names of columns, or arrays; each result has the bits of the call on the column alone, and the
groups, their order and their index are those of pandas' groupby."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import numbers, same_bits

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


@st.composite
def frames(draw):
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    city = pd.Series(rng.choice(["Oslo", "Rome", None, "Bern"], n))
    city[0] = "Oslo"  # of None alone pandas makes NaN; tally gives the keys as they are
    columns = {f"x{at}": numbers(rng, n, draw(st.sampled_from(["int64", "float64", "float32"]))) for at in range(2)}
    index = draw(st.sampled_from([None, pd.date_range("2024", periods=n, tz="Europe/Oslo")]))
    frame = pd.DataFrame({"x0": columns["x0"], "city": city.array, "day": rng.integers(0, 3, n), "x1": columns["x1"]})
    return frame if index is None else frame.set_axis(index)


@given(frames(), st.sampled_from(["city", ["city"], ["city", "day"], "day"]), st.booleans(), st.booleans())
def test_reduce(frame, by, sort, dropna):
    frame = frame.drop(columns="city") if by == "day" else frame
    keys = [by] if isinstance(by, str) else by
    values = [name for name in frame.columns if name not in keys]
    theirs = frame.groupby(by if isinstance(by, str) else keys if len(keys) > 1 else keys[0], sort=sort, dropna=dropna)
    for op in ("count", "nanmax", "sum"):
        found = tally.reduce(frame, op, by=by, sort=sort, dropna=dropna)
        assert list(found.columns) == values and list(found.index.names) == keys
        if op == "count":
            pd.testing.assert_frame_equal(found, theirs[values].count(), check_index_type=False)
        for name in values:
            alone = tally.reduce(frame[name], op, by=[frame[key] for key in keys], sort=sort, dropna=dropna)
            assert same_bits(found[name].to_numpy(), alone.to_numpy())
    both = tally.reduce(frame, ["count", "nanmax"], by=by)
    assert isinstance(both, tuple) and list(both[1].columns) == values


@given(frames(), st.integers(1, 4))
def test_rows(frame, w):
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


@given(frames())
def test_other_libraries(frame):
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


def test_times_and_errors():
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

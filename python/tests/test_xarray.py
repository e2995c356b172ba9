# SPDX-License-Identifier: MIT
"""xarray: dimensions by name, and results with the dimensions and coordinates that xarray's own functions give; the
values have the bits of the call on the array alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import numbers, same_bits

xr = pytest.importorskip("xarray")
import tally.xarray  # noqa: E402

DIMS = ("time", "lat", "lon")


@st.composite
def fields(draw):
    """A field of one to three dimensions in any order, of descending latitudes, with coordinates of several kinds."""
    k = draw(st.integers(1, 3))
    dims = draw(st.permutations(DIMS))[:k]
    shape = draw(st.lists(st.integers(1, 6), min_size=k, max_size=k))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    dtype = draw(st.sampled_from(["float32", "float64", "int64", "bool", "int16"]))
    every = {
        "time": pd.date_range("2024-02-27", periods=6),
        "lat": np.linspace(60, -60, 6),
        "lon": np.arange(6) * 60.0,
    }
    coords = {dim: every[dim][:n] for dim, n in zip(dims, shape) if draw(st.booleans())}
    coords["run"] = 7
    if k > 1:
        coords["area"] = (dims[:2], rng.random(shape[:2]))
    values = numbers(rng, shape, dtype)
    return xr.DataArray(values, dims=dims, coords=coords, name="t2m", attrs={"units": "K"}), rng


@given(fields(), st.data())
def test_reduce(case, data):
    field, _ = case
    dims = data.draw(st.lists(st.sampled_from(field.dims), min_size=1, unique=True))
    axes = tuple(field.dims.index(d) for d in dims)
    keep = data.draw(st.booleans())
    for op in ("sum", "nanmean", "max", "count", "std:1"):
        found = tally.reduce(field, op, dim=dims if len(dims) > 1 else dims[0], keepdims=keep)
        assert same_bits(found.values, tally.reduce(field.values, op, axis=axes, keepdims=keep))
        theirs = field.reduce(np.max, dim=dims, keepdims=keep)
        assert found.dims == theirs.dims and found.name == "t2m" and found.attrs == field.attrs
        assert found.coords.identical(theirs.coords)
    exact = field.max(dims, skipna=False)
    assert tally.max(field, dim=dims).identical(exact.astype(field.dtype)) or field.dtype.kind == "b"
    whole = tally.sum(field)
    assert whole.dims == () and same_bits(whole.values[()], np.asarray(tally.sum(field.values))[()])
    assert set(whole.coords) == {"run"}
    assert same_bits(tally.sum(field, axis=0).values, tally.sum(field.values, axis=0))


@given(fields(), st.data())
def test_rows_of_results(case, data):
    field, _ = case
    dim = data.draw(st.sampled_from(field.dims))
    axis, n = field.dims.index(dim), field.sizes[dim]
    w = data.draw(st.integers(1, 4))
    total = tally.cumulative_sum(field, dim=dim)
    assert same_bits(total.values, tally.cumulative_sum(field.values, axis=axis))
    assert total.coords.identical(field.coords) and total.dims == field.dims
    if field.dtype.kind in "ib":
        assert np.array_equal(total.values, field.cumsum(dim).values)
    valid = tally.window(field, "max", before=1, after=w, edges="valid", dim=dim)
    assert same_bits(valid.values, tally.window(field.values, "max", before=1, after=w, edges="valid", axis=axis))
    first = min(1, n)
    assert valid.coords.identical(field.isel({dim: slice(first, max(n - w, first))}).coords)
    for center in (False, True):
        mine = field.tally.rolling(**{dim: w}, center=center, min_periods=1)
        assert same_bits(
            mine.mean().values, tally.rolling(field.values, w, axis=axis, center=center, min_periods=1).mean()
        )
        assert mine.mean().coords.identical(field.coords)
        if field.dtype.kind == "i" and w <= n:
            theirs = field.astype("f8").rolling({dim: w}, center=center, min_periods=1)
            assert np.array_equal(mine.max().values, theirs.max().values, equal_nan=True)
    step = tally.rolling(field, w, dim=dim, step=2).max()
    assert step.coords.identical(field.isel({dim: slice(None, None, 2)}).coords)
    if dim == "time" and "time" in field.coords:
        days = tally.rolling(field, f"{w}D", dim="time").sum()
        assert same_bits(days.values, tally.rolling(field.values, f"{w}D", on=field.time.values, axis=axis).sum())


@given(fields(), st.data())
def test_weights_by_name(case, data):
    field, rng = case
    field = field.copy(data=rng.integers(-50, 50, field.shape).astype("f8"))
    dims = data.draw(st.lists(st.sampled_from(field.dims), min_size=1, unique=True))
    other = data.draw(st.permutations(dims))
    weights = xr.DataArray(rng.integers(1, 9, [field.sizes[d] for d in other]) / 8, dims=other)
    weights = weights.assign_coords({d: field.coords[d] for d in other if d in field.indexes})
    axes = tuple(field.dims.index(d) for d in dims)
    full = weights.broadcast_like(field).transpose(*field.dims).values
    found = tally.wmean(field, weights, dim=dims)
    assert same_bits(found.values, tally.wmean(field.values, full, axis=axes))
    assert np.array_equal(found.values, field.weighted(weights).mean(dims).values, equal_nan=True)
    where = weights > 0.5
    masked = tally.sum(field, dim=dims, where=where)
    assert same_bits(masked.values, tally.sum(field.values, axis=axes, where=full > 0.5))
    if len(field.dims) > 1:
        turned = xr.DataArray(np.ones(field.shape), dims=field.dims).transpose(*field.dims[::-1])
        assert tally.dot(field, turned, dim=dims).dims == found.dims


def test_datasets():
    time = pd.date_range("2024-01-01", periods=4)
    field = xr.DataArray(np.arange(12.0).reshape(4, 3), dims=("time", "y"), coords={"time": time, "y": [3, 2, 1]})
    data = xr.Dataset({"a": field, "b": field[0] * 2, "when": ("time", time)}, attrs={"title": "t"})
    found = tally.max(data, dim="time")
    assert found["a"].identical(field.max("time").rename("a")) and found["b"].identical(data["b"])
    assert found["when"].values == time[-1] and found.attrs == data.attrs and set(found.coords) == {"y"}
    assert tally.mean(data[["a", "b"]])["a"] == 5.5
    running = data[["a", "b"]].tally.cumsum(dim="time")
    assert running.coords.identical(data.coords) and running["b"].identical(data["b"])
    assert running["a"].identical(field.cumsum("time").assign_coords(time=time).rename("a"))
    rolled = data[["a"]].tally.rolling(time=2).max()
    assert np.array_equal(rolled["a"].values[1:], field.values[1:])
    with pytest.raises(TypeError, match="variable 'c': x has elements of type string"):
        tally.max(data.assign(c=("time", list("abcd"))), dim="time")


def test_attributes_follow_the_option():
    x = xr.DataArray([1.0, 2.0], dims="t", attrs={"units": "K"})
    for keep in (True, False):
        with xr.set_options(keep_attrs=keep):
            assert tally.mean(x).attrs == ({"units": "K"} if keep else {})
    assert tally.mean(x).attrs == x.mean().attrs
    assert tally.minmax(x).dims == ("value",) and tally.max(x.variable) == 2.0


def test_dask():
    pytest.importorskip("dask")
    x = xr.DataArray(np.random.default_rng(7).random((30, 5)).astype("f4"), dims=("time", "y"), coords={"y": range(5)})
    parts = x.chunk(time=7, y=2)
    for call in (
        lambda x: tally.mean(x, dim="time"),
        lambda x: tally.sum(x),
        lambda x: tally.scan(x, "sum", dim="time", init=2.0),
        lambda x: tally.window(x, "max", 3, dim="time", edges="shrink"),
    ):
        lazy = call(parts)
        assert lazy.chunks is not None and same_bits(lazy.compute().values, call(x).values)
        assert lazy.coords.identical(call(x).coords)
    with pytest.raises(ValueError, match=r"rolling: cannot be computed of chunks of dask: give x.load\(\)"):
        tally.rolling(parts, 3, dim="time").mean()
    with pytest.raises(ValueError, match=r"where: cannot be given for chunks of dask"):
        tally.sum(parts, where=x > 0.5)


def test_what_is_refused():
    x = xr.DataArray(np.ones((4, 3)), dims=("time", "lat"), coords={"lat": [10, 20, 30]})
    w = xr.DataArray([1.0, 2.0, 3.0], dims="lat", coords={"lat": [10, 20, 30]})
    for call, words in (
        (lambda: tally.mean(x, dim="lon"), "dim is 'lon': x has the dimensions time, lat"),
        (lambda: tally.mean(x, axis=2), "axis is 2: x has 2 axes: time, lat"),
        (lambda: tally.cumulative_sum(x), "dim: must be given, x has the dimensions time, lat"),
        (lambda: tally.scan(x, "sum", dim=["time", "lat"]), "scan goes along one dimension"),
        (
            lambda: tally.wmean(x, w.rename(lat="y")),
            "the second array has the dimension y: must be those of x, time, lat",
        ),
        (lambda: tally.wmean(x, w[:2]), "the second array has 2 elements along lat: x has 3"),
        (lambda: tally.wmean(x, w[::-1]), "the second array differs from x in its coordinates along lat"),
        (lambda: tally.sum(x, where=w[::-1] > 1), "where differs from x in its coordinates along lat"),
        (lambda: tally.sum(x, out=np.empty(())), "out: cannot be given"),
        (lambda: x.tally.rolling(time=2, lat=2), "rolling: give one dimension, as in rolling.time=30., not time, lat"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match="dim: must be given"):
        tally.rolling(x, 2).mean()
    with pytest.raises(AttributeError, match="tally has no method 'median'"):
        x.tally.median()


def test_axes_of_numpy_and_keys_of_one_dimension():
    x = xr.DataArray(np.ones((2, 3)), dims=("a", "t"))
    assert tally.sum(x, axis=np.int64(1)).dims == ("a",)
    line = xr.DataArray([1.0, 2.0, 3.0], dims="t")
    found = tally.rolling(line, 2, by=["a", "b", "a"], min_periods=1).sum()
    assert found.dims == ("t",) and found.values.tolist() == [1, 2, 4]


def test_keys_give_fields():
    days = np.array(["2000-01-30", "2000-01-31", "2000-02-01", "2000-02-03"], "M8[ns]")
    beside = {"time": days, "lab": ("time", list("abab")), "kind": ("time", [1, 1, 1, 2])}
    x = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="time", coords=beside, name="v", attrs={"units": "K"})
    table = xr.Dataset({"v": x, "w": 2 * x, "key": ("time", list("xyyx"))})
    pairs = x.copy(data=[1, 2, 4, 6])
    for by in ("lab", x.lab, list("abab")):
        for dim in (None, "time"):
            xr.testing.assert_identical(tally.rolling(x, 2, by=by, min_periods=1, dim=dim).sum(), pairs)
            xr.testing.assert_identical(tally.scan(x, "sum", by=by, dim=dim), pairs)
    assert tally.rolling(x, "2D").sum().values.tolist() == [1, 3, 5, 4]  # its one dimension has times
    assert tally.rolling(x, "2D", by="kind").sum().values.tolist() == [1, 3, 5, 4]
    assert tally.rolling(x, 2, by="lab", min_periods=1).corr(x).dims == ("time",)
    found = tally.rolling(table, 2, by="key", min_periods=1).sum()
    assert found.v.values.tolist() == [1, 2, 5, 5] and found.w.values.tolist() == [2, 4, 10, 10]
    assert sorted(found.data_vars) == ["v", "w"] and found.time.equals(x.time)
    keys, values = tally.sum(table, by=["key", "lab"])
    assert [each.tolist() for each in keys] == [list("xyyx"), list("abab")] and values.v.dims == ("group",)
    assert values.lab.values.tolist() == list("abab")
    keys, values = tally.mean(x, by="time.month")
    assert values.dims == ("month",) and values.month.values.tolist() == keys.tolist() == [1, 2]
    assert values.equals(x.groupby("time.month").mean())
    assert tally.sum(x, by=list("xyyx")).values.dims == ("group",)
    assert tally.scan(table, "sum", by="key").w.values.tolist() == [2, 4, 10, 10]
    square = x.expand_dims(lat=2)
    for call, words in (
        (lambda: tally.sum(x, by="nope"), "by is 'nope': x has the coordinates time, lab, kind"),
        (lambda: tally.rolling(square, 2, by="lab", step=2), "step cannot be given, and on only"),
        (lambda: tally.rolling(square, 2, by="lab", on=x.time), "and on only as a coordinate's"),
        (lambda: tally.window(square, "sum", 2, by="lab", edges="valid"), "edges is 'valid': win"),
        (lambda: tally.scan(square, "sum", by="lab", init=1.0), "init: cannot be given with by"),
        (lambda: tally.sum(square, by=list("abab")), "by: dim must name the dimension that the keys go"),
        (lambda: tally.sum(square, by=x.lab, dim="lat"), "dim is 'lat': the keys go along time"),
        (lambda: tally.sum(square, by=list("abab"), dim="tme"), "dim is 'tme': must be one of lat, time, along which"),
        (lambda: tally.sum(square, by=list("ab"), dim="time"), "by has 2 keys: x has 4 steps along 'time'"),
        (lambda: tally.sum(square, by=x.lab[1:], dim="time"), "by has 3 elements along time: x has 4"),
        (lambda: tally.sum(square, by=x.lab.shift(time=1)[1:].assign_coords(time=days[1:])), "by has 3 elements"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("dims", [("time", "lat", "lon"), ("lat", "time", "lon"), ("lon", "lat", "time")])
def test_climatologies(dims):
    """Each group of steps along one dimension of a field has the bits of its steps alone, also in chunks of dask."""
    rng = np.random.default_rng(5)
    coords = {"time": pd.date_range("2023-11-20", periods=100, freq="D"), "lat": [60.0, 0.0, -60.0], "run": 7}
    x = xr.DataArray(numbers(rng, (100, 3, 2), "float32"), coords, ("time", "lat", "lon"), "t2m", {"units": "K"})
    x = x.transpose(*dims)
    weights = xr.DataArray(rng.random(100), dims="time", coords={"time": x.time})
    to = tuple("month" if dim == "time" else dim for dim in dims)
    keys, means = tally.nanmean(x, by="time.month", sort=True)
    assert keys.tolist() == means.month.values.tolist() == [1, 2, 11, 12]
    assert means.dims == to and means.name == "t2m" and means.run == 7 and means.lat.equals(x.lat)
    assert means.attrs == x.mean().attrs
    for each in (x, x.chunk(time=30)):
        assert tally.nanmean(each, by="time.month", sort=True, dim="time").values.compute().identical(means)
    both = (
        tally.minmax(x, by=x.time.dt.month, dim="time"),
        tally.wmean(x, weights, by=x.time.dt.month, axis=dims.index("time"), where=x > 0),
    )
    assert both[0].values.dims == (*to, "value")
    for at, month in enumerate([11, 12, 1, 2]):
        one = x.time.dt.month == month
        part, of_month = x[{"time": one.values}], {"month": at}
        assert same_bits(means.sel(month=month).values, tally.nanmean(part, dim="time").values)
        assert same_bits(both[0].values[of_month].values, tally.minmax(part, dim="time").values)
        found = tally.wmean(part, weights[one], dim="time", where=part > 0)
        assert same_bits(both[1].values[of_month].values, found.values)
    table = xr.Dataset({"t2m": x, "height": (("lat", "lon"), rng.random((3, 2))), "day": ("time", np.arange(100))})
    _, found = tally.nanmean(table, by="time.month", sort=True)
    assert found.t2m.equals(means) and found.height.dims == ("lat", "lon") and found.day.dims == ("month",)
    thirds = x.time.dt.day % 3  # of each step of a scan or of windows the result among its group
    runs = [
        lambda x, **by: tally.cumsum(x, dim="time", **by),
        lambda x, **by: tally.scan(x, "max", dim="time", exclusive=True, reverse=True, **by),
        lambda x, **by: tally.window(
            x, "nanmean", 5, center=True, edges="shrink", dim="time", **by
        ),
        lambda x, **by: tally.rolling(x, 4, min_periods=2, dim="time", **by).mean(),
        lambda x, **by: tally.rolling(x, "5D", dim="time", center=True, **by).cov(x * x),
    ]
    for run in runs:
        found = run(x, by=thirds)
        assert found.coords.identical(x.coords) and found.dims == dims and found.name == "t2m"
        for third in range(3):
            steps = {"time": (thirds == third).values}
            assert found[steps].identical(run(x[steps]))
        if run is runs[-1]:
            continue
        assert run(table[["t2m", "height"]], by=thirds).t2m.identical(found)
        if run is not runs[-2]:
            assert run(x.chunk(time=30), by=thirds).compute().identical(found)
    assert tally.cumsum(x.rename(None).chunk(time=30), dim="time").name is None
    assert tally.sum(x, by=np.full(100, np.nan), dim="time").values.sizes["group"] == 0

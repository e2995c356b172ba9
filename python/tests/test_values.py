# SPDX-License-Identifier: MIT
"""Results: the same bits as the command line, and as NumPy, of floats where nothing is rounded but the result, so that
every order gives the same bits."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tally
from conftest import DTYPES, FLOATS, numbers, same_bits

AXES = [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (2, 0), (), (0, 1, 2)]


@pytest.mark.parametrize("dtype", ["int16", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    "op", ["sum", "nanmean", "var", "max", "argmin", "nanargmax", "count", "all", "last", "minmax"]
)
def test_reduce_has_the_bits_of_the_command_line(cli, rng, dtype, op):
    x = numbers(rng, (7, 300), dtype)
    assert tally.digest(tally.reduce(x, op)) == cli(x, "reduce", op)
    assert tally.digest(tally.reduce(x, op, axis=1)) == cli(x, "reduce", op, "--axis", "1")
    assert tally.digest(tally.reduce(x, op, axis=0)) == cli(x, "reduce", op, "--axis", "0")


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "mean", "nanprod", "min", "var:ddof=1", "ema:0.25"])
def test_scans_and_windows_have_the_bits_of_the_command_line(cli, rng, dtype, op):
    x = numbers(rng, 5000, dtype, special=False)
    assert tally.digest(tally.scan(x, op)) == cli(x, "scan", op)
    assert tally.digest(tally.scan(x, op, exclusive=True, reverse=True)) == cli(
        x, "scan", op, "--exclusive", "--reverse"
    )
    assert tally.digest(tally.window(x, op, 37)) == cli(x, "window", op, "-w", "37")
    assert tally.digest(tally.window(x, op, 37, edges="shrink", center=True)) == cli(
        x, "window", op, "-w", "37", "--edges", "shrink", "--center"
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_against_numpy(rng, dtype):
    for axis in AXES:
        x = numbers(rng, (3, 4, 5), dtype)
        exact = {"min": np.min, "max": np.max, "argmin": np.argmin, "argmax": np.argmax, "all": np.all}
        for name, other in exact.items():
            if name.startswith("arg") and isinstance(axis, tuple):
                continue
            mine, theirs = getattr(tally, name)(x, axis=axis), other(x, axis=axis)
            assert np.array_equal(mine, theirs, equal_nan=np.dtype(dtype).kind == "f"), (name, axis)
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype, (name, axis)
        # NaN is "not zero" for NumPy, and for tally too
        assert np.array_equal(tally.any(x, axis=axis), np.any(x, axis=axis))
        if np.dtype(dtype).kind in "iub":
            assert same_bits(tally.sum(x, axis=axis), np.sum(x, axis=axis))
            assert same_bits(tally.prod(x, axis=axis), np.prod(x, axis=axis))
        else:
            x = rng.integers(-8, 9, (2, 4, 8)).astype(dtype)  # extents of which means are exact
            for name, less in (("sum", {}), ("mean", {}), ("var", {}), ("std", {"ddof": 1})):
                mine = getattr(tally, name)(x, axis=axis, **less)
                theirs = getattr(np, name)(x.astype(mine.dtype), axis=axis, **less)
                assert np.array_equal(mine, theirs, equal_nan=True), (name, axis)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanargmin", "nanargmax"]
)
def test_nan_forms_against_numpy(rng, name):
    x = rng.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], (4, 64))
    if name in ("nanvar", "nanstd"):  # 64, 32, 2 or no numbers, whose means are exact
        x[:, ::2], x[2:] = np.nan, np.nan
    else:
        x[1:][rng.random((3, 64)) < 0.3] = np.nan
    for axis in (None, 0, 1):
        mine, theirs = getattr(tally, name)(x, axis=axis), getattr(np, name)(x, axis=axis)
        assert np.array_equal(mine, theirs, equal_nan=True), axis


def test_keepdims_and_shapes(rng):
    x = rng.standard_normal((2, 3, 4))
    for axis in AXES:
        for keepdims in (False, True):
            assert np.shape(tally.sum(x, axis=axis, keepdims=keepdims)) == np.shape(
                np.sum(x, axis=axis, keepdims=keepdims)
            )
    assert tally.minmax(x, axis=1).shape == (2, 4, 2)
    assert tally.minmax(x, axis=1, keepdims=True).shape == (2, 1, 4, 2)


def test_dtype():
    x = np.arange(10, dtype="float32")
    assert tally.sum(x).dtype == np.float32 and tally.sum(x, dtype="float64").dtype == np.float64
    assert tally.sum(x, dtype=np.float64).dtype == np.float64 and tally.sum(x, dtype=float).dtype == np.float64
    assert tally.var(x, correction=1, dtype="float64") == np.var(x.astype(float), ddof=1)
    assert tally.sum(np.ones(3, bool)).dtype == np.int64
    with pytest.raises(ValueError, match="dtype is int64: 'sum' of float32 gives float32, or float64 on request"):
        tally.sum(x, dtype="int64")
    with pytest.raises(TypeError, match="must be one of bool, int8"):
        tally.sum(x, dtype="complex64")


def test_no_elements():
    for dtype in FLOATS:
        x = np.empty((0, 3), dtype)
        assert tally.sum(x) == 0 and np.isnan(tally.mean(x)) and np.isnan(tally.max(x))
        assert tally.sum(x, axis=0).tolist() == [0, 0, 0] and tally.sum(x, axis=1).shape == (0,)
        assert tally.cumulative_sum(x, axis=1).shape == (0, 3)
        assert tally.window(x, "sum", 2, axis=0).shape == (0, 3)
    assert tally.prod([]) == 1 and tally.count([]) == 0 and tally.sum(b"") == 0
    none = np.zeros((2, 0), bool)  # a bool is a byte of 0 or 1, whatever the minimum of no bytes is
    assert tally.min(none, axis=1).view("u1").tolist() == [1, 1]
    assert tally.min(none[0], keepdims=True).view("u1").tolist() == [1]
    assert tally.scan(np.array([1, 0], bool), "min", exclusive=True).view("u1").tolist() == [1, 1]
    assert tally.window(np.array([1, 0], bool), "min", 2).view("u1").tolist() == [1, 0]


def test_axis_none_folds_in_c_order_whatever_the_strides(rng):
    x = (rng.standard_normal((40, 50, 6)) * 1e3).astype("float32")
    for y in (
        x,
        x.T,
        x[:, ::2],
        x[::-1, :, 1:4],
        np.asfortranarray(x),
        np.broadcast_to(x[0], (7, 50, 6)),
        x[::3, ::-2, ::2],
    ):
        assert same_bits(tally.sum(y), tally.sum(np.ascontiguousarray(y).ravel()))
        for axis in (0, 1, 2, (0, 1), (0, 2), (1, 2)):
            assert same_bits(tally.sum(y, axis=axis), tally.sum(np.ascontiguousarray(y), axis=axis))
        for axis in (0, 1, 2):
            assert same_bits(tally.scan(y, "sum", axis=axis), tally.scan(np.ascontiguousarray(y), "sum", axis=axis))
            assert same_bits(
                tally.window(y, "mean", 3, axis=axis), tally.window(np.ascontiguousarray(y), "mean", 3, axis=axis)
            )


def test_a_large_array_that_is_packed_in_pieces(rng):
    x = rng.standard_normal((1300, 3000)).astype("float32")[:, ::2]  # 7.8 MB: more than one piece
    assert same_bits(tally.sum(x), tally.sum(np.ascontiguousarray(x).ravel()))
    assert same_bits(tally.sum(x.T), tally.sum(np.ascontiguousarray(x.T).ravel()))


@given(st.data())
def test_views_of_any_kind(data):
    """Random shapes, slices, orders and axes: the bits of the same elements in dense memory."""
    shape = data.draw(st.lists(st.integers(0, 5), min_size=0, max_size=4))
    dtype = data.draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    x = numbers(rng, [2 * n + 1 for n in shape] or 1, dtype)
    x = x if shape else x.reshape(())
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))
    x = x[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, 3, -1, -2]))) for _ in range(x.ndim))]
    dense = np.ascontiguousarray(x).reshape(x.shape)
    axes = data.draw(st.sets(st.integers(0, x.ndim - 1))) if x.ndim else set()
    axis = data.draw(st.sampled_from([None, tuple(axes)]))
    op = data.draw(st.sampled_from(["sum", "mean", "nanmax", "argmin", "var", "first", "any", "minmax"]))
    assert same_bits(tally.reduce(x, op, axis=axis), tally.reduce(dense, op, axis=axis))
    if axis is None:
        assert same_bits(tally.reduce(x, op), tally.reduce(dense.ravel(), op))
    if x.ndim:
        at = data.draw(st.integers(0, x.ndim - 1))
        w = data.draw(st.integers(1, 6))
        assert same_bits(tally.scan(x, op, axis=at), tally.scan(dense, op, axis=at))
        mine = tally.window(x, op, w, axis=at, edges="shrink")
        assert same_bits(mine, tally.window(dense, op, w, axis=at, edges="shrink"))
        # the law: a scan's element is the reduction of a prefix, a window's that of its elements
        last = np.moveaxis(tally.scan(x, op, axis=at), at, 0)[-1]
        assert same_bits(last, tally.reduce(x, op, axis=at))
        part = np.moveaxis(dense, at, 0)[-w:]
        assert same_bits(np.moveaxis(mine, at, 0)[-1], tally.reduce(part, op, axis=0)) or op == "argmin"


def test_scan_options(rng):
    x = rng.integers(-9, 9, 20)
    assert np.array_equal(tally.cumulative_sum(x), np.cumsum(x))
    assert np.array_equal(tally.cumulative_prod(x[:8]), np.cumprod(x[:8]))
    assert np.array_equal(tally.cumulative_sum(x, include_initial=True), np.concatenate([[0], np.cumsum(x)]))
    assert np.array_equal(tally.scan(x, "sum", init=100), 100 + np.cumsum(x))
    assert np.array_equal(tally.scan(x, "sum", reverse=True), np.cumsum(x[::-1])[::-1])
    y = x.reshape(4, 5)
    assert np.array_equal(tally.cumulative_sum(y, axis=0, include_initial=True)[1:], np.cumsum(y, axis=0))
    assert np.array_equal(tally.cumulative_sum(y.T, axis=0, include_initial=True)[1:], np.cumsum(y.T, axis=0))
    with pytest.raises(ValueError, match="axis: x has 2 axes, so one must be named"):
        tally.cumulative_sum(y)
    with pytest.raises(TypeError, match="init: operator 'mean.?' takes none"):
        tally.scan(x, "mean", init=1)
    with pytest.raises(ValueError, match="init is"):
        tally.scan(np.ones(3, "int8"), "max", init=300)


def test_segments(rng):
    x = rng.standard_normal(1000).astype("float32")
    offsets = np.array([0, 0, 10, 500, 999, 1000])
    pairs = list(zip(offsets, offsets[1:]))
    assert same_bits(tally.segments(x, offsets, "sum"), np.array([tally.sum(x[a:b]) for a, b in pairs], "float32"))
    assert same_bits(tally.segments(x[::2], [3, 70], "sum"), np.array([tally.sum(x[6:140:2])], "float32"))
    assert same_bits(
        tally.scan(x, "sum", offsets=offsets), np.concatenate([tally.scan(x[a:b], "sum") for a, b in pairs])
    )
    assert same_bits(
        tally.window(x, "max", 4, edges="shrink", offsets=offsets),
        np.concatenate([tally.window(x[a:b], "max", 4, edges="shrink") for a, b in pairs]),
    )
    for wrong in ([0, 5, 3], [-1, 5], [0, 1001], [], [0.0, 1.0]):
        with pytest.raises((ValueError, TypeError), match="offsets"):
            tally.segments(x, np.array(wrong), "sum")
    with pytest.raises(ValueError, match="offsets must begin at 0 and end at 1000"):
        tally.scan(x, "sum", offsets=[0, 5])
    with pytest.raises(ValueError, match=r"offsets\[1\] is 9223372036854775807: must be 0..1000"):
        tally.segments(x, np.array([0, 2**63 + 5], "uint64"), "sum")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", ">i4", "uint64", "int64"])
def test_places_of_any_type(dtype):
    """Offsets of Arrow's lists and of SciPy's matrices are int32; indices may have strides."""
    x = np.arange(20.0)
    places = np.array([0, 9, 3, 9, 3, 9, 7, 9, 12], dtype)[::2]
    assert tally.segments(x, places, "sum").tolist() == [3.0, 0.0, 18.0, 45.0]
    assert tally.take(x, places).tolist() == [0.0, 3.0, 3.0, 7.0, 12.0]
    unaligned = np.frombuffer(b"x" + places.tobytes(), dtype, offset=1)
    assert tally.take(x, unaligned[::-1]).tolist() == [12.0, 7.0, 3.0, 3.0, 0.0]
    assert tally.ranges(x, places[:2], places[1:3], "sum").tolist() == [3.0, 0.0]
    for wrong in (places.astype("float64"), places != 3):
        with pytest.raises(ValueError, match="must be integers"):
            tally.segments(x, wrong, "sum")


def test_lists_of_arrow():
    lists = pa.array([[1.0, 2.0], None, [3.0], [], [4.0, 5.0, 6.0]])[1:]
    assert tally.segments(lists.values, lists.offsets, "sum").to_pylist() == [0.0, 3.0, 0.0, 15.0]
    with pytest.raises(TypeError, match=r"list.*tally.segments\(x.values, x.offsets, 'sum'\)"):
        tally.sum(lists)


def test_fields_of_packed_records():
    """Their strides are no multiples of their elements."""
    records = np.zeros(6, [("a", "i1"), ("x", "f8"), ("k", "i2")])
    records["x"], records["k"] = [1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1]
    x, k = records["x"], records["k"]
    assert tally.segments(x, [0, 2, 6], "sum").tolist() == [3.0, 18.0]
    assert tally.segments(x, [0, 6], "dot", next=x).tolist() == [91.0]
    assert tally.by_key(x, k, "sum").tolist() == [9.0, 12.0] == tally.sum(x, by=k).values.tolist()
    assert tally.take(x, k).tolist() == [1.0, 2.0, 1.0, 2.0, 1.0, 2.0] and tally.runs(k).tolist() == list(range(7))


def test_windows_that_are_not_full():
    x = [1.0, 2.0, 4.0, 8.0]
    assert tally.window(x, "sum", 3).tolist() == [0.0, 0.0, 7.0, 14.0]
    assert tally.window(x, "sum", 3, min_count=2).tolist() == [0.0, 3.0, 7.0, 14.0]
    assert tally.window(x, "sum", 3, min_count=2, where=[True, False, True, True]).tolist() == [0.0, 0.0, 5.0, 12.0]


def test_a_parameter_is_given_once():
    for op in ("var:1:2", "var:ddof=1:exact:2"):
        with pytest.raises(ValueError, match="ddof is given twice"):
            tally.reduce([1.0, 2.0], op)


def test_windows_do_not_remember():
    x = np.ones(200)
    x[50] = np.inf
    mean = tally.window(x, "mean", 20)
    assert np.all(mean[70:] == 1.0) and np.all(np.isinf(mean[50:70]))


def test_several_operators_at_once():
    assert tally.reduce([1.0, 4.0], ["sum", "max", "count"]) == (5.0, 4.0, 2)

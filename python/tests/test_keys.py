# SPDX-License-Identifier: MIT
"""Exact sums against math.fsum and fractions; runs, groups, take and by_key against NumPy."""

import array
import datetime
import math
import pickle
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import DTYPES, numbers, same_bits
from hypothesis import given
from hypothesis import strategies as st

import tally

floats = st.floats(width=64, allow_nan=False, allow_infinity=False)


# ---- exact sums ----


def fsum(values):
    """As math.fsum, with the library's rule where that raises, and never -0."""
    try:
        return math.fsum(values) + 0.0
    except OverflowError:  # of a partial sum, perhaps
        total = sum(map(Fraction, values))
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf


@given(st.lists(floats, max_size=60), st.randoms())
def test_sums_are_the_real_sums_in_any_order(values, rng):
    x = np.array(values, "f8")
    want = fsum(values)
    assert same_bits(tally.reduce(x, "sum:exact"), np.float64(want))
    mixed = rng.sample(values, len(values))
    cut = rng.randint(0, len(values))
    e = tally.Exact(np.array(mixed[:cut], "f8")) + tally.Exact(array.array("d", mixed[cut:]))
    assert same_bits(np.float64(e.sum()), np.float64(want)) and e == tally.Exact(x) and e.count == len(values)
    if values:
        mean = sum(map(Fraction, values)) / len(values)
        assert e.mean() == float(mean) == tally.reduce(x, "mean:exact")
        assert same_bits(tally.scan(x, "sum:exact"), np.array([fsum(values[: i + 1]) for i in range(len(values))]))
        w = min(5, len(values))
        windows = [fsum(values[i : i + w]) for i in range(len(values) - w + 1)]
        assert same_bits(tally.window(x, "sum:exact", w, edges="valid"), np.array(windows))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=60))
def test_sums_of_float32(values):
    x = np.array(values, "f4")
    total = fsum(values)
    assert tally.Exact(x).sum() == total == tally.reduce(x, "sum:exact:f64")
    assert same_bits(np.float32(tally.Exact(x).sum(dtype="float32")), tally.reduce(x, "sum:exact"))


def test_strides_axes_chunks_and_types(rng):
    x = numbers(rng, (60, 70), "float64", special=False)
    assert tally.Exact(x) == tally.Exact(x.T) == tally.Exact(x[::-1, ::-1]) == tally.Exact(x.ravel())
    assert tally.Exact(x[::3, ::7]).sum() == fsum(x[::3, ::7].ravel().tolist())
    assert same_bits(tally.reduce(x, "sum:exact", axis=1), np.array([fsum(row.tolist()) for row in x]))
    assert same_bits(tally.reduce(x, "sum:exact", axis=0), np.array([fsum(row.tolist()) for row in x.T]))
    large = rng.standard_normal((700, 1001)).astype("f4").T[::2]  # packed in pieces
    assert tally.Exact(large).sum() == fsum(large.ravel().tolist())
    assert tally.Exact(np.float16([0.1, 0.2])).sum() == fsum([float(v) for v in np.float16([0.1, 0.2])])
    pyarrow = pytest.importorskip("pyarrow")
    parts = pyarrow.chunked_array([[0.1] * 3, [], [0.2, 1e100], [-1e100]])
    assert tally.Exact(parts).sum() == fsum([0.1] * 3 + [0.2])


numbers_or_special = st.one_of(floats, st.sampled_from([math.inf, -math.inf, math.nan, 0.0, 5e-324, 1e300]))


@given(st.lists(st.tuples(numbers_or_special, numbers_or_special, st.booleans()), max_size=12), st.randoms())
def test_statistics_of_elements_in_any_order(rows, rng):
    """Every statistic that a state has is that of tally.reduce, however the elements come and are taken back."""
    x, y = (np.array([row[k] for row in rows], "f8") for k in (0, 1))
    order = np.array(rng.sample(range(len(rows)), len(rows)), "i8")
    cut = rng.randint(0, len(rows))
    head, tail = order[:cut], order[cut:]
    one = tally.Exact(x[head], "std") + tally.Exact(x[tail], "sumsq")
    two = tally.Exact(x[head], "corr", next=y[head])
    two.add(x[tail], next=y[tail])
    extra = tally.Exact(y, "var")
    assert (one + extra) - extra == one == tally.Exact(x, "var")
    two.add([1.5, math.inf], next=[math.nan, 2.0])
    two.subtract([math.inf, 1.5], next=[2.0, math.nan])
    assert two == tally.Exact(x, "cov", next=y) and two.count == one.count == len(rows)
    for state, ops, next in ((one, ["sumsq", "norm", "var", "std"], None), (two, ["dot", "slope", "cov", "corr"], y)):
        for op in (*ops, *("nan" + op for op in ops), f"{ops[2]}:ddof=1"):
            name, _, parameter = op.partition(":")
            want = tally.reduce(x, f"{name}:exact" + (f":{parameter}" if parameter else ""), next=next)
            assert same_bits(np.float64(state.result(op)), want), op
            assert same_bits(np.float64(state.result(op.removeprefix("nan"), skipna=op[0:3] == "nan")), want)
        alone = np.where(np.isnan(y), np.nan, x) if state is two else x  # a pair with one NaN is left out whole
        assert same_bits(np.float64(state.sum()), np.float64(tally.Exact(alone).sum()))
        assert same_bits(np.float64(state.result("nanmean")), np.float64(tally.Exact(alone).mean(skipna=True)))
        back = pickle.loads(pickle.dumps(state))
        assert back == state and repr(back) == repr(state) and tally.Exact.from_bytes(bytes(state)) == state
    assert same_bits(np.float64(one.var(1)), tally.reduce(x, "var:exact:1"))
    there = np.array([row[2] for row in rows], bool)
    assert tally.Exact(x, "corr", next=y, where=there) == tally.Exact(x[there], "corr", next=y[there])


def test_statistics_of_integers_and_of_narrow_floats():
    i = np.array([1700000000000000001, 1700000000000000002])
    state = tally.Exact(i, "std")
    assert state.result() == 0.5 and state.mean() == float(Fraction(3400000000000000003, 2))
    state.add(np.float32([0.1]))
    values = [Fraction(int(k)) for k in i] + [Fraction(float(np.float32(0.1)))]
    mean = sum(values) / 3
    assert state.var() == float(sum((v - mean) ** 2 for v in values) / 3)
    x = np.array([3, 200, 7], "u1")
    assert tally.Exact(x, "wmean", next=x).result() == float(Fraction(9 + 40000 + 49, 210))
    assert tally.Exact([0.1, 0.2], "dot", next=[3.0, 4.0]).result() == float(Fraction(0.1) * 3 + Fraction(0.2) * 4)


def test_statistics_that_are_refused():
    one, two = tally.Exact([1.0], "var"), tally.Exact([1.0], "cov", next=[2.0])
    for call, words in (
        (lambda: tally.Exact([1.0], "median"), "op is 'median': must be one of sum, mean, sumsq, norm, var, std, dot"),
        (lambda: one.result("corr"), r"the state of 'var' does not have its sums; Exact\(x, 'corr', next=y\) does"),
        (lambda: two.var(), r"the state of 'cov' does not have its sums; Exact\(x, 'var'\) does"),
        (lambda: tally.Exact([1.0]).std(), r"the state of 'sum' does not have its sums; Exact\(x, 'std'\) does"),
        (lambda: one + two, "a state of 'var' and one of 'cov' have other sums"),
        (lambda: tally.Exact([1.0]) + one, "have other sums"),
        (lambda: tally.Exact([1.0], next=[2.0]), "next: 'sum' takes one array"),
        (lambda: tally.Exact([1.0], "dot"), "next: 'dot' takes two arrays"),
        (lambda: (one - tally.Exact([1.0, 2.0], "var")).var(), "more elements were taken back than there were: -1"),
        (lambda: tally.Exact.from_bytes(bytes(tally.Fragment("mean", [1.0]))), "of 'mean': must be of 'var:exact'"),
        (lambda: tally.Exact.from_bytes(bytes(one)[:-1]), "fragment"),
        (lambda: tally.Exact([1.0], "corr"), "second|two"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_special_values_and_what_is_taken_back():
    e = tally.Exact([1.0, math.inf])
    assert e.sum() == math.inf and e.mean() == math.inf
    e.add([-math.inf])
    assert math.isnan(e.sum())
    e.subtract([math.inf])
    assert e.sum() == -math.inf
    e.subtract([-math.inf])
    e.add([math.nan, 2.0])
    assert math.isnan(e.sum()) and e.sum(skipna=True) == 3.0 and e.mean(skipna=True) == 1.5
    assert tally.Exact().sum() == 0.0 and math.isnan(tally.Exact().mean())
    assert math.copysign(1, tally.Exact([-0.0]).sum()) == 1
    assert (e - e) == tally.Exact() and (e - e).count == 0


def test_states_travel():
    rng = random.Random(3)
    values = [rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300) for _ in range(1000)]
    parts = [tally.Exact(array.array("d", values[i : i + 100])) for i in range(0, 1000, 100)]
    assert pickle.loads(pickle.dumps(parts[0])) == parts[0] == tally.Exact.from_bytes(bytes(parts[0]))
    words = np.sum([np.frombuffer(bytes(p), "i8") for p in parts], axis=0)  # as MPI_SUM or SQL adds them
    assert tally.Exact.from_bytes(words.tobytes()) == tally.Exact(array.array("d", values))
    assert tally.Exact.from_bytes(words.tobytes()).sum() == fsum(values)
    assert "of 2" in repr(tally.Exact([0.5, 1.0]))


@pytest.mark.parametrize("shift", [0, 10**8, 1_700_000_000_123_456_789])
def test_exact_statistics_are_fractions(rng, shift):
    x = rng.integers(0, 1000, 300) + shift
    whole = [Fraction(v) for v in x.tolist()]
    mean = sum(whole) / 300

    def var(values, ddof=0):
        middle = sum(values) / len(values)
        return float(sum((v - middle) ** 2 for v in values) / (len(values) - ddof))

    assert tally.reduce(x, "var:exact") == var(whole) and tally.reduce(x, "mean:exact") == float(mean)
    assert tally.reduce(x, "var:exact:ddof=1") == var(whole, 1)
    kept = rng.random(300) < 0.7
    assert tally.reduce(x, "var:exact", where=kept) == var([v for v, k in zip(whole, kept) if k])
    assert tally.scan(x, "var:exact").tolist() == [var(whole[: i + 1]) for i in range(300)]
    assert tally.window(x, "var:exact", 20, edges="valid").tolist() == [var(whole[i : i + 20]) for i in range(281)]
    parts = tally.Fragment("var:exact", x[170:], 170) + tally.Fragment("var:exact", x[:170])
    assert parts.result() == var(whole) and pickle.loads(pickle.dumps(parts)).result() == var(whole)
    codes = np.arange(300) % 3
    assert tally.by_key(x, codes, "var:exact").tolist() == [var(whole[k::3]) for k in range(3)]
    assert tally.reduce(x, "slope:exact", next=3 * (x - shift)) == 3.0


def test_checked_sums(rng):
    x = np.array([2**62, -(2**62), 2**62, 2**62 - 1])
    assert tally.reduce(x, "sum:checked") == 2**63 - 1
    assert tally.scan(x, "sum:checked").tolist() == [2**62, 0, 2**62, 2**63 - 1]
    with pytest.raises(ValueError, match="the sum is 9223372036854775808, and 64 bits hold"):
        tally.reduce(x[[0, 0]], "sum:checked")
    with pytest.raises(ValueError, match="running sum number 3 is 9223372036854775808"):
        tally.scan(np.append(x[:3], 2**62), "sum:checked")
    with pytest.raises(TypeError, match="is for sums of integers"):
        tally.reduce([0.5], "sum:checked")


def test_errors_of_exact_sums():
    e = tally.Exact([1.0])
    for wrong, kind, words in (
        (lambda: e.add(np.arange(3)), TypeError, "i64|int64"),
        (lambda: e.add("text"), TypeError, "string"),
        (lambda: e.sum(dtype="int32"), ValueError, "float32 or float64"),
        (lambda: tally.Exact.from_bytes(b"123"), ValueError, "3 bytes"),
        (lambda: e + 1.0, TypeError, "unsupported"),
        (lambda: {e}, TypeError, "hash"),
    ):
        with pytest.raises(kind, match=words):
            wrong()
    assert e.sum() == 1.0


# ---- keys ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs(rng, dtype):
    for n in (0, 1, 2, 1000):
        keys = numbers(rng, n, dtype)
        keys = np.repeat(keys, rng.integers(1, 4, n))[::-1]
        equal = (keys[1:] == keys[:-1]) | ((keys[1:] != keys[1:]) & (keys[:-1] != keys[:-1]))
        want = np.concatenate([[0], np.flatnonzero(~equal) + 1, [len(keys)]] if len(keys) else [[0]]).astype("i8")
        assert same_bits(tally.runs(keys), want)


def test_runs_that_several_threads_find():
    """Each writes what it finds to its own part of the offsets before they are brought together."""
    code = """if True:
        import numpy as np, tally
        tally.device("cpu,threads=2")
        keys = np.zeros(10_000_000, "i1")
        keys[-1] = 1
        assert tally.runs(keys).tolist() == [0, 9_999_999, 10_000_000]"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@given(st.lists(st.integers(0, 9), max_size=80), st.sampled_from([d for d in DTYPES if "int" in d]), st.data())
def test_groups_take_and_by_key(values, dtype, data):
    codes = np.array(values, dtype)[:: data.draw(st.sampled_from([1, -1, 2]))]
    order, offsets = tally.groups(codes, 10)
    assert same_bits(order, np.argsort(codes, kind="stable"))
    assert same_bits(offsets, np.concatenate([[0], np.cumsum(np.bincount(codes.astype("i8"), minlength=10))]))
    x = numbers(np.random.default_rng(len(values)), len(codes), data.draw(st.sampled_from(DTYPES)))
    assert same_bits(tally.take(x, order), x[order])
    for op in ("sum", "mean", "argmin"):
        got = tally.by_key(x, codes, op, groups=10)
        assert same_bits(got, np.array([tally.reduce(x[codes == g], op) for g in range(10)], got.dtype))
    short = tally.by_key(x, codes, "count")
    assert len(short) == (int(codes.max()) + 1 if len(codes) else 0) and short.sum() == tally.count(x)


def test_kinds_of_results():
    order = tally.groups(array.array("q", [1, 0]), 2)[0]
    assert isinstance(order, tally.Array) and isinstance(tally.runs(np.zeros(2)), np.ndarray)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"city": ["b", "a", "b"], "x": [1.5, 2.5, 4.0]}, index=[7, 8, 9])
    codes, cities = pandas.factorize(frame["city"])
    assert tally.by_key(frame["x"], codes, "sum").tolist() == [5.5, 2.5] and list(cities) == ["b", "a"]
    assert isinstance(tally.take(frame["x"], np.array([2, 0, 1])), np.ndarray)
    pyarrow = pytest.importorskip("pyarrow")
    assert tally.take(pyarrow.array([1.5, 2.5]), np.array([1, 0])).to_pylist() == [2.5, 1.5]


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pd.Index, pa.array, pl.Series])
def test_times_as_text_and_unsorted_times(make):
    x, text = np.arange(3.0), ["2024-01-01 00:00:01", "2024-01-01 00:00:00", "2024-01-01 00:00:05"]
    for call, name in (
        (lambda: tally.rolling(x, "2s", on=make(text)), "on"),
        (lambda: tally.bounds(make(text), "-2s", 0), "keys"),
    ):
        with pytest.raises(TypeError, match=rf"{name} has .*pandas.to_datetime\({name}\) makes times of text") as error:
            call()
        assert "factorize" not in str(error.value)
    times = [datetime.datetime.fromisoformat(each) for each in text]
    times = np.array(times, "M8[us]") if make is np.array else make(times)
    for call, name in (
        (lambda: tally.rolling(x, "2s", on=times), "on"),
        (lambda: tally.bounds(times, "-2s", 0), "keys"),
        (lambda: tally.rolling(x, "2s", on=times, by=[0, 0, 0]), "on"),
    ):
        day = "2024-01-01.00:00"
        with pytest.raises(ValueError, match=rf"{name}: row [12] is {day}:0[05].*, after {day}:0[01]"):
            call()


def test_errors_of_keys():
    x = np.arange(4.0)
    for wrong, words in (
        (lambda: tally.runs(np.zeros((2, 2))), "one axis"),
        (lambda: tally.groups(np.array([0, 3]), 3), "element 1 is 3"),
        (lambda: tally.groups(np.array([0, -1]), 3), "element 1 is -1"),
        (lambda: tally.groups(np.array([0]), -1), "groups is -1"),
        (lambda: tally.groups(np.array([0]), 1 << 61), "groups is"),
        (lambda: tally.groups(x, 3), r"codes has dtype float64: must be integers from 0; pandas.factorize\(codes\)"),
        (lambda: tally.by_key(x, x, "sum"), "codes has dtype float64: must be integers from 0; pandas.factorize"),
        (lambda: tally.by_key(x, list("abab"), "sum"), "codes has elements of type string: .*pandas.factorize"),
        (lambda: tally.by_key(x, pd.Series(list("abab")), "sum"), "codes has elements of type .*pandas.factorize"),
        (lambda: tally.by_key(x, pa.array(list("abab")), "sum"), "codes has elements of Arrow's type string.*factor"),
        (lambda: tally.by_key(list("abab"), [0, 1, 0, 1], "sum"), "x has elements of type string"),
        (lambda: tally.take(x, np.array([4])), r"order\[0\] is 4"),
        (lambda: tally.take(x, np.array([-1])), r"order\[0\] is -1"),
        (lambda: tally.take(x, np.array([1.0])), "order has dtype float64: must be integers"),
        (lambda: tally.by_key(x, np.array([0, 1]), "sum"), "a code for each"),
        (lambda: tally.by_key(x.reshape(2, 2), np.array([0, 1, 0, 1]), "sum"), "a code for each"),
        (lambda: tally.by_key(x, np.array([0, 1, 0, -1]), "sum"), "element 3 is -1"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            wrong()
    with pytest.raises(MemoryError):
        tally.groups(np.array([0]), 1 << 55)

# SPDX-License-Identifier: MIT
"""Single columns of pandas, Polars and Arrow: what the extension reads instead of them, and results as their own kind.

    plain, give = take(column, "x")       # None, None: the extension reads it itself
    give(array or scalar of NumPy)        # the result, of the column's library

Times become NumPy's datetime64 and timedelta64, whose operators are below (`fold`); missing ones become NaT, and
nulls of Polars and Arrow are masked, so that they are left out."""

import sys

from . import _core
from ._kinds import _from_pandas, _library

__all__ = ["fold", "is_time", "shape_of", "take", "ticks", "times", "zone"]

_NAT = -(1 << 63)
_POINTS = {"min", "max", "minmax", "first", "last", "argmin", "argmax", "count"}
_LENGTHS = _POINTS | {"sum", "mean"}
_EMPTY = {"min": -(_NAT + 1), "max": _NAT, "first": 0, "last": 0}  # of no elements


def take(x, name):
    library = _library(x)
    if library == "polars":
        return _polars(x)
    if library == "pyarrow":
        return _arrow(x)
    return _pandas(x, name)


def times(x):
    """The times of a column as datetime64 or timedelta64, masked where they are null; None: it has none."""
    plain = take(x, "on")[0]
    return plain if getattr(getattr(plain, "dtype", None), "kind", "") in ("m", "M") else None


def ticks(x, name):
    """The times of an array or a list as 64-bit ticks, masked where they are null, and what makes times of x's library
    of others: give(ticks). None, None: x has no times."""
    if isinstance(x, (list, tuple)) and x:
        from ._times import of_list

        found = of_list(x)
        x = x if found is None else found
    library = _library(x)
    if library in ("pandas", "polars", "pyarrow"):
        plain, give = take(x, name)
    else:
        plain = x.to_numpy() if library == "xarray" else x if library == "numpy" else None
        give = None
    if not is_time(plain):
        return None, None
    numpy = sys.modules["numpy"]
    plain = numpy.asanyarray(plain)
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    if give is None:
        return plain.view("i8"), lambda found: found.view(plain.dtype)
    return plain.view("i8"), lambda found: give(numpy.asarray(numpy.ma.getdata(found)).view(plain.dtype))


def shape_of(x):
    found = ticks(x, "x")[0]
    return _core.like(x)[1] if found is None else found.shape


def is_time(array):
    return getattr(getattr(array, "dtype", None), "kind", "") in ("m", "M")


def zone(x):
    """The time zone of a column; None: it has none."""
    kind = getattr(x, "dtype", None) or x.type
    kind = getattr(kind, "pyarrow_dtype", kind)
    return getattr(kind, "tz", None) or getattr(kind, "time_zone", None)


# ---- pandas ----


def _pandas(x, name):
    pandas = sys.modules["pandas"]
    dtype = getattr(x, "dtype", None)
    if not hasattr(dtype, "kind"):  # that of a groupby is a Series
        return None, None
    if type(dtype).__module__ == "numpy.dtypes" and dtype.kind in "biuf":
        return x.values, None
    if isinstance(dtype, pandas.PeriodDtype):
        times = pandas.PeriodIndex(x).to_timestamp().to_numpy()
        return times, lambda found: _one(pandas.DatetimeIndex(_row(found)).to_period(dtype.freq), found)
    if isinstance(dtype, pandas.ArrowDtype):
        return _pandas_arrow(x, name)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        times = pandas.DatetimeIndex(x).tz_convert(None).to_numpy()
        return times, lambda found: _one(
            pandas.DatetimeIndex(_row(found)).tz_localize("UTC").tz_convert(dtype.tz), found
        )
    if dtype.kind == "M":
        return x.to_numpy(), lambda found: _one(pandas.DatetimeIndex(_row(found)), found)
    if dtype.kind == "m":
        return x.to_numpy(), lambda found: _one(pandas.TimedeltaIndex(_row(found)), found)
    if dtype.kind not in "biuf":
        raise TypeError(f"{name} has {_of_pandas(x)}")
    return _from_pandas(x, name)[0], None


def _pandas_arrow(x, name):
    """A column of pandas that Arrow's types describe: read as Arrow's, and its times given back as Arrow's."""
    import pandas
    import pyarrow

    plain, give = _arrow(pyarrow.chunked_array(getattr(x, "array", x).__arrow_array__()))
    if plain is None:
        return _from_pandas(x, name)[0], None

    def back(found):
        found = give(found)
        return found.as_py() if isinstance(found, pyarrow.Scalar) else pandas.array(found, dtype=x.dtype)

    return plain, back if is_time(plain) else None


def _of_pandas(x):
    """What a column has that is no number, and what to do."""
    text = x.dtype.kind == "O" and str(x.dtype) in ("object", "str", "string")
    if text and sys.modules["pandas"].api.types.infer_dtype(x, skipna=True) == "string":
        return "text: pandas.factorize(x)[0] are integers for it"
    if str(x.dtype) == "object":  # as of numbers and text together
        return "Python objects (dtype object): x.astype('float64') makes floats of numbers"
    if str(x.dtype) == "category":
        return "categories: x.cat.codes are integers for them"
    return f"elements of type {x.dtype}: must be bool, integers, floats or times"


def _row(found):
    """At least one axis, which pandas' indexes have."""
    return found.reshape(1) if found.ndim == 0 else found


def _one(index, found):
    return index[0] if found.ndim == 0 else index


# ---- Polars ----


def _polars(x):
    polars = sys.modules["polars"]
    if not isinstance(x, polars.Series):
        return None, None
    dtype = x.dtype
    if not dtype.is_temporal():
        return None, None
    ticks = x.to_physical().cast(polars.Int64).fill_null(_NAT).to_numpy()
    kind = "m8" if dtype == polars.Duration else "M8"
    unit = "D" if dtype == polars.Date else getattr(dtype, "time_unit", "ns")
    return _masked(ticks.view(f"{kind}[{unit}]"), x.is_not_null().to_numpy()), lambda found: _polars_of(x, found)


def _polars_of(x, found):
    polars = sys.modules["polars"]
    if not is_time(found):
        return found.item() if found.ndim == 0 else polars.Series(x.name, found)
    numpy = sys.modules["numpy"]
    row = _row(found)
    ticks = polars.Series(x.name, row.view("i8"))
    series = ticks.to_frame().select(polars.when(polars.Series(~numpy.isnat(row))).then(polars.col(x.name)))
    series = series.to_series().cast(polars.Int32 if x.dtype == polars.Date else polars.Int64).cast(x.dtype)
    return series[0] if found.ndim == 0 else series


# ---- Arrow ----


def _arrow(x):
    import pyarrow

    if not isinstance(x, (pyarrow.Array, pyarrow.ChunkedArray)):
        return None, None
    types, kind = pyarrow.types, x.type
    if not types.is_temporal(kind) or types.is_interval(kind):
        return None, None
    unit = "D" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit
    whole = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
    ticks = x.cast(whole).cast(pyarrow.int64()).fill_null(_NAT).to_numpy(zero_copy_only=False)
    letter = "m8" if types.is_duration(kind) else "M8"
    there = x.is_valid().to_numpy(zero_copy_only=False)
    return _masked(ticks.view(f"{letter}[{unit}]"), there), lambda found: _arrow_of(found, kind)


def _arrow_of(found, kind):
    import pyarrow

    row = _row(found)
    if is_time(found):
        mask = sys.modules["numpy"].isnat(row)
        whole = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
        array = pyarrow.array(row.view("i8"), mask=mask).cast(whole).cast(kind)
    else:
        array = pyarrow.array(row)
    return array[0] if found.ndim == 0 else array


def _masked(array, there):
    """What is not there is masked, if anything."""
    return array if there.all() else sys.modules["numpy"].ma.masked_array(array, ~there)


# ---- operators on times and lengths of time of NumPy, as 64-bit ticks: times have min, max, minmax, first, last,
# argmin, argmax and count, lengths of time also sum and mean. NaT is as NaN in floats: the operator gives NaT where
# there is one, its nan form leaves it out. What a mask leaves out is left out. A sum that 64 bits do not hold is
# refused; a mean is the exact quotient, rounded once, ties to even. ----


def fold(call, x):
    """The result of a call whose x, of NumPy, has times."""
    numpy = sys.modules["numpy"]
    op = call["op"]
    base = _base(op, x.dtype, call.verb)
    if call.verb == "rolling":
        gone = numpy.isnat(numpy.ma.getdata(x)) | numpy.ma.getmaskarray(x)
        return call.having(x=numpy.where(gone, numpy.nan, 0.0)).run()
    for name in ("init", "out", "next", "dtype"):
        if call[name] is not None:
            raise ValueError(f"{name}: cannot be given where x has times")
    skips = isinstance(op, str) and op.startswith("nan")
    mask = numpy.ma.getmaskarray(x) if isinstance(x, numpy.ma.MaskedArray) else None
    plain = numpy.asarray(numpy.ma.getdata(x))
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    absent = numpy.isnat(plain)
    if mask is not None:
        absent &= ~mask
    ticks = plain.view("i8")
    leave = mask if not skips and base != "count" else absent if mask is None else absent | mask
    if leave is not None and leave.any():
        where = call["where"]
        if where is not None and _core.present(where, None, None) is not None:
            raise ValueError("where has elements that are left out (nulls, a mask): must have True or False for each")
        call = call.having(where=~leave if where is None else ~leave & numpy.asarray(where, bool))
    result = _fold(call, base, ticks, None if skips or not absent.any() else absent)
    if base in ("count", "argmin", "argmax"):
        return result
    return result.view(plain.dtype)[()]


def _base(op, dtype, verb):
    text = op if isinstance(op, str) else repr(op)
    base = text[3:] if text.startswith("nan") else text
    has = _POINTS if dtype.kind == "M" else _LENGTHS
    what = "times" if dtype.kind == "M" else "lengths of time"
    if verb == "rolling" and base != "count":
        raise TypeError(
            f"x has {what} ({dtype}): rolling gives floats; tally.window(x, 'max', 20) gives {what}, and "
            "x.astype('int64') has numbers"
        )
    if base not in has:
        raise TypeError(
            f"x has {what} ({dtype}), which have no '{text}': they have {', '.join(sorted(has))}; for numbers give "
            "x.astype('int64')"
        )
    return base


def _fold(call, base, ticks, absent):
    """An array of ticks, _NAT where there is no time; or of integers for count, argmin and argmax."""
    numpy = sys.modules["numpy"]

    def run(op, values=ticks):
        return numpy.asarray(call.having(op=op, x=values).run())

    if base == "minmax":
        return numpy.stack([_fold(call, "min", ticks, absent), _fold(call, "max", ticks, absent)], axis=-1)
    if base == "count":
        return run("count")[()]
    if base == "argmax" and absent is not None:  # the first NaT: it has the smallest ticks
        return numpy.where(run("any", absent), run("argmin"), run("argmax"))[()]
    if base in ("argmin", "argmax"):
        return run(base)[()]
    if base in ("sum", "mean"):
        halves = _halves(run, ticks if absent is None else numpy.where(absent, 0, ticks))
        count = run("count") if base == "mean" else numpy.ones_like(halves[0])
        nothing = count == 0
    else:
        found = run(base)
        nothing = found == _EMPTY[base]
        if nothing.any():
            nothing &= run("count") == 0
    if absent is not None and base in ("max", "sum", "mean"):
        nothing = nothing | (run("any", absent) != 0)
    if base in ("sum", "mean"):
        found = _whole(*halves, nothing) if base == "sum" else _quotient(*halves, count)
    return numpy.where(nothing, _NAT, found)


def _halves(run, ticks):
    """The sums as high 2^32 + low, 0 <= low < 2^32, which do not overflow."""
    high, low = run("sum", ticks >> 32), run("sum", ticks & 0xFFFFFFFF)
    return high + (low >> 32), low & 0xFFFFFFFF


def _whole(high, low, nothing):
    whole = (high << 32) | low  # -2^63 is a NaT, not a length
    if (((high < -(1 << 31)) | (high >= 1 << 31) | (whole == _NAT)) & ~nothing).any():
        raise OverflowError("x: a sum of these lengths of time is beyond 64 bits: cast them to a coarser unit first")
    return whole


def _quotient(high, low, count):
    numpy = sys.modules["numpy"]
    count = numpy.maximum(count, 1)
    kind = object if (count >= 1 << 31).any() else "i8"
    high, low, count = (part.astype(kind) for part in (high, low, count))
    first = high // count
    rest = ((high % count) << 32) + low
    whole = (first << 32) + rest // count
    rest = 2 * (rest % count)
    return (whole + ((rest > count) | ((rest == count) & (whole % 2 == 1)))).astype("i8")

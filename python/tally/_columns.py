# SPDX-License-Identifier: MIT
"""Single columns of pandas, Polars and Arrow: what the extension reads instead of them, and results as their own kind.

    plain, give = take(column, "x")       # None, None: the extension reads it itself
    give(array or scalar of NumPy)        # the result, of the column's library

Times become NumPy's datetime64 and timedelta64, whose operators are in _times_folded; missing ones become NaT, and
nulls of Polars and Arrow are masked, so that they are left out."""

import sys

from ._kinds import _from_pandas, _library

__all__ = ["is_time", "take", "times", "zone"]

_NAT = -(1 << 63)


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
    if dtype is None:
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

    plain, give = _arrow(pyarrow.chunked_array(x.array.__arrow_array__()))
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

# SPDX-License-Identifier: MIT
"""Times and lengths of time, of the standard library, NumPy, pandas, Polars and Arrow, as integers."""

import datetime
import re
import sys
from operator import index

from . import _core
from ._kinds import _library

__all__ = ["keys_and_length"]

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"h": 3600 * 10**9, "D": 86400 * 10**9, "d": 86400 * 10**9}
_OF_NUMPY = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18}
_OF_NUMPY |= {"m": 60 * 10**18, "h": 3600 * 10**18, "D": 86400 * 10**18, "W": 7 * 86400 * 10**18}  # in attoseconds


def keys_and_length(x, on, window):
    """The times as an array that the extension reads, the window in their units, and whether they fall."""
    if on is None:
        if _library(x) == "pandas":
            on = x.index
        if _library(x) != "pandas" or getattr(on.dtype, "kind", "") not in "mM":
            _length(window)  # raises if it is none
            raise ValueError(f"on: windows of time ({window!r}) need the time of each row: give on=")
    keys, unit = _keys(on)
    whole = _core.like(keys, "on")[0] != "float64"
    falling = len(keys) > 1 and keys[0] > keys[-1]
    if unit is None:  # numbers without a unit
        return keys, _number(window, whole), falling
    length = _length(window)
    per = _NANOSECONDS[unit]
    if length % per:
        raise ValueError(f"window is {window!r}: must be a whole number of the units of on, {unit}")
    return keys, length // per, falling


def _number(window, whole):
    try:
        number = index(window) if whole else float(window)
        if number != window:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        kind = "an integer, as on is" if whole else "a number, as on is"
        raise ValueError(f"window is {window!r}: must be {kind}") from None
    if not number > 0:
        raise ValueError(f"window is {window!r}: must be greater than 0")
    return number


def _length(window):
    """Nanoseconds."""
    value = None
    if isinstance(window, str):
        match = re.fullmatch(r"\s*(\d*)\s*([A-Za-z]+)\s*", window)
        if match and match[2] in _NANOSECONDS:
            value = int(match[1] or 1) * _NANOSECONDS[match[2]]
    elif _library(window) == "numpy" and getattr(window, "dtype", None) is not None and window.dtype.kind == "m":
        numpy = sys.modules["numpy"]
        unit, count = numpy.datetime_data(window.dtype)
        if not numpy.isnat(window) and unit in _OF_NUMPY:
            value, finer = divmod(int(window.astype("i8")) * count * _OF_NUMPY[unit], 10**9)
            value = None if finer else value
    elif isinstance(window, datetime.timedelta):  # pandas.Timedelta is one, with nanoseconds
        value = ((window.days * 86400 + window.seconds) * 10**6 + window.microseconds) * 1000
        value += getattr(window, "nanoseconds", 0)
    else:
        value = getattr(window, "nanos", None)  # pandas' offsets
    if not isinstance(value, int) or value <= 0:
        raise ValueError(
            f"window is {window!r}: must be a number of rows, or a length of time above 0 such as '2s', '5min', '1h' "
            "or a timedelta"
        )
    return value


def _keys(on):
    library = _library(on)
    if library == "pandas":
        return _of_pandas(on)
    if library == "pyarrow":
        import pyarrow

        if pyarrow.types.is_timestamp(on.type):
            return _no_nulls(on).cast(pyarrow.int64()).to_numpy(zero_copy_only=False), on.type.unit
        return on.to_numpy(zero_copy_only=False), None
    if library == "polars":
        if str(on.dtype).startswith("Datetime"):
            return _no_nulls(on).to_physical().to_numpy(), on.dtype.time_unit
        return on.to_numpy(), None
    if library == "numpy" and on.dtype.kind == "M":
        return _of_numpy(on)
    if isinstance(on, (list, tuple)) and on and isinstance(on[0], datetime.datetime):
        numpy = __import__("numpy")
        return _of_numpy(numpy.array(on, "M8[us]"))
    if isinstance(on, (list, tuple)):
        from ._kinds import take

        return take(on, "on")[0], None
    return on, None


def _no_nulls(on):
    if on.null_count if not callable(on.null_count) else on.null_count():
        raise ValueError("on has times that are missing: each row must have one")
    return on


def _of_numpy(on):
    numpy = sys.modules["numpy"]
    unit, count = numpy.datetime_data(on.dtype)
    if unit not in ("s", "ms", "us", "ns") or count != 1:
        unit, given = "s" if unit in ("Y", "M", "W", "D", "h", "m") else "ns", on
        on = given.astype(f"M8[{unit}]")
        if (on.astype(given.dtype) != given)[~numpy.isnat(given)].any():
            raise ValueError(f"on has times of type {given.dtype} that are no int64 number of {unit}")
    if numpy.isnat(on).any():
        raise ValueError("on has times that are missing (NaT): each row must have one")
    return on.view("i8"), unit


def _of_pandas(on):
    pandas = sys.modules["pandas"]
    if getattr(on.dtype, "kind", "") != "M":
        return on.to_numpy(), None
    times = pandas.DatetimeIndex(on)
    return _of_numpy(times.tz_convert(None).to_numpy() if times.tz is not None else times.to_numpy())

# SPDX-License-Identifier: MIT
"""Times and lengths of time, of the standard library, NumPy, pandas, Polars and Arrow, as integers."""

import contextlib
import datetime
import re
import sys
from operator import index

from . import _core
from ._kinds import _library, same_labels, take

__all__ = ["distance", "keys_and_length", "numbered", "told_of_text", "unsorted", "widened"]

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"h": 3600 * 10**9, "D": 86400 * 10**9, "d": 86400 * 10**9, "w": 7 * 86400 * 10**9}
_PART = r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)"  # of "1h 30min"
_OF_NUMPY = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18}
_OF_NUMPY |= {"m": 60 * 10**18, "h": 3600 * 10**18, "D": 86400 * 10**18, "W": 7 * 86400 * 10**18}  # in attoseconds


def keys_and_length(x, on, window, axis=None):
    """The times as an array that the extension reads, the window in their units, whether they fall, and the times
    themselves (None: numbers)."""
    if on is None and _library(x) == "xarray" and axis in x.coords:
        on = x.coords[axis]
    elif on is None:
        if _library(x) == "pandas":
            on = x.index
        if _library(x) != "pandas" or not _has_times(on):
            _length(window)  # raises if it is none
            raise ValueError(f"on: windows of time ({window!r}) need the time of each row: give on=")
    elif _library(x) == "pandas" and _library(on) == _library(x):
        same_labels(x.iloc[:, 0] if x.ndim == 2 and x.shape[1] else x, on, "on")
    keys, unit = numbered(on, "on")
    keys, whole = widened(keys, "on")
    if isinstance(keys, memoryview):  # which does not read big-endian elements itself
        keys = _core.reduce("first", keys, (), False, None, None, None, None)
    falling = len(keys) > 1 and keys[0] > keys[-1]
    if unit is None:  # numbers without a unit
        length = _number(window, whole)
        if whole and length >= 1 << 63:
            raise ValueError(f"window is {window!r}: must be at most 2^63 - 1")
        return keys, length, falling, None
    length = _length(window)
    per = _NANOSECONDS[unit]
    if length % per:
        raise ValueError(f"window is {window!r}: must be a whole number of the units of on, {unit}")
    if length // per >= 1 << 63:
        raise ValueError(f"window is {window!r}: must be at most 2^63 - 1 of the units of on, {unit}")
    return keys, length // per, falling, on


def widened(keys, name):
    """Keys in a type of which the library finds windows, which holds all of them; whether they are integers."""
    dtype, _, _, _, device, *_ = _core.like(keys, name)
    whole = "float" not in dtype
    if dtype in ("int32", "int64", "uint64", "float64", "bfloat16") or device >= 0:
        return keys, whole
    if _core.present(keys, None, None) is not None:
        raise ValueError(f"{name} has elements that are left out (nulls, a mask): each row must have one")
    return __import__("numpy").asarray(keys).astype("int64" if whole else "float64"), whole


def _has_times(index):
    return getattr(index.dtype, "kind", "") in "mM" or hasattr(index, "to_timestamp")


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


def distance(value, name, unit):
    """A length of time of either sign, or 0, in units of keys that are times."""
    found = 0 if type(value) is int and value == 0 else _nanoseconds(value, name)
    if not isinstance(found, int):
        raise ValueError(f"{name} is {value!r}: keys are times: must be 0 or a length of time, '-5s' or a timedelta")
    if found % _NANOSECONDS[unit]:
        raise ValueError(f"{name} is {value!r}: must be a whole number of the units of keys, {unit}")
    return found // _NANOSECONDS[unit]


def _length(window):
    """Nanoseconds."""
    value = _nanoseconds(window, "window")
    if not isinstance(value, int) or value <= 0:
        raise ValueError(
            f"window is {window!r}: must be a number of rows, or a length of time above 0 such as '2s', '1h30min' "
            "or a timedelta"
        )
    return value


def _nanoseconds(window, name):
    """None: it is no length of time."""
    value = None
    if isinstance(window, str):
        from fractions import Fraction

        sign, text = (-1, window.strip()[1:]) if window.strip().startswith("-") else (1, window)
        parts = re.findall(_PART, text) if re.fullmatch(rf"(?:{_PART})+\s*", text) else [("1", text.strip())]
        if any(unit in _CALENDAR for _, unit in parts):
            raise _calendar(window, name)
        if all(unit in _NANOSECONDS for _, unit in parts):
            value = sum(Fraction(count) * _NANOSECONDS[unit] for count, unit in parts)
            if value.denominator != 1:
                raise ValueError(f"{name} is {window!r}: must be a whole number of nanoseconds")
            value = sign * int(value)
    elif _library(window) == "numpy" and getattr(window, "dtype", None) is not None and window.dtype.kind == "m":
        value = _of_timedelta64(window, name)
    elif isinstance(window, datetime.timedelta):  # pandas.Timedelta is one, with nanoseconds
        value = ((window.days * 86400 + window.seconds) * 10**6 + window.microseconds) * 1000
        value += getattr(window, "nanoseconds", 0)
    elif type(window).__name__ == "Week" and getattr(window, "weekday", 0) is None:  # pandas': 7 days, of no weekday
        value = window.n * _NUMPY["W"]
    elif _library(window) == "pandas":
        try:
            value = getattr(window, "nanos", None)  # of its offsets
        except ValueError:
            raise _calendar(window, name) from None
        if value is None and hasattr(window, "rollback"):
            raise _calendar(window, name)
    return value


_CALENDAR = {"M", "ME", "MS", "mo", "Q", "QE", "QS", "q", "A", "Y", "YE", "YS", "y"}


def _calendar(window, name):
    return ValueError(
        f"{name} is {window!r}: months, quarters and years have no fixed length: give days, such as '30D', or one "
        "result for each month by tally.mean(x, by=months)"
    )


def _of_timedelta64(window, name):
    """Nanoseconds, exactly; None for NaT."""
    numpy = sys.modules["numpy"]
    if numpy.isnat(window):
        return None
    unit, count = numpy.datetime_data(window.dtype)
    ticks = int(window.astype("i8")) * count
    if unit in ("Y", "M"):
        raise _calendar(window, name)
    if unit in _FINER:
        if ticks % _FINER[unit]:
            raise ValueError(f"{name} is {window!r}: must be a whole number of nanoseconds")
        return ticks // _FINER[unit]
    if unit not in _NUMPY:
        raise ValueError(f"{name} is {window!r}: has no unit: give one, as in numpy.timedelta64({ticks}, 's')")
    return ticks * _NUMPY[unit]


_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}  # of a nanosecond
_NUMPY = {"W": 7 * 86400 * 10**9, **{unit: _NANOSECONDS[unit] for unit in ("D", "h", "m", "s", "ms", "us", "ns")}}


def unsorted(wrong, on, name):
    """The error of keys that are not sorted: with the name of the argument, and times as they are in ``on``."""
    text = str(wrong).replace("keys", name, 1)
    found = re.search(r"row (\d+) is (-?\d+), after (-?\d+)(?: in row (\d+))?", text)
    if on is None or found is None:
        return ValueError(text)
    at = on.to_numpy() if _library(on) == "xarray" else getattr(on, "iloc", on)
    row = int(found[1])
    before = row - 1 if found[4] is None else int(found[4])
    for group, place in (3, before), (2, row):
        text = f"{text[:found.start(group)]}{at[place]}{text[found.end(group):]}"
    return ValueError(text)


@contextlib.contextmanager
def advice_on_text(name):
    """Text where times are wanted: the error says what reads it."""
    try:
        yield
    except TypeError as wrong:
        advice = f"pandas.to_datetime({name}) makes times of text"
        text = re.sub(r"(pandas\.factorize|dictionary_encode).*", advice, str(wrong))
        raise TypeError(text) from None


def numbered(on, name):
    """An array that the extension reads, and its unit; None: numbers."""
    if isinstance(on, (list, tuple)):
        times = of_list(on) if on else None
        on = take(on, name)[0] if times is None else times
    if _library(on) == "xarray":
        on = on.to_numpy()
    if _library(on) in ("pandas", "polars", "pyarrow"):
        from . import _columns

        plain = _columns.take(on, name)[0]
        on = __import__("numpy").asarray(_no_nulls(on, name)) if plain is None else plain
    if _library(on) == "numpy" and on.dtype.kind in "mM":
        return _of_numpy(on, name)
    return on, None


def of_list(on):
    """Times of a list: an index of pandas', which have nanoseconds, or an array of NumPy; None: other elements."""
    if all(_library(time) == "pandas" for time in on):
        return sys.modules["pandas"].Index(on)
    if all(isinstance(time, datetime.datetime) for time in on):
        if len({time.tzinfo is None for time in on}) > 1:
            raise ValueError("times with a zone and times without one cannot be compared: give all of them one")
        return __import__("numpy").array([_utc(time) for time in on], "M8[us]")
    if all(isinstance(time, datetime.date) and not isinstance(time, datetime.datetime) for time in on):
        return __import__("numpy").array(on, "M8[D]")
    if all(isinstance(time, datetime.timedelta) for time in on):
        return __import__("numpy").array(on, "m8[us]")
    if any(_library(time) == "numpy" and time.dtype.kind in "mM" for time in on):
        return __import__("numpy").array(on)
    return None


def _utc(time):
    """Without its time zone, as NumPy wants it."""
    return time if time.tzinfo is None else time.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def _no_nulls(on, name):
    if on.null_count if not callable(on.null_count) else on.null_count():
        raise ValueError(f"{name} has times that are missing: each row must have one")
    return on


def _of_numpy(on, name):
    """Times as 64-bit ticks of this machine's byte order, and their unit. None is cut: what nanoseconds, or seconds in
    64 bits, cannot hold is refused."""
    numpy = sys.modules["numpy"]
    if numpy.ma.getmaskarray(on).any() or numpy.isnat(numpy.ma.getdata(on)).any():
        raise ValueError(f"{name} has times that are missing (NaT): each row must have one")
    on = numpy.ma.getdata(on)
    unit, count = numpy.datetime_data(on.dtype)
    kind = on.dtype.kind
    if unit == "generic":
        raise ValueError(f"{name} has {on.dtype} without a unit: give one, as in {name}.astype('m8[s]')")
    if kind == "m" and unit in ("Y", "M"):
        raise ValueError(f"{name} has {on.dtype}: months and years have no fixed length: give dates (datetime64)")
    if unit not in ("s", "ms", "us", "ns") or count != 1:
        unit = "ns" if unit in _FINER else unit if unit in ("ms", "us", "ns") else "s"
    wanted = numpy.dtype(f"{kind}8[{unit}]")  # of this machine's byte order
    if on.dtype == wanted:
        return on.view("i8"), unit
    try:
        found = on.astype(wanted)
        exact = not numpy.isnat(found).any() and bool((found.astype(on.dtype) == on).all())
    except OverflowError:
        exact = False
    if not exact:
        raise ValueError(
            f"{name} has times of {on.dtype.newbyteorder('=')} that are no whole number of {unit} in 64 bits, and none "
            f"is rounded: give {name}.astype('int64'), and the window as a number of the same units"
        )
    return found.view("i8"), unit

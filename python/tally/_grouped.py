# SPDX-License-Identifier: MIT
"""Groups of a file's rows by keys and windows along times, for python -m tally --by. The codes of all rows and the
columns that are folded are held; the keys once each."""

import math
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa

import tally

from . import _by, _core, _rolling, _times

__all__ = ["reduced", "spans"]


def _read(file, keys, jobs, more=()):
    names = dict.fromkeys([*keys, *(name for _, column in jobs for name in column.names), *more])
    return pa.Table.from_batches(list(file.batches(list(names))))


def _groups(table, keys, sort=False):
    columns = {}
    for at, key in enumerate(keys):
        columns[at] = column = table.column(key)
        if pa.types.is_floating(column.type) and column.null_count:
            columns[at, "null"] = column.is_null()  # in a file a null is no NaN
    return columns, _by.Groups(columns, sort, dropna=False)


def reduced(file, arguments, jobs):
    """The keys of the groups, in order of first appearance or sorted, and the results of each job."""
    keys = file.chosen(arguments.by)
    table = _read(file, keys, jobs)
    columns, groups = _groups(table, keys, arguments.sort)
    results = []
    for op, column in jobs:
        x, *second = column.of(table)
        next = second[0] if second else None

        def fold(name):
            options = (False, False), (0, 0, 0, 0)
            return np.asarray(groups.fold(0, name, x, None, *options, next, None))

        results.append(column.shown(fold(op), fold("count")) if column.gives_times else fold(op))
    found = dict(zip(columns, groups.keys()))
    return [(key, found[at]) for at, key in enumerate(keys)], results


# ---- window --last, --next ----


def spans(file, arguments, jobs, more):
    """The table with the columns ``more`` too, and for each job the results of the windows along the last column of
    --by, in which the columns before it make groups."""
    *keys, time = file.chosen(arguments.by)
    table = _read(file, [*keys, time], jobs, more)
    order, offsets = np.arange(table.num_rows), np.array([0, table.num_rows])
    if keys:
        groups = _groups(table, keys)[1]
        order, offsets = (np.asarray(each) for each in _core.groups(groups.codes, groups.count))
    kind = table.schema.field(time).type
    if not pa.types.is_temporal(kind) and not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        raise ValueError(f"{file.path}: column {time!r} has elements of type {kind}: must be times or numbers")
    try:
        ticks, unit = _times.numbered(table.column(time), "on")
        ticks = np.asarray(ticks)
        if ticks.dtype not in ("i4", "i8", "u8", "f8"):
            ticks = ticks.astype("f8" if ticks.dtype.kind == "f" else "i8")
        bounds = _bounds(file, arguments, ticks.dtype.kind == "f", unit)
        _check_rise(table.column(time), ticks[order], order, offsets)
        start, end = _core.group_bounds(order, offsets, ticks[order], *bounds)
    except ValueError as wrong:
        raise ValueError(f"{file.path}: column {time!r}: {wrong}") from None
    results = []
    for op, column in jobs:
        x, *second = (tally.take(each, order) for each in column.of(table))
        found = tally.ranges(x, start, end, op, min_count=arguments.min_count, next=second[0] if second else None)
        results.append(np.empty_like(found))
        results[-1][order] = found
    return table, results


def _check_rise(times, ticks, order, offsets):
    """Refuses times that fall in a group, as the command line does; for `rolling` they are pandas' falling times."""
    falls = ticks[1:] < ticks[:-1]
    falls[offsets[(offsets > 0) & (offsets < len(ticks))] - 1] = False
    if falls.any():
        before, row = order[np.argmax(falls)], order[np.argmax(falls) + 1]
        last = f"{times[before]} in row {before} of the same group"
        raise ValueError(f"row {row} is {times[row]}, after {last}: times must not fall")


def _bounds(file, arguments, real, unit):
    """The distances low and high of keys, whether they are open, and whether equal keys end at their row."""
    last, next = (_distance(file, arguments, option, real, unit) for option in ("last", "next"))
    low, high = -last, last if arguments.center else next
    low_open, high_open = _rolling.ends(arguments.closed or "right")
    if arguments.center:
        low, high = low / 2, high / 2
    row = arguments.ties == "row" if arguments.ties else not arguments.center and next <= 0
    if low > high:
        raise _usage("the window would end before it begins: --last and --next say from where to where")
    if row and high > 0:
        raise _usage("--ties row ends a window at its line, and --next or --center reaches beyond it")
    if real:
        return float(low), float(high), low_open, high_open, row
    # distances of integers: the nearest integers inside
    low = math.floor(low) + 1 if low_open else math.ceil(low)
    return low, math.ceil(high) - 1 if high_open else math.floor(high), False, False, row


_NUMBER = r"(?:\d+\.?\d*|\.\d+)"
_NANOSECONDS = {unit: _times._NANOSECONDS[unit] for unit in ("ns", "us", "ms", "s", "min", "h", "d", "w")}


def _distance(file, arguments, option, real, unit):
    """The length that --last or --next gives, exactly, in units of the keys."""
    text = getattr(arguments, option)
    if text is None:
        return Fraction(0)
    number = re.fullmatch(rf"[-+]?{_NUMBER}(?:[eE][-+]?\d{{1,3}})?", text)
    parts = re.fullmatch(rf"(-?)((?:{_NUMBER}(?:{'|'.join(_NANOSECONDS)}))+)", text)
    if number is None and parts is None:
        raise _usage(
            f"--{option} is {text!r}, which is no length of time: 500ms, 2s, 1.5h, 1h30min (units: ns, us, ms, s, min, "
            "h, d, w), or a plain number where the times are numbers"
        )
    if (number is None) != (unit is not None):
        raise _usage(
            f"{file.path}: the column of --by has times, so --{option} needs a unit, as in --{option} 2s"
            if unit is not None
            else f"{file.path}: the column of --by has plain numbers, so --{option} is a number of the same unit, as "
            f"in --{option} 2"
        )
    if number is not None:
        if abs(float(text)) >= (math.inf if real else 2**63):
            raise _usage(f"--{option} is {text!r}: must be above -2^63 and below 2^63, as the keys of --by are")
        return Fraction(float(text)) if real else Fraction(text)
    found = sum(Fraction(count) * _NANOSECONDS[name] for count, name in re.findall(rf"({_NUMBER})([a-z]+)", parts[2]))
    if found.denominator != 1 or found >= 1 << 63:
        raise _usage(f"--{option} is {text!r}: must be a whole number of nanoseconds below 2^63")
    return (-found if parts[1] else found) / _times._NANOSECONDS[unit]


def _usage(words):
    from ._files import Usage

    return Usage(words)

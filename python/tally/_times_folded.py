# SPDX-License-Identifier: MIT
"""Operators on times and lengths of time of NumPy, as 64-bit ticks: times have min, max, minmax, first, last, argmin,
argmax and count, lengths of time also sum and mean.

NaT is as NaN in floats: the operator gives NaT where there is one, its nan form leaves it out. What a mask leaves out
is left out. A sum that 64 bits do not hold is refused; a mean is the exact quotient, rounded once, ties to even."""

import sys

__all__ = ["fold"]

_NAT = -(1 << 63)
_POINTS = {"min", "max", "minmax", "first", "last", "argmin", "argmax", "count"}
_LENGTHS = _POINTS | {"sum", "mean"}


def fold(call, x):
    """The result of a call whose x, of NumPy, has times."""
    numpy = sys.modules["numpy"]
    op = call["op"]
    base = _base(op, x.dtype, call.verb)
    if call.verb == "rolling":
        return call.having(x=numpy.where(numpy.isnat(numpy.ma.filled(x, "NaT")), numpy.nan, 0.0)).run()
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
        call = call.having(where=~leave if where is None else ~leave & numpy.asarray(where, bool))
    result = _fold(call, base, ticks, None if skips or not absent.any() else absent)
    if base in ("count", "argmin", "argmax"):
        return result
    return result.view(plain.dtype)[()]


def _base(op, dtype, verb):
    text = op if isinstance(op, str) else ""
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
    count = run("count")
    nothing = numpy.zeros(count.shape, bool) if base == "sum" else count == 0
    if absent is not None and base in ("max", "sum", "mean"):
        nothing = nothing | (run("any", absent) != 0)
    if base in ("sum", "mean"):
        halves = _halves(run, ticks if absent is None else numpy.where(absent, 0, ticks))
        found = _whole(*halves, nothing) if base == "sum" else _quotient(*halves, count)
    else:
        found = run(base)
    return numpy.where(nothing, _NAT, found)


def _halves(run, ticks):
    """The sums as high 2^32 + low, 0 <= low < 2^32, which do not overflow."""
    high, low = run("sum", ticks >> 32), run("sum", ticks & 0xFFFFFFFF)
    return high + (low >> 32), low & 0xFFFFFFFF


def _whole(high, low, nothing):
    if (((high < -(1 << 31)) | (high >= 1 << 31)) & ~nothing).any():
        raise OverflowError("x: a sum of these lengths of time is beyond 64 bits: cast them to a coarser unit first")
    return (high << 32) | low


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

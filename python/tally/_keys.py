# SPDX-License-Identifier: MIT
"""Sorted keys, runs of equal ones, and groups: what to give to ranges and segments, and reductions by group."""

from . import _columns, _core, _kinds, _words
from ._rolling import ends

__all__ = ["bounds", "by_key", "groups", "runs", "take"]


def bounds(keys, low, high, /, *, closed="both", ties="all"):
    """The windows of rows over sorted ``keys``: ``(start, end)`` for :func:`ranges`.

    To look back 5 units: ``bounds(t, -5, 0)``. The window of row ``i`` has the rows ``j`` whose distance
    ``keys[j] - keys[i]`` lies between ``low`` and ``high``. Distances are exact: no key is rounded, and no sum
    overflows. ``closed`` says which ends belong to the window: ``"both"``, ``"right"``, ``"left"``, ``"neither"``.
    ``keys`` have one axis and are numbers, on a GPU int32, int64, uint64 or float64, ascending or descending, or times:
    ``low`` and ``high`` are then 0 or lengths of time, ``"-5s"`` or a timedelta. It is the value of keys that counts,
    so of descending keys ``bounds(t, -5, 0)`` has rows after ``i``. ``ties="row"`` leaves out the rows after ``i`` that
    have the same key, as pandas does, and no others; ``"all"`` has all of them, as SQL and Polars do. Infinite keys
    are 0 apart where they are equal, and infinitely far from all others.

    >>> import tally
    >>> start, end = tally.bounds([0, 1, 1, 5], -1, 0)
    >>> start.tolist(), end.tolist()
    ([0, 0, 0, 3], [1, 3, 3, 4])
    >>> tally.ranges([1.0, 2.0, 3.0, 4.0], start, end, "sum").tolist()
    [1.0, 6.0, 6.0, 4.0]

    ValueError: keys that are not sorted, or NaN; a window with ``ties="row"`` that goes on behind a row which it
    leaves out, and so is not one range; an integer that float64, the type of such keys, does not hold. The sentence
    names the row. OverflowError: ``low`` or ``high`` beyond int64.
    """
    from ._times import distance, numbered, advice_on_text, unsorted, widened

    times = None
    with advice_on_text("keys"):
        if _columns.ticks(keys, "keys")[0] is not None:
            times = keys
            keys, unit = numbered(keys, "keys")
            low, high = distance(low, "low", unit), distance(high, "high", unit)
        keys = widened(_plain_array(keys), "keys")[0]
    try:
        return _core.bounds(keys, low, high, *ends(closed), _words.ties(ties))
    except ValueError as wrong:
        raise unsorted(wrong, times, "keys") from None


def runs(keys, /):
    """Cuts ``keys``, of one axis, into runs of equal neighbours: the offsets of :func:`segments`.

    ``keys`` are numbers or times. Run ``r`` has elements ``offsets[r]`` to ``offsets[r + 1] - 1``. NaN equals NaN, NaT
    equals NaT, -0 equals 0, and a null a null.

    >>> import tally
    >>> tally.runs([7, 7, 5, 7]).tolist()
    [0, 2, 3, 4]
    """
    ticks = _columns.ticks(keys, "keys")[0]
    return _core.runs(_plain_array(keys) if ticks is None else ticks)


def groups(codes, groups, /):
    """Where the elements of each group are: ``(order, offsets)`` of integers ``codes`` from 0 to ``groups - 1``.

    ``order[offsets[g]:offsets[g + 1]]`` are the places of the elements equal to ``g``, ascending.
    ``pandas.factorize`` and ``numpy.unique(keys, return_inverse=True)`` make codes of any keys. A code that is null, or
    masked, belongs to no group (``numpy.ma.masked_less(codes, 0)`` are those of ``pandas.factorize`` of keys with NaN).

    >>> import tally
    >>> order, offsets = tally.groups([1, 0, 1], 2)
    >>> order.tolist(), offsets.tolist()
    ([1, 0, 2], [0, 1, 3])

    ValueError: a code that is not in 0 to ``groups - 1``.
    """
    codes = _plain_array(codes)
    _checked(codes)
    return _core.groups(codes, groups)


def take(x, order, /):
    """The elements of ``x``, numbers or times of one axis, at the places ``order``, integers. What is null or masked
    stays so.

    >>> import tally
    >>> tally.take([1.5, 2.5], [1, 1, 0]).tolist()
    [2.5, 2.5, 1.5]

    ValueError: a place that ``x`` does not have.
    """
    ticks, give = _columns.ticks(x, "x")
    if ticks is not None:
        return give(take(ticks, order))
    x, order = _plain_array(x), _plain_array(order)
    there = _core.present(x, None, None)
    if there is None:
        return _core.take(x, order, False)
    return _kinds.with_nulls(x, _core.take(x, order, True), _core.take(there, order, True))


def by_key(x, codes, op, /, *, groups=None, dtype=None, next=None, where=None):
    """Reduces each group of ``x``: one result for each code from 0 to ``groups - 1`` (default: to the largest).
    ``reduce(x, op, by=keys)`` takes keys of any kind.

    ``codes`` are those of :func:`groups`, one for each element of ``x``; where the code is null, the element belongs to
    no group. A group's elements keep their order, so its bits are those of the group alone. An empty group gives the
    operator's empty value. ``next`` and ``where``, of one axis too, are those of :func:`reduce`.

    >>> import tally
    >>> tally.by_key([1.5, 2.5, 4.0], [1, 0, 1], "sum").tolist()
    [2.5, 5.5]

    ValueError: codes of another length than ``x``, or not in 0 to ``groups - 1``.
    """
    for other, name in ((codes, "codes"), (next, "next"), (where, "where")):
        _same_labels(x, other, name)
    ticks = _columns.ticks(x, "x")[0]
    codes, next, where = (_plain_array(each) for each in (codes, next, where))
    x = _plain_array(x) if ticks is None else x
    shape, wanted = _core.like(x)[1] if ticks is None else ticks.shape, _checked(codes)
    if shape != wanted:
        raise ValueError(f"x has shape {shape}, codes {wanted}: one axis, and a code for each element")
    if groups is None:
        some = int(_core.reduce("count", codes, None, False, None, None, None, None))
        groups = 1 + int(_core.reduce("max", codes, None, False, None, None, None, None)) if some else 0
    if ticks is not None or _core.like(x)[4] < 0:
        return _core.by(0, op, x, codes, groups, False, dtype, False, False, 0, 0, 0, 0, next, where)
    order, offsets = _core.groups(codes, groups)  # the elements stay on their device
    there = _core.present(x, where, next)
    if there is not None:
        there = _core.take(there, order, True)
    if next is not None:
        next = _core.take(next, order, True)
    x = _core.take(x, order, True)
    return _core.segments(0, op, x, offsets, dtype, False, False, 0, 0, 0, 0, next, there)


def _checked(codes):
    """The shape of codes, which must be integers."""
    step = "must be integers from 0; pandas.factorize(codes)[0] has such codes of any keys"
    try:
        dtype, shape = _core.like(codes, "codes")[:2]
    except TypeError as wrong:
        raise TypeError(f"{str(wrong).partition(': must be')[0]}: {step}") from None
    if "int" not in dtype and dtype != "bool":
        raise TypeError(f"codes has dtype {dtype}: {step}")
    return shape


def _same_labels(x, other, name):
    libraries = {_kinds._library(x), _kinds._library(other)}
    if libraries <= {"pandas", "xarray"}:
        _kinds.same_labels(x, other, name)


def _plain_array(x):
    """Without an index, which places do not have."""
    return getattr(x, "values", x) if _kinds._library(x) == "pandas" else x

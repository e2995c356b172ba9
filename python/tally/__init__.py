# SPDX-License-Identifier: MIT
"""Reductions, scans and sliding windows with the same bits on any number of threads, vector width and device.

>>> import tally
>>> from array import array
>>> x = array("f", [3, 1, 4, 1, 5, 9, 2, 6])
>>> tally.sum(x)
31.0
>>> tally.cumulative_sum(x)[-1] == tally.sum(x)
True
>>> tally.rolling(x, 3).mean()[-1] == tally.mean(array("d", x[-3:]))
True

Every function takes arrays of NumPy, PyTorch, JAX, CuPy, pandas, Polars, pyarrow and xarray, everything with a buffer,
numbers and lists, and gives results of the same kind. Tables of pandas, Polars and Arrow are taken column by column.
"""

import copyreg

from . import _by, _core, _here, _keys, _kinds, _words
from ._by import Keyed
from ._core import Array
from ._exact import Exact
from ._fragment import Fragment, Stream
from ._functions import cummax, cummin, cumprod, cumsum
from ._functions import functions as _by_operator
from ._here import config, define, device, devices, operators, progress, use_allocator, verify
from ._keys import bounds, by_key, groups, runs, take
from ._rolling import Rolling
from ._rolling import plain as _plain_rolling

_core.helpers(_kinds)
copyreg.pickle(Array, _kinds.pickled)
__version__ = _core.version()

_reduce, _scan, _window, _spelled = _core.reduce, _core.scan, _core.window, _words.spelled

for _module in (_by, _here, _keys):
    for _name in _module.__all__:
        getattr(_module, _name).__module__ = "tally"


# ---- the three verbs ----


def reduce(
    x,
    op,
    /,
    *,
    axis=None,
    dim=None,
    dtype=None,
    keepdims=False,
    next=None,
    where=None,
    out=None,
    by=None,
    sort=False,
    dropna=True,
    **words,
):
    """Folds all elements of ``x``, or those along ``axis``, by the operator ``op``.

    ``op`` is a name of :func:`operators`, with a parameter where it has one (``"var:ddof=1"``), or the name of an
    operator of one's own (:func:`define`); or a list of names, which gives a tuple of results.

    ``axis`` is an integer, a tuple of them, or None: all elements, in C order of the indices, whatever the strides are.
    The shape of the result is that of ``x`` without these axes (of extent 1 with ``keepdims``). ``dim`` names axes of
    xarray. A table of pandas, Polars or Arrow is reduced column by column unless ``axis`` says otherwise. ``dtype`` may
    be the type that the operator gives, or ``"float64"`` where it has an accumulator of that type. ``out`` is an array
    of the result's shape and type that gets the result.

    ``next`` is the second array of an operator of two (``"dot"``, ``"wmean"``, ``"cov"``, ``"corr"``, ``"slope"``);
    ``where`` has a bool for each element, and False leaves it out. Both are broadcast to the shape of ``x``, and
    paired with it by place: the labels of pandas and xarray must be equal, as ``x.align(y)`` makes them. Nulls of
    Arrow and masked elements are left out too. What is left out is absent in its place: the elements around it do not
    move together, so a float sum may differ in its last bits from the sum of the other elements alone.

    No elements give the operator's empty value: 0 for a sum, NaN for a mean.

    ``by`` folds each group of ``x``, which then has one axis: it has a key for each element, text, numbers, times,
    categories or other objects that can be hashed, of NumPy, pandas, Polars or Arrow, or in a list; or it is a list of
    several such keys, a dict or a table of them. The result has a value for each key: for pandas objects a Series whose
    index has the keys, else a pair ``(keys, values)``, a :class:`Keyed`, whose values of xarray have the keys as their
    coordinate. For xarray ``by`` may name a coordinate, or a part of its dates (``"time.month"``). Arrays of NumPy and
    xarray may have several axes: ``axis`` or ``dim`` is the one that the keys go along. Groups are in the
    order in which their keys first appear, or with ``sort`` in the order of the keys. Elements whose key is missing
    (NaN, None, null, NaT) are left out; with ``dropna=False`` they are a group. A group's elements keep their order,
    and its bits are those of its elements alone.

    >>> import tally
    >>> keys, values = tally.reduce([1.5, 2.5, 4.0], "sum", by=["b", "a", "b"])
    >>> keys, values.tolist()
    (['b', 'a'], [5.5, 2.5])
    >>> tally.reduce([1.5, 2.5, 4.0], ["count", "mean"])
    (3, 2.6666666666666665)
    >>> tally.reduce([1.5, 2.5, 4.0], "sum", where=[True, False, True])
    5.5
    >>> tally.reduce([1.0, 2.0], "wmean", next=[3, 1])
    1.25

    ValueError: an unknown operator, an axis that ``x`` does not have, an ``out`` that does not fit or overlaps ``x``.
    TypeError: ``x`` is no array of numbers, or the operator does not take its type.
    """
    if words:
        _words.refuse(op, (), words, of="reduce")
    axis = axis if dim is None else _words.dim(x, axis, dim)
    if by is not None:
        return _by.reduce(_words.all_spelled(op), x, by, sort, dropna, axis, keepdims, dtype, out, next, where)
    if isinstance(op, (list, tuple)):
        if out is not None:
            raise ValueError("out: several operators have several results; call reduce for each")
        return tuple([_reduce(_spelled(name), x, axis, keepdims, dtype, None, next, where) for name in op])
    if type(op) is str and "=" in op:
        op = _spelled(op)
    return _reduce(op, x, axis, keepdims, dtype, out, next, where)


def scan(
    x,
    op,
    /,
    *,
    axis=None,
    dim=None,
    exclusive=False,
    reverse=False,
    init=None,
    dtype=None,
    next=None,
    where=None,
    out=None,
    offsets=None,
    by=None,
    dropna=True,
):
    """Folds every prefix along ``axis``: result ``i`` is the reduction of elements 0 to ``i``, in bits.

    ``exclusive`` leaves out element ``i``; ``reverse`` folds from the last element to element ``i``; ``init`` is a
    value that starts every sequence. ``axis`` may be left out if ``x`` has one axis. ``offsets`` cuts ``x`` into
    segments, as in :func:`segments`. ``next`` and ``where`` are those of :func:`reduce`; where an element is left out,
    the result is that of the element before. ``out`` may be ``x`` itself where the types are equal.

    ``by`` has a key for each element of ``x``, as in :func:`reduce`; result ``i`` is then that of element ``i`` among
    the elements with its key, and of an element whose key is missing it is the operator's empty value (of arrays of
    several axes no key may be missing).

    >>> import tally
    >>> tally.scan([3, 1, 4, 1, 5], "max").tolist()
    [3, 3, 4, 4, 5]
    >>> tally.scan([3, 1, 4, 1, 5], "sum", by=["a", "b", "a", "b", "a"]).tolist()
    [3, 1, 7, 2, 12]

    ValueError, TypeError: as in :func:`reduce`.
    """
    axis = axis if dim is None else _words.dim(x, axis, dim)
    if type(op) is str and "=" in op:
        op = _spelled(op)
    if by is not None:
        _words.alone("by", offsets=offsets)
        return _by.scan(op, x, by, dropna, axis, exclusive, reverse, init, dtype, out, next, where)
    if offsets is not None:
        _words.alone("offsets", axis=axis, out=out, init=init)
        return _core.segments(1, op, x, offsets, dtype, bool(exclusive), bool(reverse), 0, 0, 0, 0, next, where)
    return _scan(op, x, axis, dtype, out, exclusive, reverse, False, init, next, where)


def window(
    x,
    op,
    w=None,
    /,
    *,
    before=None,
    after=None,
    center=False,
    edges="missing",
    min_count=0,
    axis=None,
    dim=None,
    dtype=None,
    next=None,
    where=None,
    out=None,
    offsets=None,
    by=None,
    dropna=True,
    **words,
):
    """Folds a window of ``w`` elements at every place along ``axis``.

    Window ``i`` has elements ``i - before`` to ``i + after``. ``w`` alone is a window that ends at ``i``, or with
    ``center`` one around it. A window that is not full gives the operator's empty value (``edges="missing"``), what its
    elements give (``"shrink"``), or no result (``"valid"``: the axis is shorter). ``min_count``: a window with fewer
    elements (that are there; for nan forms: that are not NaN) gives the empty value, and with ``edges="missing"`` one
    that is not full but has as many gives what they give. ``next`` and ``where`` are those of :func:`reduce`.
    ``offsets`` cuts ``x`` into segments, whose windows do not meet. With ``by``, as in :func:`scan`, a window has the
    last elements with the same key.

    Each result is the reduction of its own elements, in bits: nothing drifts, and nothing stays behind.

    >>> import tally
    >>> tally.window([1, 2, 3, 4], "sum", 2, edges="valid").tolist()
    [3, 5, 7]

    ValueError, TypeError: as in :func:`reduce`.
    """
    if words:
        _words.refuse(op, (), words, of="window")
    if type(w) is int and w > 0 and before is None and after is None and not center:  # the usual case
        back, ahead = w - 1, 0
    else:
        back, ahead = _words.reach(w, before, after, center)
    axis, edges = axis if dim is None else _words.dim(x, axis, dim), _words.edges(edges)
    if type(op) is str and "=" in op:
        op = _spelled(op)
    if by is not None:
        _words.alone("by", offsets=offsets)
        how = back, ahead, edges, min_count
        return _by.window(op, x, by, dropna, axis, how, dtype, out, next, where)
    if offsets is not None:
        _words.alone("offsets", axis=axis, out=out)
        how = back, ahead, edges, min_count, next, where
        return _core.segments(2, op, x, offsets, dtype, False, False, *how)
    return _window(op, x, axis, dtype, out, back, ahead, edges, min_count, next, where)


def segments(x, offsets, op, /, *, dtype=None, next=None, where=None):
    """Reduces neighbouring segments of ``x``: segment ``r`` has elements ``offsets[r]`` to ``offsets[r + 1] - 1``.

    ``x`` has one axis, and so have ``offsets``, ascending integers from 0 to at most the elements of ``x``. The
    result has one element less than ``offsets``. An empty segment gives the operator's empty value. A row of a matrix
    in compressed sparse form is such a segment. ``next`` and ``where`` are those of :func:`reduce`.

    >>> import tally
    >>> tally.segments([1, 2, 3, 4, 5], [0, 2, 2, 5], "sum").tolist()
    [3, 0, 12]

    ValueError: offsets that do not ascend or leave ``x``.
    """
    return _core.segments(0, _spelled(op), x, offsets, dtype, False, False, 0, 0, 0, 0, next, where)


def ranges(x, start, end, op, /, *, axis=None, dim=None, dtype=None, min_count=0, next=None, where=None, out=None):
    """Folds ranges of ``x``, which may come in any order and overlap: result ``r`` is the reduction of elements
    ``start[r]`` to ``end[r] - 1`` along ``axis``.

    ``start`` and ``end`` have one axis and as many integers, 0 to the number of elements; :func:`bounds` makes
    those of windows over times. A range with fewer than ``min_count`` elements (for nan forms: that are not NaN) gives
    the operator's empty value, and so does one of none. ``next``, ``where`` and ``out`` are those of :func:`reduce`.

    >>> import tally
    >>> tally.ranges([1, 2, 3, 4], [0, 2, 1], [4, 4, 1], "sum").tolist()
    [10, 7, 0]

    ValueError, TypeError: as in :func:`reduce`; a range that ends before it starts or leaves ``x``.
    """
    axis = axis if dim is None else _words.dim(x, axis, dim)
    return _core.ranges(_spelled(op), x, axis, dtype, out, start, end, min_count, None, next, where)


def rolling(
    x,
    /,
    window,
    *,
    axis=None,
    dim=None,
    on=None,
    center=False,
    closed=None,
    min_periods=None,
    step=None,
    ties="row",
    dtype=None,
    by=None,
    dropna=True,
    **words,
):
    """Windows with the words and results of ``pandas.Series.rolling``: ``rolling(x, 20).mean()``.

    ``window`` is a number of elements along ``axis`` (0 unless given) or ``dim``, at least 1. ``closed`` says which
    ends of the interval belong to it: ``"right"`` (also None), ``"both"``, ``"left"``, ``"neither"``. NaN, null and
    masked elements are no observations: a window with fewer than ``min_periods`` observations (default: ``window``)
    gives NaN. ``step`` keeps each ``step``-th result. Results are float64, computed in float64; ``dtype="float32"``
    keeps float32. Each column of a table has windows of its own.

    Windows of time: ``on`` has a time (or any number) for each row, ascending or descending, and ``window`` is a
    length of time, ``"2s"``, ``"1h30min"``, a timedelta, or a number in the units of ``on``. ``on`` may name a column
    of a table, which the results keep, and may be left out where the index of pandas or the coordinate of xarray has
    times. Times are of any unit and byte order; none is rounded. The window of a row at time t has the times from
    t - window to t (without its beginning, unless ``closed`` says so), or with ``center`` those half a window around
    t. Of descending times it is the rows before that belong to a window, as in pandas: the times
    from t to t + window. Here ``min_periods`` is 1 unless given. Of rows with the same time,
    ``ties="row"`` leaves out those after the row itself, as pandas does; ``"all"`` has all.

    ``by`` has a key for each row, as in :func:`reduce`: a window has rows with the same key only, whose times must
    be sorted among themselves. Results are in the order of the rows; where the key is missing, a window has no rows.

    Two things differ from pandas: an infinity is a number here (pandas takes it for NaN), and a result does not depend
    on elements outside its window, not even in its last bit.

    >>> import tally
    >>> tally.rolling([1.0, 2.0, float("nan"), 4.0], 2, min_periods=1).sum().tolist()
    [1.0, 3.0, 2.0, 4.0]
    >>> tally.rolling([1.0, 2.0, 3.0, 4.0], 10, on=[0, 5, 10, 30]).sum().tolist()
    [1.0, 3.0, 5.0, 4.0]
    >>> tally.rolling([1.0, 2.0, 3.0, 4.0], 2, by=["a", "b", "a", "b"], min_periods=1).sum().tolist()
    [1.0, 2.0, 4.0, 6.0]

    ValueError: a window that is no number of elements and no fixed length of time (months, years), ``min_periods``
    above a number of elements, times that are not sorted.
    """
    if words:
        _words.refuse("rolling", (), words, True)
    axis = axis if dim is None else _words.dim(x, axis, dim)
    given = center or not (on is closed is min_periods is step is by is None)
    if not given and type(window) is int and 0 < window < 1 << 61:
        return _plain_rolling(x, window, axis, dtype)
    return Rolling(x, window, axis, on, center, closed, min_periods, step, ties, dtype, by, dropna)


def digest(x):
    """The SHA-256 of the elements' bytes, in C order, as hexadecimal digits: what ``tally --digest`` prints for them.

    >>> import tally
    >>> tally.digest(b"tally")[:16]
    'b01e26d3f5a5130b'
    """
    from hashlib import sha256

    return sha256(_core.packed(x)).hexdigest()


# ---- one function for each operator, and the array API's names for scans ----

globals().update(_by_operator)


def cumulative_sum(
    x, /, *, axis=None, dim=None, dtype=None, include_initial=False, where=None, out=None, by=None, dropna=True
):
    """The sums of all prefixes along ``axis``; with ``include_initial`` one more result, 0, comes first. With
    ``by``, as in :func:`scan`, those of each group.

    >>> import tally
    >>> tally.cumulative_sum([3, 1, 4]).tolist()
    [3, 4, 8]
    >>> tally.cumulative_sum([3, 1, 4], include_initial=True).tolist()
    [0, 3, 4, 8]

    ValueError, TypeError: as in :func:`reduce`.
    """
    axis = axis if dim is None else _words.dim(x, axis, dim)
    if by is not None:
        _words.alone("by", include_initial=include_initial or None)
        return _by.scan("sum", x, by, dropna, axis, False, False, None, dtype, out, None, where)
    return _scan("sum", x, axis, dtype, out, False, False, include_initial, None, None, where)


def cumulative_prod(
    x, /, *, axis=None, dim=None, dtype=None, include_initial=False, where=None, out=None, by=None, dropna=True
):
    """The products of all prefixes along ``axis``; with ``include_initial`` one more result, 1, comes first. With
    ``by``, as in :func:`scan`, those of each group.

    >>> import tally
    >>> tally.cumulative_prod([3, 1, 4]).tolist()
    [3, 3, 12]

    ValueError, TypeError: as in :func:`reduce`.
    """
    axis = axis if dim is None else _words.dim(x, axis, dim)
    if by is not None:
        _words.alone("by", include_initial=include_initial or None)
        return _by.scan("prod", x, by, dropna, axis, False, False, None, dtype, out, None, where)
    return _scan("prod", x, axis, dtype, out, False, False, include_initial, None, None, where)


__all__ = [
    "Array",
    "Exact",
    "Fragment",
    "Keyed",
    "Rolling",
    "Stream",
    "bounds",
    "by_key",
    "config",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "define",
    "device",
    "devices",
    "digest",
    "groups",
    "operators",
    "progress",
    "ranges",
    "reduce",
    "rolling",
    "runs",
    "scan",
    "segments",
    "take",
    "use_allocator",
    "verify",
    "window",
    *_by_operator,
]


def __getattr__(name):
    raise _words.no_such(name, "module 'tally' has no attribute")


def __dir__():
    return [*__all__, "__version__"]

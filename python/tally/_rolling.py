# SPDX-License-Identifier: MIT
"""Rolling windows with the words of pandas."""

from operator import index

from . import _core, _words
from ._by import Sorted

__all__ = ["Rolling"]

# of rows: how many more before, and fewer after; of times: is the low end open, is the high end
_CLOSED = {"right": (0, 0), "both": (1, 0), "left": (1, -1), "neither": (0, -1)}
_OPEN = {"right": (True, False), "both": (False, False), "left": (False, True), "neither": (True, True)}


def ends(closed):
    """Whether the low and the high end are open."""
    if closed not in _OPEN:
        raise ValueError(f"closed is {closed!r}: must be 'right', 'left', 'both' or 'neither'")
    return _OPEN[closed]


class Rolling:
    """Windows over ``x``, made by :func:`tally.rolling`; its methods are the operators.

    ``r.mean()`` is the mean of each window, and so are ``sum``, ``min``, ``max``, ``prod``, ``count``, ``first``,
    ``last``, ``argmin``, ``argmax``, ``any``, ``all``, ``var(ddof=1)`` and ``std(ddof=1)``; with a second array
    ``cov(other, ddof=1)`` and ``corr(other)``. :meth:`agg` takes the name of any operator, also of one's own.
    """

    __slots__ = ("_x", "_before", "_after", "_minimum", "_step", "_axis", "_dtype", "_start", "_end", "_sorted")
    __module__ = "tally"

    def __init__(
        self,
        x,
        window,
        axis=0,
        on=None,
        center=False,
        closed=None,
        min_periods=None,
        step=None,
        ties="row",
        dtype=None,
        by=None,
        dropna=True,
    ):
        self._x, self._axis, self._dtype, self._sorted = x, axis, dtype, None
        closed = "right" if closed is None else closed
        ends(closed)
        self._step = 1 if step is None else _integer(step, "step", 1)
        self._start = self._end = None
        is_time = getattr(getattr(window, "dtype", None), "kind", "") == "m"  # numpy.timedelta64, which has __index__
        if on is None and hasattr(window, "__index__") and not is_time:
            self._rows(_integer(window, "window", 1), center, closed, min_periods)
        else:
            self._times(window, on, center, closed, min_periods, ties, by, dropna)
        if by is not None and self._sorted is None:
            self._group(by, dropna, None, self._before, self._after, False, False, False)

    def _group(self, by, dropna, keys, *bounds):
        """Sorts the rows by group: windows become ranges of these."""
        if self._step != 1 or self._axis != 0:
            raise ValueError("by: cannot be given with step or axis")
        self._sorted = rows = Sorted(self._x, by, dropna)
        if keys is not None and len(keys) != rows.rows:
            raise ValueError(f"on has {len(keys)} elements: must have {rows.rows}, one for each row of x")
        keys = None if keys is None else _core.take(keys, rows.order, False)
        self._start, self._end = _core.group_bounds(rows.order, rows.offsets, keys, *bounds)
        self._before = self._after = 0

    def _rows(self, length, center, closed, min_periods):
        ahead = (length - 1) // 2 if center else 0
        more, less = _CLOSED[closed]
        self._before, self._after = length - 1 - ahead + more, ahead + less
        self._minimum = length if min_periods is None else _integer(min_periods, "min_periods", 0)
        if self._minimum > length:
            raise ValueError(f"min_periods is {self._minimum}: must be at most the window, {length}")

    def _times(self, window, on, center, closed, min_periods, ties, by, dropna):
        from ._times import keys_and_length

        row = _words.ties(ties)
        keys, length, falling = keys_and_length(self._x, on, window)
        low_open, high_open = ends(closed)
        if center:
            whole = length % 2 != 0 and not isinstance(length, float)  # whose half is between two ticks
            half = length / 2 if isinstance(length, float) else length // 2
            low, high, row = -half, half, False
            low_open, high_open = (False, False) if whole else (low_open, high_open)
        else:
            low, high = -length, 0 if isinstance(length, int) else 0.0
        if by is not None:
            self._group(by, dropna, keys, low, high, low_open, high_open, row)
        else:
            if falling:
                low, high, low_open, high_open = -high, -low, high_open, low_open
            self._start, self._end = _core.bounds(keys, low, high, low_open, high_open, row)
        self._before = self._after = 0
        self._minimum = 1 if min_periods is None else _integer(min_periods, "min_periods", 0)

    def agg(self, op, other=None):
        """The operator of this name, such as ``'mean'`` or ``'var:ddof=1'``, in each window; ``other`` is the second
        array of ``'dot'``, ``'wmean'`` and ``'slope'``. Elements that are NaN are no observations, and neither are
        pairs with one: the operator's nan form is taken where it has one."""
        return self._fold(_nan_form(op), op, False, other)

    def count(self):
        """How many elements of each window are not NaN. Here ``min_periods`` is about rows, NaN or not, as in
        pandas."""
        return self._fold("count", "count", True)

    def cov(self, other, ddof=1):
        """Covariance of ``x`` and ``other``, divided by the number of observations less ``ddof``."""
        return self.agg(f"cov:ddof={ddof}", other)

    def corr(self, other):
        """Correlation of ``x`` and ``other``, -1 to 1."""
        return self.agg("corr", other)

    def _fold(self, nan_form, op, rows, other=None):
        x, groups = self._x, self._sorted
        if groups is not None:
            x, other = groups.take(x), groups.take(other)
        reach = self._before, self._after, self._minimum, self._step
        found = _core.rolling(nan_form, x, self._axis, self._dtype, *reach, op, rows, other, self._start, self._end)
        return found if groups is None else groups.back(self._x, found)

    def var(self, ddof=1):
        """Variance, divided by the number of observations less ``ddof``."""
        return self.agg(f"var:ddof={ddof}")

    def std(self, ddof=1):
        """Standard deviation, the square root of :meth:`var`."""
        return self.agg(f"std:ddof={ddof}")


def _integer(value, name, least):
    try:
        number = index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}: must be an integer") from None
    if number < least or number >= 1 << 61:
        raise ValueError(f"{name} is {number}: must be {least}..2^61 - 1")
    return number


def _nan_form(op):
    if not isinstance(op, str):
        raise TypeError(f"op is {op!r}: must be the name of an operator, such as 'sum' or 'var:ddof=1'")
    name = op.partition(":")[0]
    return "nan" + op if "nan" + name in _NAMES else op


_NAMES = frozenset(_core.operators())


def _method(name):
    form = _nan_form(name)

    def method(self):
        return self._fold(form, name, False)

    method.__name__ = name
    method.__qualname__ = f"Rolling.{name}"
    method.__doc__ = f"``{name}`` of each window."
    return method


METHODS = ("sum", "mean", "min", "max", "prod", "first", "last", "argmin", "argmax", "any", "all")
for _name in METHODS:
    setattr(Rolling, _name, _method(_name))
del _name

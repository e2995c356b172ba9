# SPDX-License-Identifier: MIT
"""Rolling windows with the words of pandas."""

from operator import index

from . import _core, _tables, _words
from ._by import Groups, Sorted, dimension
from ._functions import NAMES, facts

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

    ``r.mean()`` is the mean of each window, and each operator of :func:`tally.operators` has such a method:
    ``sum``, ``min``, ``var(ddof=1)``, ``skew(sample=True)``, ``ema(alpha)``, ...; operators of two arrays take the
    other one: ``cov(other, ddof=1)``, ``corr(other)``. Defaults are those of pandas. :meth:`agg` takes the name of any
    operator, also of one's own.
    """

    # _direct: None, or x and its windows of rows, for the extension. An attribute takes long to
    # read here, because the class has __getattr__, so a method reads this one alone.
    __slots__ = (
        "_direct", "_x", "_before", "_after", "_minimum", "_step", "_axis", "_dtype",
        "_start", "_end", "_sorted", "_back", "_each",
    )  # fmt: skip
    __module__ = "tally"

    def __init__(
        self,
        x,
        window,
        axis=None,
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
        self._x, self._axis, self._dtype = x, axis, dtype
        self._direct = self._back = self._sorted = self._start = self._end = self._each = None
        dims = list(getattr(x, "dims", ()))  # of xarray: only one of them may be left out
        if axis is None:
            self._axis = dims[0] if len(dims) == 1 else None if dims else 0
        if by is not None:
            self._x, by = _tables.keyed_by(x, by)
            by = Groups(by, False, dropna)
            dim = dimension(by, self._x, self._axis)
            if dim is not None:
                words = window, dim, on, center, closed, min_periods, None, ties, dtype
                self._along(by, dim, step, on, words)
                return
        if isinstance(on, str):
            self._x, on = self._column(self._x, on)
        if closed is None:
            closed = "right"
        else:
            ends(closed)
        self._step = 1 if step is None else _integer(step, "step", 1)
        is_rows = type(window) is int or (
            hasattr(window, "__index__")
            and getattr(getattr(window, "dtype", None), "kind", "") != "m"  # numpy.timedelta64 has __index__
        )
        if on is None and is_rows:
            self._rows(_integer(window, "window", 1), center, closed, min_periods)
        else:
            self._times(window, on, center, closed, min_periods, ties, by)
        if by is not None and self._sorted is None:
            self._group(by, None, self._before, self._after, False, False, False)

    def _along(self, groups, dim, step, on, words):
        """Windows of each group of steps along one of several dimensions."""
        if step is not None or not isinstance(on, str | None):
            raise ValueError(
                "by: of several dimensions, step cannot be given, and on only as a coordinate's name"
            )

        def each(fold, other):
            return groups.scan_along(
                self._x, dim, lambda x, other: fold(Rolling(x, *words), other), other
            )

        self._sorted, self._each = groups, each

    def _group(self, groups, keys, *bounds):
        """Sorts the rows by group: windows become ranges of these."""
        if self._step != 1 or [self._axis] not in ([0], [None], list(getattr(self._x, "dims", ()))):
            raise ValueError("by: cannot be given with step or axis")
        self._axis = 0
        self._sorted = rows = Sorted(self._x, groups)
        if keys is not None and len(keys) != rows.rows:
            raise ValueError(f"on has {len(keys)} elements: must have {rows.rows}, one for each row of x")
        keys = None if keys is None else _core.take(keys, rows.order, False)
        self._start, self._end = _core.group_bounds(rows.order, rows.offsets, keys, *bounds)
        self._before = self._after = 0
        self._direct = None

    def _rows(self, length, center, closed, min_periods):
        ahead = (length - 1) // 2 if center else 0
        more, less = _CLOSED[closed]
        before, after = length - 1 - ahead + more, ahead + less
        least = length if min_periods is None else _integer(min_periods, "min_periods", 0)
        if least > length:
            raise ValueError(f"min_periods is {least}: must be at most the window, {length}")
        self._before, self._after, self._minimum = before, after, least
        self._direct = self._x, self._axis, self._dtype, before, after, least, self._step

    def _times(self, window, on, center, closed, min_periods, ties, by):
        from ._times import keys_and_length, advice_on_text, unsorted

        row = _words.ties(ties)
        with advice_on_text("on"):
            keys, length, falling, times = keys_and_length(self._x, on, window, self._axis)
        low_open, high_open = ends(closed)
        if center:
            whole = length % 2 != 0 and not isinstance(length, float)  # whose half is between two ticks
            half = length / 2 if isinstance(length, float) else length // 2
            low, high, row = -half, half, False
            low_open, high_open = (False, False) if whole else (low_open, high_open)
        else:
            low, high = -length, 0 if isinstance(length, int) else 0.0
        if falling and by is None:
            low, high, low_open, high_open = -high, -low, high_open, low_open
        try:
            if by is not None:
                self._group(by, keys, low, high, low_open, high_open, row)
            else:
                self._start, self._end = _core.bounds(keys, low, high, low_open, high_open, row)
        except ValueError as wrong:  # of keys, which are on here
            text = str(wrong).replace("keys must be numbers that", "must be sorted; the first and the last")
            raise unsorted(text, times, "on") from None
        self._before = self._after = 0
        self._minimum = 1 if min_periods is None else _integer(min_periods, "min_periods", 0)

    def agg(self, op, other=None):
        """The operator of this name, such as ``'mean'`` or ``'var:ddof=1'``, in each window; ``other`` is the second
        array of ``'dot'``, ``'wmean'`` and ``'slope'``. Elements that are NaN are no observations, and neither are
        pairs with one: the operator's nan form is taken where it has one."""
        op = _words.spelled(op)
        return self._fold(_nan_form(op), op, False, other)

    def count(self):
        """How many elements of each window are not NaN. Here ``min_periods`` is about rows, NaN or not, as in
        pandas."""
        return self._fold("count", "count", True)

    def __getattr__(self, name):
        raise _words.no_such(name, "rolling has no method")

    def apply(self, function, *unused, **also_unused):
        """Not there: windows are folded by operators, not by functions of Python. ``tally.define`` makes an operator
        of a short text in C, and :meth:`agg` takes its name."""
        raise TypeError(
            f"apply: windows are folded by operators, not by {function!r}: agg('mean') takes an operator's name, and "
            "tally.define(name, text) makes an operator of a short text in C"
        )

    def _fold(self, nan_form, op, rows, other=None):
        groups = self._sorted
        if groups is None:
            found = self._run(nan_form, self._x, op, rows, other)
        elif self._each is not None:
            return self._each(
                lambda windows, other: windows._fold(nan_form, op, rows, other), other
            )
        else:
            found = _tables.each_column(
                self._x,
                other,
                lambda x, y: groups.back(x, self._run(nan_form, groups.take(x), op, rows, groups.take(y))),
            )
        return found if self._back is None else self._back(found, slice(None, None, self._step))

    def _run(self, nan_form, x, op, rows, other):
        axis, dtype, start, end = self._axis, self._dtype, self._start, self._end
        before, after, least, step = self._before, self._after, self._minimum, self._step
        return _core.rolling(nan_form, x, axis, dtype, before, after, least, step, op, rows, other, start, end)

    def _column(self, x, name):
        """A table without the column ``name``, which results get back, and the column; or x and its coordinate."""
        if hasattr(x, "dims"):
            return x, x[name]
        column, x, self._back = _tables.column_named(x, name)
        return x, column


def plain(x, window, axis, dtype):
    """Windows of ``window`` rows, all of them there: the usual case, faster than by ``__init__``."""
    r = _new(Rolling)
    r._x, r._axis, r._dtype = x, axis, dtype
    r._before, r._after, r._minimum, r._step = window - 1, 0, window, 1
    r._back = r._sorted = r._start = r._end = None
    r._direct = x, axis, dtype, window - 1, 0, window, 1
    return r


_new = object.__new__


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


# ---- a method for each operator; defaults are those of pandas ----


def _plain(op):
    nan_form, rolling = _nan_form(op), _core.rolling

    def method(self, **words):
        if words:
            _words.refuse(op, (), words, True)
        direct = self._direct
        if direct is None:
            return self._fold(nan_form, op, False)
        return rolling(nan_form, *direct, op, False, None, None, None)

    return method


def _ddof(op):
    def method(self, ddof=1, *, correction=None, **words):
        if words:
            _words.refuse(op, (), words, True)
        return self.agg(f"{op}:{ddof if correction is None else correction}")

    return method


def _sample(op):
    def method(self, sample=True, **words):
        if words:
            _words.refuse(op, (), words, True)
        return self.agg(f"{op}:{int(sample)}")

    return method


def _alpha(op):
    def method(self, alpha=None, *, span=None, halflife=None, com=None, adjust=False):
        return self.agg(f"{op}:{_words.alpha(alpha, span=span, halflife=halflife, com=com, adjust=adjust)}")

    return method


def _two(op):
    def method(self, other):
        return self.agg(op, other)

    return method


def _two_ddof(op):
    def method(self, other, ddof=1, *, correction=None, **words):
        if words:
            _words.refuse(op, (), words, True)
        return self.agg(f"{op}:{ddof if correction is None else correction}", other)

    return method


_FORMS = {("", 1): _plain, ("ddof", 1): _ddof, ("sample", 1): _sample, ("alpha", 1): _alpha}
_FORMS |= {("", 2): _two, ("ddof", 2): _two_ddof}
METHODS = []  # their names, for the stubs
for _op in _core.operators():
    if not _op.startswith("nan") and _op not in ("count", "minmax"):
        _about, _name = facts(_op)[0], NAMES.get(_op, _op)
        _method = _FORMS[_about["param"], _about["inputs"]](_op)
        _method.__name__, _method.__qualname__, _method.__module__ = _name, f"Rolling.{_name}", "tally"
        _method.__doc__ = f"{_about['text'][0].upper()}{_about['text'][1:]}: of each window."
        setattr(Rolling, _name, _method)
        METHODS.append(_name)
del _op, _about, _name, _method

# SPDX-License-Identifier: MIT
"""Rolling windows with the words of pandas."""

from operator import index

from . import _core

__all__ = ["Rolling"]

_CLOSED = {None: (0, 0), "right": (0, 0), "both": (1, 0), "left": (1, -1), "neither": (0, -1)}


class Rolling:
    """Windows over ``x``, made by :func:`tally.rolling`; its methods are the operators.

    ``r.mean()`` is the mean of each window, and so are ``sum``, ``min``, ``max``, ``prod``, ``count``, ``first``,
    ``last``, ``argmin``, ``argmax``, ``any``, ``all``, ``var(ddof=1)`` and ``std(ddof=1)``. :meth:`agg` takes the name
    of any operator, also of one's own.
    """

    __slots__ = ("_x", "_before", "_after", "_minimum", "_step", "_axis", "_dtype")
    __module__ = "tally"

    def __init__(self, x, window, *, axis=0, center=False, closed=None, min_periods=None, step=None, dtype=None):
        self._x, self._axis, self._dtype = x, axis, dtype
        length = _integer(window, "window", 0, "this version has windows of a number of rows, not of time")
        if closed not in _CLOSED:
            raise ValueError(f"closed is {closed!r}: must be 'right', 'left', 'both', 'neither' or None")
        ahead = (length - 1) // 2 if center else 0
        more, less = _CLOSED[closed]
        self._before, self._after = length - 1 - ahead + more, ahead + less
        self._minimum = length if min_periods is None else _integer(min_periods, "min_periods", 0)
        if self._minimum > length:
            raise ValueError(f"min_periods is {self._minimum}: must be at most the window, {length}")
        self._step = 1 if step is None else _integer(step, "step", 1)

    def agg(self, op):
        """The operator of this name, such as ``'mean'`` or ``'var:ddof=1'``, in each window. Elements that are NaN are
        no observations: the operator's nan form is taken where it has one."""
        return self._fold(_nan_form(op), op, False)

    def count(self):
        """How many elements of each window are not NaN. Here ``min_periods`` is about rows, NaN or not, as in
        pandas."""
        return self._fold("count", "count", True)

    def _fold(self, nan_form, op, rows):
        reach = self._before, self._after, self._minimum, self._step
        return _core.rolling(nan_form, self._x, self._axis, self._dtype, *reach, op, rows)

    def var(self, ddof=1):
        """Variance, divided by the number of observations less ``ddof``."""
        return self.agg(f"var:ddof={ddof}")

    def std(self, ddof=1):
        """Standard deviation, the square root of :meth:`var`."""
        return self.agg(f"std:ddof={ddof}")


def _integer(value, name, least, instead=None):
    try:
        number = index(value)
    except TypeError:
        if instead and not isinstance(value, float):
            raise ValueError(f"{name} is {value!r}: {instead}") from None
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
    def method(self):
        return self.agg(name)

    method.__name__ = name
    method.__qualname__ = f"Rolling.{name}"
    method.__doc__ = f"``{name}`` of each window."
    return method


METHODS = ("sum", "mean", "min", "max", "prod", "first", "last", "argmin", "argmax", "any", "all")
for _name in METHODS:
    setattr(Rolling, _name, _method(_name))
del _name

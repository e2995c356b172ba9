# SPDX-License-Identifier: MIT
"""Sums without rounding: the state of sum:exact as a value."""

from . import _core

__all__ = ["Exact"]


class Exact:
    """The real sum of floats, without rounding: ``Exact(x, where=None)``, and ``a + b``, ``a - b`` of two sums.

    No order of the elements, and no way to cut them, changes a bit: :meth:`sum` is the real sum, rounded once, which is
    what ``math.fsum`` gives. Elements may be taken back. Nulls, masked elements and those for which ``where`` is False
    are left out, and not counted. A sum is a value of 576 bytes. It compares and pickles, and
    ``bytes(a)`` is the C library's ``tally_exact``. ``tally.reduce(x, "sum:exact")`` gives the same for one array.

    >>> from array import array
    >>> a = tally.Exact(array("d", [1e100, 1.0, -1e100]))
    >>> a.sum(), a.mean(), a.count
    (1.0, 0.3333333333333333, 3)
    >>> a.add(array("f", [0.5]))
    >>> (a - tally.Exact([1.0])).sum()
    0.5
    >>> tally.Exact([0.1, 0.2, 9.0], where=[True, True, False]).sum()
    0.30000000000000004

    ValueError, TypeError: elements that are no floats.
    """

    __slots__ = ("_state",)
    __module__ = "tally"
    __hash__ = None  # type: ignore[assignment]  # it may change

    def __init__(self, x=None, *, where=None):
        self._state = bytes(576)
        if x is not None:
            self.add(x, where=where)

    @classmethod
    def from_bytes(cls, data):
        """The sum of 72 integers of 64 bits, which may be sums, word by word, of such states."""
        self = cls()
        self._state = _core.exact_join(self._state, bytes(data), 1)
        return self

    def add(self, x, *, where=None):
        """Adds the elements of ``x``: float16, bfloat16, float32 or float64, in any shape."""
        self._state = _core.exact_add(self._state, x, 1, where)

    def subtract(self, x, *, where=None):
        """Takes the elements of ``x`` back."""
        self._state = _core.exact_add(self._state, x, -1, where)

    def sum(self, *, dtype="float64", skipna=False):
        """The sum, rounded once to ``dtype`` (float64 or float32); ``skipna`` leaves NaN out."""
        return _core.exact_value(self._state, "nansum:exact" if skipna else "sum:exact", dtype)

    def mean(self, *, dtype="float64", skipna=False):
        """The sum divided by the number of elements, rounded once to ``dtype``. NaN if there are none."""
        return _core.exact_value(self._state, "nanmean:exact" if skipna else "mean:exact", dtype)

    @property
    def count(self):
        """The number of elements, NaN and infinities too."""
        return int.from_bytes(self._state[568:], "little", signed=True)

    def __add__(self, other):
        return self._join(other, 1)

    def __sub__(self, other):
        return self._join(other, -1)

    def _join(self, other, sign):
        if not isinstance(other, Exact):
            return NotImplemented
        joined = type(self)()
        joined._state = _core.exact_join(self._state, other._state, sign)
        return joined

    def __bytes__(self):
        return self._state

    def __eq__(self, other):
        return self._state == other._state if isinstance(other, Exact) else NotImplemented

    def __reduce__(self):
        return type(self).from_bytes, (self._state,)

    def __repr__(self):
        return f"<tally.Exact {self.sum()} of {self.count}>"

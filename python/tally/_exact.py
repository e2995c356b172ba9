# SPDX-License-Identifier: MIT
"""Sums without rounding, and the statistics made of them: their state as a value."""

import struct

from . import _core, _words
from ._fragment import Fragment

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

    ``Exact(x, "var")`` keeps the sum of the squares too, of floats or integers, and ``Exact(x, "corr", next=y)`` all
    sums of two arrays; any other statistic may be named. Then :meth:`result` gives every statistic of one array (of
    two), rounded once, as ``tally.reduce(x, "var:exact")`` does; ``bytes(a)`` is a fragment of the elements
    in any order (:class:`Fragment`).

    >>> a = tally.Exact([100000000.1, 100000000.2], "var") + tally.Exact([100000000.4], "var")
    >>> a.var(), a.result("norm"), a.mean()
    (0.015555556681421093, 173205081.16103292, 100000000.23333333)

    ValueError, TypeError: elements that are no floats (of a statistic: no numbers), a name that is none.
    """

    __slots__ = ("_state", "_sums", "_op")
    __module__ = "tally"
    __hash__ = None  # type: ignore[assignment]  # it may change

    def __init__(self, x=None, op="sum", *, next=None, where=None):
        self._op, skipna, parameter = _parsed(op)
        self._state = bytes(576) if self._op in _PLAIN else None
        self._sums = None if self._state else _nothing(self._of_two)
        if x is not None:
            self.add(x, next=next, where=where)

    @classmethod
    def from_bytes(cls, data):
        """The value of ``bytes(a)``. Of sums they are 72 integers of 64 bits, which may be sums, word by word, of such
        states."""
        data, self = bytes(data), cls()
        if data.startswith(_MAGIC):
            op = Fragment.from_bytes(data).op
            self._op, self._state, self._sums = _parsed(op)[0], None, _read(data)
            wanted = _SUMS[2 if self._of_two else 1]
            # more steps than sums: it has several ranges
            if ":exact" not in op or _SUMS.get(self._op) != wanted or len(self._sums) != len(wanted.split()):
                raise ValueError(f"data is a fragment of {op!r}: must be of 'var:exact' or 'corr:exact'")
        else:
            self._state = _core.exact_join(self._state, data, 1)
        return self

    @property
    def _of_two(self):
        return self._op in _OF_TWO

    def add(self, x, *, next=None, where=None):
        """Adds the elements of ``x``: float16, bfloat16, float32 or float64 (of a statistic integers too), in any
        shape; of a statistic of two arrays with those of ``next``."""
        self._put(x, next, where, 1)

    def subtract(self, x, *, next=None, where=None):
        """Takes the elements of ``x`` back."""
        self._put(x, next, where, -1)

    def _put(self, x, next, where, sign):
        if self._of_two and next is None:
            raise ValueError(f"next: {self._op!r} takes two arrays, x and next")
        if self._sums is not None:
            operator = "corr:exact" if self._of_two else "var:exact"
            part = _read(bytes(Fragment(operator, x, next=next, where=where)))
            self._sums = _joined(self._sums, part, sign)
        elif next is not None:
            raise ValueError(f"next: {self._op!r} takes one array; Exact(x, 'corr', next=y) takes two")
        else:
            self._state = _core.exact_add(self._state, x, sign, where)

    def sum(self, *, dtype="float64", skipna=False):
        """The sum (of two arrays that of the first), rounded once to ``dtype`` (float64 or float32); ``skipna`` leaves
        NaN out."""
        return _core.exact_value(self._words(), "nansum:exact" if skipna else "sum:exact", dtype)

    def mean(self, *, dtype="float64", skipna=False):
        """The sum divided by the number of elements, rounded once to ``dtype``. NaN if there are none."""
        return _core.exact_value(self._words(), "nanmean:exact" if skipna else "mean:exact", dtype)

    def var(self, ddof=0, *, skipna=False):
        """The variance, divided by n - ``ddof`` and rounded once, of ``Exact(x, "var")``."""
        return self.result(f"var:{ddof}", skipna=skipna)

    def std(self, ddof=0, *, skipna=False):
        """The root of :meth:`var`, rounded once."""
        return self.result(f"std:{ddof}", skipna=skipna)

    def result(self, op=None, *, skipna=False):
        """The statistic ``op``, such as ``"var:ddof=1"`` or ``"nancorr"``, rounded once to float64; without a name the
        one that was given at first."""
        name, without, parameter = _parsed(self._op if op is None else op)
        skipna |= without
        if name in _PLAIN:
            return (self.mean if name == "mean" else self.sum)(skipna=skipna)
        if self._sums is None or (name in _OF_TWO) != self._of_two:
            example = f"Exact(x, {name!r}{', next=y' if name in _OF_TWO else ''})"
            raise ValueError(f"op is {op!r}: the state of {self._op!r} does not have its sums; {example} does")
        kept = _SUMS[2 if self._of_two else 1].split()
        counts = self._sums[0][:2]
        sums = [self._sums[kept.index(sum)] for sum in _SUMS[name].split()]
        sums[0] = (*counts, *sums[0][2:])
        full = f"{'nan' if skipna else ''}{name}:exact" + (f":{parameter}" if parameter else "")
        return Fragment.from_bytes(_written(full, sums)).result()

    @property
    def count(self):
        """The number of elements, NaN and infinities too."""
        return self._sums[0][0] if self._sums else int.from_bytes(self._state[568:], "little", signed=True)

    def _words(self):
        """The tally_exact of the first sum."""
        if self._sums is None:
            return self._state
        count, nan, plus, minus, value = self._sums[0]
        value >>= 32 * 34  # no element has a digit below 2^-1074
        digits = [value >> 32 * k & 0xFFFFFFFF for k in range(67)]
        return struct.pack("<72q", *digits, value >> 32 * 67, nan, plus, minus, count)

    def __add__(self, other):
        return self._join(other, 1)

    def __sub__(self, other):
        return self._join(other, -1)

    def _join(self, other, sign):
        if not isinstance(other, Exact):
            return NotImplemented
        if (self._sums is None, self._of_two) != (other._sums is None, other._of_two):
            raise ValueError(f"a state of {self._op!r} and one of {other._op!r} have other sums, and do not join")
        joined = type(self)(op=self._op)
        if self._sums is None:
            joined._state = _core.exact_join(self._state, other._state, sign)
        else:
            joined._sums = _joined(self._sums, other._sums, sign)
        return joined

    def __bytes__(self):
        return self._state if self._sums is None else _written(_STATISTIC[self._of_two], self._sums)

    def __eq__(self, other):
        if not isinstance(other, Exact):
            return NotImplemented
        return (self._state, self._sums) == (other._state, other._sums)

    def __reduce__(self):
        return _unpickled, (type(self), self._op, bytes(self))

    def __repr__(self):
        return f"<tally.Exact {'' if self._sums is None else self._op + ' '}{self.result()} of {self.count}>"


def _unpickled(cls, op, data):
    self = cls.from_bytes(data)
    self._op = op
    return self


_PLAIN = ("sum", "mean")
# the sums that a statistic needs, in their order in a fragment (doc/formats.md); 1, 2: those of the states
_SUMS: dict[object, str] = {"sumsq": "xx", "norm": "xx", "var": "x xx", "std": "x xx", 1: "x xx"}
_SUMS |= {2: "x y xx yy xy", "dot": "xy", "wmean": "y xy", "cov": "x y xy", "slope": "x y xx xy"}
_SUMS["corr"] = _SUMS[2]
_OF_TWO = {"dot", "wmean", "cov", "corr", "slope"}
_STATISTIC = {False: "var:exact", True: "corr:exact"}
_MAGIC = b"tallyfrg"


def _parsed(op):
    """The name, whether NaN are left out, and the parameter."""
    name, *more = str(_words.spelled(op)).split(":")
    plain = name.removeprefix("nan")
    if plain not in _SUMS and plain not in _PLAIN:
        choices = ", ".join((*_PLAIN, *(name for name in _SUMS if isinstance(name, str))))
        raise ValueError(f"op is {op!r}: must be one of {choices}, or a nan form")
    return plain, plain != name, ":".join(each for each in more if each != "exact")


def _nothing(of_two):
    return ((0, 0, 0, 0, 0),) * len(_SUMS[2 if of_two else 1].split())


def _joined(sums, others, sign):
    return tuple(tuple(a + sign * b for a, b in zip(sum, other)) for sum, other in zip(sums, others))


# ---- the sums in the portable form of a fragment (doc/formats.md, version 6): elements, NaN, inf, -inf, digits ----


def _read(data):
    at = 40 + struct.unpack_from("<I", data, 36)[0] + 8
    end = len(data) - 8 - struct.unpack_from("<I", data, 32)[0] - 16 * (struct.unpack_from("<q", data, 24)[0] > 0) - 8
    return tuple(
        (*struct.unpack_from("<4q", data, place), int.from_bytes(data[place + 32 : place + 568], "little", signed=True))
        for place in range(at, end, 568)
    )


def _written(op, sums):
    count, name = sums[0][0], op.encode()
    if not 0 <= count < 1 << 61:
        raise ValueError(f"more elements were taken back than there were: {count} remain")
    levels = bytes(level for level in range(61, -1, -1) if count >> level & 1)
    data = _MAGIC + struct.pack("<IIqqII", 6, 12, 0, count, len(levels), len(name)) + name + struct.pack("<q", 1)
    for *counts, value in sums:
        data += struct.pack("<4q", *counts) + value.to_bytes(536, "little", signed=True)
    data += struct.pack("<q", count > 0) + (struct.pack("<qq", 0, count) if count else b"") + levels
    check = 0xCBF29CE484222325
    for at in range(0, len(data), 8):
        check = (check ^ int.from_bytes(data[at : at + 8], "little")) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        check ^= check >> 32
    return data + struct.pack("<Q", check)

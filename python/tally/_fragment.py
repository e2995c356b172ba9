# SPDX-License-Identifier: MIT
"""Reductions of data that is cut, and data that comes in chunks."""

from . import _core, _words

__all__ = ["Fragment", "Stream"]


class Fragment:
    """The reduction of a part of a longer sequence: elements ``start`` to ``end - 1``.

    ``Fragment(op, x, start=0)`` folds ``x`` (in C order if it has several axes; of a device's memory
    that one stride walks). ``a + b`` joins two parts, in any
    order and with gaps; parts that overlap are refused. :meth:`result` is what ``tally.reduce`` gives for the whole
    sequence, in bits, however it was cut, once nothing from element 0 on is missing. A fragment is a value of at
    most some kilobytes. It compares, hashes and pickles, and ``bytes(fragment)`` is its portable form, which the C
    library and other machines read. ``next`` and ``where`` are those of :func:`tally.reduce`; nulls of Arrow and masked
    elements are left out too. Parts with them and parts without join.

    >>> from array import array
    >>> x = array("d", [0.1] * 1000)
    >>> left, right = tally.Fragment("sum", x[:377]), tally.Fragment("sum", x[377:], start=377)
    >>> (left + right).result() == tally.sum(x)
    True
    >>> part = tally.Fragment("wmean", [1.0, 2.0, 9.0], next=[3, 1, 1], where=[True, True, False])
    >>> part.result(), part.end
    (1.25, 3)

    ValueError, TypeError: as in :func:`tally.reduce`; parts that overlap, or are of other operators or types.
    """

    __slots__ = ("_bytes",)
    __module__ = "tally"

    def __init__(self, op, x, start=0, *, next=None, where=None):
        self._bytes = _core.fragment_make(op, x, start, next, where)

    @classmethod
    def from_bytes(cls, data):
        """The fragment of its portable form. ValueError if the bytes are truncated, altered or no fragment."""
        data = bytes(data)
        _core.fragment_read(data, False)
        self = cls.__new__(cls)
        self._bytes = data
        return self

    def result(self):
        """The reduction's result, a number (an array for an operator with several values per result, or of a fragment
        of many sequences). ValueError unless the fragment starts at 0."""
        return _core.fragment_read(self._bytes, True)[4]

    @classmethod
    def _of_rows(cls, op, x, start):
        """The rows of ``x``, of two axes, as many sequences; :meth:`result` is an array."""
        self = cls.__new__(cls)
        self._bytes = _core.fragment_rows(op, x, start)
        return self

    @property
    def op(self):
        """The operator, as it was written."""
        return _core.fragment_read(self._bytes, False)[0]

    @property
    def dtype(self):
        """The elements' type, such as 'float32'."""
        return _core.fragment_read(self._bytes, False)[1]

    @property
    def start(self):
        """The index of the first element."""
        return _core.fragment_read(self._bytes, False)[2]

    @property
    def end(self):
        """The index after the last element."""
        return _core.fragment_read(self._bytes, False)[3]

    def __add__(self, other):
        if not isinstance(other, Fragment):
            return NotImplemented
        joined = type(self).__new__(type(self))
        joined._bytes = _core.fragment_join(self._bytes, other._bytes)
        return joined

    def __bytes__(self):
        return self._bytes

    def __eq__(self, other):
        return self._bytes == other._bytes if isinstance(other, Fragment) else NotImplemented

    def __hash__(self):
        return hash(self._bytes)

    def __reduce__(self):
        return type(self).from_bytes, (self._bytes,)

    def __repr__(self):
        op, dtype, start, end, _ = _core.fragment_read(self._bytes, False)
        return f"<tally.Fragment {op} of {dtype}, elements {start} to {end}>"


class Stream:
    """Data that comes in chunks of any size; the results are those of one call on all of it, in bits.

    ``Stream(op, dtype, start=0)`` reduces: :meth:`push` chunks, and :meth:`result` at any time. It pickles, and ``a +
    b`` joins two of them, where ``b`` was made with ``start`` at ``a``'s end. ``Stream.scan`` and ``Stream.window``
    make streams whose ``push(x)`` gives the results that became known, and whose ``finish()`` gives those that were
    left. ``push(x, next=, where=)`` takes a second array, and elements that are left out, as :func:`tally.reduce` does;
    chunks with nulls and chunks without may follow each other.

    >>> from array import array
    >>> stream = tally.Stream("sum", "float64")
    >>> for chunk in ([0.1, 0.2], [0.3]):
    ...     stream.push(array("d", chunk))
    >>> stream.result() == tally.sum(array("d", [0.1, 0.2, 0.3]))
    True
    >>> last = tally.Stream.window("sum", "float64", 2)
    >>> last.push([1.0, 2.0, 4.0], where=[True, False, True]).tolist(), last.push([8.0]).tolist()
    ([0.0, 1.0, 4.0], [12.0])
    """

    __slots__ = ("_fragment",)
    __module__ = "tally"

    def __init__(self, op, dtype, start=0):
        self._fragment = Fragment.from_bytes(_core.fragment_none(op, dtype, start))

    def push(self, x, *, next=None, where=None):
        """Folds the elements of ``x``, which must have the stream's dtype; of two arrays, ``x`` and ``next``, their
        common type must be it."""
        fragment = self._fragment
        op, dtype, _, end, _ = _core.fragment_read(fragment._bytes, False)
        part = Fragment(op, x, end, next=next, where=where)
        if part.dtype != dtype:
            raise ValueError(f"x has elements of {part.dtype}: this stream takes {dtype}")
        self._fragment = fragment + part

    def result(self):
        """The result of all elements so far."""
        return self._fragment.result()

    @property
    def fragment(self):
        """All elements so far, as a :class:`Fragment`."""
        return self._fragment

    def __add__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        joined = type(self).__new__(type(self))
        joined._fragment = self._fragment + other._fragment
        return joined

    def __getstate__(self):
        return self._fragment

    def __setstate__(self, state):
        self._fragment = state

    def __repr__(self):
        return repr(self._fragment).replace("Fragment", "Stream")

    @staticmethod
    def scan(op, dtype, *, exclusive=False, init=None, after=None):
        """A stream whose ``push(x)`` gives the scan of ``x``, which goes on where the last chunk ended. ``after``: a
        :class:`Fragment` of all elements before the first one."""
        return _core.Stream(1, op, dtype, exclusive, init, 0, 0, 0, 0, None if after is None else bytes(after))

    @staticmethod
    def window(op, dtype, w=None, *, before=None, after=None, center=False, edges="missing", min_count=0):
        """A stream of windows; the arguments are those of :func:`tally.window`."""
        back, ahead = _words.reach(w, before, after, center)
        return _core.Stream(2, op, dtype, False, None, back, ahead, _words.edges(edges), min_count, None)

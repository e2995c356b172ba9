# SPDX-License-Identifier: MIT
"""Verbs of what the extension does not read itself: tables column by column, columns with labels, arrays of times,
fields of xarray. The extension calls `call` with its own arguments; each function below runs the verb again on arrays
that the extension reads, and gives the results the labels that x has."""

import datetime
import sys

from . import _columns, _core, _tables
from ._kinds import _library, class_of, same_labels

__all__ = ["Call", "call"]

_COMMON = {"op": 0, "x": 1, "axis": 2, "dtype": 3, "out": 4}
# the place of each argument in a call of the extension
_PLACES = {
    "reduce": {"op": 0, "x": 1, "axis": 2, "keepdims": 3, "dtype": 4, "out": 5, "next": 6, "where": 7},
    "scan": {**_COMMON, "exclusive": 5, "reverse": 6, "initial": 7, "init": 8, "next": 9, "where": 10},
    "window": {**_COMMON, "before": 5, "after": 6, "edges": 7, "min_count": 8, "next": 9, "where": 10},
    "ranges": {**_COMMON, "start": 5, "next": 9, "where": 10},
    "rolling": {"op": 8, "nan_form": 0, "x": 1, "axis": 2, "dtype": 3, "step": 7, "next": 10},
    "by": {"what": 0, "op": 1, "x": 2, "dtype": 6, "edges": 11, "next": 13, "where": 14},
    "segments": {"what": 0, "op": 1, "x": 2, "dtype": 4, "edges": 9, "next": 11, "where": 12},
}
_ALL = slice(None)
_VALID = 2  # edges: windows that are not full give no result


class Call:
    """A call of the extension whose arguments have names. An argument that the verb does not have is None."""

    __slots__ = ("verb", "_args")

    def __init__(self, verb, args):
        self.verb, self._args = verb, args

    def __getitem__(self, name):
        place = _PLACES[self.verb].get(name)
        return None if place is None else self._args[place]

    def takes(self, name):
        return name in _PLACES[self.verb]

    def having(self, **changes):
        args = list(self._args)
        if "op" in changes and self.verb == "rolling":
            changes["nan_form"] = changes["op"]
        for name, value in changes.items():
            args[_PLACES[self.verb][name]] = value
        return Call(self.verb, args)

    def run(self):
        return getattr(_core, self.verb)(*self._args)

    def rows(self, n):
        """The rows of x, of n along the axis, to which results belong; None: to none of them."""
        if self.verb == "scan":
            return None if self["initial"] else _ALL
        if self.verb == "rolling":
            return slice(None, None, self["step"])
        if self.verb in ("segments", "by"):
            return _ALL if self["what"] and self["edges"] != _VALID else None
        if self.verb == "window":
            if self["edges"] != _VALID:
                return _ALL
            first = min(self["before"], n)
            return slice(first, max(n - self["after"], first))
        return None


def call(verb, args):
    """The result of a verb, or NotImplemented: the extension reads x itself, or says what is wrong with it."""
    self = Call(verb, args)
    x = self["x"]
    library = _library(x)
    if library == "xarray":
        from . import _fields

        return _fields.call(self)
    if library in ("pandas", "polars", "pyarrow"):
        table = None if class_of(x).__name__ == "Series" else _tables.opened(x)
        return _column(self, x) if table is None else _tables.call(self, table)
    if isinstance(x, (list, tuple)) and x:
        from ._times import of_list

        times = of_list(x)
        return NotImplemented if times is None else _of_list(self, times, x[0])
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(x, numpy.generic) and x.dtype.kind in "mM":
        x = numpy.asarray(x)
    if numpy and isinstance(x, numpy.ndarray) and x.dtype.kind in "mM":
        from ._times_folded import fold

        return fold(self, x)
    return NotImplemented


def _of_list(self, x, first):
    """Times in a list: one time as Python's own, in the zone of the first, several as an array of NumPy (UTC) or an
    index of pandas."""
    found = self.having(x=x).run()
    numpy = sys.modules["numpy"]
    if not isinstance(found, (numpy.datetime64, numpy.timedelta64)):
        return found
    found, zone = found.item(), getattr(first, "tzinfo", None)
    return found if zone is None or found is None else found.replace(tzinfo=datetime.timezone.utc).astimezone(zone)


def _column(self, x):
    """A verb of one column: a Series of pandas, or a column that the extension does not read."""
    plain, give = _columns.take(x, "x")
    if plain is None:
        return NotImplemented
    for name in ("next", "where"):
        other = self[name]
        if other is not None and _library(other) == "pandas" == _library(x):
            same_labels(x, other, name)
    found = self.having(x=plain).run()
    if self["out"] is not None:
        return found
    numpy = sys.modules["numpy"]
    if give is not None and getattr(found, "ndim", 0) == 2:  # of minmax: for a table, else an array
        if not self["keepdims"] and _columns.zone(x):
            raise ValueError("op: 'minmax' gives arrays of NumPy, whose times have no zone: call 'min' and 'max'")
        return give(numpy.asarray(found)[0]) if self["keepdims"] else found
    if give is not None and _library(x) != "pandas":
        return give(numpy.asarray(found))
    if give is not None and _columns.is_time(found):
        found = give(numpy.asarray(found))
    if class_of(x).__name__ != "Series" or not hasattr(found, "shape") or len(found.shape) != 1:
        return found
    rows = self.rows(len(x))
    index = None if rows is None else x.index if rows is _ALL else x.index[rows]
    if index is None or len(index) != len(found):
        return found
    return sys.modules["pandas"].Series(found, index=index, name=x.name, copy=False)

# SPDX-License-Identifier: MIT
"""Verbs of what the extension does not read itself: tables column by column, columns with labels, arrays of times,
fields of xarray. The extension calls `call` with its own arguments; each function below runs the verb again on arrays
that the extension reads, and gives the results the labels that x has."""

import datetime
import sys
from operator import index

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
        return _field(self)
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
        return _columns.fold(self, x)
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
    labels = None if rows is None else x.index if rows is _ALL else x.index[rows]
    if labels is None or len(labels) != len(found):
        return found
    return sys.modules["pandas"].Series(found, index=labels, name=x.name, copy=False)


# ---- xarray: dimensions by name, and results with the dimensions and coordinates of x. Second arrays and where= are
# paired by the names of their dimensions, and their coordinates must be those of x. Data in chunks of dask goes to
# tally.dask, and stays lazy. ----


def _field(self):
    """A verb of a DataArray or Dataset of xarray."""
    import xarray

    x = self["x"]
    if self["out"] is not None:
        raise ValueError("out: cannot be given where x is of xarray: its results are of xarray too")
    if isinstance(x, xarray.Dataset):
        return _dataset(self, x, xarray)
    if isinstance(x, xarray.Variable):
        x = xarray.DataArray(x)
    return _array(self, x, xarray) if isinstance(x, xarray.DataArray) else NotImplemented


def _dataset(self, x, xarray):
    dims = _dims(self, x)
    found = {}
    for name, variable in x.data_vars.items():
        present = [dim for dim in dims if dim in variable.dims]
        if not present and self.verb != "reduce":
            found[name] = variable
            continue
        changes = {"x": variable}
        if self.takes("axis"):
            changes["axis"] = tuple(present) if self.verb == "reduce" else present[0]
        for other in ("next", "where"):
            if isinstance(self[other], xarray.Dataset):
                if name not in self[other]:
                    raise ValueError(f"{other} has no variable {name!r}, which x has")
                changes[other] = self[other][name]
        try:
            found[name] = variable if not present and dims else self.having(**changes).run()
        except (TypeError, ValueError) as wrong:
            raise type(wrong)(f"variable {name!r}: {wrong}") from None
    kept = {name: c for name, c in x.coords.items() if not set(c.dims) & set(dims)}
    if self.verb != "reduce" or self["keepdims"]:
        kept = {}
    return xarray.Dataset(found, coords=kept, attrs=x.attrs if _keeps(xarray) else None)


def each_array(x, other, run):
    """run(array, other) of an array, or of each one of a Dataset: of the same shape, with what x has beside it."""
    import xarray

    attrs = x.attrs if _keeps(xarray) else None
    if isinstance(x, xarray.Dataset):
        beside = {name: other[name] if isinstance(other, xarray.Dataset) else other for name in x.data_vars}
        found = {name: each_array(array, beside[name], run) for name, array in x.data_vars.items()}
        return xarray.Dataset(found, x.coords, attrs)
    named = (x.coords, x.dims, x.name) if isinstance(x, xarray.DataArray) else (None, x.dims)
    return xarray.DataArray(run(x, other), *named, attrs=attrs)


def _dims(self, x):
    """The names of the dimensions that axis= (numbers or names) says."""
    axis = self["axis"]
    every = list(x.dims)
    if axis is None or axis is ...:
        if self.verb == "reduce":
            return every
        if len(every) != 1:
            raise ValueError(f"dim: must be given, x has the dimensions {_listed(every)}")
        return every
    one = not isinstance(axis, (list, tuple, set, frozenset)) or axis in every
    dims = []
    for each in [axis] if one else axis:
        if each not in every and hasattr(each, "__index__"):
            each = index(each)
            if not hasattr(x, "shape") or not -len(every) <= each < len(every):
                raise ValueError(f"axis is {each}: x has {len(every)} axes: {_listed(every)}; dim= takes names")
            each = every[each]
        if each not in every:
            raise ValueError(f"dim is {each!r}: x has the dimensions {_listed(every)}")
        dims.append(each)
    if len(dims) != 1 and self.verb != "reduce":
        raise ValueError(f"dim is {dims}: {self.verb} goes along one dimension")
    return dims


def _listed(dims):
    return ", ".join(map(str, dims)) or "none"


def _array(self, x, xarray):
    dims = _dims(self, x) if self.takes("axis") else list(x.dims)
    axes = tuple(x.dims.index(dim) for dim in dims)
    changes = {}
    if self.takes("axis"):
        changes["axis"] = axes if self.verb == "reduce" else axes[0]
    for name in ("next", "where"):
        if _library(self[name]) == "xarray":
            changes[name] = _paired(self[name], x, name)
    if x.chunks is not None:
        data = _lazy(self.having(x=x.data, **changes))
    else:
        data = self.having(x=x.values, **changes).run()
    return _labelled(self, x, dims, data, xarray)


def _paired(other, x, name):
    """The values of another field, whose axes are those of x with the same name, of extent 1 where it has none."""
    who = "the second array" if name == "next" else name
    for dim in other.dims:
        if dim not in x.dims:
            raise ValueError(f"{who} has the dimension {dim}: must be those of x, {_listed(x.dims)}, or some of them")
        if other.sizes[dim] != x.sizes[dim]:
            raise ValueError(f"{who} has {other.sizes[dim]} elements along {dim}: x has {x.sizes[dim]}")
        index, other_index = x.indexes.get(dim), other.indexes.get(dim)
        if index is not None and other_index is not None and not index.equals(other_index):
            raise ValueError(
                f"{who} differs from x in its coordinates along {dim}: elements are paired by place, so the labels "
                "must be equal, as x, y = xarray.align(x, y) makes them"
            )
    other = other.transpose(*[dim for dim in x.dims if dim in other.dims])
    return other.values.reshape([other.sizes.get(dim, 1) for dim in x.dims])


def _lazy(self):
    """The call on an array of dask."""
    from . import dask

    for name in ("next", "where", "initial", "dtype"):
        if self[name] is not None and self[name] is not False:
            raise ValueError(f"{name}: cannot be given for chunks of dask: give x.load()")
    if self.verb == "reduce":
        return dask.reduce(self["x"], self["op"], axis=self["axis"], keepdims=bool(self["keepdims"]))
    if self.verb == "scan":
        how = {name: self[name] for name in ("exclusive", "reverse", "init")}
        return dask.scan(self["x"], self["op"], axis=self["axis"], **how)
    if self.verb == "window":
        edges = ("missing", "shrink", "valid")[self["edges"]]
        how = {"before": self["before"], "after": self["after"], "edges": edges, "min_count": self["min_count"]}
        return dask.window(self["x"], self["op"], axis=self["axis"], **how)
    raise ValueError(f"{self.verb}: cannot be computed of chunks of dask: give x.load()")


def _labelled(self, x, dims, data, xarray):
    """The result with the dimensions that it still has, and their coordinates."""
    attrs = x.attrs if _keeps(xarray) else None
    gone = {dim for dim in dims if not (self["keepdims"] and x.sizes[dim] == 1)}
    coords = {name: c for name, c in x.coords.items() if not gone & set(c.dims)}
    names = list(x.dims)
    if self.verb == "reduce" and not self["keepdims"]:
        names = [dim for dim in names if dim not in dims]
    elif self.verb != "reduce":
        rows = self.rows(x.sizes[dims[0]])
        if rows is not None:
            coords = {name: c.isel({dims[0]: rows}) if dims[0] in c.dims else c for name, c in x.coords.items()}
    several = data.ndim - len(names)
    found = xarray.DataArray(data, coords, [*names, *["value"] * several], attrs=attrs)
    found.name = x.name  # given above, None would be the name that dask gives its chunks
    return found


def _keeps(xarray):
    """Whether results keep attributes: as xarray's option says, or as this version does without it."""
    option = xarray.get_options()["keep_attrs"]
    return bool(xarray.DataArray(0, attrs={"a": 1}).sum().attrs) if option == "default" else option

# SPDX-License-Identifier: MIT
"""Groups of rows with equal keys: ``by=`` of reduce, scan, window and rolling."""

import sys
from array import array
from collections import namedtuple
from operator import index

from . import _columns, _core, _kinds, _tables, _words
from ._kinds import _library, class_of, is_column
from ._labelled import _listed, _paired

__all__ = ["Keyed"]


Keyed = namedtuple("Keyed", "keys values")
Keyed.__doc__ = """What a reduction with ``by=`` gives: the keys of the groups, and a value for each.

``keys`` are of the library that ``by`` is from; of several keys they are a tuple. It unpacks:
``keys, values = tally.sum(x, by=city)``. For pandas objects there is a Series instead, whose index has the keys.
"""


class Groups:
    """The groups of rows with equal keys, numbered in the order of their first rows, or of their keys.

    ``codes`` has the group's number for each row, -1 for a missing key (``missing``: there is one); ``count`` is the
    number of groups, ``first`` the row of each group's first key.
    """

    def __init__(self, by, sort=False, dropna=True):
        self.columns = _keys_of(by)
        if not self.columns:
            raise ValueError("by has no keys: must be an array of keys, or several")
        parts = [_encode(column, not dropna) for _, column in self.columns]
        if sort:
            parts = [_sorted(column, *part) for (_, column), part in zip(self.columns, parts)]
        self.codes, self.first, self.missing = parts[0]
        for codes, first, missing in parts[1:]:
            pairs = _core.pair(self.codes, codes, len(first))
            part = _core.encode(pairs, "numbers", -1, False)
            self.codes, self.first, self.missing = _sorted(pairs, *part) if sort else part
        self.count = len(self.first)

    def keys(self):
        """The keys of each column, in the order of the groups."""
        return [_take(column, self.first) for _, column in self.columns]

    def same_labels(self, x, name="by"):
        """Raises where a key of pandas or xarray has other labels than ``x``."""
        library = _library(x)
        if library != "pandas" and library != "xarray":
            return
        dims = list(getattr(x, "dims", ())) if library == "xarray" else ["rows"]
        if len(dims) != 1:
            raise ValueError(f"by: x must have one dimension, and has {_listed(dims) or 'none'}")
        table = _tables.opened(x)
        if table is not None and table.names:
            x = table.column(0)
        if hasattr(x, "data_vars"):
            x = next(iter(x.data_vars.values()), x)
        for _, column in self.columns:
            if _library(column) == library:
                _kinds.same_labels(x, column, name)

    def fold(self, what, op, x, dtype, scan, window, next, where):
        """A verb of the library on each group: 0 reduce, 1 scan, 2 window."""
        return _core.by(what, op, x, self.codes, self.count, self.missing, dtype, *scan, *window, next, where)

    def _parts(self, x, dim, run, others):
        """run(x, *others) of each group of steps along one of several dimensions (xarray) or axes
        (NumPy), and the steps in the order of the groups."""
        numpy = sys.modules["numpy"]
        codes = numpy.asarray(self.codes)
        steps = x.sizes[dim] if _library(x) == "xarray" else x.shape[dim]
        if len(codes) != steps:
            raise ValueError(f"by has {len(codes)} keys: x has {steps} steps along {dim!r}")
        order = numpy.argsort(codes, kind="stable")
        # of no groups: one of no steps
        ends = numpy.searchsorted(codes[order], numpy.arange(max(self.count, 1) + 1))
        parts = []
        for begin, end in zip(ends, ends[1:]):
            group = (_steps(array, x, dim, order[begin:end]) for array in (x, *others))
            parts.append(run(*group))
        return parts, order

    def reduce_along(self, x, dim, run, *others):
        """A result for each group of steps."""
        parts = self._parts(x, dim, run, others)[0]
        if _library(x) == "xarray":
            return _joined(x, parts, dim).isel({dim: slice(self.count)})
        return sys.modules["numpy"].stack(parts, dim)[(slice(None),) * dim + (slice(self.count),)]

    def scan_along(self, x, dim, run, *others):
        """A result for each step, of the steps of its group."""
        numpy = sys.modules["numpy"]
        nowhere = numpy.flatnonzero(numpy.asarray(self.codes) < 0)
        if len(nowhere):
            raise ValueError(
                f"by: step {nowhere[0]} has no key; dropna=False makes a group of such steps"
            )
        parts, order = self._parts(x, dim, run, others)
        back = numpy.argsort(order)
        if _library(x) == "xarray":
            return _joined(x, parts, dim).isel({dim: back})
        return numpy.concatenate(parts, dim)[(slice(None),) * dim + (back,)]

    def keyed(self, x, values, dim=None):
        """Values of the groups with their keys, for what ``x`` is from."""
        keys, library = self.keys(), _library(x)
        if library in ("polars", "pyarrow") and _tables.opened(values) is not None:
            return _tables.with_keys([name for name, _ in self.columns], keys, values)
        if library == "xarray":
            values = self._of_groups(values, keys, next(iter(x.dims), None) if dim is None else dim)
        if library != "pandas":
            return Keyed(keys[0] if len(keys) == 1 else tuple(keys), values)
        pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
        names = [name for name, _ in self.columns]
        if len(keys) == 1:
            index = pandas.Index(keys[0], name=names[0])
        else:
            index = pandas.MultiIndex.from_arrays([pandas.Index(each) for each in keys], names=names)
        if isinstance(values, pandas.DataFrame):
            return values.set_axis(index)
        if not isinstance(values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):  # of times
            values = numpy.asarray(values)
        make = pandas.Series if values.ndim == 1 else pandas.DataFrame
        name = {"name": x.name} if values.ndim == 1 and hasattr(x, "name") else {}
        return make(values, index=index, **name)

    def _of_groups(self, values, keys, dim):
        """Values of xarray, of which a dimension is the groups, called as the key and with the keys as coordinates."""
        names = [name for name, _ in self.columns]
        to = names[0] if len(names) == 1 and names[0] is not None else "group"
        if values.dims:  # else x has no arrays
            values = values.rename({dim: to})
        return values.assign_coords({name or to: (to, _kinds._numpy(key)) for name, key in zip(names, keys)})


def _others(x, axis):
    """The axis, if it is not the one dimension of an array of xarray, which the keys go along anyway."""
    return None if axis is not None and [axis] == list(getattr(x, "dims", ())) else axis


def dimension(groups, x, axis):
    """The dimension of an array of several that the keys go along. None: the array has one, or is of another kind."""
    library, one = _library(x), axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    if library == "numpy":
        if x.ndim < 2 or not hasattr(one, "__index__"):
            return None
        if not -x.ndim <= one < x.ndim:
            raise ValueError(f"axis is {one}: x has {x.ndim} axes")
        return index(one) % x.ndim
    if library != "xarray" or len(x.dims) < 2:
        return None
    fields = [column for _, column in groups.columns if _library(column) == "xarray"]
    dims = list(dict.fromkeys(dim for field in fields for dim in field.dims))
    if one is None and not dims:
        raise ValueError(f"by: dim must name the dimension that the keys go along: {_listed(x.dims)}")
    if len(dims) > 1:
        raise ValueError(f"by has the dimensions {_listed(dims)}: must have one")
    found = dims[0] if one is None else one if one in x.dims else None
    if found is None and hasattr(one, "__index__") and hasattr(x, "shape") and -x.ndim <= one < x.ndim:
        found = x.dims[one]
    if found is None or dims not in ([], [found]):
        words = f"the keys go along {dims[0]}" if dims else f"must be one of {_listed(x.dims)}, along which the keys go"
        raise ValueError(f"dim is {axis!r}: {words}")
    for field in fields:
        _paired(field, x, "by")
    return found


def _steps(array, x, dim, steps):
    """Steps of an array, or of what goes with x."""
    if array is None:
        return None
    if len(steps) and steps[-1] - steps[0] + 1 == len(steps):
        steps = slice(steps[0], steps[-1] + 1)
    if hasattr(x, "isel"):
        if not hasattr(array, "isel"):
            raise TypeError("by: next and where must be of xarray, as x is")
        return array.isel({dim: steps}) if dim in array.dims else array
    numpy = sys.modules["numpy"]
    array = array if array is x else numpy.broadcast_to(numpy.asanyarray(array), x.shape, subok=True)
    return array[(slice(None),) * dim + (steps,)]


def _joined(x, parts, dim):
    """The groups' fields as one, with the dimensions in the order of x."""
    import xarray

    how = {"coords": "minimal", "compat": "override", "join": "override"}
    if hasattr(x, "data_vars"):
        names = [name for name, array in x.data_vars.items() if dim in array.dims]
        found = xarray.concat([part[names] for part in parts], dim, data_vars="all", **how)
        for name in names:
            found[name] = found[name].transpose(*x[name].dims, ..., missing_dims="ignore")
        return found.assign({name: array for name, array in parts[0].data_vars.items() if name not in names})
    return xarray.concat(parts, dim, **how).transpose(*x.dims, ...)


def _along(x, by, axis, dropna, sort=False):
    """x without the columns of keys, its groups, and the dimension of several along which the keys
    go."""
    x, by = _tables.keyed_by(x, by)
    groups = Groups(by, sort, dropna)
    dim = dimension(groups, x, axis)
    if dim is None:
        _words.alone("by", axis=_others(x, axis))
        groups.same_labels(x)
    return x, groups, dim


def reduce(op, x, by, sort, dropna, axis, keepdims, dtype, out, next, where):
    """``tally.reduce(x, op, by=by)``."""
    _words.alone("by", out=out, keepdims=keepdims or None)
    x, groups, dim = _along(x, by, axis, dropna, sort)
    names = op if isinstance(op, (list, tuple)) else [op]
    if dim is None:
        none = (False, False), (0, 0, 0, 0)
        found = [groups.fold(0, name, x, dtype, *none, next, where) for name in names]
    else:

        def fold(name):
            return lambda x, *others: _core.reduce(name, x, dim, False, dtype, None, *others)

        found = [groups.reduce_along(x, dim, fold(name), next, where) for name in names]
    found = [groups.keyed(x, each, dim) for each in found]
    return tuple(found) if isinstance(op, (list, tuple)) else found[0]


def scan(op, x, by, dropna, axis, exclusive, reverse, init, dtype, out, next, where):
    """``tally.scan(x, op, by=by)``."""
    _words.alone("by", out=out, init=init)
    x, groups, dim = _along(x, by, axis, dropna)
    if dim is not None:
        how = dtype, None, bool(exclusive), bool(reverse), False, None

        def run(x, *others):
            return _core.scan(op, x, dim, *how, *others)

        return groups.scan_along(x, dim, run, next, where)
    return groups.fold(1, op, x, dtype, (bool(exclusive), bool(reverse)), (0, 0, 0, 0), next, where)


def window(op, x, by, dropna, axis, how, dtype, out, next, where):
    """``tally.window(x, op, by=by)``. how: before, after, edges, min_count."""
    _words.alone("by", out=out)
    x, groups, dim = _along(x, by, axis, dropna)
    if dim is not None:
        if how[2] == _words.edges("valid"):
            raise ValueError("edges is 'valid': windows of groups must be 'missing' or 'shrink'")
        how = dtype, None, *how

        def run(x, *others):
            return _core.window(op, x, dim, *how, *others)

        return groups.scan_along(x, dim, run, next, where)
    return groups.fold(2, op, x, dtype, (False, False), how, next, where)


class Sorted:
    """Rows in the order of their groups, for windows that are ranges of these rows."""

    def __init__(self, x, groups):
        self.groups = groups
        groups.same_labels(x)
        table = _tables.opened(x)
        sizes = x.sizes if hasattr(x, "data_vars") else None  # of a Dataset
        self.shape = tuple(sizes.values()) if sizes else _columns.shape_of(x) if table is None else (table.height,)
        rows = len(self.groups.codes)
        if self.shape != (rows,):
            raise ValueError(f"by has {rows} elements: must have one for each element of x, of shape {self.shape}")
        # rows without a group come last, as one more group
        codes = _core.renumber(self.groups.codes, _positions(range(self.groups.count)), self.groups.count)
        self.order, offsets = _core.groups(codes, self.groups.count + 1)
        self.offsets = _core.take(offsets, _positions(range(self.groups.count + 1)), False)
        self.rows = rows

    def take(self, x):
        """The elements of ``x`` in the order of the groups."""
        from ._keys import take

        return None if x is None else take(x, self.order)

    def back(self, x, result):
        """Results in the order of the groups, in that of the rows, as the library of ``x`` has them."""
        inverse = _core.groups(self.order, self.rows)[0]
        result = _core.take(result, inverse, False)
        return _kinds.give(x, result) if _library(x) == "pandas" else result


# ---- the columns of keys ----


def _keys_of(by):
    """Names and columns."""
    library = _library(by)
    if library == "numpy":
        return [(None, by)]
    if isinstance(by, dict):
        return list(by.items())
    if isinstance(by, _tables.Named):
        return by
    if library in ("pandas", "polars") and not _has_rows(by, library):
        raise TypeError(f"by is of type {type(by).__name__}: must be an array of keys, one for each element of x")
    if library in ("pandas", "polars") and hasattr(by, "columns"):
        return [(name, by[name]) for name in by.columns]
    if library == "pyarrow" and hasattr(by, "column_names"):
        return [(name, _decoded(by.column(at))) for at, name in enumerate(by.column_names)]
    if library == "pandas" and class_of(by).__name__ == "MultiIndex":
        return [(name, by.get_level_values(at)) for at, name in enumerate(by.names)]
    if isinstance(by, (list, tuple)) and by and all(is_column(each) for each in by):
        return [(_name(each), _decoded(each)) for each in by]
    return [(_name(by), _decoded(by))]


def _has_rows(by, library):
    """Whether it is a column or a table, and no Grouper, groupby or expression."""
    if library == "polars":
        return class_of(by).__name__ in ("Series", "DataFrame")
    pandas = sys.modules["pandas"]
    return isinstance(by, (pandas.Series, pandas.Index, pandas.DataFrame, pandas.api.extensions.ExtensionArray))


def _decoded(column):
    """Without runs, for which pyarrow has no take; an object of no known library as NumPy converts it."""
    if hasattr(type(column), "__array__") and _library(column) not in _kinds._LIBRARIES:
        return _kinds._numpy(column)
    if _library(column) == "pyarrow" and str(getattr(column, "type", "")).startswith("run_end_encoded"):
        from pyarrow.compute import run_end_decode

        return run_end_decode(column)
    return column


def _name(column):
    name = getattr(column, "name", None)
    return None if callable(name) else name


def _encode(column, keep):
    """The codes of a column, the row of each one's first key, and whether keys are missing."""
    plain, kind, absent = _plain(column)
    return _core.encode(plain, kind, absent, keep)


_NAT = -(1 << 63)


def _plain(column):
    """What the extension numbers instead of a column; its kind; the number that stands for a missing key, or None."""
    library = _library(column)
    if library == "pandas":
        return _of_pandas(column)
    if library == "xarray":
        column, library = column.to_numpy(), "numpy"
    if library == "pyarrow":
        return _of_arrow(column)
    if library == "polars":
        return _of_polars(column)
    if isinstance(column, (list, tuple, range)):
        return list(column), "objects", None
    if library == "numpy" and hasattr(column, "dtype"):
        return _of_numpy(column)
    if isinstance(column, str):
        raise TypeError(f"by is {column!r}: must be an array of keys, one for each element of x")
    shape = _core.like(column, "by")[1]
    if len(shape) != 1:
        raise ValueError(f"by has shape {shape}: must have one axis, a key for each element of x")
    return column, "numbers", None


def _of_numpy(column):
    numpy = sys.modules["numpy"]
    kind = column.dtype.kind
    if column.ndim != 1:
        raise ValueError(f"by has shape {column.shape}: must have one axis, a key for each element of x")
    if kind in "OV" or (kind in "mMUS" and isinstance(column, numpy.ma.MaskedArray)):
        return column.tolist(), "objects", None
    if kind in "mM":
        return column.astype(column.dtype.newbyteorder("="), copy=False).view("i8"), "numbers", _NAT
    if kind in "US":
        dense = numpy.ascontiguousarray(column)
        if not column.dtype.itemsize:
            return numpy.zeros((len(column), 0), "u1"), "numbers", None
        return dense.view("u1").reshape(len(column), column.dtype.itemsize), "numbers", None
    return column, "numbers", None


def _of_pandas(column):
    pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, pandas.CategoricalDtype):
        return getattr(column, "cat", column).codes, "numbers", -1
    values = getattr(column, "array", column)
    if hasattr(values, "__arrow_array__") and hasattr(values, "_pa_array"):  # text and others of Arrow
        return _of_arrow(values.__arrow_array__())
    if getattr(dtype, "kind", "") in "mM" or isinstance(dtype, pandas.PeriodDtype):
        return values.asi8 if hasattr(values, "asi8") else pandas.Index(column).asi8, "numbers", _NAT
    if isinstance(dtype, numpy.dtype):
        return _of_numpy(column.to_numpy())
    if hasattr(dtype, "numpy_dtype"):
        return pandas.Series(column), "numbers", None  # Int64 and its like
    return numpy.asarray(values, object).tolist(), "objects", None


def _of_arrow(column):
    import pyarrow

    types, kind = pyarrow.types, column.type
    if isinstance(column, pyarrow.Array):
        column = pyarrow.chunked_array([column])
    if types.is_dictionary(kind):
        return _of_dictionary(column)
    if types.is_null(kind):
        return column.cast(pyarrow.int8()), "numbers", None
    if types.is_boolean(kind):
        return column.cast(pyarrow.uint8()), "numbers", None
    if types.is_date32(kind) or types.is_time32(kind):
        return column.cast(pyarrow.int32()), "numbers", None
    if types.is_temporal(kind) and not types.is_interval(kind):
        return column.cast(pyarrow.int64()), "numbers", None
    if types.is_decimal(kind):
        return column.cast(pyarrow.string()), "text", None
    if types.is_fixed_size_binary(kind):
        return column.cast(pyarrow.binary()), "text", None
    text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(is_text(kind) for is_text in text) or str(kind) in ("string_view", "binary_view"):
        return column, "text", None
    if types.is_integer(kind) or types.is_floating(kind):
        return column, "numbers", None
    return column.to_pylist(), "objects", None


def _of_dictionary(column):
    """The indices, numbered by what they stand for. Chunks may have dictionaries of their own."""
    import pyarrow
    import pyarrow.compute

    parts = [part for part in column.chunks if len(part)]
    if not parts:
        return [], "objects", None
    dictionaries, begins, count = {}, [], 0
    for part in parts:
        # chunks often have one dictionary: it is told by its memory
        of = part.dictionary
        place = (len(of), of.offset, *(getattr(buffer, "address", None) for buffer in of.buffers()))
        if place not in dictionaries:
            dictionaries[place] = of, count
            count += len(of)
        begins.append(dictionaries[place][1])
    words = pyarrow.chunked_array([of for of, _ in dictionaries.values()])
    codes, first, missing = _encode(words, False)
    indices = [part.indices.cast(pyarrow.int64()) for part in parts]
    if any(begins):
        indices = [pyarrow.compute.add(each, begin) for each, begin in zip(indices, begins)]
    indices = pyarrow.chunked_array(indices).cast(pyarrow.int32()).fill_null(-1)
    if len(first) == count:  # no word is there twice
        return indices, "numbers", -1
    return _core.renumber(indices.combine_chunks(), array("q", codes.tolist()), -1), "numbers", -1


def _of_polars(column):
    polars = sys.modules["polars"]
    kind = column.dtype
    if kind == polars.String or kind == polars.Binary:
        return column, "text", None
    if kind == polars.Boolean:
        return column.cast(polars.UInt8), "numbers", None
    if kind == polars.Categorical or kind == polars.Enum or kind.is_temporal():
        return column.to_physical(), "numbers", None
    if kind.is_float() or (kind.is_integer() and not str(kind).endswith("128")):
        return column, "numbers", None
    if kind == polars.Null:
        return column.cast(polars.Int8), "numbers", None
    return column.to_list(), "objects", None


# ---- the keys of groups ----


def _positions(rows):
    return array("q", rows)


def _take(column, rows):
    """The keys at these rows, of the library of the column."""
    library = _library(column)
    if isinstance(column, (list, tuple, range)):
        return [column[row] for row in rows.tolist()]
    if library == "pandas":
        rows = sys.modules["numpy"].asarray(rows)
        values = getattr(column, "array", column).take(rows)
        values = values.astype("float32") if str(values.dtype) == "float16" else values  # pandas has no such index
        return sys.modules["pandas"].Index(values, name=_name(column))
    if library == "pyarrow":
        import pyarrow

        if str(column.type) in ("string_view", "binary_view"):  # for which pyarrow has no take
            column = column.cast(pyarrow.string() if str(column.type) == "string_view" else pyarrow.binary())
        taken = column.take(pyarrow.array(rows))
        return taken.combine_chunks() if isinstance(taken, pyarrow.ChunkedArray) else taken
    if library == "polars":
        return column.gather(rows.tolist())
    if library == "xarray":
        column, library = column.to_numpy(), "numpy"
    if library == "numpy":
        return column[sys.modules["numpy"].asarray(rows)]
    return _core.take(column, rows, False)


def _sorted(column, codes, first, missing):
    """The same groups in the order of their keys; missing keys last."""
    order = _positions(_order(_take(column, first)))
    ranks = _core.groups(order, len(order))[0]
    return _core.renumber(codes, ranks, -1), _core.take(first, order, False), missing


def _order(keys):
    """The positions of keys, ascending."""
    library = _library(keys)
    if library == "pandas" and keys.dtype != object:
        return keys.argsort().tolist()
    if library == "numpy" and keys.dtype.kind != "O":
        return sys.modules["numpy"].argsort(keys, kind="stable").tolist()
    if library == "pyarrow":
        import pyarrow
        import pyarrow.compute

        if pyarrow.types.is_dictionary(keys.type):
            keys = keys.dictionary_decode()
        if pyarrow.types.is_float16(keys.type):
            keys = keys.cast(pyarrow.float32())
        return pyarrow.compute.sort_indices(keys).to_pylist()
    if library == "polars" and keys.dtype != sys.modules["polars"].Object:
        return keys.arg_sort(nulls_last=True).to_list()
    keys = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    gone = [_is_missing(key) for key in keys]
    try:
        return sorted(range(len(keys)), key=lambda at: (gone[at], 0 if gone[at] else keys[at]))
    except TypeError as wrong:
        raise TypeError(f"sort: the keys of by have no order ({wrong})") from None


def _is_missing(key):
    try:
        return key is None or bool(key != key)
    except TypeError:  # pandas.NA
        return True

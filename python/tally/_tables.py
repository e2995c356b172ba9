# SPDX-License-Identifier: MIT
"""Tables of pandas, Polars and Arrow: taken apart into columns, and put together again from results.

table --columns--> one call for each --> results --build--> a table of the same library, with its names and index"""

import sys
from itertools import repeat

from . import _core
from ._columns import is_time, take
from ._kinds import _library, class_of, is_column, same_labels

__all__ = ["call", "column_named", "each_column", "keyed_by", "opened", "with_keys"]


def opened(x):
    """The table that x is, or None."""
    library, name = _library(x), class_of(x).__name__
    if library == "polars" and name == "LazyFrame":
        raise TypeError("x is a LazyFrame, which has no rows yet: give x.collect()")
    kind = _KINDS.get((library, name))
    return None if kind is None else kind(x)


def call(self, table):
    """The result of a verb of a table."""
    for name in ("out", "keepdims"):
        if self[name] is not None and self[name] is not False:
            raise ValueError(f"{name}: cannot be given where x is a table: its results are a table's")
    axis = self["axis"]
    if isinstance(axis, (tuple, list)) and sorted(a % 2 for a in axis) == [0, 1]:
        return _across(self, table, tuple(axis))
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    if axis in (1, -1):
        return _across(self, table, axis)
    if axis not in (None, 0, -2):
        raise ValueError(f"axis is {axis!r}: a table has the axes 0 (down its columns) and 1 (along its rows)")
    found = table.at_once(self) if self["next"] is None and self["where"] is None else None
    if found is not None:
        return found
    ready = _at_once(self, table)
    columns = repeat(None) if len(ready) == len(table.names) else table.columns()
    results = []
    for at, (name, column) in enumerate(zip(table.names, columns)):
        if at in ready:
            results.append(ready[at])
            continue
        changes = {"x": column}
        for other in ("next", "where"):
            if self[other] is not None:
                changes[other] = _beside(self[other], at, table, other)
        if self.takes("axis"):
            changes["axis"] = 0
        if self.verb == "reduce" and not table.scalars:
            changes["keepdims"] = True
        try:
            results.append(self.having(**changes).run())
        except (TypeError, ValueError) as wrong:
            raise _of_column(wrong, name, table) from None
    if self.verb == "reduce":
        return table.reduced(results)
    for result in results:
        if len(getattr(result, "shape", (0,))) > 1:
            raise ValueError(f"op: {self['op']!r} gives several values for each row: call it for one column")
    rows = self.rows(table.height)
    if rows is None and self["initial"] and table.scalars:
        raise ValueError("include_initial: the result before the first has no place in the index: give x.to_numpy()")
    return table.built(results, rows)


def _at_once(self, table):
    """The results of columns of numbers, by their places: where they are few, of one call on all columns of a type,
    else of NumPy's arrays. What is wrong with one is told column by column."""
    import numpy

    is_matrix, whole = self.verb in _OF_MATRIX, self.verb == "reduce" and table.scalars
    if self["next"] is not None or self["where"] is not None or not table.height or not table.names:
        return {}
    if is_matrix and (
        table.height * len(table.names) > _FEW or (self.verb != "reduce" and self.rows(table.height) is None)
    ):
        return {}
    changes = {"axis": int(is_matrix)} if self.takes("axis") else {}
    if self.verb == "reduce" and not table.scalars:
        changes["keepdims"] = True
    of_type, results = {}, {}
    for at, column in table.numbers_of_numpy():
        of_type.setdefault(column.dtype if is_matrix else at, {})[at] = column
    try:
        for columns in of_type.values():
            x = list(columns.values())
            found = self.having(x=numpy.array(x) if is_matrix else x[0], **changes).run()
            if found.ndim != 1 + (is_matrix and not whole):  # several values for each column
                return {}
            results.update(zip(columns, found if is_matrix else [found]))
    except (TypeError, ValueError):
        return {}
    return results


def column_named(x, name):
    """The column of this name, the table without it, and what puts it back into results: back(results, rows)."""
    table = opened(x)
    if table is None:
        raise TypeError(f"on is {name!r}, the name of a column: x is of type {type(x).__name__}, which has no columns")
    found = [at for at, each in enumerate(table.names) if each == name]
    if len(found) != 1:
        raise _not_one("on", name, table.names)
    column, rest = table.split(found[0])

    def back(results, rows):
        return opened(results).joined(found[0], name, column[rows])

    return column, rest, back


class Named(list):
    """Columns of keys, each with its name: (name, column)."""


def keyed_by(x, by):
    """A table or a Dataset without the columns that ``by`` names, and the columns of keys, or coordinates of xarray by
    their names; anything else as it is."""
    words = [by] if isinstance(by, str) else by
    if not isinstance(words, (list, tuple)) or not any(isinstance(word, str) for word in words):
        return x, by
    if _library(x) == "xarray":
        return _keyed_by_coordinates(x, by, words)
    table = opened(x)
    if table is None or not all(isinstance(word, str) or is_column(word) for word in words):
        return x, by  # keys of the rows
    keys = Named()
    for word in words:
        if not isinstance(word, str):
            keys.append((getattr(word, "name", None), word))
            continue
        found = [at for at, name in enumerate(table.names) if name == word]
        if len(found) != 1:
            hint = "; keys of the rows go into an array" if len(words) == table.height else ""
            raise _not_one("by", word, table.names, hint)
        column, x = table.split(found[0])
        keys.append((word, column))
        table = opened(x)
    return x, keys


def _keyed_by_coordinates(x, by, words):
    """The same of xarray: names of coordinates or of a Dataset's arrays, and parts of dates, "time.month"."""
    if not hasattr(x, "coords") or not all(isinstance(word, str) for word in words):
        return x, by
    try:
        keys = Named((column.name, column) for column in (x[word] for word in words))
    except (KeyError, AttributeError):
        if isinstance(by, str):
            raise ValueError(f"by is {by!r}: x has the coordinates {_listed(x.coords) or 'none'}") from None
        return x, by  # keys of the rows
    arrays = [word for word in words if word in getattr(x, "data_vars", ())]
    return x.drop_vars(arrays) if arrays else x, keys


def each_column(x, other, run):
    """run(column, other) of each column of a table or of a Dataset, as one with the same rows; of anything else
    run(x, other)."""
    table = opened(x)
    if table is None and _library(x) == "xarray":
        from ._labelled import each_array

        return each_array(x, other, run)
    if table is None:
        return run(x, other)
    results = []
    for at, (name, column) in enumerate(zip(table.names, table.columns())):
        try:
            results.append(run(column, None if other is None else _beside(other, at, table, "next")))
        except (TypeError, ValueError) as wrong:
            raise _of_column(wrong, name, table) from None
    return table.built(results, slice(None))


def with_keys(names, keys, values):
    """A table of Polars or Arrow whose first columns are the keys of its rows."""
    for at, (name, key) in enumerate(zip(names, keys)):
        table = opened(values)
        if name is None:
            name = next(word for word in ("key", *map("key{}".format, range(2, 99))) if word not in table.names)
        elif name in table.names:
            raise ValueError(
                f"by: x has a column {name!r} too: by={name!r} takes it for the keys, or give it another name"
            )
        values = table.joined(at, name, key)
    return values


def _listed(names):
    names = [str(name) for name in names]
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def _not_one(argument, word, names, hint=""):
    """The exception for the name of a column that none, or more than one, has."""
    from difflib import get_close_matches

    count, names = list(names).count(word), list(map(str, names))
    lower = {name.lower(): name for name in names}
    near = [] if count else get_close_matches(word.lower(), lower, 1)
    meant = f"did you mean {lower[near[0]]!r}? " if near else ""
    has = f"x has {count} columns of this name: {_listed(names)}"
    return ValueError(f"{argument} is {word!r}: {meant}{has}{hint}")


def _of_column(wrong, name, table):
    """The exception of one column, which says which."""
    text = str(wrong)
    if isinstance(wrong, TypeError):
        text += f"; {table.numbers} has the columns of numbers"
    for begin in ("x has ", "x: ", "x is "):
        if text.startswith(begin):
            return type(wrong)(f"column {name!r} of {text}")
    return type(wrong)(f"column {name!r}: {text}")


def _beside(other, at, table, name):
    """What goes with column `at`: a column of a table with the same columns, or one array for all columns."""
    second = opened(other)
    if second is not None:
        if _library(other) == "pandas" == _library(table.x):
            same_labels(table.x, other, name)
        elif list(second.names) != list(table.names):
            who = "the second array" if name == "next" else name
            raise ValueError(
                f"{who} has the columns {_listed(second.names)}: must be those of x, {_listed(table.names)}"
            )
        return second.column(at)
    shape = getattr(other, "shape", None)
    if shape is not None and len(shape) == 2:
        rows, columns = table.height, len(table.names)
        if shape[0] not in (1, rows) or shape[1] not in (1, columns):
            raise ValueError(f"{name} has shape {tuple(shape)}: must broadcast to that of x, {(rows, columns)}")
        return other[:, at if shape[1] > 1 else 0]
    return other


def _across(self, table, axis):
    """A verb along the rows, or of all elements."""
    for at, column in enumerate(table.columns() if table.type_of_all() is None else ()):
        try:
            if take(column, "x")[0] is None:
                _core.like(column)  # raises if the extension cannot read it
        except TypeError as wrong:
            raise _of_column(wrong, table.names[at], table) from None
    changes = {"x": table.matrix(), "axis": axis}
    for name in ("next", "where"):
        other = self[name]
        second = None if other is None else opened(other)
        if second is not None:
            _beside(other, 0, table, name)  # its labels
            changes[name] = second.matrix()
        elif other is not None and _library(other) == "pandas" == _library(table.x):
            same_labels(table.x, other, name)
    found = self.having(**changes).run()
    if isinstance(axis, tuple) or self.verb in ("ranges", "segments"):
        return found
    if self.verb == "reduce":
        return table.row_results(found)
    rows = self.rows(len(table.names))
    if rows is None or found.ndim != 2:
        return found
    return table.turned(found, rows)


# ---- one class for each library ----

_OF_MATRIX = ("reduce", "scan", "window", "rolling")  # verbs of any number of axes
_FEW = 1 << 17  # elements of a table, for which calls take longer than a copy


class _Pandas:
    numbers = "x.select_dtypes('number')"
    scalars = True  # the result of a column is a scalar

    def __init__(self, x):
        self.x, self.names, self.height = x, list(x.columns), len(x)

    def column(self, at):
        return self.x.iloc[:, at]

    def columns(self):
        return (column for _, column in self.x.items())

    def numbers_of_numpy(self):
        """The places of the columns of numbers, with them as arrays of NumPy."""
        if self.height * len(self.names) <= _FEW and self.type_of_all(_NUMBERS):
            return enumerate(self.x.to_numpy().T)
        kinds = enumerate(zip(self.x.dtypes, self.columns()))
        return [(at, column.to_numpy()) for at, (kind, column) in kinds if _is_plain(kind, _NUMBERS)]

    def matrix(self):
        return self.x.to_numpy() if self.type_of_all() else _stacked(self)

    def type_of_all(self, letters="biufmM"):
        """The type of all columns, of numbers or times of NumPy; None: there are several types, or others."""
        kinds = set(self.x.dtypes)
        kind = kinds.pop() if len(kinds) == 1 else None
        return kind if _is_plain(kind, letters) else None

    def at_once(self, call):
        """The result for few elements of one type, by one call on their matrix. None: column by column, which also says
        in which one a fault is."""
        if call.verb not in _OF_MATRIX or not 0 < self.height * len(self.names) <= _FEW:
            return None
        kind, rows = self.type_of_all(_NUMBERS), call.rows(self.height)
        if kind is None or (rows is None and call.verb != "reduce"):
            return None
        try:
            found = call.having(x=self.x.to_numpy(), axis=0).run()
        except (TypeError, ValueError):
            return None
        pandas = sys.modules["pandas"]
        if call.verb == "reduce":
            return pandas.Series(found, index=self.x.columns) if found.ndim == 1 else None
        if found.ndim != 2:
            return None
        return pandas.DataFrame(found, index=self.x.index[rows], columns=self.x.columns, copy=False)

    def split(self, at):
        kept = [i for i in range(len(self.names)) if i != at]
        return self.column(at), self.x.iloc[:, kept]

    def joined(self, at, name, column):
        self.x.insert(at, name, column, allow_duplicates=True)
        return self.x

    def reduced(self, results):
        """A Series with the columns' names; several values for each column are as many rows."""
        pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
        if results and isinstance(results[0], (numpy.ndarray, pandas.Index, pandas.api.extensions.ExtensionArray)):
            return self.built(results, None)
        return pandas.Series(_alike(results), index=self.x.columns, dtype=None if results else "float64")

    def built(self, results, rows):
        pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
        index = None if rows is None else self.x.index[rows]
        kinds = {each.dtype if type(each) is numpy.ndarray else None for each in results}
        if len(kinds) == 1 and None not in kinds and results[0].size * len(results) <= _FEW:  # in one block
            return pandas.DataFrame(numpy.array(results).T, index=index, columns=self.x.columns, copy=False)
        columns = {at: getattr(each, "array", each) for at, each in enumerate(results)}
        found = pandas.DataFrame(columns, index=index, copy=False)
        found.columns = self.x.columns
        return found

    def row_results(self, found):
        pandas = sys.modules["pandas"]
        return pandas.Series(found, index=self.x.index) if found.ndim == 1 else found

    def turned(self, found, rows):
        return sys.modules["pandas"].DataFrame(found, index=self.x.index, columns=self.x.columns[rows])


_NUMBERS = "biuf"


def _is_plain(kind, letters):
    return type(kind).__module__ == "numpy.dtypes" and kind.kind in letters


class _ByColumn:
    """Of Polars and Arrow, each of whose columns is an array of its own."""

    def type_of_all(self):
        return None

    def at_once(self, call):
        return None


# types of Polars and Arrow that are those of NumPy, as they write them
_PLAIN = {f"{prefix}{bits}" for prefix in ("Int", "UInt", "int", "uint") for bits in (8, 16, 32, 64)}
_PLAIN |= {"Float32", "Float64", "float", "double"}


class _Polars(_ByColumn):
    numbers = "x.select(polars.selectors.numeric())"
    scalars = False

    def __init__(self, x):
        self.x, self.names, self.height = x, x.columns, x.height

    def column(self, at):
        return self.x.to_series(at)

    def columns(self):
        return self.x.get_columns()

    def numbers_of_numpy(self):
        """Those without nulls: NumPy has none."""
        for at, (kind, column) in enumerate(zip(self.x.dtypes, self.columns())):
            if str(kind) in _PLAIN and not column.null_count():
                yield at, column.to_numpy()

    def matrix(self):
        return _stacked(self)

    def split(self, at):
        return self.column(at), self.x.drop(self.names[at])

    def joined(self, at, name, column):
        polars = sys.modules["polars"]
        if not isinstance(column, polars.Series):
            is_coarse = (
                _library(column) == "numpy"
                and is_time(column)
                and str(column.dtype).partition("[")[2] not in ("ms]", "us]", "ns]")
            )
            column = column.astype(f"{column.dtype.kind}8[ms]") if is_coarse else column  # as Polars has them
            column = polars.Series(list(column) if _library(column) == "tally" else column)
        return self.x.insert_column(at, column.alias(name))

    def series(self, each, name):
        polars = sys.modules["polars"]
        if isinstance(each, polars.Series):
            return each.alias(name)
        import numpy

        each = numpy.asarray(each)
        return polars.Series(name, each[0] if each.ndim == 2 else each)

    def built(self, results, rows):
        return sys.modules["polars"].DataFrame([self.series(each, name) for each, name in zip(results, self.names)])

    def reduced(self, results):
        return self.built(results, None)

    def row_results(self, found):
        return sys.modules["polars"].Series(found) if found.ndim == 1 else found

    def turned(self, found, rows):
        return sys.modules["polars"].DataFrame(found, schema=self.names[rows])


class _Arrow(_ByColumn):
    numbers = "x.select(['a', 'b'])"
    scalars = False

    def __init__(self, x):
        self.x, self.names, self.height = x, x.column_names, x.num_rows

    def column(self, at):
        return self.x.column(at)

    def columns(self):
        return self.x.columns

    def numbers_of_numpy(self):
        """Those without nulls: NumPy has none."""
        for at, (kind, column) in enumerate(zip(self.x.schema.types, self.columns())):
            if str(kind) in _PLAIN and not column.null_count:
                yield at, column.to_numpy()

    def matrix(self):
        return _stacked(self)

    def split(self, at):
        kept = [i for i in range(len(self.names)) if i != at]
        return self.column(at), type(self.x).from_arrays([self.column(i) for i in kept], [self.names[i] for i in kept])

    def joined(self, at, name, column):
        columns, names = list(self.x.columns), list(self.names)
        column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if _library(column) != "pyarrow":
            import pyarrow

            column = column.to_arrow() if _library(column) == "polars" else pyarrow.array(column)
        columns.insert(at, column)
        names.insert(at, name)
        return type(self.x).from_arrays(columns, names)

    def array(self, each):
        import pyarrow

        if isinstance(each, (pyarrow.Array, pyarrow.ChunkedArray)):
            return each
        import numpy

        each = numpy.asarray(each)
        return pyarrow.array(each[0] if each.ndim == 2 else each)

    def built(self, results, rows):
        return type(self.x).from_arrays([self.array(each) for each in results], self.names)

    def reduced(self, results):
        return self.built(results, None)

    def row_results(self, found):
        import pyarrow

        return pyarrow.array(found) if found.ndim == 1 else found

    def turned(self, found, rows):
        import pyarrow

        return type(self.x).from_arrays([pyarrow.array(each) for each in found.T], self.names[rows])


def _alike(results):
    """Numbers of several columns as one array of their common type, or as objects if that changes one of them."""
    import numpy

    kinds = {getattr(each, "dtype", None) for each in results}
    if None in kinds or any(kind.kind in "mM" for kind in kinds):  # times: pandas finds their type
        return results
    found = numpy.array(results)
    same = len(kinds) < 2 or found.dtype.kind == "f"
    for each, value in zip(results, found):
        same &= each.dtype.kind not in "iu" or found.dtype.kind != "f" or int(value) == int(each)
        same &= (each.dtype.kind == "b") == (found.dtype.kind == "b")
    return found if same else numpy.array([*results, None], object)[:-1]


def _stacked(table):
    """All columns side by side, of their common type, masked where they are null."""
    import numpy

    columns = [_dense(name, column) for name, column in zip(table.names, table.columns())]
    if any(isinstance(column, numpy.ma.MaskedArray) for column in columns):
        return numpy.ma.column_stack(columns)
    return numpy.column_stack(columns) if columns else numpy.empty((table.height, 0))


def _dense(name, column):
    """A column as an array of NumPy."""
    import numpy

    if is_time(take(column, "x")[0]):
        if _library(column) == "pandas":
            raise TypeError(f"column {name!r} of x has times of type {column.dtype}: along rows there must be numbers")
        if column.null_count() if callable(column.null_count) else column.null_count:
            raise ValueError(f"column {name!r} of x has nulls: along rows there must be none of times")
        return column.to_numpy()
    there = _core.present(column, None, None)
    values = numpy.asarray(_core.reduce("first", column, (), False, None, None, None, None))
    return values if there is None else numpy.ma.masked_array(values, ~numpy.asarray(there))


_KINDS = {
    ("pandas", "DataFrame"): _Pandas,
    ("polars", "DataFrame"): _Polars,
    ("pyarrow", "Table"): _Arrow,
    ("pyarrow", "RecordBatch"): _Arrow,
}

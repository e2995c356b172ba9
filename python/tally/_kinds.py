# SPDX-License-Identifier: MIT
"""What the extension asks of Python: to read what speaks no protocol, and to make results of an input's own kind."""

import math
import sys
from array import array

__all__ = ["bits", "fill", "finish", "give", "rearrange", "same_labels", "take"]


_LIBRARIES = {"numpy", "pandas", "polars", "pyarrow", "xarray", "torch", "cupy", "jax", "jaxlib"}


def class_of(object):
    """The class of an object, or the nearest of its base classes that is from a library above: Series for a user's
    subclass of it."""
    return _found(type(object))[0]


def _library(object):
    """The name of the package that this class is from: 'pandas', 'torch'."""
    return _found(type(object))[1]


def is_column(object):
    """Whether it may be a column of keys, and not one key."""
    return hasattr(type(object), "__len__") and not isinstance(object, (str, bytes, tuple, frozenset))


_library_of: dict = {}  # what _found has found, by class


def _found(kind):
    cached = _library_of.get(kind)
    if cached is None:
        base = next((base for base in kind.__mro__ if _package(base) in _LIBRARIES), kind)
        if len(_library_of) >= 256:  # classes that are made as the program runs
            _library_of.clear()
        cached = _library_of[kind] = base, _package(base)
    return cached


def _package(kind):
    return (kind.__module__ or "").partition(".")[0]


def call(verb, args):
    """The result of a verb for x with labels or times, or NotImplemented."""
    from ._labelled import call

    return call(verb, args)


def pickled(array):
    """What pickle and copy keep of a tally.Array."""
    from . import _core

    return _restored, (array.shape, array.dtype, bytes(_core.packed(array)))


def _restored(shape, dtype, bytes):
    from . import _core

    return _core.empty(shape, dtype, bytes)


# ---- in ----


def take(object, name):
    """Something that can be read instead of `object`, and what its results are: 0 a tally.Array or a number, 1 NumPy's,
    2 made by `give`."""
    if _library(object) == "pandas":
        if name == "x" and getattr(object, "ndim", 1) == 2 and hasattr(type(object), "to_numpy"):
            raise TypeError("x is a table: must be one of its columns, or all of them as x.to_numpy()")
        return _from_pandas(object, name)
    if type(object) is str:  # NumPy would make an array of text
        raise TypeError(f"{name} is a string: must be an array")
    if hasattr(type(object), "__array__"):
        if hasattr(object, "dask"):  # whose __array__ drops masks
            object = object.compute()
        return _numpy(object), 1
    if isinstance(object, (int, float)):
        object = object if type(object) in _NUMBERS else _python(object)
        return _plain([object], (), name, {type(object)}), 0
    if isinstance(object, (list, tuple, range)):
        return _from_list(object, name), 0
    # an .npz file, a group of HDF5, a dict
    member = next(iter(object), None) if hasattr(type(object), "keys") else None
    hint = "" if member is None else f"; {name}[{member!r}] is one of its members"
    raise TypeError(f"{name} is of type {type(object).__name__}: must be an array{hint}")


def _labels(object):
    """The labels of each axis, and what makes two arrays agree in them; None: it has none."""
    if hasattr(object, "dims"):  # xarray.DataArray
        return [(dim, object.indexes.get(dim)) for dim in object.dims]
    if not hasattr(object, "index") or callable(object.index):
        return None
    return [("index", object.index), *([("columns", object.columns)] if hasattr(object, "columns") else [])]


def same_labels(x, other, name):
    """Raises where the labels of `other` are not those of `x`, along the axes that are paired (the last ones)."""
    labels, other_labels = _labels(x), _labels(other)
    if labels is None or other_labels is None or hasattr(x, "dims") != hasattr(other, "dims"):
        return
    who, name = ("the second array", "y") if name == "next" else (name, name)  # next=, y, other
    for (axis, a), (axis_of_other, b) in zip(reversed(labels), reversed(other_labels)):
        if hasattr(x, "dims") and axis != axis_of_other:
            raise ValueError(
                f"{who} has the dimensions {other.dims}: must be those of x, {x.dims}, in their order, as "
                f"{name}.transpose(*x.dims) has them"
            )
        if a is not None and b is not None and a is not b and not a.equals(b):
            align = f"xarray.align(x, {name})" if hasattr(x, "dims") else f"x.align({name}, join='inner')"
            what = f"coordinates along {axis}" if hasattr(x, "dims") else axis_of_other
            raise ValueError(
                f"{who} differs from x in its {what}: elements are paired by place, so the labels must be equal, as "
                f"x, {name} = {align} makes them"
            )


def _numpy(object):
    """As NumPy converts it, with its mask, which a variable of netCDF4 has."""
    import numpy

    return numpy.asanyarray(object)


_NUMBERS = {bool, int, float}
_INTEGERS = {"codes", "order", "start", "end", "offsets"}


def _python(number):
    """A number of a subclass of int or float, or an integer of NumPy, as Python's own."""
    return float(number) if isinstance(number, float) else int(number)


def _from_list(values, name):
    """Lists of Python's numbers without NumPy, so that it does not matter whether it is there; others with it."""
    kinds, shape, flat = set(map(type, values)), (len(values),), values
    if not kinds <= _NUMBERS:
        try:
            values = _with_masks(values)
        except ImportError:  # without NumPy they are refused below
            pass
        shape, flat = _flatten(values, name)
        kinds = set(map(type, flat))
    if kinds <= _NUMBERS:
        return _plain(flat, shape, name, kinds)
    try:
        import numpy
    except ImportError:
        other = next(kind for kind in map(type, flat) if kind not in _NUMBERS)
        raise TypeError(f"{name} has elements of type {other.__name__}: must be numbers") from None
    if any(isinstance(value, numpy.ma.MaskedArray) for value in flat):
        return numpy.ma.concatenate([numpy.ma.ravel(value) for value in flat]).reshape(shape)
    found = numpy.asarray(values)
    other = next((kind for kind in map(type, flat) if not issubclass(kind, (int, float, numpy.generic))), None)
    if found.dtype == object and name == "x" and other:
        hint = {"NoneType": "NaN of None", "Decimal": "floats", "Fraction": "floats"}.get(other.__name__)
        hint = hint and f"; numpy.array(x, 'float64') makes {hint}"
        raise TypeError(f"x has elements of type {other.__name__}: must be numbers{hint or ''}")
    if found.dtype.kind in "fO" and all(issubclass(kind, (int, numpy.integer)) for kind in kinds):
        return _plain(list(map(_python, flat)), shape, name, {int})  # NumPy makes floats of int64 and uint64 together
    return found


_ROWS = (list, tuple, range)


def _with_masks(values):
    """Lists in lists, where each object that NumPy converts is an array, perhaps with a mask."""
    numpy = sys.modules.get("numpy")
    own_types = (numpy.ndarray, numpy.generic) if numpy else ()

    def how(kind):
        if issubclass(kind, _ROWS):
            return _with_masks
        return _numpy if hasattr(kind, "__array__") and not issubclass(kind, own_types) else None

    hows = {kind: how(kind) for kind in set(map(type, values))}
    if not any(hows.values()):
        return values
    return [convert(value) if (convert := hows[type(value)]) else value for value in values]


def _flatten(values, name):
    """The shape of lists in lists, and what is in them, one after the other."""
    if not any(hasattr(kind, "__len__") for kind in set(map(type, values))):
        return (len(values),), list(values)
    parts = [_flatten(v, name) if isinstance(v, _ROWS) else (tuple(getattr(v, "shape", ())), [v]) for v in values]
    for at, (shape, _) in enumerate(parts):
        if shape != parts[0][0]:
            raise ValueError(
                f"{name}[{at}] has shape {shape} and {name}[0] {parts[0][0]}: all must be alike; rows of several "
                "lengths go into tally.segments, one after the other"
            )
    return (len(parts), *parts[0][0]), [value for _, part in parts for value in part]


def _plain(values, shape, name, kinds):
    """Numbers of these types as bool, int64 (uint64 where one is above 2^63 - 1), float64."""
    from . import _core

    dtype, code = ("bool", "B") if kinds == {bool} else ("int64", "q")
    if not kinds and name != "x":  # of no elements, the type that is wanted
        dtype, code = ("bool", "B") if name == "where" else ("int64", "q") if name in _INTEGERS else ("float64", "d")
    elif float in kinds or not kinds:
        dtype, code = "float64", "d"
    elif code == "q" and max(values) >= 1 << 63:
        dtype, code = "uint64", "Q"
    try:
        numbers = array(code, values)
    except OverflowError:
        if code == "d":
            raise TypeError(f"{name} has floats, and an integer that is larger than any float") from None
        raise TypeError(
            f"{name} has integers of more than 64 bits, {min(values)} to {max(values)}: must be all within int64, "
            "or all within uint64; float(i) makes a float of one"
        ) from None
    found = _core.empty(shape, dtype)
    if not shape:
        memoryview(found)[()] = values[0]
    elif values:
        memoryview(found).cast("B")[:] = memoryview(numbers).cast("B")
    return found


def _from_pandas(object, name):
    values = getattr(object, "values", object)
    numpy = sys.modules["numpy"]
    kind = 2 if class_of(object).__name__ == "Series" else 1
    if isinstance(values, numpy.ndarray):
        return values, kind
    if not hasattr(type(object), "dtype") or not hasattr(type(object), "to_numpy"):  # a Timestamp, NA, groupby
        hint = name == "x" and hasattr(type(object), "groups") and "; tally.sum(x, by=keys) has a result for each group"
        raise TypeError(f"{name} is of type {type(object).__name__}: must be an array{hint or ''}")
    if str(object.dtype).startswith("extension<arrow.bool8>"):  # bytes, of which all but 0 are True
        values = type(values)(values.__arrow_array__().cast("bool"))
    missing = getattr(values, "isna", None)
    if missing is not None and (mask := numpy.asarray(missing())).any():  # pandas.NA, of Int64 and its like
        plain = getattr(values.dtype, "numpy_dtype", None)
        if plain is None or plain.kind not in "biuf":
            raise TypeError(f"{name} has missing values of type {object.dtype}: must be integers or floats")
        return numpy.ma.masked_array(values.to_numpy(plain, na_value=plain.type(0).item()), mask), kind
    return values.to_numpy(), kind


# ---- out ----


def give(object, result, shape=None):
    """`result`, a tally.Array, as an object of the kind of `object`; or with a shape an empty array on its device."""
    library = _library(object)
    if shape is not None:
        return _on_device(object, library, result, shape)
    if library == "numpy":  # its scalars
        return sys.modules["numpy"].asarray(result)[()]
    if library == "pandas":
        return _to_pandas(object, result)
    if library == "pyarrow":
        return _to_arrow(result)
    if library == "polars":
        return _to_polars(object, result)
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.from_dlpack(result)
    namespace = getattr(object, "__array_namespace__", None)
    if namespace is not None:
        return namespace().from_dlpack(result)
    return result if result.ndim else result[()]


def _to_pandas(object, result):
    numpy = sys.modules["numpy"]
    array = numpy.asarray(result)
    if array.ndim == 0:
        return array[()]
    if array.shape != object.shape or class_of(object).__name__ != "Series":
        return array
    return sys.modules["pandas"].Series(array, index=object.index, name=object.name, copy=False)


def _to_polars(object, result):
    polars = sys.modules["polars"]
    if result.ndim != 1:
        return result if result.ndim else result[()]
    return polars.Series(_to_arrow(result) if result.dtype == "bool" else result).alias(object.name)


def _to_arrow(result):
    import pyarrow

    if result.ndim == 0:
        return pyarrow.scalar(result[()], type=pyarrow.bool_() if result.dtype == "bool" else _arrow_type(result.dtype))
    if result.ndim == 1 and result.dtype == "bool":  # Arrow has bits for them
        bytes = pyarrow.Array.from_buffers(pyarrow.uint8(), len(result), [None, pyarrow.py_buffer(result)])
        return bytes.cast(pyarrow.bool_())
    return pyarrow.array(result) if result.ndim == 1 else result


def with_nulls(object, values, there):
    """`values`, of the kind of `object`, with a null where `there`, a tally.Array of bool, is False."""
    library = _library(object)
    if library in ("pyarrow", "polars"):
        import pyarrow
        import pyarrow.compute

        column = values if library == "pyarrow" else values.to_arrow()
        column = pyarrow.compute.if_else(_to_arrow(there), column, pyarrow.scalar(None, column.type))
        return column if library == "pyarrow" else sys.modules["polars"].Series(values.name, column)
    import numpy

    values, mask = numpy.asarray(values), ~numpy.asarray(there)
    if isinstance(object, numpy.ma.MaskedArray):
        return numpy.ma.masked_array(values, mask)
    pandas = sys.modules.get("pandas")
    if pandas is None:
        raise ValueError(f"x is of type {type(object).__name__}: take gives nulls for arrays of NumPy and Arrow")
    if isinstance(object, (pandas.arrays.IntegerArray, pandas.arrays.FloatingArray, pandas.arrays.BooleanArray)):
        return type(object)(values, mask)
    if isinstance(object, pandas.arrays.ArrowExtensionArray):
        import pyarrow

        return type(object)(pyarrow.array(values, mask=mask))
    raise ValueError(f"x is of type {type(object).__name__}: take gives nulls for arrays of NumPy, pandas and Arrow")


def _arrow_type(dtype):
    import pyarrow

    return {"float16": pyarrow.float16, "float32": pyarrow.float32, "float64": pyarrow.float64}.get(
        dtype, getattr(pyarrow, dtype, None)
    )()


def _on_device(object, library, dtype, shape):
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=object.device)
    if library in ("jax", "jaxlib"):
        raise TypeError("a JAX array on a device cannot be written: give out= of another library, or use host memory")
    namespace = getattr(object, "__array_namespace__", None)
    if namespace is None and library != "cupy":
        raise TypeError(
            f"an array on a device of type {type(object).__name__} makes no arrays: give out=, or use host memory"
        )
    space = namespace() if namespace else sys.modules["cupy"]  # CuPy 14's arrays do not name theirs
    with object.device:  # CuPy's; its arrays are made on the current device
        return space.empty(shape, dtype=getattr(space, dtype))


# ---- on a device: what the array's own library does, in its current stream, without waiting ----


def _space(x):
    """The module of PyTorch or CuPy; None for other libraries."""
    library = _library(x)
    return sys.modules[library] if library in ("torch", "cupy") else None


def _like(x, other, space, name):
    """`other` on the device of x, broadcast to its shape."""
    if _library(other) != space.__name__:
        other = space.as_tensor(other, device=x.device) if space.__name__ == "torch" else space.asarray(other)
    try:
        return space.broadcast_to(other, x.shape)
    except (RuntimeError, ValueError):
        shapes = tuple(other.shape), tuple(x.shape)
        raise ValueError(f"{name} has shape {shapes[0]}: must broadcast to that of x, {shapes[1]}") from None


def rearrange(x, folded, next, where):
    """(x, next, where) with the axes `folded` in one, the last; None: x is of another library."""
    if (space := _space(x)) is None:
        return None
    kept = [axis for axis in range(x.ndim) if axis not in folded]
    shape = [x.shape[axis] for axis in kept]
    shape.append(math.prod(x.shape[axis] for axis in folded))
    permute = space.permute if space.__name__ == "torch" else space.transpose
    given = ((x, "x"), (next, "next"), (where, "where"))
    return tuple(
        a if a is None else permute(_like(x, a, space, name), (*kept, *folded)).reshape(shape) for a, name in given
    )


def bits(x, where, name):
    """x in one piece, and a bit for each of its elements: whether `where` is not 0. None: x is of another library."""
    if (space := _space(x)) is None:
        return None
    where = _like(x, where, space, name)
    if where.dtype not in (space.bool if space.__name__ == "torch" else bool, space.uint8):
        raise TypeError(f"{name} has dtype {str(where.dtype).rpartition('.')[2]}: must be bool (or uint8)")
    flat = (where != 0).reshape(-1)
    if space.__name__ == "cupy":
        return space.ascontiguousarray(x), space.packbits(flat, bitorder="little")
    bytes = space.nn.functional.pad(flat.to(space.uint8), (0, -len(flat) % 8)).reshape(-1, 8)
    places = space.arange(8, dtype=space.uint8, device=x.device)
    return x.contiguous(), (bytes << places).sum(1, dtype=space.uint8)


def fill(out, axis, first, last, value):
    """Sets the first and the last so many rows along `axis` to `value`."""
    for count, part in ((first, slice(0, first)), (last, slice(out.shape[axis] - last, None))):
        if count:
            out[(*[slice(None)] * axis, part)] = value


def finish(out, values, counts, axis, step, least):
    """Takes each step-th of `values` (None: they are in out), and NaN where the count is below `least`."""
    space = _space(out)
    every = (*[slice(None)] * axis, slice(None, None, step))

    def blank(where):
        if space.__name__ == "torch":
            out.masked_fill_(where, math.nan)
        else:
            space.copyto(out, math.nan, where=where)  # out[where] = math.nan waits

    if values is not None:
        out[...] = values[every]
        if "float" in str(values.dtype):  # a NaN that changes its type may change its bits
            blank(space.isnan(out))
    if counts is not None:
        blank(counts[every] < least)

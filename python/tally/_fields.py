# SPDX-License-Identifier: MIT
"""Verbs of xarray's DataArray and Dataset: dimensions by name, and results with the dimensions and coordinates of x.

Second arrays and where= are paired by the names of their dimensions, and their coordinates must be those of x. Data in
chunks of dask goes to tally.dask, and stays lazy."""

from ._kinds import _library

__all__ = ["call"]


def call(self):
    """The result of a verb, or NotImplemented."""
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
        mine = [dim for dim in dims if dim in variable.dims]
        if not mine and self.verb != "reduce":
            found[name] = variable
            continue
        changes = {"x": variable, "axis": tuple(mine) if self.verb == "reduce" else mine[0]}
        for other in ("next", "where"):
            if isinstance(self[other], xarray.Dataset):
                if name not in self[other]:
                    raise ValueError(f"{other} has no variable {name!r}, which x has")
                changes[other] = self[other][name]
        try:
            found[name] = variable if not mine and dims else self.having(**changes).run()
        except (TypeError, ValueError) as wrong:
            raise type(wrong)(f"variable {name!r}: {wrong}") from None
    kept = {name: c for name, c in x.coords.items() if not set(c.dims) & set(dims)}
    if self.verb != "reduce" or self["keepdims"]:
        kept = {}
    return xarray.Dataset(found, coords=kept, attrs=x.attrs if _keeps(xarray) else None)


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
        if isinstance(each, int) and each not in every:
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
        mine, theirs = x.indexes.get(dim), other.indexes.get(dim)
        if mine is not None and theirs is not None and not mine.equals(theirs):
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
    return xarray.DataArray(data, coords, [*names, *["value"] * several], x.name, attrs)


def _keeps(xarray):
    """Whether results keep attributes: as xarray's option says, or as this version does without it."""
    option = xarray.get_options()["keep_attrs"]
    return bool(xarray.DataArray(0, attrs={"a": 1}).sum().attrs) if option == "default" else option

# SPDX-License-Identifier: MIT
"""x.tally: the functions of tally as methods of arrays and tables of xarray, pandas and Polars."""

from . import _words, operators, rolling
from ._functions import NAMES

__all__ = ["Accessor"]

_METHODS = [
    "by_key",
    "digest",
    "ranges",
    "reduce",
    "scan",
    "segments",
    "window",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
]
_METHODS += ["cumulative_prod", "cumulative_sum", *(NAMES.get(op, op) for op in operators())]


class Accessor:
    """The functions of tally whose first argument is the object: ``x.tally.mean()`` is ``tally.mean(x)``."""

    __module__ = "tally"

    def __init__(self, x):
        self._x = x

    def __getattr__(self, name):
        if name not in _METHODS:
            raise _words.no_such(name, "tally has no method", "; dir(x.tally) lists them")
        import tally

        function = getattr(tally, name)

        def method(*args, **words):
            return function(self._x, *args, **words)

        method.__name__, method.__doc__ = name, function.__doc__
        return method

    def __dir__(self):
        return [*_METHODS, "rolling"]

    def rolling(self, window=None, **words):
        """:func:`tally.rolling`; of xarray the window may be given by its dimension: ``rolling(time=30)``."""
        dims = [name for name in words if name in getattr(self._x, "dims", ())]
        if window is None and len(dims) != 1:
            wanted = "one dimension, as in rolling(time=30)" if hasattr(self._x, "dims") else "a window"
            raise ValueError(f"rolling: give {wanted}" + (f", not {', '.join(dims)}" if dims else ""))
        if window is None:
            window, words["dim"] = words.pop(dims[0]), dims[0]
        return rolling(self._x, window, **words)

# SPDX-License-Identifier: MIT
"""One function for each built-in operator: sum, nansum, mean, argmax, ... The table of operators is the library's."""

from array import array

from . import _by, _core

_DOC = """{text}.

``x``{second} {types}, in any shape.
``axis``, ``dtype``, ``keepdims``, ``where``, ``out`` and ``by`` are those of :func:`tally.reduce`.{more}
The result is {result}. No elements give {empty}.

>>> import tally
>>> from array import array
>>> {call}
{value}

ValueError, TypeError: as in :func:`tally.reduce`."""


def _plain(op):
    reduce = _core.reduce

    def function(
        x, /, *, axis=None, dtype=None, keepdims=False, where=None, out=None, by=None, sort=False, dropna=True
    ):
        if by is not None:
            return _by.reduce(op, x, by, sort, dropna, axis, keepdims, dtype, out, None, where)
        return reduce(op, x, axis, keepdims, dtype, out, None, where)

    return function


def _ddof(op):
    reduce = _core.reduce

    def function(
        x,
        /,
        *,
        axis=None,
        correction=0,
        dtype=None,
        keepdims=False,
        where=None,
        out=None,
        by=None,
        sort=False,
        dropna=True,
    ):
        if by is not None:
            return _by.reduce(
                f"{op}:{correction}" if correction else op, x, by, sort, dropna, axis, keepdims, dtype, out, None, where
            )
        return reduce(f"{op}:{correction}" if correction else op, x, axis, keepdims, dtype, out, None, where)

    return function


def _alpha(op):
    reduce = _core.reduce

    def function(
        x, /, alpha, *, axis=None, dtype=None, keepdims=False, where=None, out=None, by=None, sort=False, dropna=True
    ):
        if by is not None:
            return _by.reduce(f"{op}:{alpha}", x, by, sort, dropna, axis, keepdims, dtype, out, None, where)
        return reduce(f"{op}:{alpha}", x, axis, keepdims, dtype, out, None, where)

    return function


def _sample(op):
    reduce = _core.reduce

    def function(
        x,
        /,
        *,
        axis=None,
        sample=False,
        dtype=None,
        keepdims=False,
        where=None,
        out=None,
        by=None,
        sort=False,
        dropna=True,
    ):
        if by is not None:
            return _by.reduce(f"{op}:1" if sample else op, x, by, sort, dropna, axis, keepdims, dtype, out, None, where)
        return reduce(f"{op}:1" if sample else op, x, axis, keepdims, dtype, out, None, where)

    return function


def _two(op):
    reduce = _core.reduce

    def function(
        x, y, /, *, axis=None, dtype=None, keepdims=False, where=None, out=None, by=None, sort=False, dropna=True
    ):
        if by is not None:
            return _by.reduce(op, x, by, sort, dropna, axis, keepdims, dtype, out, y, where)
        return reduce(op, x, axis, keepdims, dtype, out, y, where)

    return function


def _two_ddof(op):
    reduce = _core.reduce

    def function(
        x,
        y,
        /,
        *,
        axis=None,
        correction=0,
        dtype=None,
        keepdims=False,
        where=None,
        out=None,
        by=None,
        sort=False,
        dropna=True,
    ):
        if by is not None:
            return _by.reduce(
                f"{op}:{correction}" if correction else op, x, by, sort, dropna, axis, keepdims, dtype, out, y, where
            )
        return reduce(f"{op}:{correction}" if correction else op, x, axis, keepdims, dtype, out, y, where)

    return function


_CORRECTION = "\nThe {what} are divided by the number of elements less ``correction``."
# by the parameter's name in the table and the number of inputs: the function, an example's argument, what the
# documentation adds
_FORMS = {
    ("", 1): (_plain, "", "", ""),
    ("ddof", 1): (_ddof, "", "", _CORRECTION.format(what="squares")),
    ("sample", 1): (_sample, "", "", "\nWith ``sample`` it is corrected for a sample, as in pandas."),
    ("alpha", 1): (_alpha, ":0.5", ", 0.5", "\n``alpha`` is the weight of a new element, 0 to 1."),
    ("", 2): (_two, "", "", ""),
    ("ddof", 2): (_two_ddof, "", "", _CORRECTION.format(what="products")),
}
NAMES = {"and": "and_", "or": "or_"}  # Python's own words, named as in its module operator


def facts(op):
    """What the table says of an operator: its facts, the letter and some numbers of a type that it takes."""
    for dtype, code, numbers in (("float64", "d", [1.0, 4.0, 2.5]), ("int64", "q", [6, 3])):
        for more in ("", ":0.5"):
            try:
                found = _core.operator(op + more, dtype)
            except ValueError:  # a parameter that must be given
                continue
            if found is not None:
                return found, code, numbers
    raise RuntimeError(f"tally: operator {op} needs a parameter that is not known here")


def _function(op):
    about, code, numbers = facts(op)
    make, suffix, argument, more = _FORMS[about["param"], about["inputs"]]
    function = make(op)
    name = NAMES.get(op, op)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "tally"
    pair = numbers[::-1] if about["inputs"] == 2 else None
    second = array(code, pair) if pair else None
    value = _core.reduce(op + suffix, array(code, numbers), None, False, None, None, second, None)
    several = about["lanes"] > 1
    function.__doc__ = _DOC.format(
        text=about["text"][0].upper() + about["text"][1:],
        second=" and ``y``, which is broadcast to its shape, have" if pair else " has",
        types="integers" if code == "q" else "numbers",
        more=more,
        result=(
            f"{about['lanes']} values in a last axis for each sequence" if several else "one value for each sequence"
        ),
        empty=about["empty"],
        call=f"tally.{name}(array({code!r}, {numbers}){f', {pair}' if pair else ''}{argument})"
        f"{'.tolist()' if several else ''}",
        value=value.tolist() if several else value,
    )
    return name, function


functions = dict(_function(op) for op in _core.operators())

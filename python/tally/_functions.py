# SPDX-License-Identifier: MIT
"""One function for each built-in operator: sum, nansum, mean, argmax, ... The table of operators is the library's."""

from array import array

from . import _by, _core, _words

_DOC = """{text}.

``x``{second} {types}, in any shape.
``axis``, ``dim``, ``dtype``, ``keepdims``, ``where``, ``out`` and ``by`` are those of :func:`tally.reduce`.{more}
The result is {result}. No elements give {empty}.

>>> import tally
>>> from array import array
>>> {call}
{value}

ValueError, TypeError: as in :func:`tally.reduce`."""


# One text for the functions of all operators. {second}: a second array; {first}, {words}: the operator's parameter;
# {value}: the operator with its parameter.
_TEXT = """
def make(op):
    def function(
        x, {second}/, {first}*more, axis=None, {words}dim=None, dtype=None, keepdims=False, where=None, out=None,
        by=None, sort=False, dropna=True, **words
    ):
        if more or words:
            _words.refuse(op, more, words)
        if dim is not None:
            axis = _words.dim(x, axis, dim)
        if by is not None:
            return _by.reduce({value}, x, by, sort, dropna, axis, keepdims, dtype, out, {next}, where)
        return reduce({value}, x, axis, keepdims, dtype, out, {next}, where)

    return function
"""
_DDOF = "correction=0, ddof=None, ", "_words.with_ddof(op, correction, ddof)"
_ALPHA = "span=None, halflife=None, com=None, adjust=False, "
_ALPHA_OF = "f'{op}:{_words.alpha(alpha, span=span, halflife=halflife, com=com, adjust=adjust)}'"


def _form(words, value, first="", second=""):
    """What makes the function of an operator: make(op)."""
    scope = {"_by": _by, "_words": _words, "reduce": _core.reduce}
    text = _TEXT.format(words=words, value=value, first=first, second=second, next="y" if second else None)
    exec(text, scope)
    return scope["make"]


_CORRECTION = (
    "\nThe {what} are divided by the number of elements less ``correction``, which may\nalso be given as ``ddof``."
)
_SAMPLE = "\nWith ``sample`` it is corrected for a sample, as in pandas."
_WEIGHT = (
    "\n``alpha`` is the weight of a new element, 0 to 1; or give ``span``, ``halflife`` or ``com``, as in pandas.\n"
    "It starts at the first element, as ``adjust=False`` of pandas."
)
# by the parameter's name in the table and the number of inputs: the function, an example's argument, what the
# documentation adds
_FORMS = {
    ("", 1): (_form("", "op"), "", "", ""),
    ("ddof", 1): (_form(*_DDOF), "", "", _CORRECTION.format(what="squares")),
    ("sample", 1): (_form("sample=False, ", "f'{op}:1' if sample else op"), "", "", _SAMPLE),
    ("alpha", 1): (_form(_ALPHA, _ALPHA_OF, "alpha=None, "), ":0.5", ", 0.5", _WEIGHT),
    ("", 2): (_form("", "op", second="y, "), "", "", ""),
    ("ddof", 2): (_form(*_DDOF, second="y, "), "", "", _CORRECTION.format(what="products")),
}
NAMES = {"and": "and_", "or": "or_"}  # Python's own words, named as in its module operator


def facts(op):
    """What the table says of an operator: its facts, the letter and some numbers of a type that it takes."""
    if op not in _facts:
        _facts[op] = _found(op)
    return _facts[op]


_facts: dict = {}


def _found(op):
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


_RUNNING = """The running {what} along ``axis`` (``dim`` of xarray), by its name in pandas; with ``by`` of each group.

It is :func:`tally.scan` with ``{op!r}``.

>>> import tally
>>> tally.{name}([3, 1, 4]).tolist()
{value}

ValueError, TypeError: as in :func:`tally.scan`."""


def _running(name, op, what):
    scan = _core.scan

    def function(x, /, *more, axis=None, dim=None, dtype=None, where=None, out=None, by=None, dropna=True, **words):
        if more or words:
            _words.refuse(name, more, words)
        axis = axis if dim is None else _words.dim(x, axis, dim)
        if by is not None:
            return _by.scan(op, x, by, dropna, axis, False, False, None, dtype, out, None, where)
        return scan(op, x, axis, dtype, out, False, False, False, None, None, where)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "tally"
    value = list(scan(op, array("q", [3, 1, 4]), None, None, None, False, False, False, None, None, None))
    function.__doc__ = _RUNNING.format(what=what, op=op, name=name, value=value)
    return function


cumsum, cumprod = _running("cumsum", "sum", "sum"), _running("cumprod", "prod", "product")
cummax, cummin = _running("cummax", "max", "maximum"), _running("cummin", "min", "minimum")
functions = dict(_function(op) for op in _core.operators())

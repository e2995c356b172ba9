# SPDX-License-Identifier: MIT
"""Arguments that several functions take, as the extension wants them."""

from operator import index


def reach(w, before, after, center):
    """How many elements a window has before its own and after it."""
    if w is None:
        return before or 0, after or 0
    if before is not None or after is not None:
        raise ValueError("w and before or after: give the one or the others")
    try:
        is_length = index(w) >= 1
    except TypeError:
        is_length = False
    if not is_length:
        raise ValueError(f"w is {w!r}: must be an integer of at least 1")
    return (w // 2, (w - 1) // 2) if center else (w - 1, 0)


_EDGES = {"missing": 0, "shrink": 1, "valid": 2}


def edges(edges):
    """What a window that is not full gives: a number of tally_edges."""
    try:
        return _EDGES[edges]
    except (KeyError, TypeError):
        raise ValueError(f"edges is {edges!r}: must be 'missing', 'shrink' or 'valid'") from None


def ties(ties):
    """Does a window end at its own row, though rows behind it have the same key?"""
    if ties not in ("row", "all"):
        raise ValueError(f"ties is {ties!r}: must be 'row' or 'all'")
    return ties == "row"


def alone(name, **others):
    """The argument ``name`` goes with none of the others."""
    for other, value in others.items():
        if value is not None:
            raise ValueError(f"{other}: cannot be given with {name}")


def dim(x, axis, dim):
    """The axis that dimensions by name are."""
    if axis is not None:
        raise ValueError("axis and dim: give the one or the other")
    if not hasattr(x, "dims"):
        raise TypeError(f"dim is {dim!r}: x is of type {type(x).__name__}, whose axes have no names: give axis=")
    return dim


def with_ddof(op, correction, ddof):
    """The operator with the one of two words for the same that is given."""
    if ddof is not None and correction:
        raise ValueError("correction and ddof: give the one or the other")
    less = correction if ddof is None else ddof
    return f"{op}:{less}" if less else op


def alpha(alpha=None, *, span=None, halflife=None, com=None, adjust=False):
    """The weight of a new element in an exponential average, from one of pandas' words for it."""
    given = {"alpha": alpha, "span": span, "halflife": halflife, "com": com}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) != 1:
        raise ValueError(f"alpha, span, halflife, com: give one of them, not {', '.join(given) or 'none'}")
    if adjust:
        raise ValueError(
            "adjust is True: ema starts at the first element, as adjust=False of pandas; with "
            "z = tally.scan(x, 'ema:A', init=0) and w = tally.scan(ones, 'ema:A', init=0), z / w is adjusted"
        )
    ((name, value),) = given.items()
    if name == "alpha":
        return value
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}: must be a number of elements") from None
    if not value >= {"span": 1, "halflife": 0, "com": 0}[name] or (name == "halflife" and value == 0):
        least = {"span": "at least 1", "halflife": "above 0", "com": "at least 0"}[name]
        raise ValueError(f"{name} is {value!r}: must be {least}")
    from decimal import Context, Decimal

    exact = Context(prec=60)  # the float is the nearest one, on every machine
    value = Decimal(value)
    if name == "span":
        return float(exact.divide(2, exact.add(value, 1)))
    if name == "com":
        return float(exact.divide(1, exact.add(value, 1)))
    return float(exact.subtract(1, exact.power(Decimal("0.5"), exact.divide(1, value))))


def spelled(op):
    """An operator whose parameter has pandas' or the array API's name, in the library's words: "ema:span=10"."""
    if type(op) is not str or "=" not in op:
        return op
    head, _, last = op.rpartition(":")
    name, _, value = last.partition("=")
    if name == "correction":
        return f"{head}:ddof={value}"
    if name in ("span", "halflife", "com"):
        return f"{head}:{alpha(**{name: value})!r}"
    return op


def all_spelled(op):
    """The same for a name or a list of names."""
    return [spelled(name) for name in op] if isinstance(op, (list, tuple)) else spelled(op)

# SPDX-License-Identifier: MIT
"""Arguments that several functions take, as the extension wants them."""


def reach(w, before, after, center):
    """How many elements a window has before its own and after it."""
    if w is None:
        return before or 0, after or 0
    if before is not None or after is not None:
        raise ValueError("w and before or after: give the one or the others")
    try:
        least = w < 1
    except TypeError:
        least = True
    if least or w != w // 1:
        raise ValueError(f"w is {w!r}: must be an integer of at least 1")
    return (w // 2, (w - 1) // 2) if center else (w - 1, 0)


def edges(edges):
    """What a window that is not full gives: a number of tally_edges."""
    try:
        return {"missing": 0, "shrink": 1, "valid": 2}[edges]
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

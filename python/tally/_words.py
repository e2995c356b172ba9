# SPDX-License-Identifier: MIT
"""Arguments that several functions take, as the extension wants them."""

from operator import index


def reach(w, before, after, center):
    """How many elements a window has before its own and after it."""
    if w is None:
        if before is after is None:
            raise ValueError("w: must be given, as in window(x, 'mean', 3), or before and after")
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


# what to write instead of arguments that other libraries have; {op} is the operator
_ARGUMENTS = {
    "skipna": "tally.nan{op}(x), or the operator 'nan{op}', leaves NaN out, and nulls are always left out",
    "numeric_only": "x.select_dtypes('number') has the columns of numbers",
    "min_count": "tally.count(x) says how many elements there are; tally.window takes it, and rolling min_periods=",
    "min_periods": "tally.rolling(x, 20, min_periods=1) takes it, and tally.window min_count=",
    "step": "tally.rolling(x, 20, step=2) takes it",
    "min_samples": "min_periods= is its name here",
    "ddof": "var, std, cov and their nan forms take it, in a name as 'var:ddof=1'",
    "correction": "var, std, cov and their nan forms take it, in a name as 'var:ddof=1'",
    "weights": "tally.wmean(x, weights) is the weighted mean",
    "initial": "tally.scan(x, '{op}', init=0) starts at a value",
    "keep_attrs": "xarray.set_options(keep_attrs=True) keeps attributes",
    "bias": "sample=True corrects skew and kurt for a sample",
    "level": "by= takes keys, such as x.index.get_level_values(0)",
    "groupby": "by= takes the keys",
}

# and instead of functions
_NAMES = {
    "agg": "tally.reduce(x, ['mean', 'max'])",
    "aggregate": "tally.reduce(x, ['mean', 'max'])",
    "amax": "tally.max",
    "amin": "tally.min",
    "average": "tally.wmean(x, weights)",
    "corrcoef": "tally.corr(x, y)",
    "cumall": "tally.scan(x, 'all')",
    "ewm": "tally.scan(x, 'ema:span=10')",
    "expanding": "tally.scan(x, 'mean')",
    "groupby": "tally.sum(x, by=keys)",
    "idxmax": "x.index[tally.argmax(x)]",
    "idxmin": "x.index[tally.argmin(x)]",
    "kurtosis": "tally.kurt(x, sample=True)",
    "nancumsum": "tally.scan(x, 'nansum')",
    "nancumprod": "tally.scan(x, 'nanprod')",
    "product": "tally.prod",
    "ptp": "tally.range",
    "nanptp": "tally.nanrange",
    "resample": "tally.sum(x, by=times.to_period('M')) of pandas, by=times.floor('15min')",
    "sem": "tally.std(x, ddof=1) / tally.count(x) ** 0.5",
    "size": "tally.count",
    "skewness": "tally.skew(x, sample=True)",
    "value_counts": "tally.count(x, by=x)",
    **dict.fromkeys(
        ["median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile", "mode", "rank", "nunique"],
        "no operator of tally is one; numpy, pandas and xarray have it",
    ),
}


_OF_ROLLING = {"skipna": "NaN is no observation of a window, and min_periods=1 takes those that have fewer"}


def refuse(op, more, words, rolling=False, of=None):
    """Raises for what a function does not take: arguments by place, and by names of other libraries.
    of: the function, if it is not called as the operator."""
    if more:
        first = more[0]
        given = f"dim={first!r}" if isinstance(first, str) else f"axis={first!r}" if isinstance(first, int) else "next="
        raise TypeError(f"{op}: takes its arrays by place, and other arguments by name: {given}")
    word = next(iter(words))
    name = op.partition(":")[0].removeprefix("nan").removeprefix("cum") if isinstance(op, str) else "sum"
    table = _ARGUMENTS | _OF_ROLLING if rolling else _ARGUMENTS
    if word not in table:
        raise TypeError(f"{of or op} got an unexpected keyword argument {word!r}")
    raise TypeError(f"{op} has no {word}=: {table[word].format(op=name)}")


def no_such(name, of, more=""):
    """The exception for a function or a method that is not there."""
    return AttributeError(f"{of} {name!r}" + (f": {_NAMES[name]}" if name in _NAMES else more))


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

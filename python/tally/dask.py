# SPDX-License-Identifier: MIT
"""Reductions, scans and windows of dask arrays, whose bits do not depend on chunks, workers or threads.

>>> import dask.array, tally.dask
>>> x = dask.array.random.default_rng(7).random(100_000, chunks=30_000).astype("float32")
>>> y = x.rechunk(777)
>>> bool((tally.dask.reduce(x, "sum") == tally.dask.reduce(y, "sum")).compute())
True
>>> bool((tally.dask.scan(x, "sum")[-1] == tally.dask.reduce(y, "sum")).compute())
True

All of them are lazy and give dask arrays, and each has the bits of the function of the same name in tally on the whole
array. ``import tally`` does not import this module, which needs dask and NumPy.

Nothing is gathered: chunks become fragments, of a kilobyte or less for each sequence, and these are merged; a chunk's
scan goes on from the fragment of those before it. Of the axes of a reduction only the first may have many chunks, the
others are brought into one. Of exact operators (``sum:exact``) one sequence that is reduced is not gathered; in scans,
and of several sequences, each is brought into one chunk.
"""

import itertools
import operator

import dask
import dask.array as da
import numpy as np

import tally
from tally import _words

__all__ = ["cumulative_prod", "cumulative_sum", "reduce", "scan", "window"]

_MERGED = 16  # parts in a task


def _array(x):
    x = da.asarray(x)
    for axis, chunks in enumerate(x.chunks):
        if any(n != n for n in chunks):
            raise ValueError(f"x has chunks of unknown length along axis {axis}: call x.compute_chunk_sizes() first")
    chunks = tuple(tuple(n for n in lengths if n) or (0,) for lengths in x.chunks)
    return x if chunks == x.chunks else x.rechunk(chunks)  # dask reverses arrays with empty chunks wrongly


def _axis(x, axis):
    if axis is None and x.ndim != 1:
        raise ValueError(f"axis: must be given, x has {x.ndim} axes")
    at = 0 if axis is None else operator.index(axis)
    if not -x.ndim <= at < x.ndim:
        raise ValueError(f"axis is {at}: x has {x.ndim} axes")
    return at % x.ndim


def _result(x, op):
    """The dtype of results, and the shape of one: () or the operator's lanes. The errors of op and dtype are raised."""
    if not isinstance(op, str):
        raise TypeError(f"op is {op!r}: must be the name of an operator, such as 'sum' or 'var:ddof=1'")
    if x.dtype.kind in "mM":
        raise TypeError(f"x has times ({x.dtype}): give x.astype('int64'), or x.compute() to the functions of tally")
    one = np.asarray(tally.reduce(np.empty(0, x.dtype), op))
    return one.dtype, one.shape


def _is_exact(op):
    return not {"exact", "checked"}.isdisjoint(op.split(":")[1:])


def _has_fragments(op, dtype):
    """Not sums and means of tally.Exact, and not sums that are checked as a whole."""
    sums = op.split(":")[0].removeprefix("nan") in ("sum", "mean")
    return not _is_exact(op) or not (sums and (dtype.kind not in "biu" or "checked" in op))


def _starts(lengths):
    return list(itertools.accumulate(lengths[:-1], initial=0))


# ---- tasks ----


def _make(op, block, start):
    return tally.Fragment(op, np.asanyarray(block), start)  # masks stay


def _merge(parts):
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def _make_rows(op, block, axes, start):
    block = np.asanyarray(block)
    kept = [a for a in range(block.ndim) if a not in axes]
    n = int(np.prod([block.shape[a] for a in axes], dtype=object))
    rows = int(np.prod([block.shape[a] for a in kept], dtype=object))
    return tally.Fragment._of_rows(op, block.transpose(*kept, *axes).reshape(rows, n), start)


def _value(fragment, dtype, shape):
    return np.asarray(fragment.result(), dtype).reshape(shape)


def _make_exact(block):
    return tally.Exact(np.asanyarray(block))


def _exact_value(total, op, dtype):
    value = total.mean if "mean" in op else total.sum
    return np.asarray(value(dtype=dtype, skipna=op.startswith("nan")), dtype)


def _go_on(block, op, dtype, exclusive, init, before):
    stream = tally.Stream.scan(op, dtype, exclusive=exclusive, init=init, after=before)
    return np.asarray(stream.push(np.asanyarray(block)))


def _scan_rows(op, block, axis, before, exclusive, init, dtype, lanes):
    block = np.moveaxis(np.asanyarray(block), axis, -1)
    rows = block.reshape(int(np.prod(block.shape[:-1], dtype=object)), block.shape[-1])
    found = tally._core.scan_rows(op, rows, bytes(before), exclusive, init)
    return np.moveaxis(np.asarray(found, dtype).reshape(*block.shape, *lanes), block.ndim - 1, axis)


# ---- the verbs ----


def reduce(x, op, /, *, axis=None, keepdims=False):
    """Folds all elements of ``x``, in C order of the indices, or those along ``axis`` (an integer or a tuple).

    The bits are those of ``tally.reduce(x.compute(), op)``. ``op`` is one name. ValueError, TypeError: as
    there, and for chunks of unknown length.
    """
    x = _array(x)
    dtype, lanes = _result(x, op)
    axes = set(range(x.ndim))
    if axis is not None:
        axes = {_axis(x, a) for a in (axis if isinstance(axis, tuple) else (axis,))}
    if x.ndim and axes and _has_fragments(op, x.dtype):
        found = _reduce_rows(x, op, sorted(axes), dtype, lanes)
    elif x.ndim and axes == set(range(x.ndim)) and "checked" not in op:
        found = da.from_delayed(_reduce_exact(x, op, dtype), lanes, dtype)
    else:
        x = x.rechunk({a: -1 for a in axes})
        kept = [a for a in range(x.ndim) if a not in axes]
        found = da.blockwise(
            lambda block: np.asarray(tally.reduce(block, op, axis=tuple(sorted(axes)))),
            (*kept, x.ndim) if lanes else tuple(kept),
            x,
            tuple(range(x.ndim)),
            new_axes={x.ndim: lanes[0]} if lanes else None,
            concatenate=True,
            dtype=dtype,
            meta=np.empty((0,) * (len(kept) + len(lanes)), dtype),
        )
    if keepdims:
        found = found[tuple(np.newaxis if a in axes else slice(None) for a in range(x.ndim))]
    return found


def _tree(parts, merge):
    while len(parts) > 1:
        parts = [merge(parts[i : i + _MERGED]) for i in range(0, len(parts), _MERGED)]
    return parts[0]


def _reduce_exact(x, op, dtype):
    make, merge, value = (dask.delayed(f, pure=True) for f in (_make_exact, _merge, _exact_value))
    parts = [make(block) for block in x.to_delayed(optimize_graph=False).ravel()]
    return value(_tree(parts, merge), op, str(dtype))


def _reduce_rows(x, op, axes, dtype, lanes):
    """Along the axes, one fragment of each chunk, for all sequences of which it has a part."""
    make, merge, value = (dask.delayed(f, pure=True) for f in (_make_rows, _merge, _value))
    x = x.rechunk({a: -1 for a in axes[1:]})
    kept = [a for a in range(x.ndim) if a not in axes]
    each = int(np.prod([x.shape[a] for a in axes[1:]], dtype=object))
    blocks = x.to_delayed(optimize_graph=False)
    found = {}
    for place in np.ndindex(*(x.numblocks[a] for a in kept)):
        row, at = dict(zip(kept, place)), _starts(x.chunks[axes[0]])
        line = blocks[tuple(row[a] if a in row else slice(None) if a == axes[0] else 0 for a in range(x.ndim))]
        parts = [make(op, block, axes, start * each) for block, start in zip(line, at)]
        shape = (*(x.chunks[a][row[a]] for a in kept), *lanes)
        found[place] = da.from_delayed(value(_tree(parts, merge), dtype, shape), shape, dtype)
    return _joined(found, [x.numblocks[a] for a in kept])


def _joined(blocks, numbers, place=()):
    axis = len(place)
    if axis == len(numbers):
        return blocks[place]
    return da.concatenate([_joined(blocks, numbers, (*place, i)) for i in range(numbers[axis])], axis=axis)


def scan(x, op, /, *, axis=None, exclusive=False, reverse=False, init=None):
    """Folds every prefix along ``axis``, which may be left out if there is one: what ``tally.scan`` gives, in bits.

    ``exclusive``, ``reverse`` and ``init`` are those of :func:`tally.scan`. ValueError, TypeError: as there, and for
    chunks of unknown length.
    """
    x = _array(x)
    axis = _axis(x, axis)
    dtype, lanes = _result(x, op)
    tally.scan(np.zeros(1, x.dtype), op, exclusive=exclusive, reverse=reverse, init=init)  # raises what it would
    if len(x.chunks[axis]) == 1 or _is_exact(op):
        x = x.rechunk({axis: -1})
        return da.blockwise(
            lambda block: tally.scan(block, op, axis=axis, exclusive=exclusive, reverse=reverse, init=init),
            tuple(range(x.ndim + len(lanes))),
            x,
            tuple(range(x.ndim)),
            new_axes={x.ndim: lanes[0]} if lanes else None,
            dtype=dtype,
            meta=np.empty((0,) * (x.ndim + len(lanes)), dtype),
        )
    if reverse:
        back = tuple(slice(None, None, -1 if a == axis else 1) for a in range(x.ndim))
        return scan(x[back], op, axis=axis, exclusive=exclusive, init=init)[back]
    if x.ndim > 1:
        return _scan_many(x, op, axis, exclusive, init, dtype, lanes)
    make, merge, go_on = (dask.delayed(f, pure=True) for f in (_make, _merge, _go_on))
    blocks, before = list(x.to_delayed(optimize_graph=False)), tally.Fragment(op, np.empty(0, x.dtype))
    found = []
    for block, start, length in zip(blocks, _starts(x.chunks[0]), x.chunks[0]):
        results = go_on(block, op, x.dtype.newbyteorder("=").name, exclusive, init, before)
        found.append(da.from_delayed(results, (length, *lanes), dtype))
        before = merge([before, make(op, block, start)])
    return da.concatenate(found)


def _scan_many(x, op, axis, exclusive, init, dtype, lanes):
    make, merge, go_on = (dask.delayed(f, pure=True) for f in (_make_rows, _merge, _scan_rows))
    blocks, found = x.to_delayed(optimize_graph=False), {}
    lines = [range(n) if a != axis else (0,) for a, n in enumerate(x.numblocks)]
    for line in itertools.product(*lines):
        before = None
        for k, start in enumerate(_starts(x.chunks[axis])):
            place = tuple(k if a == axis else i for a, i in enumerate(line))
            shape = tuple(x.chunks[a][i] for a, i in enumerate(place))
            if before is None:
                rows = int(np.prod(shape, dtype=object)) // shape[axis] if shape[axis] else 0
                before = tally.Fragment._of_rows(op, np.empty((rows, 0), x.dtype), 0)
            results = go_on(op, blocks[place], axis, before, exclusive, init, dtype, lanes)
            found[place] = da.from_delayed(results, (*shape, *lanes), dtype)
            before = merge([before, make(op, blocks[place], (axis,), start)])
    return _joined(found, x.numblocks)


def window(x, op, w=None, /, *, before=None, after=None, center=False, edges="missing", min_count=0, axis=None):
    """Folds a window of ``w`` elements at every place along ``axis``: what ``tally.window`` gives, in bits.

    The arguments are those of :func:`tally.window`; neither ``before`` nor ``after`` may be negative. A chunk gets the
    elements beside it that its windows reach. ValueError, TypeError: as there, and for chunks of unknown length.
    """
    x = _array(x)
    axis = _axis(x, axis)
    back, ahead = _words.reach(w, before, after, center)
    if back < 0 or ahead < 0:
        raise ValueError(f"before is {back}, after is {ahead}: must not be negative")
    tally.window(np.zeros(1, x.dtype), op, before=back, after=ahead, edges=edges, min_count=min_count)
    dtype, lanes = _result(x, op)
    if lanes:
        raise ValueError(f"op is '{op}': windows of dask arrays take operators of one value")
    depth = {a: (min(back, x.shape[a]), min(ahead, x.shape[a])) if a == axis else 0 for a in range(x.ndim)}
    inside = "missing" if edges == "valid" else edges
    found = da.map_overlap(
        lambda block: tally.window(block, op, before=back, after=ahead, edges=inside, min_count=min_count, axis=axis),
        x,
        depth=depth,
        boundary="none",
        dtype=dtype,
        meta=np.empty((0,) * x.ndim, dtype),
    )
    if edges == "valid":
        whole = slice(min(back, x.shape[axis]), max(x.shape[axis] - ahead, 0))
        found = found[tuple(whole if a == axis else slice(None) for a in range(x.ndim))]
    return found


def cumulative_sum(x, /, *, axis=None):
    """The sums of all prefixes along ``axis``: :func:`scan` with ``"sum"``."""
    return scan(x, "sum", axis=axis)


def cumulative_prod(x, /, *, axis=None):
    """The products of all prefixes along ``axis``: :func:`scan` with ``"prod"``."""
    return scan(x, "prod", axis=axis)

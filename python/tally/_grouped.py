# SPDX-License-Identifier: MIT
"""Groups of a file's rows by keys, for python -m tally reduce --by. The codes of all rows and the columns that are
folded are held; the keys once each."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tally

__all__ = ["reduced"]


def reduced(file, arguments, jobs):
    """The keys of the groups, in order of first appearance or sorted, and the results of each job."""
    keys = file.chosen(arguments.by)
    names = list(dict.fromkeys([*keys, *(name for _, column in jobs for name in column.names)]))
    table = pa.Table.from_batches(list(file.batches(names)))
    codes, found = _groups([table.column(key) for key in keys])
    results = []
    for op, column in jobs:
        arrays = column.of(table)
        second = arrays[1] if len(arrays) == 2 else None
        results.append(np.asarray(tally.by_key(arrays[0], codes, op, groups=len(found[0]), next=second)))
    if arguments.sort:
        sorting = pa.Table.from_arrays(found, names=[str(at) for at in range(len(keys))])
        order = pc.sort_indices(sorting, sort_keys=[(name, "ascending") for name in sorting.column_names])
        found = [key.take(order) for key in found]
        results = [values[order.to_numpy()] for values in results]
    return dict(zip(keys, found)), results


def _groups(columns):
    """A number of its group for each row, in order of first appearance, and the groups' keys by column."""
    codes, keys = None, []
    for column in columns:
        encoded = _encoded(column)
        part = encoded.indices.to_numpy()
        if codes is None:
            codes, keys = part, [encoded.dictionary]
            continue
        pairs = _encoded(pa.array(codes.astype(np.int64) * len(encoded.dictionary) + part))
        codes = pairs.indices.to_numpy()
        before, now = np.divmod(pairs.dictionary.to_numpy(), max(len(encoded.dictionary), 1))
        keys = [key.take(pa.array(before)) for key in keys] + [encoded.dictionary.take(pa.array(now))]
    return codes, keys


def _encoded(column):
    encoded = column.dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded

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
    table = pa.Table.from_batches(list(file.batches(names)), schema=file.schema.empty_table().select(names).schema)
    codes, groups = _codes([table.column(key) for key in keys])
    first = np.full(groups, table.num_rows, np.int64)
    np.minimum.at(first, codes, np.arange(table.num_rows))
    found = table.select(keys).take(pa.array(first))
    order = np.argsort(first, kind="stable")
    if arguments.sort:
        order = pc.sort_indices(found, sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    results = []
    for op, column in jobs:
        arrays = column.of(table)
        second = arrays[1] if len(arrays) == 2 else None
        values = tally.by_key(arrays[0], codes, op, groups=groups, next=second)
        results.append(np.asarray(values)[order])
    return {name: found.column(name).take(pa.array(order)) for name in keys}, results


def _codes(columns):
    """A number of its group for each row, and the number of groups."""
    codes, groups = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        part, count = encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
        codes, groups = codes * count + part, groups * count
        if groups > len(codes) or groups >= 1 << 31:
            used, codes = np.unique(codes, return_inverse=True)
            groups = len(used)
    used, codes = np.unique(codes, return_inverse=True)
    return codes, len(used)

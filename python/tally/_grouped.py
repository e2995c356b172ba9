# SPDX-License-Identifier: MIT
"""Groups of a file's rows by keys, for python -m tally reduce --by. The codes of all rows and the columns that are
folded are held; the keys once each."""

import numpy as np
import pyarrow as pa

from . import _by

__all__ = ["reduced"]


def reduced(file, arguments, jobs):
    """The keys of the groups, in order of first appearance or sorted, and the results of each job."""
    keys = file.chosen(arguments.by)
    names = list(dict.fromkeys([*keys, *(name for _, column in jobs for name in column.names)]))
    table = pa.Table.from_batches(list(file.batches(names)))
    columns = {}
    for at, key in enumerate(keys):
        columns[at] = column = table.column(key)
        if pa.types.is_floating(column.type) and column.null_count:
            columns[at, "null"] = column.is_null()  # in a file a null is no NaN
    groups = _by.Groups(columns, arguments.sort, dropna=False)
    results = []
    for op, column in jobs:
        x, *second = column.of(table)
        next = second[0] if second else None
        results.append(np.asarray(groups.fold(0, op, x, None, (False, False), (0, 0, 0, 0), next, None)))
    found = dict(zip(columns, groups.keys()))
    return {key: found[at] for at, key in enumerate(keys)}, results

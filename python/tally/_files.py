# SPDX-License-Identifier: MIT
"""Parquet, Arrow and Feather files in batches of rows, and the command line's verbs over them.

    file --batches--> streams, one for each operator and column --> rows of results --> text, CSV, Parquet, Arrow

A batch is read, folded and dropped, so memory does not grow with the file; with --by the keys' codes and the columns
are held. Row groups of Parquet that are small are decoded ahead, one on each thread."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

import tally

from . import _columns, _core, _words
from ._output import writer

__all__ = ["Usage", "run"]

_ROWS = 1 << 17
_AHEAD = 1 << 28  # the most bytes of row groups that are decoded at a time


class Usage(Exception):
    """What is wrong with the command, not with the data; and the exit status."""

    status = 2


# ---- reading ----


class File:
    """The columns of a file and its rows, in batches."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            begin = f.read(8)
        try:
            self._open(path, begin)
        except pa.ArrowException as wrong:
            raise ValueError(f"{path}: {str(wrong).splitlines()[0]}") from None

    def _open(self, path, begin):
        if begin.startswith(b"PAR1"):
            import pyarrow.parquet

            self._file = pyarrow.parquet.ParquetFile(path, memory_map=True)
            self.schema, self._read = self._file.schema_arrow, self._parquet
        elif begin.startswith(b"ARROW1"):
            self._file = pa.ipc.open_file(pa.memory_map(path))
            self.schema, self._read = self._file.schema, self._arrow
        elif begin.startswith(b"\xff\xff\xff\xff"):
            self._file = pa.ipc.open_stream(pa.memory_map(path))
            self.schema, self._read = self._file.schema, self._stream
        else:
            raise ValueError(
                f"{path}: neither Parquet nor Arrow nor Feather; the program `tally` reads text, CSV, .npy and NetCDF"
            )

    def _parquet(self, names):
        meta = self._file.metadata
        ahead = _groups_ahead(meta, names)
        if ahead < 2:
            yield from self._file.iter_batches(_ROWS, columns=names)
            return

        def read(at):  # a reader serves one thread at a time
            file = type(self._file)(self.path, memory_map=True, metadata=meta)
            return file.read_row_group(at, columns=names, use_threads=False)

        with ThreadPoolExecutor(ahead) as pool:
            waiting = deque()
            for at in range(meta.num_row_groups + ahead):
                if at >= ahead:
                    yield from waiting.popleft().result().to_batches(_ROWS)
                if at < meta.num_row_groups:
                    waiting.append(pool.submit(read, at))

    def _arrow(self, names):
        for at in range(self._file.num_record_batches):
            yield from _cut(self._file.get_batch(at).select(names))

    def _stream(self, names):
        for batch in self._file:
            yield from _cut(batch.select(names))

    def batches(self, names):
        """Batches of these columns: at least one, which may have no rows."""
        none = True
        try:
            for batch in self._read(names):
                batch.validate(full=True)  # Arrow believes the offsets and indices in a file
                yield batch
                none = False
            if none:
                fields = [self.schema.field(name) for name in names]
                empty = [pa.array([], field.type) for field in fields]
                yield pa.RecordBatch.from_arrays(empty, schema=pa.schema(fields))
        except (pa.ArrowException, OSError) as wrong:
            raise ValueError(f"{self.path}: {str(wrong).splitlines()[0]}") from None

    def chosen(self, words):
        """The names of the columns in --column or --by, which has names or numbers from 1."""
        names = self.schema.names
        found = []
        for word in words.split(","):
            if word not in names and word.isdigit() and 1 <= int(word) <= len(names):
                word = names[int(word) - 1]
            if names.count(word) != 1:
                what = f"no column {word!r}"
                if word in names:
                    what = f"{names.count(word)} columns {word!r}, and columns are read by name: rename one of them"
                dates = word.rpartition(".")[0] in names and "; parts of dates are read from CSV and NetCDF, by `tally`"
                raise Usage(f"{self.path}: {what}; the columns are {_listed(names)}{dates or ''}")
            found.append(word)
        return found

    def numbers(self):
        """The only column of numbers."""
        found = [at for at, field in enumerate(self.schema) if _is_number(field.type)]
        if len(found) != 1:
            listed = ", ".join(f"{at + 1} {self.schema.names[at]!r}" for at in found) or "none"
            raise Usage(f"{self.path}: {len(found)} columns have numbers: {listed}; choose with --column")
        return [self.schema.names[found[0]]]


def _groups_ahead(meta, names):
    """How many row groups to decode at a time: 1 if they are large, or if there is one thread."""
    paths = [meta.schema.column(at).path for at in range(meta.num_columns)]
    chosen = [at for at, path in enumerate(paths) if path.startswith(tuple(names))]
    groups = (meta.row_group(at) for at in range(meta.num_row_groups))
    sizes = (sum(group.column(at).total_uncompressed_size for at in chosen) for group in groups)
    return min(_core.about()[2], meta.num_row_groups, _AHEAD // max(1, *sizes))


def _cut(batch):
    for at in range(0, batch.num_rows, _ROWS):
        yield batch.slice(at, _ROWS)


def _is_number(kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _listed(names):
    return ", ".join(f"{at} {name!r}" for at, name in enumerate(names, 1)) or "none"


# ---- the verbs ----


def run(arguments):
    device = arguments.device or "auto"
    if arguments.threads is not None:
        device += f",threads={arguments.threads}"
    try:
        here = tally.device(device)
    except ValueError as wrong:
        unusable = Usage(wrong)
        unusable.status = 3
        raise unusable from None
    try:
        with here:
            {"reduce": _reduce}.get(arguments.verb, _series)(arguments)
    except OSError as wrong:
        if wrong.filename is None or wrong.strerror is None:
            raise
        raise ValueError(f"{wrong.filename}: {wrong.strerror}") from None
    except pa.ArrowException as wrong:
        raise ValueError(str(wrong).splitlines()[0]) from None


def _operators(text):
    ops = [_words.spelled(op) for op in text.split(",")]
    for op in ops:
        try:
            _core.operator(op, "float64")
        except ValueError as wrong:
            raise Usage(wrong) from None
    return ops


def _input_count(op, dtype):
    return (_core.operator(op, dtype) or {"inputs": 1})["inputs"]


class _Column:
    """Columns that one operator folds, batch by batch, as arrays of one type; two for operators of
    two inputs. With op, dates and times are folded as 64-bit ticks."""

    def __init__(self, file, names, op=None):
        self.names, self._path, self._op, self._times = names, file.path, op, None
        self.dtypes = [self._dtype(file.schema.field(name)) for name in names]
        self.dtype = str(np.result_type(*self.dtypes)) if len(names) == 2 else self.dtypes[0]

    def _dtype(self, field):
        if pa.types.is_boolean(field.type):
            return "bool"
        if self._op and (pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)):
            self._times = field.type
            if self._base not in _columns._POINTS:
                what = f"column {field.name!r} has dates, which have no {self._op!r}"
                has = ", ".join(sorted(_columns._POINTS))
                raise ValueError(f"{self._path}: {what}: they have {has}")
            return "int64"
        if not _is_number(field.type):
            what = f"column {field.name!r} has elements of type {field.type}"
            raise ValueError(f"{self._path}: {what}: must be bool, integers or floats")
        return {"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(field.type), str(field.type))

    @property
    def _base(self):
        return self._op.removeprefix("nan")

    def of(self, batch):
        """The arrays of a batch."""
        columns = [batch.column(batch.schema.get_field_index(name)) for name in self.names]
        return [_ticks(column) if self._times else _plain(column) for column in columns]

    @property
    def gives_times(self):
        return self._times is not None and self._base not in ("argmin", "argmax", "count")

    def shown(self, found, count):
        """The dates or times of ticks, as objects; None where count, of what is not null, is 0."""
        found = np.asarray(found)
        nothing = np.ravel(count) == 0
        ticks = pa.array(found.ravel(), mask=np.repeat(nothing, found.size // max(len(nothing), 1)))
        objects = np.empty(found.shape, object)
        objects.reshape(-1)[:] = ticks.cast(_whole(self._times)).cast(self._times).to_pylist()
        return objects


def _whole(kind):
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _ticks(column):
    return column.cast(_whole(column.type)).cast(pa.int64())


def _plain(column):
    """A column as an array for tally: decoded if it is a dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    plain = _columns.take(column, "x")[0]
    return column if plain is None else plain


def _jobs(file, arguments, ops):
    """The operators and the columns that each folds."""
    names = file.chosen(arguments.column) if arguments.column else file.numbers()
    pairs = [op for op in ops if _input_count(op, "float64") == 2]
    if not pairs:
        dated = arguments.verb == "reduce"
        return [(op, _Column(file, [name], op if dated else None)) for name in names for op in ops]
    if len(names) != 2 or len(pairs) != len(ops):
        raise Usage(
            f"{pairs[0]!r} takes two columns, and so must all operators: --column x,y; given: {', '.join(names)}"
        )
    return [(op, _Column(file, names)) for op in ops]


def _reduce(arguments):
    ops = _operators(arguments.op)
    rows = []
    for path in arguments.files:
        file = File(path)
        jobs = _jobs(file, arguments, ops)
        if arguments.by:
            from ._grouped import reduced

            keys, results = reduced(file, arguments, jobs)
            return _write_groups(arguments, jobs, keys, results)
        results = [_of_file(file, job, arguments.digest) for job in _streams(file, jobs)]
        for at in range(0, len(results), len(ops)):
            rows.append([path, jobs[at][1].names[0], *results[at : at + len(ops)]])
    table = [("file", [row[0] for row in rows])] if len(arguments.files) > 1 else []
    for at, op in enumerate(ops):
        values = [row[2 + at] for row in rows]
        if arguments.digest:
            table.append((op, [tally.digest(value) for value in values]))
        elif len({value.dtype for value in values}) == 1:
            table += _lanes(op, np.stack(values))
        else:  # of columns of several types
            lanes = zip(*(_lanes(op, value[None]) for value in values))
            table += [(lane[0][0], [value[0] for _, value in lane]) for lane in lanes]
    with writer(arguments, head=len(ops) + len(arguments.files) > 2) as out:
        out.write(table)


def _lanes(name, values):
    """Pairs of names and results; if each result has several values, a name for each of them."""
    if values.ndim == 1:
        return [(name, values)]
    return [(f"{name}.{lane}", values[:, at]) for at, lane in enumerate(("min", "max"))]


def _streams(file, jobs):
    """Streams of all jobs after all batches of the file."""
    streams = [_Reduction(op, column) for op, column in jobs]
    names = list(dict.fromkeys(name for _, column in jobs for name in column.names))
    for batch in file.batches(names):
        for stream in streams:
            stream.push(batch)
    return streams


def _of_file(file, stream, digest):
    try:
        return stream.result(digest)
    except (TypeError, ValueError) as wrong:
        raise ValueError(f"{file.path}: {wrong}") from None


class _Reduction:
    """An operator over a column of a file. The result has the type that tally.reduce gives."""

    def __init__(self, op, column):
        self._op, self._column, self._at, self._count = op, column, 0, 0
        self._parts = None
        nothing = [np.empty(0, dtype) for dtype in column.dtypes]
        second = nothing[1] if len(nothing) == 2 else None
        self._type = np.asarray(_core.reduce(op, nothing[0], None, False, None, None, second, None)).dtype

    def push(self, batch):
        x, *second = self._column.of(batch)
        part = tally.Fragment(self._op, x, self._at, next=second[0] if second else None)
        self._parts = part if self._parts is None else self._parts + part
        self._at += len(x)
        self._count += len(x) - getattr(x, "null_count", 0)

    def result(self, ticks):
        """The result. Dates and times are objects, or with `ticks` their numbers."""
        found = np.asarray(self._parts.result(), self._type)
        if ticks or not self._column.gives_times:
            return found
        return self._column.shown(found, self._count)


def _write_groups(arguments, jobs, keys, results):
    if len(arguments.files) > 1:
        raise Usage("--by: one FILE, whose groups are folded")
    several = len({column.names[0] for _, column in jobs}) > 1
    table = list(keys)
    for (op, column), values in zip(jobs, results):
        table += _lanes(f"{op}.{column.names[0]}" if several else op, np.asarray(values))
    with writer(arguments, head=True) as out:
        out.write(table)


def _series(arguments):
    """scan and window: as many results as rows, or fewer at the ends."""
    ops = _operators(arguments.op)
    file = File(arguments.files[0])
    jobs = _jobs(file, arguments, ops)
    several = len({column.names[0] for _, column in jobs}) > 1
    heads = [f"{op}.{column.names[0]}" if several else op for op, column in jobs]
    if arguments.verb == "window" and _along_times(arguments):
        from ._grouped import spans

        names = file.schema.names if arguments.keep else []
        rows, parts = spans(file, arguments, jobs, names)
        with writer(arguments, head=len(heads) > 1 or arguments.keep) as out:
            out.write([(name, rows.column(name)) for name in names] + _results(heads, parts))
        return
    if arguments.keep and (arguments.verb == "window" and arguments.edges == "valid"):
        raise Usage("--keep: with --edges valid there are fewer results than rows")
    streams = [_stream(arguments, op, column) for op, column in jobs]
    names = list(dict.fromkeys(name for _, column in jobs for name in column.names))
    if arguments.keep:
        names = file.schema.names
    waiting = []  # batches whose results are not known yet
    with writer(arguments, head=len(heads) > 1 or arguments.keep) as out:
        for batch in file.batches(names):
            parts = [_pushed(stream, column.of(batch)) for stream, (_, column) in zip(streams, jobs)]
            waiting += [batch] if arguments.keep else []
            out.write(_beside(waiting, heads, parts))
        if arguments.verb == "window":
            out.write(_beside(waiting, heads, [stream.finish() for stream in streams]))


def _along_times(arguments):
    """Whether windows have the rows within a span of times, and not a number of rows."""
    if arguments.last is None and arguments.next is None:
        for option in ("by", "closed", "ties"):
            if getattr(arguments, option):
                raise Usage(f"--{option} goes with windows along times: --by time --last 2s")
        return False
    for option in ("width", "before", "after", "edges"):
        if getattr(arguments, option) is not None:
            raise Usage(
                f"--{option} is for windows of rows; --last and --next make windows of times: leave one out"
            )
    if not arguments.by:
        raise Usage("--last and --next need the column that has the times: --by time, or --by city,time")
    if arguments.center and arguments.next is not None:
        raise Usage("--center halves --last to both sides; with --next say both lengths yourself")
    return True


def _stream(arguments, op, column):
    if arguments.verb == "scan":
        return tally.Stream.scan(op, column.dtype, exclusive=arguments.exclusive, init=arguments.init)
    if arguments.width is None and arguments.before is None and arguments.after is None:
        raise Usage("window: how long? give -w W, or --before B and --after A")
    try:
        _words.reach(arguments.width, arguments.before, arguments.after, arguments.center)
    except ValueError as wrong:
        raise Usage(f"-w: {wrong}") from None
    return tally.Stream.window(
        op,
        column.dtype,
        arguments.width,
        before=arguments.before,
        after=arguments.after,
        center=arguments.center,
        edges=arguments.edges or "missing",
        min_count=arguments.min_count,
    )


def _pushed(stream, arrays):
    return stream.push(arrays[0], next=arrays[1] if len(arrays) == 2 else None)


def _beside(waiting, heads, parts):
    """Pairs of names and results; before them the cells of their rows, which are removed from `waiting`."""
    table, count = [], len(np.asarray(parts[0]))
    if waiting:
        rows = pa.Table.from_batches(waiting)
        table = [(name, rows.column(at).slice(0, count)) for at, name in enumerate(rows.schema.names)]
        waiting[:] = rows.slice(count).to_batches() or [waiting[0].slice(0, 0)]  # the columns stay
    return table + _results(heads, parts)


def _results(heads, parts):
    return [lane for head, part in zip(heads, parts) for lane in _lanes(head, np.asarray(part))]

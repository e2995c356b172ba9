# SPDX-License-Identifier: MIT
"""Rows of results as text, CSV, Parquet or Arrow. A file appears under its name only when it is complete."""

import os
import stat
import sys
import tempfile

import numpy as np
import pyarrow as pa

__all__ = ["writer"]

_ENDINGS = {".txt": "text", ".csv": "csv", ".tsv": "tsv"}
_ENDINGS |= {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}

_STANDARD = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _is_device(path):
    """Is it a pipe, a device or the like? Then text is what it gets. A folder is refused later."""
    return path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))


def writer(arguments, head):
    """A context manager with write(table), a list of pairs of names and columns; names may be equal."""
    path = None if arguments.output in _STANDARD else arguments.output
    named = _ENDINGS.get(os.path.splitext(path or "")[1].lower())
    to = arguments.to or named or ("text" if path is None or _is_device(path) else None)
    if to is None:
        raise ValueError(f"--output {path}: its ending says no format ({', '.join(_ENDINGS)}); name it: --to text")
    if to in ("parquet", "arrow"):
        if path is None:
            raise ValueError(f"--to {to}: needs a file, -o FILE")
        return _Tables(path, to)
    if path is None and sys.stdout is None:
        raise ValueError("standard output is closed: name a file, -o FILE")
    return _Lines(path, to, head, arguments.empty)


class _Output:
    """A file beside the one that is asked for, which takes its name at the end, or nothing is left. Devices and pipes
    are written as they are, and a link stays: the file that it refers to is replaced."""

    def __init__(self, path):
        self._path, self._hidden, self._target, self._mode = path, None, path, None
        if path is None:
            return
        try:
            there = os.stat(path) if os.path.exists(path) else None
            if there is not None and stat.S_ISDIR(there.st_mode):
                raise ValueError(f"{path}: is a directory")
            if there is not None and not stat.S_ISREG(there.st_mode):
                return
            if there is not None:
                self._target, self._mode = os.path.realpath(path), stat.S_IMODE(there.st_mode)
                with open(path, "ab"):  # raises if it is read-only, which a new name for another file would not
                    pass
            folder, name = os.path.split(os.path.abspath(self._target))
            handle, self._hidden = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        except OSError as wrong:
            raise ValueError(f"{path}: {wrong.strerror}") from None
        os.close(handle)

    @property
    def _place(self):
        """Where the bytes go."""
        return self._hidden or self._path

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            self._close()
            if self._hidden and kind is None:
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(self._hidden, 0o666 & ~mask if self._mode is None else self._mode)
                os.replace(self._hidden, self._target)
                self._hidden = None
        except OSError as wrong:
            if self._path is None:
                raise
            raise ValueError(f"{self._path}: {wrong.strerror or wrong}") from None
        finally:
            if self._hidden:
                os.unlink(self._hidden)
        if isinstance(value, OSError) and value.filename is None and self._path is not None:
            raise ValueError(f"{self._path}: {value.strerror or value}") from None


class _Lines(_Output):
    def __init__(self, path, to, head, empty):
        super().__init__(path)
        self._file = open(self._place, "w", encoding="utf-8") if path else sys.stdout
        self._delimiter, self._empty = "," if to == "csv" else "\t", empty
        self._quotes, self._head = to != "text", to != "text" or head

    def write(self, table):
        if self._head:
            self._file.write(self._delimiter.join(self._quoted(str(name)) for name, _ in table) + "\n")
            self._head = False
        columns = [self._texts(column) for _, column in table]
        self._file.writelines(self._delimiter.join(row) + "\n" for row in zip(*columns))

    def _texts(self, column):
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            there = column.is_valid().to_pylist() if column.null_count else None
            column = column.to_pylist() if not pa.types.is_float32(column.type) else column.to_numpy()
            if there:  # NumPy has NaN for nulls of float32
                column = [value if valid else None for value, valid in zip(column, there)]
        floats = isinstance(column, np.ndarray) and column.dtype in (np.float16, np.float32)
        values = column if floats else column.tolist() if isinstance(column, np.ndarray) else column
        return [self._text(value) for value in values]

    def _text(self, value):
        if value is None or (self._empty is not None and value != value):
            return self._empty or ""
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, (float, np.floating)):
            text = str(value) if isinstance(value, np.floating) else repr(value)
            return text[:-2] if text.endswith(".0") else text
        return self._quoted(str(value))

    def _quoted(self, text):
        if self._quotes and any(c in text for c in self._delimiter + '"\r\n'):
            return '"' + text.replace('"', '""') + '"'
        return text

    def _close(self):
        if self._file is not sys.stdout:
            self._file.close()


class _Tables(_Output):
    def __init__(self, path, to):
        super().__init__(path)
        self._to, self._writer = to, None

    def write(self, table):
        columns = [self._array(column) for _, column in table]
        table = pa.Table.from_arrays(columns, names=[name for name, _ in table])
        if self._writer is None:
            self._writer = self._open(table.schema)
        self._writer.write_table(table)

    def _array(self, column):
        return column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)

    def _open(self, schema):
        if self._to == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetWriter(self._place, schema)
        return pa.ipc.new_file(self._place, schema)

    def _close(self):
        if self._writer is not None:
            self._writer.close()

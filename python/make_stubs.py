#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tally/__init__.pyi, the types of the package: the functions of the operators from the library's table, the
rest from the text below. python make_stubs.py [--check]: the tally that is installed says the table."""

import inspect
import pathlib
import sys

from tally import _core, _rolling
from tally._functions import NAMES, facts

HEAD = """# SPDX-License-Identifier: MIT
# Written by make_stubs.py from the table of operators; do not edit.
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import timedelta
from typing import (
    Any, ClassVar, Literal, NamedTuple, NoReturn, Protocol, SupportsFloat, SupportsIndex, final, overload,
)

from typing_extensions import Buffer, Never, Self

from . import _core as _core

class _DLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self) -> tuple[Any, Any]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self) -> Any: ...

class _Interface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

class _Cuda(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _Allocator(Protocol):
    def allocate(self, bytes: int, stream: int, /) -> int: ...
    def deallocate(self, address: int, bytes: int, stream: int, /) -> object: ...

class _Converts(Protocol):
    def __array__(self) -> Any: ...

_Input = Buffer | _DLPack | _ArrowArray | _ArrowStream | _Interface | _Cuda | _Converts | Sequence[Any] | float
_Output = Buffer | _DLPack | _Interface | _Cuda
_Axes = SupportsIndex | tuple[SupportsIndex, ...] | None
_Axis = SupportsIndex | None
_Dims = Hashable | Sequence[Hashable]
_DType = str | type | Any
_Edges = Literal["missing", "shrink", "valid"]
_Closed = Literal["right", "left", "both", "neither"]
_Window = SupportsIndex | SupportsFloat | str | timedelta | Any
_Ties = Literal["row", "all"]

__version__: str
__all__: list[str]
def __dir__() -> list[str]: ...

class Keyed(NamedTuple):
    keys: Any
    values: Any

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def tolist(self) -> Any: ...
    def __dlpack__(
        self, *, stream: None = None, max_version: tuple[int, int] | None = None, dl_device: Any = None,
        copy: bool | None = None
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class Exact:
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __init__(
        self, x: _Input | None = None, op: str = "sum", *, next: _Input | None = None, where: _Input | None = None
    ) -> None: ...
    @classmethod
    def from_bytes(cls, data: Buffer) -> Self: ...
    def add(self, x: _Input, *, next: _Input | None = None, where: _Input | None = None) -> None: ...
    def subtract(self, x: _Input, *, next: _Input | None = None, where: _Input | None = None) -> None: ...
    def sum(self, *, dtype: _DType = "float64", skipna: bool = False) -> float: ...
    def mean(self, *, dtype: _DType = "float64", skipna: bool = False) -> float: ...
    def var(self, ddof: float = 0, *, skipna: bool = False) -> float: ...
    def std(self, ddof: float = 0, *, skipna: bool = False) -> float: ...
    def result(self, op: str | None = None, *, skipna: bool = False) -> float: ...
    @property
    def count(self) -> int: ...
    def __add__(self, other: Exact) -> Self: ...
    def __sub__(self, other: Exact) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object) -> bool: ...
    def __reduce__(self) -> Any: ...

class Fragment:
    def __init__(
        self, op: str, x: _Input, start: SupportsIndex = 0, *, next: _Input | None = None, where: _Input | None = None
    ) -> None: ...
    @classmethod
    def from_bytes(cls, data: Buffer) -> Self: ...
    def result(self) -> Any: ...
    @property
    def op(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    def __add__(self, other: Fragment) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

class _Results(Protocol):
    def push(self, x: _Input, /, *, next: _Input | None = None, where: _Input | None = None) -> Any: ...
    def finish(self) -> Any: ...

class Stream:
    def __init__(self, op: str, dtype: _DType, start: SupportsIndex = 0) -> None: ...
    def push(self, x: _Input, *, next: _Input | None = None, where: _Input | None = None) -> None: ...
    def result(self) -> Any: ...
    @property
    def fragment(self) -> Fragment: ...
    def __add__(self, other: Stream) -> Self: ...
    def __getstate__(self) -> Any: ...
    def __setstate__(self, state: Any) -> None: ...
    @staticmethod
    def scan(
        op: str,
        dtype: _DType,
        *,
        exclusive: bool = False,
        init: SupportsFloat | SupportsIndex | None = None,
        after: Fragment | None = None,
    ) -> _Results: ...
    @staticmethod
    def window(
        op: str,
        dtype: _DType,
        w: SupportsIndex | None = None,
        *,
        before: SupportsIndex | None = None,
        after: SupportsIndex | None = None,
        center: bool = False,
        edges: _Edges = "missing",
        min_count: int = 0,
    ) -> _Results: ...

class Rolling:
    def __init__(
        self,
        x: _Input,
        window: _Window,
        axis: _Axis | str = None,
        on: Any = None,
        center: bool = False,
        closed: _Closed | None = None,
        min_periods: SupportsIndex | None = None,
        step: SupportsIndex | None = None,
        ties: _Ties = "row",
        dtype: _DType | None = None,
        by: Any = None,
        dropna: bool = True,
    ) -> None: ...
    def agg(self, op: str, other: _Input | None = None) -> Any: ...
    def count(self) -> Any: ...
    def apply(self, function: Any, *unused: Any, **also_unused: Any) -> NoReturn: ...
@ROLLING@
class device:
    name: str
    isa: str
    threads: int
    def __init__(self, name: str | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *unused: object) -> None: ...

class config:
    results: str
    def __init__(self, *, results: Literal["device", "host"] | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *unused: object) -> None: ...

class progress:
    def __init__(self, callback: Callable[[int, int], object]) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *unused: object) -> None: ...

@overload
def reduce(
    x: _Input, op: str, /, *, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, next: _Input | None = None, where: _Input | None = None, out: _Output | None = None,
    by: Any = None, sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
@overload
def reduce(
    x: _Input, op: list[str] | tuple[str, ...], /, *, axis: _Axes = None, dim: _Dims | None = None,
    dtype: _DType | None = None,
    keepdims: bool = False, next: _Input | None = None, where: _Input | None = None, out: None = None,
    by: Any = None, sort: bool = False, dropna: bool = True, **words: Never
) -> tuple[Any, ...]: ...
def scan(
    x: _Input,
    op: str,
    /,
    *,
    axis: _Axis = None,
    dim: _Dims | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    init: SupportsFloat | SupportsIndex | None = None,
    dtype: _DType | None = None,
    next: _Input | None = None,
    where: _Input | None = None,
    out: _Output | None = None,
    offsets: _Input | None = None,
    by: Any = None,
    dropna: bool = True,
) -> Any: ...
def window(
    x: _Input,
    op: str,
    w: SupportsIndex | None = None,
    /,
    *,
    before: SupportsIndex | None = None,
    after: SupportsIndex | None = None,
    center: bool = False,
    edges: _Edges = "missing",
    min_count: SupportsIndex = 0,
    axis: _Axis = None,
    dim: _Dims | None = None,
    dtype: _DType | None = None,
    next: _Input | None = None,
    where: _Input | None = None,
    out: _Output | None = None,
    offsets: _Input | None = None,
    by: Any = None,
    dropna: bool = True,
    **words: Never,
) -> Any: ...
def segments(
    x: _Input, offsets: _Input, op: str, /, *, dtype: _DType | None = None, next: _Input | None = None,
    where: _Input | None = None
) -> Any: ...
def ranges(
    x: _Input, start: _Input, end: _Input, op: str, /, *, axis: _Axis = None, dim: _Dims | None = None,
    dtype: _DType | None = None,
    min_count: SupportsIndex = 0, next: _Input | None = None, where: _Input | None = None, out: _Output | None = None
) -> Any: ...
def bounds(
    keys: _Input, low: _Window, high: _Window, /, *, closed: _Closed = "both", ties: _Ties = "all"
) -> tuple[Any, Any]: ...
def runs(keys: _Input, /) -> Any: ...
def groups(codes: _Input, groups: SupportsIndex, /) -> tuple[Any, Any]: ...
def take(x: _Input, order: _Input, /) -> Any: ...
def by_key(
    x: _Input, codes: _Input, op: str, /, *, groups: SupportsIndex | None = None, dtype: _DType | None = None,
    next: _Input | None = None, where: _Input | None = None
) -> Any: ...
def rolling(
    x: _Input,
    /,
    window: _Window,
    *,
    axis: _Axis = None,
    dim: _Dims | None = None,
    on: Any = None,
    center: bool = False,
    closed: _Closed | None = None,
    min_periods: SupportsIndex | None = None,
    step: SupportsIndex | None = None,
    ties: _Ties = "row",
    dtype: _DType | None = None,
    by: Any = None,
    dropna: bool = True,
    **words: Never,
) -> Rolling: ...
def cumulative_sum(
    x: _Input, /, *, axis: _Axis = None, dim: _Dims | None = None, dtype: _DType | None = None,
    include_initial: bool = False,
    where: _Input | None = None, out: _Output | None = None,
    by: Any = None, dropna: bool = True
) -> Any: ...
def cumulative_prod(
    x: _Input, /, *, axis: _Axis = None, dim: _Dims | None = None, dtype: _DType | None = None,
    include_initial: bool = False,
    where: _Input | None = None, out: _Output | None = None,
    by: Any = None, dropna: bool = True
) -> Any: ...
@RUNNING@def define(name: str, text: str, where: str | None = None) -> None: ...
def operators() -> list[str]: ...
def devices() -> list[dict[str, Any]]: ...
def use_allocator(allocator: Literal["torch", "cupy"] | _Allocator | None = None) -> None: ...
def verify(cases: int = 1000, seed: int = 0) -> str: ...
def digest(x: _Input) -> str: ...

# one for each operator
"""
REST = """keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
"""
DTYPE = "axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,\n    "
DDOF = "correction: float = 0, ddof: float | None = None, "
WORDS = """span: float | None = None, halflife: float | None = None, com: float | None = None,
    adjust: bool = False, """
TYPES = {
    "**words": "**words: Never", "other": "other: _Input",
    "ddof=1": "ddof: float = 1", "sample=True": "sample: bool = True",
    "correction=None": "correction: float | None = None", "adjust=False": "adjust: bool = False",
}
FORMS = {
    ("", 1): "x: _Input, /, *more: Never, " + DTYPE,
    ("ddof", 1): "x: _Input, /, *more: Never, " + DDOF + DTYPE,
    ("sample", 1): "x: _Input, /, *more: Never, sample: bool = False, " + DTYPE,
    ("alpha", 1): "x: _Input, /, alpha: float | None = None, *more: Never, " + WORDS + DTYPE,
    ("", 2): "x: _Input, y: _Input, /, *more: Never, " + DTYPE,
    ("ddof", 2): "x: _Input, y: _Input, /, *more: Never, " + DDOF + DTYPE,
}


def signatures():
    """The names and arguments of the methods of Rolling that the table gives."""
    for name in _rolling.METHODS:
        yield name, str(inspect.signature(getattr(_rolling.Rolling, name)))[1:-1]


def typed(arguments):
    """The arguments of a method of Rolling with their types."""
    floats = {f"{word}=None": f"{word}: float | None = None" for word in ("alpha", "span", "halflife", "com")}
    return ", ".join((TYPES | floats).get(each, each) for each in arguments.split(", "))


def stubs():
    methods = "".join(f"    def {name}({typed(arguments)}) -> Any: ...\n" for name, arguments in signatures())
    running = "".join(
        f"def {name}(\n    x: _Input, /, *more: Never, axis: _Axis = None, dim: _Dims | None = None,\n"
        "    dtype: _DType | None = None, where: _Input | None = None, out: _Output | None = None, by: Any = None,\n"
        "    dropna: bool = True, **words: Never\n) -> Any: ...\n"
        for name in ("cummax", "cummin", "cumprod", "cumsum")
    )
    text = HEAD.replace("@ROLLING@", methods).replace("@RUNNING@", running)
    for op in _core.operators():
        about = facts(op)[0]
        text += f"def {NAMES.get(op, op)}(\n    {FORMS[about['param'], about['inputs']]}{REST}"
    return text


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "tally" / "__init__.pyi"
    if sys.argv[1:] != ["--check"]:
        path.write_text(stubs())
    elif path.read_text() != stubs():
        sys.exit(f"{path} is not what make_stubs.py writes: run it")

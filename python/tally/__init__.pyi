# SPDX-License-Identifier: MIT
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
    def sum(self, **words: Never) -> Any: ...
    def prod(self, **words: Never) -> Any: ...
    def mean(self, **words: Never) -> Any: ...
    def var(self, ddof: float = 1, *, correction: float | None = None, **words: Never) -> Any: ...
    def std(self, ddof: float = 1, *, correction: float | None = None, **words: Never) -> Any: ...
    def skew(self, sample: bool = True, **words: Never) -> Any: ...
    def kurt(self, sample: bool = True, **words: Never) -> Any: ...
    def sumsq(self, **words: Never) -> Any: ...
    def norm(self, **words: Never) -> Any: ...
    def min(self, **words: Never) -> Any: ...
    def max(self, **words: Never) -> Any: ...
    def range(self, **words: Never) -> Any: ...
    def argmin(self, **words: Never) -> Any: ...
    def argmax(self, **words: Never) -> Any: ...
    def and_(self, **words: Never) -> Any: ...
    def or_(self, **words: Never) -> Any: ...
    def xor(self, **words: Never) -> Any: ...
    def any(self, **words: Never) -> Any: ...
    def all(self, **words: Never) -> Any: ...
    def first(self, **words: Never) -> Any: ...
    def last(self, **words: Never) -> Any: ...
    def ema(self, alpha: float | None = None, *, span: float | None = None, halflife: float | None = None, com: float | None = None, adjust: bool = False) -> Any: ...
    def drawdown(self, **words: Never) -> Any: ...
    def dot(self, other: _Input) -> Any: ...
    def wmean(self, other: _Input) -> Any: ...
    def cov(self, other: _Input, ddof: float = 1, *, correction: float | None = None, **words: Never) -> Any: ...
    def corr(self, other: _Input) -> Any: ...
    def slope(self, other: _Input) -> Any: ...
    def wvar(self, other: _Input, ddof: float = 1, *, correction: float | None = None, **words: Never) -> Any: ...
    def wstd(self, other: _Input, ddof: float = 1, *, correction: float | None = None, **words: Never) -> Any: ...
    def atmin(self, other: _Input) -> Any: ...
    def atmax(self, other: _Input) -> Any: ...

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
def cummax(
    x: _Input, /, *more: Never, axis: _Axis = None, dim: _Dims | None = None,
    dtype: _DType | None = None, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    dropna: bool = True, **words: Never
) -> Any: ...
def cummin(
    x: _Input, /, *more: Never, axis: _Axis = None, dim: _Dims | None = None,
    dtype: _DType | None = None, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    dropna: bool = True, **words: Never
) -> Any: ...
def cumprod(
    x: _Input, /, *more: Never, axis: _Axis = None, dim: _Dims | None = None,
    dtype: _DType | None = None, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    dropna: bool = True, **words: Never
) -> Any: ...
def cumsum(
    x: _Input, /, *more: Never, axis: _Axis = None, dim: _Dims | None = None,
    dtype: _DType | None = None, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    dropna: bool = True, **words: Never
) -> Any: ...
def define(name: str, text: str, where: str | None = None) -> None: ...
def operators() -> list[str]: ...
def devices() -> list[dict[str, Any]]: ...
def use_allocator(allocator: Literal["torch", "cupy"] | _Allocator | None = None) -> None: ...
def verify(cases: int = 1000, seed: int = 0) -> str: ...
def digest(x: _Input) -> str: ...

# one for each operator
def sum(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def prod(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def mean(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def var(
    x: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def std(
    x: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def skew(
    x: _Input, /, *more: Never, sample: bool = False, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def kurt(
    x: _Input, /, *more: Never, sample: bool = False, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def sumsq(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def norm(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def min(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def max(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def minmax(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def range(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def argmin(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def argmax(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def and_(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def or_(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def xor(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def any(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def all(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def count(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def first(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def last(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def ema(
    x: _Input, /, alpha: float | None = None, *more: Never, span: float | None = None, halflife: float | None = None, com: float | None = None,
    adjust: bool = False, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def drawdown(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def dot(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def wmean(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def cov(
    x: _Input, y: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def corr(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def slope(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def wvar(
    x: _Input, y: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def wstd(
    x: _Input, y: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def atmin(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def atmax(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nansum(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanprod(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanmean(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanvar(
    x: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanstd(
    x: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanskew(
    x: _Input, /, *more: Never, sample: bool = False, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nankurt(
    x: _Input, /, *more: Never, sample: bool = False, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nansumsq(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nannorm(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanmin(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanmax(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanminmax(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanrange(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanargmin(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanargmax(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanany(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanall(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanfirst(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanlast(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanema(
    x: _Input, /, alpha: float | None = None, *more: Never, span: float | None = None, halflife: float | None = None, com: float | None = None,
    adjust: bool = False, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nandrawdown(
    x: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nandot(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanwmean(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nancov(
    x: _Input, y: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nancorr(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanslope(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanwvar(
    x: _Input, y: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanwstd(
    x: _Input, y: _Input, /, *more: Never, correction: float = 0, ddof: float | None = None, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanatmin(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...
def nanatmax(
    x: _Input, y: _Input, /, *more: Never, axis: _Axes = None, dim: _Dims | None = None, dtype: _DType | None = None,
    keepdims: bool = False, where: _Input | None = None, out: _Output | None = None, by: Any = None,
    sort: bool = False, dropna: bool = True, **words: Never
) -> Any: ...

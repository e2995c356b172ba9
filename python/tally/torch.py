# SPDX-License-Identifier: MIT
"""Sums, means, running sums and maxima of PyTorch's tensors with gradients: ``import tally.torch``.

The results have the bits of :mod:`tally`, on every device, and so have the gradients. The functions are operators of
PyTorch, ``torch.ops.tally.reduce`` and ``torch.ops.tally.scan``, so that ``torch.compile(fullgraph=True)``,
and ``torch.export`` take them; ``torch.func`` takes the functions, but for its forward mode (``jvp``, ``jacfwd``).

>>> import torch, tally.torch
>>> x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
>>> tally.torch.mean(x).backward()
>>> x.grad
tensor([0.3333, 0.3333, 0.3333])
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import _core

__all__ = ["cumulative_sum", "max", "mean", "sum"]

_TYPES = {name: getattr(torch, name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16")}
_TYPES |= {name: getattr(torch, name) for name in ("uint32", "uint64", "float16", "bfloat16", "float32", "float64")}


def _dtype(op: str, x: Tensor) -> torch.dtype:
    """The type of the results."""
    name = str(x.dtype).rpartition(".")[2]
    facts = _core.operator(op, "uint8" if name == "bool" else name)
    if facts is None:
        raise TypeError(f"x has dtype {x.dtype}: '{op}' does not take it")
    if name == "bool" and facts["dtype"] in ("uint8", "uint64"):
        return torch.bool if facts["dtype"] == "uint8" else torch.int64
    return _TYPES[facts["dtype"]]


def _folded(x: Tensor, dim: Sequence[int] | None) -> list[int]:
    """The dimensions that are reduced, ascending."""
    return sorted({d % x.ndim for d in dim} if dim is not None else range(x.ndim))


def _reduce(x: Tensor, op: str, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    return _core.reduce(op, x.detach(), None if dim is None else tuple(dim), keepdim, None, None, None, None)


def _scan(x: Tensor, op: str, dim: int, reverse: bool) -> Tensor:
    return _core.scan(op, x.detach(), dim, None, None, False, reverse, False, None, None, None)


# ---- the operators ----

_library = torch.library.Library("tally", "DEF")
_library.define("reduce(Tensor x, str op, int[]? dim, bool keepdim) -> Tensor")
_library.define("scan(Tensor x, str op, int dim, bool reverse) -> Tensor")
for _device in ("CPU", "CUDA"):
    _library.impl("reduce", _reduce, _device)
    _library.impl("scan", _scan, _device)


@torch.library.register_fake("tally::reduce", lib=_library)
def _(x, op, dim, keepdim):
    folded = _folded(x, dim)
    shape = [1 if d in folded else n for d, n in enumerate(x.shape) if keepdim or d not in folded]
    return x.new_empty(shape, dtype=_dtype(op, x))


@torch.library.register_fake("tally::scan", lib=_library)
def _(x, op, dim, reverse):
    return x.new_empty(x.shape, dtype=_dtype(op, x))


# ---- their gradients ----


def _keep_reduce(ctx, inputs, output):
    x, ctx.op, ctx.dim, ctx.keepdim = inputs
    ctx.folded, ctx.shape, ctx.dtype = _folded(x, ctx.dim), x.shape, x.dtype
    if ctx.op == "max":
        ctx.save_for_backward(x)


def _reduce_gradient(ctx, grad):
    """Of a sum: to every element; of a mean: divided by their number; of a maximum: to the first of the largest."""
    if ctx.op not in ("sum", "mean", "max"):
        raise NotImplementedError(f"tally::reduce by '{ctx.op}' has no gradient: 'sum', 'mean' and 'max' have one")
    for d in () if ctx.keepdim else ctx.folded:
        grad = grad.unsqueeze(d)
    if ctx.op == "max":
        grad = _to_largest(*ctx.saved_tensors, ctx.dim, grad)
    elif ctx.op == "mean":
        count = 1
        for d in ctx.folded:
            count *= ctx.shape[d]
        grad = grad / count
    return grad.to(ctx.dtype).expand(ctx.shape), None, None, None


def _to_largest(x: Tensor, dim: Sequence[int] | None, grad: Tensor) -> Tensor:
    """The gradient at the element that argmax names among those that are reduced, and 0 elsewhere."""
    if not x.numel():
        return grad.new_zeros(x.shape)
    folded = _folded(x, dim)
    order = [d for d in range(x.ndim) if d not in folded] + folded
    moved, kept = x.permute(order).shape, x.ndim - len(folded)
    row = (*moved[:kept], 1)
    at = _call(_reduce_forms, x.detach(), "argmax", dim, True).permute(order).reshape(row)
    rows = grad.new_zeros((*moved[:kept], moved[kept:].numel())).scatter(-1, at, grad.permute(order).reshape(row))
    return rows.reshape(moved).permute(sorted(range(x.ndim), key=order.__getitem__))


def _keep_scan(ctx, inputs, output):
    x, ctx.op, ctx.dim, ctx.reverse = inputs
    ctx.dtype = x.dtype


def _scan_gradient(ctx, grad):
    """Element i is in all running sums from i on."""
    if ctx.op != "sum":
        raise NotImplementedError(f"tally::scan by '{ctx.op}' has no gradient: only 'sum' has one")
    return torch.ops.tally.scan(grad, "sum", ctx.dim, not ctx.reverse).to(ctx.dtype), None, None, None


torch.library.register_autograd("tally::reduce", _reduce_gradient, setup_context=_keep_reduce, lib=_library)
torch.library.register_autograd("tally::scan", _scan_gradient, setup_context=_keep_scan, lib=_library)


# ---- many at once: the batch becomes the first dimension ----


def _vmap_reduce(again):
    def rule(info, in_dims, x, op, dim, keepdim):
        x = x.movedim(in_dims[0], 0)
        return again(x, op, [d + 1 for d in _folded(x[0], dim)], keepdim), 0

    return rule


def _vmap_scan(again):
    def rule(info, in_dims, x, op, dim, reverse):
        return again(x.movedim(in_dims[0], 0), op, dim % (x.ndim - 1) + 1, reverse), 0

    return rule


torch.library.register_vmap("tally::reduce", _vmap_reduce(torch.ops.tally.reduce), lib=_library)
torch.library.register_vmap("tally::scan", _vmap_scan(torch.ops.tally.scan), lib=_library)


# ---- the functions ----
# Outside of compilation the operators are bypassed: PyTorch needs 20 us to call one that is written in Python, 50 us
# with its gradient, and torch.func.grad takes none.


def _function(**parts):
    return type("Function", (torch.autograd.Function,), {name: staticmethod(part) for name, part in parts.items()})


def _quick(forward, keep, gradient):
    """The form in which forward gets the context: it costs 10 us less, but torch.func does not take it."""

    def with_context(ctx, *arguments):
        result = forward(*arguments)
        keep(ctx, arguments, result)
        return result

    return _function(forward=with_context, backward=gradient)


_reduce_function: Any = _function(
    forward=_reduce,
    setup_context=_keep_reduce,
    backward=_reduce_gradient,
    vmap=_vmap_reduce(lambda *arguments: _reduce_function.apply(*arguments)),
)
_scan_function: Any = _function(
    forward=_scan,
    setup_context=_keep_scan,
    backward=_scan_gradient,
    vmap=_vmap_scan(lambda *arguments: _scan_function.apply(*arguments)),
)
# the operator; for torch.func; with a gradient; without
_reduce_forms = (
    torch.ops.tally.reduce, _reduce_function, _quick(_reduce, _keep_reduce, _reduce_gradient), _reduce
)
_scan_forms = (torch.ops.tally.scan, _scan_function, _quick(_scan, _keep_scan, _scan_gradient), _scan)
_PLAIN = (Tensor, torch.nn.Parameter)


def _call(forms, x, *arguments):
    operator, function, quick, plain = forms
    if not isinstance(x, Tensor):
        raise TypeError(f"x is of type {type(x).__name__}: must be a tensor; tally.sum and others take all arrays")
    if torch.compiler.is_compiling() or type(x) not in _PLAIN:
        return operator(x, *arguments)
    if torch._C._functorch.is_functorch_wrapped_tensor(x):
        return function.apply(x, *arguments)
    return (quick.apply if x.requires_grad and torch.is_grad_enabled() else plain)(x, *arguments)


def _fold(x, op, dim, keepdim):
    return _call(_reduce_forms, x, op, [dim] if isinstance(dim, int) else dim, keepdim)


def sum(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The sum of all elements, or of those along ``dim``, as :func:`tally.sum`; float16 and bfloat16 give float32."""
    return _fold(x, "sum", dim, keepdim)


def mean(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The mean of all elements, or of those along ``dim``, as :func:`tally.mean`."""
    return _fold(x, "mean", dim, keepdim)


def max(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The largest element, or those along ``dim``, as :func:`tally.max`. The gradient goes to the first of the largest,
    which :func:`tally.argmax` names."""
    return _fold(x, "max", dim, keepdim)


def cumulative_sum(x: Tensor, dim: int | None = None) -> Tensor:
    """The sums of all prefixes along ``dim``, as :func:`tally.cumulative_sum`; ``dim`` may be left out if there is one
    dimension. The gradient is the running sum of its own gradient, from the last element on."""
    if dim is None and x.ndim != 1:
        raise ValueError(f"dim is None: x has {x.ndim} dimensions, so one must be named")
    return _call(_scan_forms, x, "sum", dim or 0, False)

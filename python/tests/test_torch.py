# SPDX-License-Identifier: MIT
"""tally.torch: bits, gradients, torch.compile, vmap; on the processors, and on a GPU where there is one."""

import numpy as np
import pytest

import tally

torch = pytest.importorskip("torch")
import tally.torch as tt  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
pytestmark = pytest.mark.parametrize("device", DEVICES)
CALLS = [
    lambda x: tt.sum(x),
    lambda x: tt.sum(x, 1),
    lambda x: tt.sum(x, (0, 2), True),
    lambda x: tt.mean(x, -1, keepdim=True),
    lambda x: tt.mean(x),
    lambda x: tt.max(x, 0),
    lambda x: tt.max(x, [0, 1]),
    lambda x: tt.max(x),
    lambda x: tt.cumulative_sum(x, 1),
    lambda x: tt.cumulative_sum(x, -1),
]


def bits(x):
    return (x.dtype, tuple(x.shape), x.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())


def numbers(device, dtype, shape=(3, 40, 5)):
    x = np.random.default_rng(4).standard_normal(shape) * 100
    return torch.tensor(x, device=device).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int32])
def test_bits(device, dtype):
    x = numbers(device, dtype)
    host = x.cpu()
    for mine, want in (
        (tt.sum(x), tally.sum(host)),
        (tt.sum(x, 1), tally.sum(host, axis=1)),
        (tt.sum(x, (0, 2), True), tally.sum(host, axis=(0, 2), keepdims=True)),
        (tt.mean(x, -1), tally.mean(host, axis=-1)),
        (tt.max(x, 0), tally.max(host, axis=0)),
        (tt.cumulative_sum(x, 1), tally.cumulative_sum(host, axis=1)),
        (tt.cumulative_sum(x.reshape(-1)), tally.cumulative_sum(host.reshape(-1))),
    ):
        assert mine.device == x.device and bits(mine) == bits(want)


@pytest.mark.parametrize("call", CALLS)
def test_gradients(device, call):
    x = np.random.default_rng(4).permutation(np.arange(64.0)).reshape(2, 4, 8)
    x = torch.tensor(x, device=device, requires_grad=True)
    # nothing is rounded, so differences are the derivatives
    exact = {"eps": 2**-10, "atol": 0, "rtol": 0}
    assert torch.autograd.gradcheck(call, x, **exact)
    grads = torch.randint(-8, 9, call(x).shape, device=device, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(call, x, grads, **exact)
    if device == "cpu":  # the operators themselves, which the functions bypass here
        reduce, scan = torch.ops.tally.reduce, torch.ops.tally.scan
        assert torch.autograd.gradcheck(lambda x: reduce(x, "max", [0, 2], False), x, **exact)
        assert torch.autograd.gradcheck(lambda x: scan(x, "sum", 1, True), x, **exact)


def test_gradient_of_equal_elements(device):
    x = torch.tensor([[2.0, 5.0, 5.0], [5.0, 1.0, 1.0]], device=device, requires_grad=True)
    tt.max(x).backward()
    assert x.grad.tolist() == [[0, 1, 0], [0, 0, 0]]
    x.grad = None
    tt.max(x, 1).sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    nothing = torch.zeros(3, 0, device=device, requires_grad=True)
    tt.max(nothing, 1).sum().backward()
    assert nothing.grad.shape == (3, 0)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(device, backend):
    x = numbers(device, torch.float32)
    for call in CALLS if backend == "aot_eager" else CALLS[1:9:3]:

        def around(x, call=call):
            return call(x * 2) + 1

        torch.compiler.reset()
        results = []
        for function in (around, torch.compile(around, fullgraph=True, backend=backend)):
            y = x.clone().requires_grad_()
            result = function(y)
            result.sum().backward()
            results.append((bits(result), bits(y.grad)))
        assert results[0] == results[1]


def test_operators_are_described(device):
    x = numbers(device, torch.float32).requires_grad_()
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(torch.ops.tally.reduce, (x, "mean", [0, 2], True), test_utils=tests)
    torch.library.opcheck(torch.ops.tally.scan, (x, "sum", 1, False), test_utils=tests)
    assert torch.ops.tally.reduce(x.detach().to(torch.bfloat16), "sum", None, False).dtype == torch.float32


def test_vmap_and_func(device):
    x = numbers(device, torch.float64, (6, 4, 5))
    assert bits(torch.func.vmap(lambda a: tt.sum(a, 0))(x)) == bits(tt.sum(x, 1))
    assert bits(torch.func.vmap(lambda a: tt.mean(a), in_dims=2)(x)) == bits(tt.mean(x, (0, 1)))
    assert bits(torch.func.vmap(lambda a: tt.cumulative_sum(a, -1))(x)) == bits(tt.cumulative_sum(x, 2))
    assert torch.func.grad(lambda a: tt.sum(a * a))(x).equal(2 * x)
    most = torch.func.grad(lambda a: tt.max(a, 0).square().sum())
    assert torch.func.vmap(most)(x).equal(torch.stack([most(a) for a in x]))
    assert torch.func.vmap(most)(x).equal(torch.where(x == x.amax(1, True), 2 * x, 0))


def test_what_is_refused(device):
    x = numbers(device, torch.float32)
    with pytest.raises(ValueError, match="needs a gradient, which is lost here: use the functions of tally.torch"):
        tally.sum(x.requires_grad_())
    with torch.no_grad():
        assert bits(tally.sum(x)) == bits(tt.sum(x))
    x = x.detach()
    with pytest.raises(ValueError, match="use x.resolve_neg"):  # its memory has the other sign
        tally.sum(torch.complex(x, x).conj().imag)
    with pytest.raises(ValueError, match="dim is None: x has 3 dimensions"):
        tt.cumulative_sum(x)
    with pytest.raises(TypeError, match="x is of type list: must be a tensor"):
        tt.sum([1.0, 2.0])
    with pytest.raises(NotImplementedError, match="tally::reduce by 'min' has no gradient"):
        torch.ops.tally.reduce(x.requires_grad_(), "min", None, False).backward()


def test_ordinary_tensors(device):
    x = numbers(device, torch.float32)
    for y in (x, x[:, ::3], x.T if x.ndim == 2 else x.permute(2, 0, 1), x[:0], x[0, 0, 0], x[:, 1:, 2]):
        mine, want = tally.reduce(y, "sum"), tally.reduce(y.cpu().numpy(), "sum")
        assert type(mine) is torch.Tensor and mine.device == x.device and mine.item() == want
    empty = torch.empty((0, 3), device=device)
    assert tally.sum(empty, axis=0).tolist() == [0, 0, 0] and tally.any(x.bool()).dtype == torch.bool
    assert tally.cumulative_sum(x[0], axis=0, include_initial=True)[1:].equal(tally.cumulative_sum(x[0], axis=0))
    out = torch.empty(5, device=device)
    assert tally.sum(x, axis=(0, 1), out=out) is out and out.equal(tally.sum(x, axis=(0, 1)))
    with tally.config(results="host"):
        assert type(tally.sum(x)) is (np.float32 if device == "cuda" else torch.Tensor)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training with PyTorch whose sums are tally's: the loss and the weights have the same bits on one thread, on many and
on a GPU. All other operations here are done element by element, so they round alike everywhere."""

import torch

import tally
import tally.torch as tt

ROWS, COLUMNS, STEPS, RATE = 5000, 8, 30, 0.5


class Repeat(torch.autograd.Function):
    """Weights for every row. The gradient is the sum over the rows: tally's, where broadcasting would take PyTorch's."""

    @staticmethod
    def forward(ctx, weights, rows):
        return weights.expand(rows, -1)

    @staticmethod
    def backward(ctx, gradient):
        return tally.sum(gradient, axis=0), None


def step(weights, x, target):
    """One step of gradient descent; gives the loss, which stays on the device."""
    prediction = tt.sum(x * Repeat.apply(weights, len(x)), dim=1)
    loss = tt.mean((prediction - target).square())
    (gradient,) = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        weights -= RATE * gradient
    return loss.detach()


def train(device):
    """The digests of all losses and of the weights."""
    generator = torch.Generator().manual_seed(7)
    x, noise = (torch.randn(ROWS, n, generator=generator).to(device) for n in (COLUMNS, 1))
    target = tally.sum(x * torch.arange(COLUMNS, device=device), axis=1) + noise[:, 0]
    weights = torch.zeros(COLUMNS, device=device, requires_grad=True)
    losses = torch.stack([step(weights, x, target) for _ in range(STEPS)])
    print(f"{device}: loss {float(losses[0]):.6g} at first, {float(losses[-1]):.6g} after {STEPS} steps")
    return tally.digest(losses.cpu()), tally.digest(weights.detach().cpu())


def main():
    with tally.device("cpu,threads=1"):
        one = train("cpu")
    print("the same bits on all threads:", train("cpu") == one)
    if torch.cuda.is_available():
        print("the same bits on the GPU:", train("cuda") == one)


if __name__ == "__main__":
    main()

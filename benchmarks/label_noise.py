"""A longer run with larger products: label noise in feature learning, training alone.

Settings of "On the role of label noise in the feature learning process" (ICML 2025, arXiv 2505.18909) as this project uses
them: n = 200, d = 400, signal 6, 20 filters a class, first filters of size 0.001, step 0.1, 30 % static flips, 3000 steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import optax
from jax import lax, random

import theorysim as ts

from .pace import Contestant, Lap, repeated
from .workbench import NAME, swept


@dataclass(frozen=True)
class Params:
    n: int = 200
    width: int = 20
    steps: int = 3000
    dim: float = 400.0
    signal: float = 6.0
    flip: float = 0.3
    lr: float = 0.1
    init: float = 1e-3


def trial(p: Params, key):
    """The run in a reduced frame."""
    keys = ts.streams(key, "space", "train", "steps")
    law = ts.laws.SignalNoise(signal=p.signal, flip=p.flip)
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, train=p.n, filters=2 * p.width)
    loss = ts.objectives.logistic(law(keys.train, space.train))
    rule = ts.dynamics.gradient_descent(loss, optax.sgd(p.lr))

    def observe(state):
        return {"train_loss": loss(state.model, None)}

    model = ts.models.TwoLayerCNN(p.init * space.filters)
    return ts.simulate(rule, model, frame=space, key=keys.steps, times=p.steps, observe=observe).records


def workbench(p: Params, seeds: int) -> Contestant:
    """The trial through `sweep`, over seeds."""

    def lap() -> Lap:
        data, seconds = swept(lambda: ts.sweep(trial, p, seeds=seeds))
        return Lap(seconds / seeds, float(data.train_loss.mean()))

    return Contestant(NAME, lap, ts.sweep(trial, p, seeds=seeds).attrs["compile_seconds"], f"sweep of {seeds} seeds")


def ambient(p: Params, key):
    """The same run as one would write it in plain JAX."""
    signs, noises, flips, filters = random.split(key, 4)
    sign, noise = random.rademacher(signs, (p.n,), jnp.float32), random.normal(noises, (p.n, int(p.dim)))
    label = jnp.where(random.bernoulli(flips, p.flip, (p.n,)), -sign, sign)

    def loss(W):
        active = jax.nn.relu(p.signal * W[:, :1] * sign) + jax.nn.relu(W @ noise.T)
        return jax.nn.softplus(-label * (active[: p.width].mean(0) - active[p.width :].mean(0))).mean()

    start = p.init * random.normal(filters, (2 * p.width, int(p.dim)))
    end, _ = lax.scan(lambda W, _: (W - p.lr * jax.grad(loss)(W), None), start, length=p.steps)
    return loss(end)


def plain_jax(p: Params) -> Contestant:
    """`jit(scan)`, one run after the other."""
    start = time.perf_counter()
    program = jax.jit(lambda key: ambient(p, key)).lower(random.key(0)).compile()
    seconds = time.perf_counter() - start
    turn = iter(range(10**9))

    def run() -> float:
        return float(program(random.key(next(turn))))

    run()
    return Contestant("jit(scan)", lambda: repeated(run, 0.5), seconds, "1 at once")


def pytorch(p: Params) -> Contestant:
    """The loop of steps in PyTorch; the data of a run are drawn at once."""
    import torch
    from torch.nn.functional import softplus

    def run() -> float:
        dim = int(p.dim)
        sign = 2.0 * torch.randint(0, 2, (p.n,)) - 1
        patches = torch.zeros(2 * p.n, dim)
        patches[: p.n, 0], patches[p.n :] = p.signal * sign, torch.randn(p.n, dim)
        label = torch.where(torch.rand(p.n) < p.flip, -sign, sign)
        W = torch.nn.Parameter(p.init * torch.randn(2 * p.width, dim))
        optimiser = torch.optim.SGD([W], lr=p.lr)

        def loss():
            active = torch.relu(patches @ W.T).reshape(2, p.n, 2 * p.width).sum(dim=0)
            return softplus(-label * (active[:, : p.width].mean(dim=1) - active[:, p.width :].mean(dim=1))).mean()

        for _ in range(p.steps):
            optimiser.zero_grad()
            loss().backward()
            optimiser.step()
        return float(loss().detach())

    return Contestant("PyTorch, data at once", lambda: repeated(run, 0.0))


def contestants(tiny: bool = False) -> list[Contestant]:
    """All three, or the two that need no PyTorch."""
    p = Params(steps=30) if tiny else Params()
    makers: list[Callable[[], Contestant]] = [lambda: plain_jax(p), lambda: workbench(p, 4)]
    if find_spec("torch"):
        makers.insert(0, lambda: pytorch(p))
    return [make() for make in makers]

"""One layer of linear attention trained on fresh prompts: d = 10, N = 1000, 512 prompts a step, Adam.

The rivals draw all points of a prompt and read the last token alone, the cheapest way that there is with explicit prompts; the
workbench draws the prompt's moments. All train both matrices in full, from the same small start.
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
    dim: int = 10
    prompts: int = 512
    steps: int = 40
    context: float = 1000.0
    lr: float = 0.05
    init: float = 0.1


def trial(p: Params, key):
    """The run on moments."""
    keys = ts.streams(key, "value", "query", "steps")
    law, size = ts.laws.LinearPrompts(p.dim), p.dim + 1

    def loss(model, key):
        keys = ts.streams(key, "task", "moments", "query")
        task, x = law.tasks(keys.task, p.prompts), random.normal(keys.query, (p.prompts, p.dim))
        seen = ts.exact.moments(keys.moments, task, p.context).tokens
        said = model.of_moments(seen, jnp.pad(x, ((0, 0), (0, 1))), p.context)
        return jnp.mean((said - jnp.sum(x * task, axis=1)) ** 2) / 2

    value, query = (p.init * random.normal(k, (1, size, size)) for k in (keys.value, keys.query))
    rule = ts.dynamics.gradient_descent(loss, optax.adam(p.lr))
    model = ts.models.LinearAttention(value, query)

    def observe(state):
        return {"train_loss": loss(state.model, keys.steps)}

    return ts.simulate(rule, model, key=keys.steps, times=p.steps, observe=observe).records


def workbench(p: Params, seeds: int) -> Contestant:
    """The trial through `sweep`, over seeds."""

    def lap() -> Lap:
        data, seconds = swept(lambda: ts.sweep(trial, p, seeds=seeds))
        return Lap(seconds / seeds, float(data.train_loss.mean()))

    return Contestant(NAME, lap, ts.sweep(trial, p, seeds=seeds).attrs["compile_seconds"], f"sweep of {seeds} seeds")


def explicit(p: Params, key):
    """The same run as one would write it in plain JAX."""
    size, context = p.dim + 1, int(p.context)
    starts, steps = random.split(key)
    weights = tuple(p.init * random.normal(k, (size, size)) for k in random.split(starts))

    def loss(weights, key):
        value, query = weights
        tasks, inputs = random.split(key)
        w, x = random.normal(tasks, (p.prompts, p.dim)), random.normal(inputs, (p.prompts, context + 1, p.dim))
        y = jnp.einsum("bkd,bd->bk", x, w)
        tokens = jnp.concatenate([x, y[..., None]], axis=2)
        last = tokens[:, -1].at[:, -1].set(0)
        scores = jnp.einsum("bki,bi->bk", tokens[:, :-1], last @ query)
        said = (jnp.einsum("bk,bki->bi", scores, tokens[:, :-1]) @ value)[:, -1] / context
        return jnp.mean((said - y[:, -1]) ** 2) / 2

    adam = optax.adam(p.lr)

    def step(carry, key):
        weights, memory = carry
        update, memory = adam.update(jax.grad(loss)(weights, key), memory)
        return (optax.apply_updates(weights, update), memory), None

    (weights, _), _ = lax.scan(step, (weights, adam.init(weights)), random.split(steps, p.steps))
    return loss(weights, steps)


def plain_jax(p: Params, seeds: int) -> Contestant:
    """`jit(vmap(scan))` over seeds."""
    start = time.perf_counter()
    keys = random.split(random.key(0), seeds)
    program = jax.jit(jax.vmap(lambda key: explicit(p, key))).lower(keys).compile()
    seconds = time.perf_counter() - start
    turn = iter(range(10**9))

    def lap() -> Lap:
        took = repeated(lambda: float(program(random.split(random.key(next(turn)), seeds)).mean()), 0.0)
        return Lap(took.seconds / seeds, took.found)

    lap()
    return Contestant("jit(vmap(scan))", lap, seconds, f"{seeds} seeds at once", most_laps=3)


def pytorch(p: Params) -> Contestant:
    """The same loop in PyTorch."""
    import torch

    def run() -> float:
        size, context = p.dim + 1, int(p.context)
        value, query = (torch.nn.Parameter(p.init * torch.randn(size, size)) for _ in range(2))
        adam = torch.optim.Adam([value, query], lr=p.lr)

        def loss():
            w, x = torch.randn(p.prompts, p.dim), torch.randn(p.prompts, context + 1, p.dim)
            y = torch.einsum("bkd,bd->bk", x, w)
            tokens = torch.cat([x, y[..., None]], dim=2)
            last = torch.cat([x[:, -1], torch.zeros(p.prompts, 1)], dim=1)
            scores = torch.einsum("bki,bi->bk", tokens[:, :-1], last @ query)
            said = (torch.einsum("bk,bki->bi", scores, tokens[:, :-1]) @ value)[:, -1] / context
            return ((said - y[:, -1]) ** 2).mean() / 2

        for _ in range(p.steps):
            adam.zero_grad()
            loss().backward()
            adam.step()
        return float(loss().detach())

    return Contestant("PyTorch", lambda: repeated(run, 0.0), most_laps=3)


def contestants(tiny: bool = False) -> list[Contestant]:
    """All three, or the two that need no PyTorch."""
    p = Params(steps=2, prompts=16) if tiny else Params()
    makers: list[Callable[[], Contestant]] = [lambda: plain_jax(p, 2), lambda: workbench(p, 8)]
    if find_spec("torch"):
        makers.insert(0, lambda: pytorch(p))
    return [make() for make in makers]


def context_ratio(laps: int, tiny: bool = False) -> float:
    """Time of a run at N = 1 000 000 over that at N = 20, of the workbench, in turn; the least of some laps."""
    few = {"steps": 2, "prompts": 16} if tiny else {}
    pair = [workbench(Params(context=context, **few), 8) for context in (1e6, 20.0)]
    seconds = [[contestant.lap().seconds for contestant in pair] for _ in range(laps)]
    return min(s[0] for s in seconds) / min(s[1] for s in seconds)

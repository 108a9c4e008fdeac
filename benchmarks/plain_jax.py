"""What a good user of JAX writes without this workbench: `jit(vmap(scan))` in the ambient dimension, one program a dimension.

The product with the signal patch uses that all these patches are multiples of one vector, and the data are drawn inside the
program. How many runs go side by side is the best of a few: on a CPU that is often one, where vmap changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, random

from .pace import Contestant, Lap, repeated
from .setting import FLIP, LR, NOISE, SIGNAL, STEPS, TESTS, WIDTH, N


def data(key, count: int, dim: int):
    """Signs, noise patches, observed labels."""
    signs, noises, flips = random.split(key, 3)
    sign = random.rademacher(signs, (count,), jnp.float32)
    label = jnp.where(random.bernoulli(flips, FLIP, (count,)), -sign, sign)
    return sign, NOISE * random.normal(noises, (count, dim)), label


def output(params, signal, sign, noise):
    """The network of the published code."""
    filters, bias = params
    first = jax.nn.relu((signal * filters[:, :1]) * sign + bias[:, None])
    total = (first + jax.nn.relu(filters @ noise.T + bias[:, None])) / 2
    return total[:WIDTH].sum(0) - total[WIDTH:].sum(0)


def run(key, signal, dim: int):
    """Data, training and the test error on noisy labels of one run."""
    train_key, test_key, filter_key, bias_key = random.split(key, 4)
    sign, noise, label = data(train_key, N, dim)

    def loss(params):
        return jax.nn.softplus(-label * output(params, signal, sign, noise)).mean()

    def step(params, _):
        return jax.tree.map(lambda p, g: p - LR * g, params, jax.grad(loss)(params)), None

    bound = dim**-0.5
    start = (
        random.uniform(filter_key, (2 * WIDTH, dim), minval=-bound, maxval=bound),
        random.uniform(bias_key, (2 * WIDTH,), minval=-bound, maxval=bound),
    )
    params, _ = lax.scan(step, start, length=STEPS)
    sign, noise, label = data(test_key, TESTS, dim)
    return loss(params), (label * output(params, signal, sign, noise) <= 0).mean()


def _compiled(dim: int, batch: int) -> tuple[Callable[[], float], float]:
    program = jax.jit(jax.vmap(partial(run, dim=dim)))
    keys, signals = random.split(random.key(0), batch), jnp.full(batch, SIGNAL)
    start = time.perf_counter()
    ready = program.lower(keys, signals).compile()
    seconds = time.perf_counter() - start
    turn = iter(range(10**9))

    def call() -> float:
        keys = random.split(random.key(next(turn)), batch)
        return float(ready(keys, signals)[1].mean())

    call()
    return call, seconds


def contestant(dim: int, batches: tuple[int, ...] | None = None) -> Contestant:
    """The program at one dimension, with the best of a few batch sizes."""
    if batches is None:
        batches = (1, 8, 32, 128) if dim < 500 else (1, 8, 32) if dim < 10_000 else (1, 4)
    tried = {b: _compiled(dim, b) for b in batches}
    pace = {b: min(repeated(call, 0.2).seconds for _ in range(2)) / b for b, (call, _) in tried.items()}
    best = min(pace, key=pace.__getitem__)
    call, seconds = tried[best]

    def lap() -> Lap:
        each, error = repeated(call, 0.5)
        return Lap(each / best, error)

    note = f"{best} at once, the best of {', '.join(map(str, batches))}"
    return Contestant("jit(vmap(scan))", lap, seconds, note)

"""What every model of prompts must do when it trains. A new one gets a row in `MODELS`."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import theorysim as ts

K, D, KEYS, STEPS = 5, 3, 3, 5
masks = ts.models.masks


def decoder(key, **options):
    return ts.models.Decoder(key, D, 1, width=8, depth=2, heads=2, mask=masks.causal(K), **options)


def matrices(key, *shapes):
    return [0.3 * jax.random.normal(k, shape) for k, shape in zip(jax.random.split(key, len(shapes)), shapes, strict=True)]


#: name -> model of tokens of shape `(b, K, D)`, given a key; it gives one number a prompt, or one a token
MODELS = {
    "LinearAttention": lambda key: ts.models.LinearAttention(*matrices(key, (2, D, D), (2, D, D))),
    "LinearAttention causal": lambda key: ts.models.LinearAttention(*matrices(key, (1, D, D), (1, D, D)), mask=masks.causal(K)),
    "LinearAttention apart": lambda key: ts.models.LinearAttention(
        matrices(key, (1, D, D))[0], tuple(matrices(jax.random.fold_in(key, 1), (1, D, 2), (1, D, 2)))
    ),
    "AutoregressiveAttention": lambda key: ts.models.AutoregressiveAttention(*matrices(key, (1, D), (D, D))),
    "S4": lambda key: ts.models.S4(*matrices(key, (D, 4), (D, 4))),
    "S6": lambda key: ts.models.S6(*matrices(key, (4, D), (4, D)), trained="selection"),
    "S6 with all parts": lambda key: ts.models.S6(
        *matrices(key, (4, D), (4, D)), step=tuple(matrices(key, (D, 2), (2, D))), skip=jnp.ones(D), hold="euler"
    ),
    "MambaBlock": lambda key: ts.models.MambaBlock(key, D, states=4),
    "Mamba": lambda key: ts.models.Mamba(key, D, 1, width=8, depth=2, states=4),
    "Decoder": decoder,
    "Decoder of positions": lambda key: decoder(key, positions=range(K), hidden=0),
    "Decoder linear": lambda key: decoder(key, attention="linear", normalised=False),
    "AttentionStack": lambda key: ts.models.AttentionStack(
        key, D, 1, depth=2, hidden=4, mask=masks.causal(K), bias=-0.1 * jnp.arange(float(K)), residual=1.0
    ),
    "TwoLayerTransformer": lambda key: ts.models.TwoLayerTransformer(*matrices(key, (4, D), (4, D), (2, D))),
}
rows = pytest.mark.parametrize("row", MODELS)
both = pytest.mark.parametrize("x64", [False, True])


def train(make, key, lr):
    """Leaves before and after a few steps of Adam on a linear target, and the outputs."""
    tokens = jax.random.normal(jax.random.fold_in(key, 7), (6, K, D))
    target = tokens.sum(axis=(1, 2))

    def loss(model, key):
        said = model(tokens)
        return jnp.mean((said.reshape(6, -1)[:, -1] - target) ** 2)

    model = make(key)
    rule = ts.dynamics.gradient_descent(loss, optax.adam(lr))
    moved = ts.simulate(rule, model, key=key, times=STEPS, observe=lambda state: {}).state.model
    both = [[jax.tree.leaves(part) for part in nnx.split(m, nnx.Param, ...)[1:]] for m in (model, moved)]
    return {"before": both[0], "after": both[1], "output": moved(tokens), "loss": (loss(model, key), loss(moved, key))}


@pytest.fixture(scope="module")
def runs():
    """All rows in one program for each precision, under jit and vmap; run twice."""

    def make(x64: bool):
        with jax.enable_x64(x64):
            run = jax.jit(jax.vmap(lambda key, lr: {name: train(model, key, lr) for name, model in MODELS.items()}))
            arguments = jax.random.split(jax.random.key(3), KEYS), jnp.linspace(0.005, 0.02, KEYS)
            return [jax.device_get(run(*arguments)) for _ in range(2)]

    return {x64: make(x64) for x64 in (False, True)}


def test_every_model_of_tokens_has_a_row():
    models = {name: getattr(ts.models, name) for name in ts.models.__all__ if inspect.isclass(getattr(ts.models, name))}
    of_tokens = {name for name, model in models.items() if "patches" not in inspect.signature(model.__call__).parameters}
    assert {name.split()[0] for name in MODELS} == of_tokens


@rows
@both
def test_parameters_move_and_nothing_else_does(runs, row, x64):
    (params, rest), (moved, untouched) = (runs[x64][0][row][when] for when in ("before", "after"))
    assert all(np.array_equal(a, b) for a, b in zip(rest, untouched, strict=True))
    assert all(np.any(a != b) for a, b in zip(params, moved, strict=True))


@rows
@both
def test_finite_typed_and_falling(runs, row, x64):
    run = runs[x64][0][row]
    for leaf in jax.tree.leaves((run["after"][0], run["output"], run["loss"])):
        assert np.isfinite(leaf).all()
        assert leaf.dtype == (np.float64 if x64 else np.float32)
    assert np.all(run["loss"][1] < run["loss"][0])


@rows
@both
def test_deterministic(runs, row, x64):
    first, second = (jax.tree.leaves(run[row]) for run in runs[x64])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@rows
def test_traces_by_itself(row):
    shapes = jax.eval_shape(lambda key: train(MODELS[row], key, 0.1), jax.random.key(0))
    assert shapes["output"].shape[0] == 6

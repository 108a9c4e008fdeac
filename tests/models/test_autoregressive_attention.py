"""The causal layer against its definition, and its complex gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import theorysim as ts

B, T, D = 2, 6, 2


def matrices(key, imaginary=True):
    keys = jax.random.split(key, 4)
    value, key_query = jax.random.normal(keys[0], (D, 2 * D)), jax.random.normal(keys[1], (2 * D, 2 * D))
    if imaginary:
        value = value + 1j * jax.random.normal(keys[2], value.shape)
        key_query = key_query + 1j * jax.random.normal(keys[3], key_query.shape)
    return value, key_query


def test_definition():
    tokens = ts.laws.Rotations(D)(jax.random.key(0), B, T).tokens
    value, key_query = matrices(jax.random.key(1))
    model = ts.models.AutoregressiveAttention(value, key_query)
    said = np.asarray(model(tokens))
    for b in range(B):
        for t in range(T):
            seen = np.asarray(tokens[b, : t + 1]).T
            wanted = value @ seen @ seen.conj().T @ key_query @ tokens[b, t] / max(t, 1)
            np.testing.assert_allclose(said[b, t], wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.at_end(tokens), said[:, -1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model(tokens, model.moments(tokens)), said, rtol=1e-5)


def test_gradients_of_complex_weights_descend():
    """A small step lowers the loss by the squared norm of the gradient, which a gradient without conjugate would not."""
    with jax.enable_x64(True):
        loss = ts.objectives.autoregressive(ts.laws.Rotations(D)(jax.random.key(0), 20, T))
        model = ts.models.AutoregressiveAttention(*matrices(jax.random.key(1)))
        graph, params = nnx.split(model)
        gradient = jax.grad(lambda p: loss(nnx.merge(graph, p), None))(params)
        lr = 1e-7
        square = sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(gradient))
        rule = ts.dynamics.gradient_descent(loss, optax.sgd(lr))
        after = rule.step(rule.init(model), None).model
        assert np.isclose(float(loss(model, None) - loss(after, None)), lr * square, rtol=1e-3)
        # planted: jax's derivative of the complex matrices themselves, not conjugated
        whole = jax.grad(lambda v: loss(ts.models.AutoregressiveAttention(v, model.key_query), None))(model.value)
        wrong = ts.models.AutoregressiveAttention(model.value - lr * whole, model.key_query)
        right = ts.models.AutoregressiveAttention(model.value - lr * whole.conj(), model.key_query)
        assert loss(right, None) < loss(model, None)
        assert loss(right, None) < loss(wrong, None)


def test_balance_of_both_matrices():
    """A step changes ||W_KQ||^2 - ||W_PV||^2 by eta^2 times the same of the gradients: the flow conserves it."""
    with jax.enable_x64(True):
        loss = ts.objectives.autoregressive(ts.laws.Rotations(D)(jax.random.key(0), 20, T))
        model = ts.models.AutoregressiveAttention(*matrices(jax.random.key(1)))
        norm = lambda m: jnp.sum(abs(m) ** 2)  # noqa: E731
        rule = ts.dynamics.gradient_descent(loss, optax.sgd(1e-3))
        after = rule.step(rule.init(model), None).model
        change = [(norm(m.key_query) - norm(m.value)) for m in (model, after)]
        step = norm(after.key_query - model.key_query) - norm(after.value - model.value)
        assert np.isclose(float(change[1] - change[0]), float(step), rtol=1e-9)


def test_real_weights_stay_real():
    model = ts.models.AutoregressiveAttention(*matrices(jax.random.key(1), imaginary=False))
    assert model(jnp.ones((B, T, 2 * D))).dtype == jnp.float32
    assert len(jax.tree.leaves(nnx.state(model, nnx.Param))) == 2


def test_bad_shapes():
    value, key_query = matrices(jax.random.key(0))
    for pair in ((value[:, 1:], key_query), (value, key_query[1:]), (value.real, key_query)):
        with pytest.raises(ts.InvalidArgument):
            ts.models.AutoregressiveAttention(*pair)

"""Leaves that follow a law of their own beside parameters that are trained."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

import theorysim as ts

LR = 0.1


def setting():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)), jnp.float32)
    batch = ts.laws.Batch((x,), jnp.ones(5), x[:, 0])
    model = ts.models.TwoLayerLinear(jnp.eye(2, 3), jnp.array([1.0, 0.0]), trained="first")
    return x, model, ts.dynamics.gradient_descent(ts.objectives.regression(batch), optax.sgd(LR))


def swap(model, key):
    model.second[...] = model.second[::-1]
    return model


def test_both_moves_start_from_the_same_state():
    """Against numpy; moving the leaf first is a defect that this sees."""
    x, model, rule = setting()
    driven = ts.dynamics.driven(rule, swap)
    state, (w, a), late = driven.init(model), (np.eye(2, 3), np.array([1.0, 0.0])), None
    x = np.asarray(x)
    for t in range(4):
        gradient = lambda w, a: np.outer(a, x.T @ (x @ w.T @ a - x[:, 0]) / 5)  # noqa: E731
        late = w - LR * gradient(w, a[::-1])
        w, a = w - LR * gradient(w, a), a[::-1]
        state = driven.step(state, jax.random.key(t))
    np.testing.assert_allclose(state.model.filters[...], w, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state.model.second[...], a)
    assert np.abs(np.asarray(state.model.filters[...]) - late).max() > 1e-3


def test_what_the_drive_does_to_parameters_is_not_kept():
    _, model, rule = setting()

    def spoil(model, key):
        model.filters[...] = 0 * model.filters[...]
        return model

    one, other = (ts.dynamics.driven(rule, drive) for drive in (spoil, lambda model, key: model))
    ends = [r.step(r.init(model), jax.random.key(0)).model.filters[...] for r in (one, other)]
    np.testing.assert_array_equal(*ends)


def test_the_drive_has_a_stream_of_its_own():
    _, model, rule = setting()

    def shuffle(model, key):
        model.second[...] = jax.random.normal(key, (2,))
        return model

    driven = ts.dynamics.driven(rule, shuffle)
    run = ts.simulate(driven, model, key=jax.random.key(0), times=range(4), observe=lambda s: {"a": s.model.second[...]})
    drawn = np.asarray(run.records["a"].value)[1:]
    assert np.unique(drawn).size == drawn.size

"""The two-layer transformer against a plain loop, and the frames that its rules ask for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts
from theorysim._errors import InvalidArgument, Refused


def test_it_is_the_sum_over_queries():
    rng = np.random.default_rng(0)
    q, k, v, x = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=(2, 4)), rng.normal(size=(5, 2, 4))
    with jax.enable_x64(True):
        found = np.asarray(ts.models.TwoLayerTransformer(*map(jnp.asarray, (q, k, v)))(jnp.asarray(x)))
    for i in range(5):
        total = 0.0
        for token in x[i]:
            scores = np.exp(x[i] @ k.T @ (q @ token))
            total += (v[0] - v[1]) @ x[i].T @ scores / scores.sum()
        assert np.isclose(found[i], total, rtol=1e-12)
    swapped = np.asarray(ts.models.TwoLayerTransformer(*(jnp.asarray(w, jnp.float32) for w in (k, q, v)))(jnp.asarray(x)))
    assert not np.allclose(swapped, found, rtol=1e-3)  # queries are not keys


def test_an_odd_number_of_values_is_told():
    with pytest.raises(InvalidArgument, match="value"):
        ts.models.TwoLayerTransformer(jnp.zeros((1, 2)), jnp.zeros((1, 2)), jnp.zeros((3, 2)))


@pytest.mark.parametrize(("rule", "carried"), [(optax.sgd, True), (optax.sign_sgd, False), (optax.adam, False)])
def test_a_reduced_frame_is_refused_for_rules_on_coordinates(rule, carried, key):
    space = ts.exact.frame(key, 1e6, fixed=1, train=3, filters=4)
    tokens = jnp.stack([jnp.zeros((3, space.size)).at[:, 0].set(1.0), jnp.pad(space.train, ((0, 0), (0, 4)))], axis=1)
    q, k, v = jnp.split(0.01 * jnp.pad(space.filters, ((0, 0), (0, space.size - space.filters.shape[1]))), [1, 2])
    descent = ts.dynamics.gradient_descent(lambda model, key: jnp.mean(jax.nn.softplus(-model(tokens))), rule(0.1))

    def run():
        return ts.simulate(descent, ts.models.TwoLayerTransformer(q, k, v), frame=space, key=key, times=1, observe=lambda s: {})

    if carried:
        run()
    else:
        with pytest.raises(Refused, match="rotations"):
            run()

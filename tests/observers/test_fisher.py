"""The diagonal Fisher information: sums of squared gradients of single samples, not squares of their sum."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import theorysim as ts


def setting(n=6):
    batch = ts.laws.SignalNoise(signal=2.0, flip=0.3)(jax.random.key(0), jax.random.normal(jax.random.key(1), (n, 5)))
    filters = jax.random.normal(jax.random.key(2), (4, 5))
    return batch, ts.models.TwoLayerCNN(filters, power=2, bias=jnp.linspace(-0.1, 0.1, 4))


def by_hand(batch, model):
    """Squared gradients of single samples, one after the other."""
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    total = jax.tree.map(jnp.zeros_like, params)
    for k in range(batch.label.size):
        loss = ts.objectives.logistic(ts.laws.pick(batch, jnp.array([k])))
        gradient = jax.grad(lambda params, loss=loss: loss(nnx.merge(graph, params, rest), None))(params)
        total = jax.tree.map(lambda a, g: a + g**2, total, gradient)
    return total


def difference(found, expected):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    return max(float(jnp.abs(a - b).max() / jnp.abs(b).max()) for a, b in pairs)


def test_it_is_the_sum_over_samples():
    batch, model = setting()
    found = ts.observers.diagonal_fisher(ts.objectives.logistic, batch)(model)
    assert difference(found, by_hand(batch, model)) < 1e-5
    assert jax.tree.structure(found) == jax.tree.structure(nnx.state(model, nnx.Param))


def test_the_square_of_the_summed_gradient_is_told_apart():
    """A planted defect: one gradient of the whole batch."""
    batch, model = setting()
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    whole = jax.grad(lambda params: 6 * ts.objectives.logistic(batch)(nnx.merge(graph, params, rest), None))(params)
    assert difference(jax.tree.map(jnp.square, whole), by_hand(batch, model)) > 0.1


def test_batches_add_up_and_order_does_not_matter():
    batch, model = setting(8)

    def fisher(part):
        return ts.observers.diagonal_fisher(ts.objectives.logistic, part)(model)

    halves = jax.tree.map(jnp.add, fisher(ts.laws.pick(batch, slice(3))), fisher(ts.laws.pick(batch, slice(3, None))))
    assert difference(halves, fisher(batch)) < 1e-5
    assert difference(fisher(ts.laws.pick(batch, jnp.arange(8)[::-1])), fisher(batch)) < 1e-5


@pytest.mark.parametrize("name", ["logistic", "square"])
def test_groups_and_other_objectives(name):
    """A batch of several features has a group; the loss of a sample is the objective of a batch of one."""
    law = ts.laws.Features([2.0, 1.0])
    batch = law(jax.random.key(0), jax.random.normal(jax.random.key(1), (6, 5)))
    found = ts.observers.diagonal_fisher(getattr(ts.objectives, name), batch)(setting()[1])
    assert all(np.isfinite(leaf).all() and (np.asarray(leaf) >= 0).all() for leaf in jax.tree.leaves(found))

"""The three-layer network against its formula, its symmetries, and the reduced frame that carries it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import theorysim as ts
from theorysim.models import ThreeLayerCNN

RNG = np.random.default_rng(0)
FILTERS, SECOND = RNG.normal(size=(3, 7)), RNG.normal(size=(4, 3))


def formula(filters, second, patches):
    """In numpy's float64, patch by patch."""
    sides = np.array([1.0, 1.0, -1.0, -1.0]) / 2
    hidden = [np.maximum(filters[:, : patch.shape[1]] @ patch.T, 0) for patch in patches]
    return sides @ sum(np.maximum(second @ h, 0) for h in hidden)


def test_the_formula():
    patches = (RNG.normal(size=(5, 1)), RNG.normal(size=(5, 7)))
    found = ThreeLayerCNN(jnp.asarray(FILTERS), second=jnp.asarray(SECOND))(tuple(map(jnp.asarray, patches)))
    np.testing.assert_allclose(found, formula(FILTERS, SECOND, patches), rtol=1e-4, atol=1e-5)


def test_it_is_homogeneous_in_each_trained_layer():
    patches = (jnp.asarray(RNG.normal(size=(5, 7))),)
    first, second = jnp.asarray(FILTERS), jnp.asarray(SECOND)
    base = ThreeLayerCNN(first, second=second)(patches)
    for doubled in (ThreeLayerCNN(2 * first, second=second), ThreeLayerCNN(first, second=2 * second)):
        np.testing.assert_allclose(doubled(patches), 2 * base, rtol=1e-4, atol=1e-5)


def test_the_last_layer_is_no_parameter():
    model = ThreeLayerCNN(jnp.asarray(FILTERS), second=jnp.asarray(SECOND))
    assert {path[0] for path, _ in nnx.to_flat_state(nnx.state(model, nnx.Param))} == {"filters", "second"}


def test_its_own_basis_keeps_gram_and_upper_layers():
    model = ThreeLayerCNN(jnp.asarray(FILTERS), second=jnp.asarray(SECOND))
    small = model.in_own_basis(1)
    assert small.filters.shape == (3, 4)
    np.testing.assert_allclose(small.filters[...] @ small.filters[...].T, FILTERS @ FILTERS.T, rtol=1e-4, atol=1e-5)
    assert np.array_equal(small.second[...], model.second[...])


@pytest.mark.parametrize(("shape", "rule"), [((3, 3), "as many rows"), ((4, 2), "a column for each")])
def test_bad_shapes_are_refused(shape, rule):
    with pytest.raises(ts.InvalidArgument, match=rule):
        ThreeLayerCNN(jnp.ones((3, 7)), second=jnp.ones(shape))


def test_projection_agrees_to_rounding():
    """Ambient data and their projection on the span of data and first filters give one trajectory."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(1)
        noise, filters, second = (jnp.asarray(rng.normal(size=shape)) for shape in ((6, 40), (4, 40), (4, 4)))
        q, _ = jnp.linalg.qr(jnp.concatenate([jnp.eye(1, 40), noise, filters]).T)
        q = q * jnp.sign(q[0, 0])
        sign = jnp.asarray(np.where(np.arange(6) % 2, 1.0, -1.0))

        def output(turn):
            batch = ts.laws.Batch((2 * sign[:, None] * turn[:1], noise @ turn), sign, sign)
            rule = ts.dynamics.gradient_descent(ts.objectives.logistic(batch), optax.sgd(0.1))
            model = ThreeLayerCNN(0.1 * filters @ turn, second=second)
            end = ts.simulate(rule, model, key=jax.random.key(0), times=200, observe=lambda state: {}).state.model
            return end(batch.patches)

        ambient, projected = jax.jit(lambda: (output(jnp.eye(40)), output(q)))()
        np.testing.assert_allclose(ambient, projected, rtol=1e-10)
        assert np.abs(ambient).max() > 0.1

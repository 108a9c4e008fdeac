"""The two-layer linear network: its formula, its narrow stand-in along real runs, and what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts

Linear = ts.models.TwoLayerLinear
WIDTH, DIM, N = 40, 5, 12


def draw(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(WIDTH, DIM)) / DIM**0.5, rng.normal(size=WIDTH) / WIDTH**0.5, rng.normal(size=(N, DIM))


def test_formula():
    filters, second, x = draw()
    model = Linear(jnp.asarray(filters), jnp.asarray(second))
    narrow = x[:, :2]
    np.testing.assert_allclose(model((jnp.asarray(x),)), x @ filters.T @ second, rtol=1e-4, atol=1e-5)
    both = x @ filters.T @ second + narrow @ filters[:, :2].T @ second
    np.testing.assert_allclose(model((jnp.asarray(x), jnp.asarray(narrow))), both, rtol=1e-4, atol=1e-5)


def test_in_its_own_basis_the_products_are_the_same():
    filters, second, _ = draw()
    model = Linear(jnp.asarray(filters), jnp.asarray(second))
    small = model.in_own_basis(1)
    np.testing.assert_allclose(small.filters[...] @ small.filters[...].T, filters @ filters.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(small.filters[:, 0], filters[:, 0].astype(np.float32))


def paths(rule, trained="both"):
    """A run of the wide network, and that of its narrow stand-in, in float64: both as the wide network at the end."""
    filters, second, x = draw(1)
    wide = Linear(jnp.asarray(filters), jnp.asarray(second), trained=trained)
    batch = ts.laws.LinearRegression(1.0)(jax.random.key(0), jnp.asarray(x))
    loss = ts.objectives.on_sample(ts.objectives.regression, batch, perturb=ts.objectives.additive_noise(1.0))
    small = wide.narrow()
    ends = [
        ts.simulate(rule(loss), start, key=jax.random.key(2), times=300, observe=lambda state: {}).state.model
        for start in (wide, small.model)
    ]
    assert small.model.filters.shape == (DIM + 1, DIM)
    return wide, ends[0], small.wide(ends[1])


@pytest.mark.parametrize("trained", ["both", "first"])
@pytest.mark.parametrize(
    "rule",
    [
        lambda loss: ts.dynamics.gradient_descent(loss, optax.sgd(0.02)),
        lambda loss: ts.dynamics.gradient_descent(loss, optax.sgd(0.005, momentum=0.9)),
        lambda loss: ts.dynamics.sam(loss, optax.sgd(0.02), 0.2),
    ],
    ids=["sgd", "momentum", "sam"],
)
def test_narrow_is_the_wide_network(rule, trained):
    """Every weight of every neuron, to 1e-10 after 300 steps."""
    with jax.enable_x64(True):
        start, wide, from_narrow = paths(rule, trained)
        assert np.abs(np.asarray(wide.filters[...] - start.filters[...])).max() > 0.01
        np.testing.assert_allclose(from_narrow.filters[...], wide.filters[...], atol=1e-10)
        np.testing.assert_allclose(from_narrow.second[...], wide.second[...], atol=1e-10)


def test_narrow_is_not_for_a_rule_that_looks_at_single_weights():
    with jax.enable_x64(True):
        _, wide, from_narrow = paths(lambda loss: ts.dynamics.gradient_descent(loss, optax.adam(0.01)))
        assert np.abs(np.asarray(from_narrow.filters[...] - wide.filters[...])).max() > 0.01


def test_few_neurons_stay_as_many():
    small = Linear(jnp.eye(2, 5), jnp.ones(2)).narrow()
    assert small.model.filters.shape == (2, 5)


@pytest.mark.parametrize(
    ("second", "trained", "said"), [(3, "both", "second = "), (2, "second", "trained = second: must be both or first")]
)
def test_refused(second, trained, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        Linear(jnp.eye(2), jnp.ones(second), trained=trained)
    assert "\n" not in str(refusal.value)

"""Stochastic objectives: what is drawn, and that the steps on it are SGD."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

import theorysim as ts

on_sample, regression, additive_noise = ts.objectives.on_sample, ts.objectives.regression, ts.objectives.additive_noise
N = 7


def batch():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(N, 3)), jnp.float32)
    return ts.laws.Batch((x,), jnp.ones(N), jnp.arange(N, dtype=jnp.float32), jnp.arange(N))


def test_draws_are_uniform_and_with_replacement():
    """A chi-square test at level 1e-4, which rejects a law that never draws one of the samples."""
    loss = on_sample(regression, batch(), size=3)
    drawn = np.asarray(jax.vmap(lambda key: loss.draw(key).group)(jax.random.split(jax.random.key(1), 3000)))
    counts = np.bincount(drawn.ravel(), minlength=N)
    assert stats.chisquare(counts).pvalue > 1e-4
    assert stats.chisquare(np.append(counts[:-1], 0) * counts.sum() / counts[:-1].sum()).pvalue < 1e-4
    assert np.any(drawn[:, 0] == drawn[:, 1])


def test_the_objective_is_that_of_the_samples_drawn():
    loss, key = on_sample(regression, batch(), size=2, perturb=additive_noise(0.5)), jax.random.key(5)
    model = lambda patches: patches[0].sum(axis=1)  # noqa: E731
    assert float(loss(model, key)) == float(regression(loss.draw(key))(model, None))
    assert float(loss(model, key)) != float(loss(model, jax.random.key(6)))


def test_noise_has_one_size_and_a_fair_sign():
    loss = on_sample(regression, batch(), perturb=additive_noise(2.0))
    drawn = jax.vmap(loss.draw)(jax.random.split(jax.random.key(2), 4000))
    noise = np.asarray(drawn.label) - np.asarray(drawn.group)
    assert set(np.unique(noise)) == {-2.0, 2.0}
    assert stats.binomtest(int((noise > 0).sum()), noise.size, 0.5).pvalue > 1e-4
    # the sign does not tell which sample was drawn
    assert abs(np.corrcoef(noise.ravel(), np.asarray(drawn.group).ravel())[0, 1]) < 5 / noise.size**0.5


def test_gradient_descent_on_it_is_sgd():
    loss, lr = on_sample(regression, batch(), perturb=additive_noise(1.0)), 0.1
    model = ts.models.TwoLayerLinear(jnp.eye(2, 3), jnp.ones(2), trained="first")
    rule = ts.dynamics.gradient_descent(loss, optax.sgd(lr))
    state = rule.init(model)
    w = np.asarray(model.filters[...])
    for key in jax.random.split(jax.random.key(0), 5):
        sample = loss.draw(key)
        x, y = np.asarray(sample.patches[0][0]), float(sample.label[0])
        w = w - lr * (w.sum(axis=0) @ x - y) * x
        state = rule.step(state, key)
    np.testing.assert_allclose(state.model.filters[...], w, rtol=1e-5, atol=1e-6)


def test_refused():
    with pytest.raises(ts.InvalidArgument, match="size = 0: must be a whole number >= 1"):
        on_sample(regression, batch(), size=0)


def test_regression_is_the_square_loss_on_signs():
    signs = batch()._replace(label=jnp.where(jnp.arange(N) % 2, 1.0, -1.0))
    model = lambda patches: patches[0][:, 0]  # noqa: E731
    np.testing.assert_allclose(regression(signs)(model, None), ts.objectives.square(signs)(model, None), rtol=1e-6)
    values = batch()
    half = ((values.patches[0][:, 0] - values.label) ** 2).mean() / 2
    np.testing.assert_allclose(regression(values)(model, None), half, rtol=1e-6)

"""Linear attention in context: limits against autodiff of the loss, and the asymptotic error against known values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

theory = ts.theory.linear_attention
VALUES = np.array([1.0, 0.5, 0.2])


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.usefixtures("x64")
def test_the_inverse_of_gamma_is_where_the_loss_is_least():
    covariance = np.diag(VALUES)
    loss = jax.grad(lambda a: ts.exact.linear_attention_loss(a, jnp.asarray(covariance), 7.0))
    best = jnp.asarray(np.linalg.inv(theory.preconditioner(covariance, 7)))
    assert jnp.abs(loss(best)).max() < 1e-14
    assert jnp.abs(loss(1.01 * best)).max() > 1e-3  # the test can fail


@pytest.mark.usefixtures("x64")
def test_the_limits_multiply_to_the_inverse_and_share_a_norm():
    corner, block = theory.limits(np.diag(VALUES), 7)
    np.testing.assert_allclose(corner * block, np.linalg.inv(theory.preconditioner(np.diag(VALUES), 7)), rtol=1e-12)
    assert np.isclose(corner, np.linalg.norm(block), rtol=1e-12)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("length", [5, 20, 1e9])
def test_the_isotropic_error_is_the_population_loss(length):
    d, n = 5, 20
    best = theory.best_scale(d, n) * jnp.eye(d)
    assert np.isclose(2 * ts.exact.linear_attention_loss(best, 1.0, length), theory.isotropic_error(d, n, length), rtol=1e-12)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_bias_under_a_shift(scale):
    d, n = 5, 20
    best = theory.best_scale(d, n) * jnp.eye(d)
    error = 2 * ts.exact.linear_attention_loss(best, scale, 1e12) / (scale * d)
    assert np.isclose(error, theory.shifted_bias(d, n, scale), rtol=1e-9)


@pytest.mark.usefixtures("x64")
def test_tasks_of_the_inverse_covariance_are_learned_with_its_inverse():
    """Correction of the printed optimum: at tasks of covariance 1/Sigma the gradient vanishes at a multiple of 1/Sigma."""
    covariance, task = jnp.diag(VALUES), jnp.diag(1 / VALUES)
    slope = jax.grad(lambda a: ts.exact.linear_attention_loss(a, covariance, 20.0, task=task))
    assert jnp.abs(slope(theory.best_scale(3, 20) * task)).max() < 1e-14
    assert jnp.abs(slope(jnp.asarray(np.linalg.inv(theory.preconditioner(covariance, 20))))).max() > 1e-3


@pytest.mark.usefixtures("x64")
def test_a_query_of_its_own_covariance(key):
    """Against Monte Carlo of explicit prompts, within 3 standard errors."""
    gamma, shift = jnp.diag(jnp.array([0.9, 0.7])), jnp.array([2.0, 0.5])
    prompts = ts.laws.LinearPrompts(2)(key, 40_000, 4)
    query = shift**0.5 * prompts.x[:, -1]
    said = jnp.einsum("bd,de,be->b", query, gamma, ts.exact.moments_of(prompts).xy) / 4
    error = (said - jnp.sum(prompts.task * query, 1)) ** 2 / 2
    exact = ts.exact.linear_attention_loss(gamma, 1.0, 4, query=jnp.diag(shift))
    assert abs(error.mean() - exact) < 3 * error.std() / 200
    assert abs(error.mean() - ts.exact.linear_attention_loss(gamma, 1.0, 4)) > 3 * error.std() / 200


def test_the_asymptotic_error_at_many_contexts():
    """The values of the authors' script at tau = 100."""
    kappas = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 3.0])
    found = theory.ridgeless_error(100.0, 10.0, kappas, 0.01)
    np.testing.assert_allclose(found, [0.787, 0.562, 0.362, 0.232, 0.142, 0.110], atol=6e-4)
    assert theory.ridgeless_error(0.999, 1.0, 0.5, 0.01) > 100


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
def test_the_bayes_error_is_that_of_ridge_regression(alpha):
    """At d = 400 within 5 %; one draw of inputs, its posterior's trace."""
    d, noise = 400, 0.1
    x = np.random.default_rng(0).normal(size=(int(alpha * d), d)) / np.sqrt(d)
    posterior = np.linalg.inv(x.T @ x / noise + np.eye(d))
    assert abs(np.trace(posterior) / d + noise - theory.bayes_error(alpha, noise)) < 0.05 * theory.bayes_error(alpha, noise)

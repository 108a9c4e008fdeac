"""The formulas of the selective layer against sums, limits and brute force."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts
from theorysim.theory import mamba_icl as theory


@pytest.mark.parametrize("retained", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("context", [1, 7, 50])
def test_sums(context, retained):
    alpha = theory.forgetting(context, retained)
    weights = (1 - alpha) * alpha ** (np.arange(context) + 1)
    assert np.isclose(alpha**context, retained)
    np.testing.assert_allclose(theory.sums(context, context, retained), (weights.sum(), (weights**2).sum()), rtol=1e-12)
    np.testing.assert_allclose(theory.sums(context, context, retained), ts.exact.forgetting_sums(context, retained), rtol=1e-5)


def test_the_limit_is_the_least_of_the_loss():
    """Moving the map from beta I in any direction raises it, by its own quadratic form."""
    d, context = 3, 20
    beta, rng = theory.best(d, context), np.random.default_rng(0)
    first, second, third = theory.betas(d, context)

    def loss(matrix, label):
        return first * np.sum(matrix**2) / 2 - third * np.trace(matrix) + d / 2 + second * np.sum(label**2) / 2

    assert np.isclose(loss(beta * np.eye(d), np.zeros(d)), theory.least_loss(d, context))
    for _ in range(5):
        matrix, label = rng.normal(size=(d, d)), rng.normal(size=d)
        above = loss(matrix, label) - theory.least_loss(d, context)
        assert np.isclose(above, theory.excess(matrix, label, d, context))
        assert above > 0


def test_the_loss_times_the_context():
    context = np.array([1e3, 1e5, 1e9])
    scaled = context * theory.least_loss(4, context)
    np.testing.assert_allclose(scaled[-1], 0.75 * np.log(2) * 4 * 5, rtol=1e-6)
    assert np.all(abs(scaled / (0.75 * np.log(2) * 20) - 1) < 0.02)
    for retained in (0.1, 0.9):
        np.testing.assert_allclose(1e9 * theory.least_loss(4, 1e9, retained), 10 * theory.price(retained), rtol=1e-5)
    assert np.all(np.diff(theory.price(np.linspace(0.05, 0.99, 30))) < 0)
    assert np.isclose(theory.price(1 - 1e-6), 1)


def test_the_bound_holds_and_a_tighter_one_does_not():
    context = np.arange(4, 400)
    for d in (2, 4, 8):
        inside = context[context >= d]
        assert np.all(theory.least_loss(d, inside) <= theory.loss_bound(d, inside))
        assert not np.all(theory.least_loss(d, inside) <= theory.loss_bound(d, inside) / 3)  # planted: 1/2 instead of 3/2


def test_rates():
    read, write = np.diag([70.0, 80, 90]), np.diag([60.0, 85, 85])
    first, *_ = theory.betas(3, 50)
    assert np.isclose(theory.rate(read, write, 1e-6, 3, 50), 2e-6 * first * 130, rtol=1e-3)
    assert np.isclose(theory.stated_rate(1e-4, 130, 3, 50) / theory.rate(read, write, 1e-4, 3, 50), 0.5, rtol=0.01)


def test_alignment_ends_at_the_loss():
    """1 - cos^2 of the pooled alignment is the loss over that of saying 0."""
    aligned = theory.alignment(50, 4, 50)
    assert np.isclose(1 - aligned**2, theory.least_loss(4, 50) / 2)


def test_attention_is_the_closed_form():
    n, d, noise = 20, 5, 0.3
    gamma = n / (n + d + 1 + noise) * jnp.eye(d)
    assert np.isclose(ts.exact.linear_attention_loss(gamma, 1.0, n, noise=noise), theory.attention_loss(d, n, noise), rtol=1e-5)


def test_static_layers_cannot():
    """The kernel of S4, and an estimate of what it says on prompts."""
    import jax

    layer = ts.models.S4(*(0.3 * jax.random.normal(k, (4, 6)) for k in jax.random.split(jax.random.key(0))))
    prompts = ts.laws.LinearPrompts(3)(jax.random.key(1), 40_000, 5)
    off = np.asarray((layer(prompts.tokens)[:, -1, -1] - prompts.target) ** 2) / 2
    wanted = theory.static_loss(float(np.sum(np.asarray(layer.kernel(6)[-1, 1:]) ** 2)), 3)
    assert abs(off.mean() - wanted) < 4 * off.std() / 200
    assert wanted > 1.5

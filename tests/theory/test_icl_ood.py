"""The posterior weights against the brute-force Gaussian evidence, and against the experiment's recursion."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import theorysim as ts
from theorysim._experiment import module
from theorysim._find import CHECKOUT

theory = ts.theory.icl_ood


@pytest.mark.parametrize("delta", [1 / 9, 1.0, 9.0])
def test_the_weights_are_the_ratio_of_evidences(delta):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(6, 2)), 2 * rng.normal(size=5)
    means, tasks = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    log = np.zeros(3)
    for b in range(3):
        # all inputs of a coordinate share its mean: covariance I + delta 1 1'
        log[b] = sum(multivariate_normal(np.full(6, means[b, j]), np.eye(6) + delta).logpdf(x[:, j]) for j in range(2))
        log[b] += multivariate_normal(x[:5] @ tasks[b], np.eye(5) + delta * x[:5] @ x[:5].T).logpdf(y)
    odds = np.exp(log - log.max())
    found = theory.weights(x, y, means, tasks, delta, delta)
    np.testing.assert_allclose(found, odds / odds.sum(), atol=1e-8)
    # without the query among the inputs it is another number
    assert np.abs(theory.weights(x[:5], y[:4], means, tasks, delta, delta) - found).max() > 1e-3


def test_the_experiments_recursion_gives_the_closed_form():
    recursion = module(CHECKOUT / "experiments" / "icl_ood.py").evidence
    rng = np.random.default_rng(4)
    x, y, tasks = rng.normal(size=(2, 7, 3)), 3 * rng.normal(size=(2, 7)), rng.normal(size=(4, 3))
    with jax.enable_x64(True):
        found = np.asarray(recursion(*map(jnp.asarray, (x, y, tasks)), 2.0))
    for n in range(2):
        for k in (1, 4, 7):
            stated = theory.error_term(x[n, :k], y[n, :k], tasks, 2.0)
            np.testing.assert_allclose(found[k - 1, n] - found[k - 1, n, 0], stated - stated[0], atol=1e-10)

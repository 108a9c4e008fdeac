"""Ridge regression on products of features, in its two forms, against the normal equations."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import theorysim as ts


@pytest.mark.parametrize("n", [5, 40])
def test_it_solves_the_normal_equations(n):
    rng = np.random.default_rng(1)
    u, v, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 4)), rng.normal(size=n)
    with jax.enable_x64(True):
        found = np.asarray(ts.exact.bilinear_ridge(*map(jax.numpy.asarray, (u, v, y)), 0.3))
    features = np.einsum("ni,nj->nij", u, v).reshape(n, -1)
    best = np.linalg.solve(features.T @ features + 0.3 * np.eye(12), features.T @ y)
    np.testing.assert_allclose(found.ravel(), best, rtol=1e-9)
    assert not np.allclose(found.T.reshape(-1), best)  # a swapped order would be seen

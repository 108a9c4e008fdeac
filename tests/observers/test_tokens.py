"""Measures of collapse: against numpy, and what leaves them alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

see = ts.observers


@pytest.fixture
def tokens(key):
    return jax.random.normal(key, (3, 7, 5))


def test_against_numpy(tokens):
    for x, *found in zip(
        np.asarray(tokens, float),
        *(f(tokens) for f in (see.collapse_distance, see.diameter, see.mean_cosine, see.effective_rank)),
        strict=True,
    ):
        sigma = np.linalg.svd(x, compute_uv=False)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        pairs = np.triu_indices(len(x), 1)
        stated = [
            np.linalg.norm(x - x.mean(axis=0)),
            max(np.linalg.norm(a - b) for a in x for b in x),
            np.abs(unit @ unit.T)[pairs].mean(),
            (sigma**2).sum() ** 2 / (sigma**4).sum(),
        ]
        np.testing.assert_allclose(found, stated, rtol=1e-5)
        assert stated[0] <= np.sqrt(len(x) / 2) * stated[1]


def test_rotations_leave_them_alone(tokens, key):
    turn = ts.dynamics.haar(jax.random.normal(key, (5, 5)))
    for measure in (see.collapse_distance, see.diameter, see.mean_cosine, see.effective_rank, see.numerical_rank):
        np.testing.assert_allclose(measure(tokens @ turn), measure(tokens), rtol=1e-5)


@pytest.mark.parametrize("rank", [1, 3])
def test_the_rank_is_that_of_a_product(key, rank):
    left, right = (
        jax.random.normal(k, shape) for k, shape in zip(jax.random.split(key), ((4, 7, rank), (4, rank, 5)), strict=True)
    )
    found = see.numerical_rank(left @ right)
    assert found.tolist() == [rank] * 4
    # planted: at a tolerance below rounding the rank of a product is not seen
    assert see.numerical_rank(left @ right, 1e-9).max() > rank


def test_a_collapsed_stack():
    same = jnp.ones((4, 3))
    assert float(see.collapse_distance(same)) == 0
    assert float(see.diameter(same)) == 0
    assert int(see.numerical_rank(same)) == 1
    np.testing.assert_allclose([float(see.mean_cosine(same)), float(see.effective_rank(same))], 1, rtol=1e-6)

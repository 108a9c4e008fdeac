"""Filters in the basis of their own span: the same Gram matrix, and the same test errors in law."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import theorysim as ts
from theorysim.exact import own_basis
from theorysim.observers import errors, fresh_errors

FIXED, FILTERS, POINTS, MODELS = 1, 4, 20_000, 6
LEVEL = 1e-4


def degenerate() -> dict[str, np.ndarray]:
    """Filters of full rank and not, with more and with fewer coordinates than filters."""
    rng = np.random.default_rng(2)
    v = rng.normal(size=(FILTERS, 9))
    return {
        "full rank": v,
        "two equal": v[[0, 0, 2, 3]],
        "opposite": v * np.array([1, 1, 1, 1])[:, None] - 2 * np.eye(4)[:, [3]] * v[3] - np.eye(4)[:, [3]] * v[0],
        "one zero": v * np.array([1, 0, 1, 1])[:, None],
        "all zero off the fixed span": v * (np.arange(9) < FIXED),
        "all parallel": np.outer([1, -2, 3, 0.5], v[0]),
        "nearly parallel": v[0] + 1e-9 * v,
        "fewer coordinates than filters": v[:, :3],
        "large": 1e8 * v,
    }


@pytest.mark.parametrize("case", degenerate())
def test_gram_is_kept(case):
    vectors = degenerate()[case]
    with jax.enable_x64(True):
        small = np.asarray(own_basis(jnp.asarray(vectors), FIXED))
    assert small.shape == (FILTERS, FIXED + min(FILTERS, vectors.shape[1] - FIXED))
    assert np.array_equal(small[:, :FIXED], vectors[:, :FIXED])
    np.testing.assert_allclose(small @ small.T, vectors @ vectors.T, rtol=0, atol=1e-13 * np.abs(vectors @ vectors.T).max())


def test_nearly_parallel_filters_stay_apart():
    """A Cholesky factor of the Gram matrix would lose differences under the square root of the precision."""
    vectors = degenerate()["nearly parallel"]
    with jax.enable_x64(True):
        small = np.asarray(own_basis(jnp.asarray(vectors), FIXED))
    apart = [np.linalg.norm(v[1] - v[2]) for v in (vectors, small)]
    assert apart[1] == pytest.approx(apart[0], rel=1e-5)


@pytest.fixture(scope="module")
def three_ways() -> dict[str, np.ndarray]:
    """Errors of biased models on fresh points: in their own basis, in the frame, and in a defective basis."""
    law = ts.laws.SignalNoise(signal=1.0, flip=0.1)

    rng, size, dims = np.random.default_rng(4), FIXED + FILTERS + 3, np.array([2.0, 3.0, 5.0, 8.0, 30.0, 1e6])
    # filters as a frame holds them, that have learned a signal and memorised a vector of their class
    side = np.repeat([1.0, -1.0], FILTERS // 2)
    filters = rng.normal(size=(MODELS, FILTERS, size)) + side[:, None] * rng.normal(size=(MODELS, 1, size))
    filters = (filters + side[:, None] * np.eye(1, size)) * (np.arange(size) < dims[:, None, None])
    biases = rng.normal(size=(MODELS, FILTERS))

    def one(key, dim, filters, bias):
        keys = ts.streams(key, "own", "points", "labels")
        space = ts.exact.Frame(dim, {"filters": filters}, FIXED, size, "reduced")
        model = ts.models.TwoLayerCNN(filters, bias=bias)
        direct = law(keys.labels, space.fresh(keys.points, POINTS))
        small = own_basis(filters, FIXED)
        shortened = jnp.where(jnp.eye(*small.shape, k=FIXED, dtype=bool) | (jnp.arange(small.shape[1]) < FIXED), small, 0)
        wrong = ts.models.TwoLayerCNN(shortened, bias=bias)
        return {
            "own": fresh_errors(law, keys.own, POINTS)(model),
            "frame": errors(model, direct),
            "wrong": fresh_errors(law, keys.own, POINTS)(wrong),
        }

    keys = jax.random.split(jax.random.key(9), MODELS)
    found = jax.jit(jax.vmap(one))(keys, *(jnp.asarray(a, jnp.float32) for a in (dims, filters, biases)))
    return {name: np.stack(pair, -1).astype(float) for name, pair in found.items()}


def scores(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """z-scores of equal proportions, of two independent samples of points."""
    both = (a + b) / 2
    return (a - b) / np.sqrt(2 * both * (1 - both) / POINTS)


def test_fresh_errors_are_those_of_the_frame(three_ways):
    """Errors on true signs and on labels of six models, from two samples of 20 000 points; level 1e-4 together (Bonferroni)."""
    z = scores(three_ways["own"], three_ways["frame"])
    assert z.shape == (MODELS, 2)
    assert np.abs(z).max() < stats.norm.isf(LEVEL / 2 / z.size)


def test_filters_without_their_correlations_are_rejected(three_ways):
    """Planted: only the diagonal of the triangular factor is kept."""
    z = scores(three_ways["wrong"], three_ways["frame"])
    assert np.abs(z).max() > stats.norm.isf(LEVEL / 2 / z.size)

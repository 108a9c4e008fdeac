"""The frame's Gram matrices against the Wishart law, near and below the number of vectors.

All z-tests of a test function together have level 1e-4 (Bonferroni): a sound frame fails one in 10 000 seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import theorysim as ts

MODULE = sys.modules[ts.exact.Frame.__module__]
FIXED, TRAIN, FILTERS, DRAWS = 1, 4, 2, 20_000
ROWS = TRAIN + FILTERS
#: below the number of vectors (7 with the fixed direction), at it, just above, far above
DIMS = (1, 3, 5, 6, 7, 8, 50, 1_000_000)
LEVEL = 1e-4


def rows_of(space: ts.exact.Frame) -> jax.Array:
    """All vectors of a frame in its full width."""
    wide = [jnp.pad(block, ((0, 0), (0, space.size - block.shape[1]))) for block in space.blocks.values()]
    return jnp.concatenate(wide)


def one(key: jax.Array, dim: jax.Array) -> jax.Array:
    return rows_of(ts.exact.frame(key, dim, fixed=FIXED, train=TRAIN, filters=FILTERS))


def over_all(one: Callable) -> Callable:
    return jax.vmap(jax.vmap(one, (0, None)), (None, 0))


def draw(run: Callable) -> np.ndarray:
    """Vectors of shape `(dims, draws, rows, size)`, all dimensions in one program: `dim` is traced."""
    keys = jax.random.split(jax.random.key(5), DRAWS)
    return np.asarray(run(keys, jnp.asarray(DIMS, float)), float)


def scores(vectors: np.ndarray, dim: int) -> dict[str, float]:
    """z-scores of means, variances and log-determinant of the Gram matrix, which is Wishart with `dim` degrees of freedom."""
    gram, found = vectors @ vectors.swapaxes(-1, -2), {}
    for i in range(ROWS):
        for j in range(i + 1):
            mean, variance = (dim, 2 * dim) if i == j else (0, dim)
            off = gram[:, i, j] - mean
            found[f"mean {i}{j}"] = off.mean() / np.sqrt(variance / DRAWS)
            found[f"variance {i}{j}"] = (np.mean(off**2) - variance) / (np.std(off**2) / np.sqrt(DRAWS))
    # the leading block that is not singular: log det = sum of logs of independent chi squares
    size = min(ROWS, dim)
    half = (dim - np.arange(size)) / 2
    log_det = np.linalg.slogdet(gram[:, :size, :size])[1]
    expected, variance = special.digamma(half).sum() + size * np.log(2), special.polygamma(1, half).sum()
    found["log-determinant"] = (log_det.mean() - expected) / np.sqrt(variance / DRAWS)
    return found


def rejected(drawn: np.ndarray) -> list[str]:
    found = {f"dim {dim}: {name}": z for dim, v in zip(DIMS, drawn, strict=True) for name, z in scores(v, dim).items()}
    limit = stats.norm.isf(LEVEL / 2 / len(found))
    return [f"{name}: z = {z:.1f}" for name, z in found.items() if not abs(z) < limit]


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    return draw(jax.jit(over_all(one)))


def test_gram_is_wishart(drawn):
    """Level 1e-4 over the 344 moments and log-determinants of eight dimensions."""
    assert rejected(drawn) == []


@pytest.mark.parametrize("dim", DIMS)
def test_columns_beyond_the_dimension_are_zero(drawn, dim):
    assert np.all(drawn[DIMS.index(dim)][..., dim:] == 0)


def test_rank(drawn):
    """No more than `dim` directions: below the number of vectors they are dependent."""
    for dim, vectors in zip(DIMS, drawn, strict=True):
        assert np.linalg.matrix_rank(vectors[0]) == min(dim, ROWS)


@pytest.fixture(scope="module")
def defective() -> Callable:
    """A frame with planted defects, one program for both: degrees of freedom too many, and entries beyond the dimension."""
    chi = MODULE.chi

    @jax.jit
    def run(keys, dims, extra, masked):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MODULE, "chi", lambda keys, degrees: chi(keys, degrees + extra))
            minimum = {"minimum": lambda pivot, dim: jnp.where(masked, jnp.minimum(pivot, dim), pivot)}
            patch.setattr(MODULE, "jnp", SimpleNamespace(**{**vars(jnp), **minimum}))
            return over_all(one)(keys, dims)

    return run


def test_the_program_of_the_defects_is_sound_without_them(defective, drawn):
    assert np.array_equal(draw(lambda keys, dims: defective(keys, dims, 0.0, True)), drawn)


def test_a_wrong_degree_of_freedom_is_rejected(defective):
    """Planted: every pivot has one degree of freedom too many."""
    found = rejected(draw(lambda keys, dims: defective(keys, dims, 1.0, True)))
    assert any("log-determinant" in name for name in found)
    # a frame far above the number of vectors cannot show it, which is why the test looks near it
    assert not any(f"dim {DIMS[-1]}:" in name for name in found)


def test_a_missing_column_mask_is_rejected(defective):
    """Planted: entries before the pivot are drawn in columns beyond the dimension too."""
    found = rejected(draw(lambda keys, dims: defective(keys, dims, 0.0, False)))
    assert {name.split(":")[0] for name in found} == {"dim 1", "dim 3", "dim 5"}


@pytest.fixture(scope="module")
def fresh() -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """For one frame of each dimension, its rows, and fresh points seen from it."""

    def seen(dim):
        space = ts.exact.frame(jax.random.key(6), dim, fixed=FIXED, train=TRAIN, filters=FILTERS)
        return rows_of(space), space.fresh(jax.random.key(7), DRAWS)

    rows, points = jax.jit(jax.vmap(seen))(jnp.asarray(DIMS, float))
    return dict(zip(DIMS, zip(np.asarray(rows, float), np.asarray(points, float), strict=True), strict=True))


def product_scores(rows: np.ndarray, points: np.ndarray) -> list[float]:
    """z-scores of the first two moments of the products with the frame: given the frame they are N(0, G)."""
    products, gram, found = points @ rows.T, rows @ rows.T, []
    for i in range(ROWS):
        found.append(products[:, i].mean() / np.sqrt(gram[i, i] / DRAWS))
        for j in range(i + 1):
            variance = gram[i, i] * gram[j, j] + gram[i, j] ** 2
            found.append((np.mean(products[:, i] * products[:, j]) - gram[i, j]) / np.sqrt(variance / DRAWS))
    return found


def test_products_of_fresh_points_with_the_frame(fresh):
    """Level 1e-4 over 27 moments at each of eight dimensions."""
    found = [z for rows, points in fresh.values() for z in product_scores(rows, points)]
    assert np.max(np.abs(found)) < stats.norm.isf(LEVEL / 2 / len(found))


def test_products_with_another_frame_are_rejected(fresh):
    """Planted: fresh points of variance 1.1 instead of 1."""
    rows, points = fresh[50]
    assert np.max(np.abs(product_scores(rows, np.sqrt(1.1) * points))) > stats.norm.isf(LEVEL / 2 / 27)


def test_products_are_gaussian(fresh):
    """Kolmogorov-Smirnov of the standardised products with each row at dim 50, level 1e-4 together."""
    rows, points = fresh[50]
    standard = points @ rows.T / np.linalg.norm(rows, axis=1)
    assert min(stats.kstest(column, "norm").pvalue for column in standard.T) > LEVEL / ROWS


@pytest.mark.parametrize("dim", DIMS)
def test_fresh_points_are_zero_beyond_the_dimension(fresh, dim):
    assert np.all(fresh[dim][1][:, dim:] == 0)
    assert np.all(fresh[dim][1][:, :dim] != 0)

"""The sampler of chi variables against their law."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from theorysim.exact._chi import chi

DRAWS = 20_000
DEGREES = (1, 2, 3, 7, 50, 1_000_000, 1_000_000_000, 0, -3)
#: each test of a law is made at this level
LEVEL = 1e-4


sample = jax.jit(chi)


def arguments() -> tuple[jax.Array, jax.Array]:
    degrees = jnp.repeat(jnp.asarray(DEGREES, jnp.float32), DRAWS)
    return jax.random.split(jax.random.key(11), degrees.size), degrees


@pytest.fixture(scope="module")
def draws() -> dict[int, np.ndarray]:
    drawn = sample(*arguments())
    assert drawn.dtype == jnp.float32
    return dict(zip(DEGREES, np.asarray(drawn, float).reshape(len(DEGREES), DRAWS), strict=True))


@pytest.mark.parametrize("degrees", [k for k in DEGREES if 0 < k <= 1_000_000])
def test_law(draws, degrees):
    """Kolmogorov-Smirnov at level 1e-4 for each number of degrees, in float32."""
    assert stats.kstest(draws[degrees], stats.chi(degrees).cdf).pvalue > LEVEL


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 50])
def test_one_degree_more_is_rejected(draws, degrees):
    """The same test sees a planted defect: a law with one degree of freedom more."""
    assert stats.kstest(draws[degrees], stats.chi(degrees + 1).cdf).pvalue < LEVEL


def test_moments_at_a_billion_degrees(draws):
    """Mean and variance by z-tests, each at level 1e-4: the steps of float32 are too coarse there for a test of the law.

    With k degrees the mean is sqrt(k) up to 1/(4 sqrt(k)), the variance 1/2, and the limit is Gaussian.
    """
    x, z = draws[1_000_000_000] - np.sqrt(1e9), stats.norm.isf(LEVEL / 2)
    assert abs(x.mean()) < z * np.sqrt(0.5 / DRAWS)
    assert abs(x.var() - 0.5) < z * 0.5 * np.sqrt(2 / DRAWS)


@pytest.mark.parametrize("degrees", [0, -3])
def test_zero_without_degrees(draws, degrees):
    assert np.all(draws[degrees] == 0)


def test_a_draw_depends_on_its_own_key_alone(draws):
    """A vector is redrawn until all its entries are accepted; accepted entries must not be touched by that."""
    keys, degrees = arguments()
    # the same entries in another order, beside entries that have twice the degrees of freedom
    changed = jnp.where(jnp.arange(degrees.size) % 2 == 0, degrees, 2 * degrees)[::-1]
    again = np.asarray(sample(keys[::-1], changed), float)[::-1].reshape(len(DEGREES), DRAWS)
    for row, k in zip(again, DEGREES, strict=True):
        assert np.array_equal(row[::2], draws[k][::2])

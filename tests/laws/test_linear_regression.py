"""The regression law: its moments, and what it refuses."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import theorysim as ts

Law = ts.laws.LinearRegression
COUNT = 40_000


def draw(law):
    vectors = jax.random.normal(jax.random.key(3), (COUNT, 4))
    return np.asarray(vectors), law(jax.random.key(4), vectors)


def test_without_noise_the_label_is_the_function():
    vectors, batch = draw(Law(target=2.5))
    np.testing.assert_array_equal(batch.patches[0], vectors)
    np.testing.assert_allclose(batch.label, 2.5 * vectors[:, 0], rtol=1e-6)
    np.testing.assert_array_equal(batch.sign, np.sign(vectors[:, 0]))


def test_noise():
    """Its mean, its variance and its independence of the inputs, to five standard errors; a variance off by 5 % is seen."""
    vectors, batch = draw(Law(target=2.0, noise=0.5))
    noise = np.asarray(batch.label) - 2 * vectors[:, 0]
    assert abs(noise.mean()) < 5 * 0.5 / COUNT**0.5
    assert np.abs(noise @ vectors / COUNT).max() < 5 * 0.5 / COUNT**0.5
    error = 5 * 0.25 * (2 / COUNT) ** 0.5
    assert abs((noise**2).mean() - 0.25) < error < 0.05 * 0.25 * 5
    assert abs((noise**2).mean() - 1.05**2 * 0.25) > error / 2


@pytest.mark.parametrize(("arguments", "said"), [({"target": -1.0}, "target = -1.0"), ({"noise": float("nan")}, "noise = nan")])
def test_refused(arguments, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        Law(**arguments)
    assert "\n" not in str(refusal.value)

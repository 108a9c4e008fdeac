"""Formulas of position bias against the powers of explicit attention matrices."""

from __future__ import annotations

import numpy as np
import pytest

from theorysim.theory import position_bias as theory


def uniform(n: int, decay: float = 0.0) -> np.ndarray:
    """One causal layer without content."""
    back = np.arange(n)[:, None] - np.arange(n)
    weight = np.where(back >= 0, np.exp(-decay * np.maximum(back, 0)), 0)
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("layers", [1, 2, 5, 20])
def test_mass_bound(layers):
    n = 12
    context = np.linalg.matrix_power(uniform(n), layers)
    for j in range(2, n + 1):
        mass = context[:, j - 1 :].sum(axis=1).max()
        assert mass <= theory.mass_bound(j, 1 / n, layers) + 1e-12
    # a planted defect: one token more before j
    assert context[:, 1:].sum(axis=1).max() > theory.mass_bound(3, 0.5, layers)


@pytest.mark.parametrize("layers", [2, 4, 8])
def test_decay_profile_and_its_peak(layers):
    n, m = 80, 0.3
    last = np.linalg.matrix_power(uniform(n, m), layers)[-1, ::-1]
    stated = theory.decay_profile(np.arange(30), layers, m)
    np.testing.assert_allclose(last[:30] / last[0], stated, rtol=0.02)
    assert last.argmax() == np.floor(theory.peak(layers, m))
    # a planted defect: one layer more
    assert not np.allclose(last[:30] / last[0], theory.decay_profile(np.arange(30), layers + 1, m), rtol=0.1)


def test_ties_of_the_peak():
    m = np.log(1.5)  # x* = 2 (T - 1), whole
    profile = theory.decay_profile(np.arange(10), 3, m)
    assert theory.peak(3, m) == pytest.approx(4)
    assert profile[3] == pytest.approx(profile[4])
    assert profile.max() == pytest.approx(profile[4])


def test_window_factor():
    assert theory.delay(16, 16) == 2
    assert theory.delay(17, 5) == 8

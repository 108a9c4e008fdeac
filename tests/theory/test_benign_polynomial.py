"""The formulas of benign overfitting with a polynomial ReLU, and the race by a brute-force integration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorysim.theory import benign_polynomial as theory

powers = st.integers(3, 6)


@given(st.integers(1, 10**4), powers, st.floats(0.1, 10))
def test_critical_snr_inverts_the_ratio(n, power, constant):
    assert theory.signal_ratio(n, theory.critical_snr(n, power, constant), power) == pytest.approx(constant)


@given(powers, st.integers(2, 1000))
def test_equal_luck_gives_two(power, n):
    """A class of half of the samples, all as lucky as the signal: n SNR^q = 2."""
    assert theory.race_constant(1.7, np.full(n, 1.7), power, 2 * n) == pytest.approx(2.0)


def integrated(g, v, q, n, ratio):
    """Whether the signal explodes before the noise of its own class stops pushing it, by small steps."""
    snr = theory.critical_snr(n, q, ratio)
    signal, noise, step = snr * g, v.copy(), 1e-4 * n
    for _ in range(400_000):
        pushing = noise < 1e3
        if not pushing.any() or signal > 1e3:
            break
        signal += step * snr**2 / n * pushing.sum() * signal ** (q - 1)
        noise += step / n * np.where(pushing, noise, 0) ** (q - 1)
    return signal > 1e3


@pytest.mark.parametrize("q", [3, 4])
def test_the_race_is_that_of_its_equations(q):
    v = np.abs(np.random.default_rng(q).normal(1.5, 0.3, 6))
    constant = float(theory.race_constant(1.6, v, q, 12))
    assert integrated(1.6, v, q, 12, 1.05 * constant)
    assert not integrated(1.6, v, q, 12, 0.95 * constant)
    # planted: without the luck of the signal, or with the power of another q, well below a wrong constant it is learned
    assert integrated(1.6, v, q, 12, 0.95 * 12 / (v ** (2 - q)).sum())
    assert abs(float(theory.race_constant(1.6, v, q + 1, 12)) / constant - 1) > 0.05


def test_scalings():
    time = theory.learning_time(0.1, 10, 0.01, 5.0, 3)
    assert theory.learning_time(0.1, 10, 0.005, 5.0, 3) == pytest.approx(2 * time)
    assert theory.learning_time(0.1, 10, 0.01, 10.0, 3) == pytest.approx(time / 8)
    assert theory.learning_time(0.2, 10, 0.01, 5.0, 3) == pytest.approx(time / 2)
    assert theory.learning_time(0.1, 10, 0.01, 5.0, 4) / theory.learning_time(0.1, 10, 0.02, 5.0, 4) == pytest.approx(4)


def test_limits_of_the_losses():
    assert theory.benign_loss(0.0, 100) == 0
    assert theory.benign_loss(0.01, 1) == pytest.approx(0.06 + np.exp(-1))
    assert theory.harmful_loss() == 0.1

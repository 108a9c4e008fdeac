"""The formulas of benign overfitting in ReLU CNNs: values, inverses, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorysim.theory import benign_relu as theory

positive = st.floats(0.1, 100)


@given(st.integers(1, 10**4), positive, st.floats(2, 1e9), positive)
def test_critical_signal_inverts_the_ratio(n, constant, dim, noise):
    signal = theory.critical_signal(n, dim, constant, noise)
    assert theory.signal_to_noise(n, signal, dim, noise) == pytest.approx(constant, rel=1e-9)


@given(st.integers(1, 10**4), positive, st.floats(2, 1e6), positive)
def test_scalings(n, signal, dim, noise):
    """Sixteen times the dimension needs twice the signal; the ratio sees signal and noise through their quotient alone."""
    ratio = theory.signal_to_noise(n, signal, dim, noise)
    assert theory.signal_to_noise(n, 2 * signal, 16 * dim, noise) == pytest.approx(ratio)
    assert theory.signal_to_noise(n, 3 * signal, dim, 3 * noise) == pytest.approx(ratio)
    assert theory.critical_signal(n, 16 * dim, 1.0) == pytest.approx(2 * theory.critical_signal(n, dim, 1.0))


def test_values():
    assert theory.signal_to_noise(20, 5.0, 100.0) == 125.0
    assert theory.critical_signal(20, 100.0, 12.5) == pytest.approx(2.8117, abs=1e-4)
    assert theory.benign_error(0.1, 2.0, 1.0) == pytest.approx(0.1 + np.exp(-2))
    assert theory.harmful_error(0.1) == pytest.approx(0.2)


@given(st.floats(0, 0.5), positive)
def test_the_upper_bound_falls_to_the_flips(flip, constant):
    ratio = np.geomspace(1e-3, 1e6, 30)
    bound = theory.benign_error(flip, ratio, constant)
    assert bound.shape == ratio.shape
    assert np.all(np.diff(bound) <= 0)
    assert np.all(bound >= flip)
    assert bound[-1] == pytest.approx(flip, abs=1e-9)
    assert bound[0] <= flip + 1

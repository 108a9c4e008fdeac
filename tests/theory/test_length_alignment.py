"""Slopes and misalignment of length alignment against numerical derivatives and their definition."""

from __future__ import annotations

import numpy as np
import pytest

import theorysim as ts

theory = ts.theory.length_alignment


@pytest.mark.parametrize("limit", [10.0, 25.0])
def test_the_slope_is_the_derivative_of_the_error(limit):
    length, step = np.array([45.0, 300.0]), 1e-5
    up, down = (theory.saturated_error(length * (1 + s), limit) for s in (step, -step))
    change = np.log(length * (1 + step) - 10) - np.log(length * (1 - step) - 10)
    np.testing.assert_allclose(theory.saturated_slope(length, 10.0, limit), (np.log(up) - np.log(down)) / change, rtol=1e-6)
    assert (theory.saturated_slope(length, 10.0, limit) > 2.01).all() == (limit > 10)
    assert abs(theory.saturated_slope(1e6, 10.0, limit) - 2) < 1e-4


def test_misalignment_is_the_excess_of_the_symmetric_cross_entropy():
    """Of unit Gaussians, by quadrature, halved; a lost factor 2 would be seen."""
    grid = np.linspace(-12, 12, 20001)
    p, q = (np.exp(-((grid - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (0.3, 1.1))
    cross = -np.trapezoid(p * np.log(q) + q * np.log(p), grid) / 2
    alone = -np.trapezoid(p * np.log(p), grid)
    assert np.isclose(theory.misalignment(np.array(0.3), np.array(1.1)), cross - alone, rtol=1e-6)

"""The boundary's form."""

from __future__ import annotations

import numpy as np

import theorysim as ts

theory = ts.theory.vit_benign


def test_the_boundary_has_one_strength():
    n = np.array([10.0, 40.0, 160.0])
    snr = theory.boundary(n, 2.5)
    np.testing.assert_allclose(theory.strength(n, snr * np.sqrt(1000), 1.0, 1000), 2.5, rtol=1e-12)
    assert np.isclose(np.polyfit(np.log(n), np.log(snr), 1)[0], -0.5)
    assert not np.isclose(theory.strength(10.0, 2.0, 2.0, 1000), theory.strength(10.0, 2.0, 1.0, 1000))

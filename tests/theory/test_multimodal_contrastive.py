"""The stated growth rates against one another."""

from __future__ import annotations

import numpy as np

import theorysim as ts

theory = ts.theory.multimodal_contrastive


def test_rates_are_equal_at_the_threshold():
    gain = theory.threshold(5.0, 1.0, 2000, 100)
    signal = theory.signal_growth(0.01, 5.0, gain, 0.5)
    assert np.isclose(signal, theory.noise_growth(0.01, 1.0, 2000, 100, 0.5, 1.06))
    assert not np.isclose(signal, theory.noise_growth(0.01, 1.0, 2000, 100, 0.5))


def test_the_first_loss_counts_negatives():
    label = [1, 1, 1, -1]
    assert np.isclose(theory.first_loss(label), (3 * np.log(2) + np.log(4)) / 4)
    assert np.isclose(theory.first_loss(label, 2), 2 * theory.first_loss(label))

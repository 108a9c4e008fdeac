"""The overlap of sparse supports against drawn ones, and slopes against one step of SignGD."""

from __future__ import annotations

import numpy as np

import theorysim as ts

theory = ts.theory.signgd_transformer


def test_the_overlap_is_the_share_of_the_push_that_is_kept():
    """Signs of sums over overlapping supports, 400 draws; within 4 standard errors."""
    rng, n, s, d = np.random.default_rng(0), 12, 30, 300
    kept = []
    for _ in range(400):
        xi = np.zeros((n, d))
        for row in xi:
            row[rng.choice(d, s, replace=False)] = rng.normal(size=s)
        step = np.sign(xi.sum(axis=0))
        kept.append(np.mean(xi @ step) / s / theory.MEAN_ABS)
    error = np.std(kept) / np.sqrt(len(kept))
    assert abs(np.mean(kept) - theory.overlap(n, s, d)) < 4 * error
    assert abs(np.mean(kept) - 1) > 4 * error  # overlap matters


def test_the_attention_is_gone_at_the_scaled_time():
    at = 2 / (theory.value_slope(1e-4, 40, 2.0) / 2 * np.sqrt(50))
    assert np.isclose(theory.noise_attention(at, 50, 1e-4, 40, 2.0), 1 / (1 + np.exp(4)))
    assert theory.noise_attention(0, 50, 1e-4, 40, 2.0) == 0.5

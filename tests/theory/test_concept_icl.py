"""Attention and error from two products against drawn prompts."""

from __future__ import annotations

import numpy as np
import pytest

from theorysim.theory import concept_icl as theory


def drawn(semantic, shared, other, length, others, query_others, count=200_000):
    """The same by drawing signs, with the scores written out."""
    rng = np.random.default_rng(3)
    sigma, tau = (rng.choice([-1.0, 1.0], (count, length)) for _ in range(2))
    both = (rng.random((count, length)) < others) & (rng.random((count, 1)) < query_others)
    weight = np.exp(sigma * semantic + both * (shared + tau * other))
    found = (weight * sigma).sum(axis=1) / weight.sum(axis=1)
    kept = (sigma > 0).any(axis=1)
    ties = np.abs(found) < 1e-9
    return ((1 + found) / 2)[kept].mean(), np.where(ties, 0.5, found < 0)[kept].mean()


@pytest.mark.parametrize("case", [(0.7, 0.3, 0.7, 4, 0.5, 0.5), (2.0, 0.2, 1.0, 3, 0.9, 1.0), (0.4, 0.0, 0.4, 5, 0.0, 0.5)])
def test_reading(case):
    semantic, shared, other, length, others, query_others = case
    stated = theory.reading(semantic, shared, length, others, query_others, other)
    matching, error = drawn(semantic, shared, other, length, others, query_others)
    assert stated.matching == pytest.approx(matching, abs=0.005)
    assert stated.error == pytest.approx(error, abs=0.005)
    # a planted defect: half the product
    assert theory.reading(semantic / 2, shared, length, others, query_others, other).matching < matching - 0.02


def test_reading_of_arrays_is_that_of_numbers():
    b, a = np.array([0.1, 1.0, 3.0]), np.array([0.5, 0.2, 0.0])
    together = theory.reading(b, a, 3, 0.5, 0.5)
    for k in range(3):
        alone = theory.reading(b[k], a[k], 3, 0.5, 0.5)
        assert (together.matching[k], together.error[k]) == pytest.approx(tuple(alone))


def test_large_products_leave_the_prompts_that_match_the_wrong_concept():
    assert theory.reading(50.0, 0.0, 4).error == 0
    assert theory.reading(50.0, 0.0, 4, 1.0, 1.0).error > 0.05


def test_cross_entropy_floor_is_the_least_over_sizes():
    f, p = np.linspace(0, 8, 4001), theory.unmatched(4)
    loss = p * np.logaddexp(0, f) + (1 - p) * np.logaddexp(0, -f)
    assert loss.min() == pytest.approx(theory.cross_entropy_floor(4), rel=1e-6)
    assert f[loss.argmin()] == pytest.approx(np.log((1 - p) / p), abs=0.01)


def test_parts_are_those_of_two_words():
    a, b = theory.parts(1.5, 0.3)
    plus, minus = np.array([a, b]), np.array([a, -b])
    assert plus @ plus == pytest.approx(1.5**2)
    assert plus @ minus == pytest.approx(0.3 * 1.5**2)

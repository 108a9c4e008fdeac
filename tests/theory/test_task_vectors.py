"""The margin of vector arithmetic against all words of a concept."""

from __future__ import annotations

import numpy as np
import pytest

import theorysim as ts


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_the_margin_is_the_least_over_the_words(share):
    rng = np.random.default_rng(0)
    astray = []
    for _ in range(50):
        v = rng.normal(size=2)
        v /= np.linalg.norm(v)
        h = v + np.array([share, 1.0])
        answer, others = np.array([1.0, 1.0]), np.array([[1, 0], [0, 1], [1, -1], [share, 1.0]])
        least = np.min(h @ answer - others @ h)
        found = ts.theory.task_vectors.margin(v[0], v[1], share)
        assert np.isclose(found, least)
        astray.append(np.isclose(np.min(v @ answer - others @ v), found))
    assert not all(astray)  # without the query's own part the margin is another one

"""Rotated sequences: the process, and the starts."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import theorysim as ts


def test_process():
    drawn = ts.laws.Rotations(3)(jax.random.key(0), 5, 7)
    turned = drawn.states[:, 1:] / drawn.states[:, :-1]
    np.testing.assert_allclose(turned, np.broadcast_to(np.exp(1j * drawn.angles)[:, None], turned.shape), rtol=1e-4)
    np.testing.assert_array_equal(drawn.tokens[:, 1:, 3:], drawn.states[:, :-1])
    assert not np.any(drawn.tokens[:, 0, 3:])


def test_starts():
    draw = lambda **options: np.asarray(ts.laws.Rotations(4, scale=2.0, **options).starts(jax.random.key(1), 5000))  # noqa: E731
    assert np.all(draw(power=0.0, aligned=1.0) == 2)
    signs = draw(power=0.0)
    assert set(np.unique(signs)) == {-2.0, 2.0}
    assert abs(signs.mean()) < 0.06
    sparse = draw(power=0.0, sparse=1.0)
    assert np.all((sparse != 0).sum(axis=1) == 1)
    assert np.allclose((sparse != 0).mean(axis=0), 0.25, atol=0.03)
    gaussian = draw()
    assert abs(gaussian.std() - 2) < 0.06
    assert abs((gaussian**4).mean() / 16 - 3) < 0.4


def test_bad_dimension():
    with pytest.raises(ts.InvalidArgument):
        ts.laws.Rotations(0)

"""The autoregressive loss, by hand."""

from __future__ import annotations

import jax
import numpy as np

import theorysim as ts


def test_by_hand():
    drawn = ts.laws.Rotations(2)(jax.random.key(0), 4, 6)
    said = 0.3 * drawn.tokens[..., :2]
    off = np.asarray(said)[:, 1:-1] - np.asarray(drawn.states)[:, 2:]
    wanted = 0.5 * np.mean(np.sum(abs(off) ** 2, axis=(1, 2)))
    found = ts.objectives.autoregressive(drawn)(lambda tokens: 0.3 * tokens[..., :2], None)
    assert np.isclose(float(found), wanted, rtol=1e-5)
    # planted: the first prediction, which has no past, is not counted
    assert not np.isclose(wanted, wanted + 0.5 * np.mean(np.sum(abs(said[:, 0] - drawn.states[:, 1]) ** 2, axis=1)))

"""The signal-noise law: its moments, and what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import theorysim as ts

SignalNoise = ts.laws.SignalNoise
COUNT = 40_000
LEVEL = 1e-4


@pytest.fixture(scope="module")
def batches():
    def draw(key):
        vectors = jax.random.normal(jax.random.fold_in(key, 1), (COUNT, 3))
        laws = {
            "plain": SignalNoise(signal=3.0, noise=0.5, flip=0.2),
            "one-sided": SignalNoise(signal=1.0, flip_plus=0.3, flip_minus=0.05),
            "one side alone": SignalNoise(signal=1.0, flip_minus=0.4),
            "projected": SignalNoise(signal=3.0, noise=2.0, projected=True),
        }
        return {name: law(key, vectors) for name, law in laws.items()}, vectors

    return jax.device_get(jax.jit(draw)(jax.random.key(13)))


def test_signs_are_fair(batches):
    """A binomial test at level 1e-4."""
    sign = batches[0]["plain"].sign
    assert stats.binomtest(int((sign > 0).sum()), COUNT, 0.5).pvalue > LEVEL


@pytest.mark.parametrize(
    ("name", "plus", "minus"), [("plain", 0.2, 0.2), ("one-sided", 0.3, 0.05), ("one side alone", 0, 0.4), ("projected", 0, 0)]
)
def test_flips(batches, name, plus, minus):
    """Binomial tests, each at level 1e-4; and a rate three hundredths higher is rejected."""
    batch = batches[0][name]
    for side, rate in ((1, plus), (-1, minus)):
        mine = batch.sign == side
        flipped, count = int((batch.label[mine] != side).sum()), int(mine.sum())
        assert stats.binomtest(flipped, count, rate).pvalue > LEVEL
        assert stats.binomtest(flipped, count, rate + 0.03).pvalue < LEVEL


def test_patches(batches):
    found, vectors = batches
    np.testing.assert_array_equal(found["plain"].patches[0], 3 * found["plain"].sign[:, None])
    np.testing.assert_array_equal(found["plain"].patches[1], 0.5 * vectors)
    projected = found["projected"].patches[1]
    assert np.all(projected[:, 0] == 0)
    np.testing.assert_array_equal(projected[:, 1:], 2 * vectors[:, 1:])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"signal": -1.0}, "signal = -1.0: must be in"),
        ({"signal": 1.0, "noise": -0.1}, "noise = -0.1: must be in"),
        ({"signal": 1.0, "flip": 0.6}, "flip = 0.6: must be in"),
        ({"signal": 1.0, "flip": float("nan")}, "flip = nan: must be in"),
        ({"signal": 1.0, "flip_minus": 0.7}, "flip_minus = 0.7: must be in"),
        ({"signal": 1.0, "flip": 0.1, "flip_plus": 0.2}, "flip = 0.1: give it, or flip_plus and flip_minus, not both"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        SignalNoise(**arguments)
    assert "\n" not in str(refusal.value)


def test_traced_numbers_pass():
    shapes = jax.eval_shape(
        lambda number: SignalNoise(signal=number, noise=number, flip_plus=number)(jax.random.key(0), jnp.ones((4, 2))), 0.3
    )
    assert shapes.label.shape == (4,)

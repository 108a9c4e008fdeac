"""The two-bit law: its flips in each environment, its patches, and what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import theorysim as ts

TwoBit = ts.laws.TwoBit
COUNT, LEVEL = 40_000, 1e-4
ALPHA, BETAS, STRENGTHS = 0.25, (0.1, 0.2), (2.0, 0.5)


@pytest.fixture(scope="module")
def drawn():
    def draw(key):
        vectors = jax.random.normal(jax.random.fold_in(key, 1), (COUNT, 4))
        return TwoBit(ALPHA, BETAS, 0.5, STRENGTHS)(key, vectors), vectors

    return jax.device_get(jax.jit(draw)(jax.random.key(13)))


def test_environments_have_equal_sizes(drawn):
    assert np.bincount(drawn[0].group).tolist() == [COUNT // 2, COUNT // 2]
    uneven = TwoBit(ALPHA, (0.1, 0.2, 0.3))(jax.random.key(0), jnp.ones((8, 3)))
    assert sorted(np.bincount(np.asarray(uneven.group))) == [2, 3, 3]


def test_flips(drawn):
    """Binomial tests, each at level 1e-4; rates two hundredths off, or those of the other environment, are rejected."""
    batch, _ = drawn
    agree = batch.patches[0] * batch.sign[:, None] > 0
    for e, beta in enumerate(BETAS):
        mine, count = batch.group == e, COUNT // 2
        for column, rate in ((0, ALPHA), (1, beta)):
            flipped = int((~agree[mine, column]).sum())
            assert stats.binomtest(flipped, count, rate).pvalue > LEVEL
            assert stats.binomtest(flipped, count, rate + 0.02).pvalue < LEVEL
        assert stats.binomtest(int((~agree[mine, 1]).sum()), count, BETAS[1 - e]).pvalue < LEVEL


def test_the_bits_are_independent_given_the_class(drawn):
    """Fisher's exact test within each environment at level 1e-4; one bit used for both would be seen."""
    batch, _ = drawn
    agree = batch.patches[0] * batch.sign[:, None] > 0
    for e in range(2):
        first, second = agree[batch.group == e].T
        table = [[np.sum(first & second), np.sum(first & ~second)], [np.sum(~first & second), np.sum(~first & ~second)]]
        assert float(np.asarray(stats.fisher_exact(table))[1]) > LEVEL


def test_patches(drawn):
    batch, vectors = drawn
    np.testing.assert_array_equal(np.abs(batch.patches[0]), np.broadcast_to(STRENGTHS, (COUNT, 2)))
    np.testing.assert_array_equal(batch.patches[1][:, 2:], 0.5 * vectors[:, 2:])
    assert not batch.patches[1][:, :2].any()
    np.testing.assert_array_equal(batch.sign, batch.label)


def test_a_feature_that_is_hidden_changes_nothing_else():
    key, vectors = jax.random.key(2), jnp.ones((50, 4))
    both, one = TwoBit(ALPHA, BETAS)(key, vectors), TwoBit(ALPHA, BETAS, strengths=(0.0, 1.0))(key, vectors)
    assert not one.patches[0][:, 0].any()
    np.testing.assert_array_equal(one.patches[0][:, 1], both.patches[0][:, 1])
    np.testing.assert_array_equal(one.sign, both.sign)


def test_the_flips_may_be_an_array():
    flips, key, vectors = np.array([0.1, 0.2]), jax.random.key(0), jnp.ones((9, 3))
    np.testing.assert_array_equal(TwoBit(0.2, flips)(key, vectors).patches[0], TwoBit(0.2, [0.1, 0.2])(key, vectors).patches[0])
    shapes = jax.eval_shape(lambda flips, alpha: TwoBit(alpha, flips)(key, vectors), jnp.asarray(flips), 0.1)
    assert shapes.patches[0].shape == (9, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"invariant_flip": -0.1, "spurious_flips": [0.1]}, "invariant_flip = -0.1: must be in"),
        ({"invariant_flip": 0.1, "spurious_flips": [0.1, 1.5]}, "spurious_flips = 1.5: must be in"),
        ({"invariant_flip": 0.1, "spurious_flips": []}, "must be one for each of at least one environment"),
        ({"invariant_flip": 0.1, "spurious_flips": 0.3}, "must be one for each of at least one environment"),
        ({"invariant_flip": 0.1, "spurious_flips": [0.1], "noise": -1.0}, "noise = -1.0: must be in"),
        ({"invariant_flip": 0.1, "spurious_flips": [0.1], "strengths": (1.0, -1.0)}, "strengths = -1.0: must be in"),
        ({"invariant_flip": 0.1, "spurious_flips": [0.1], "strengths": (1.0,)}, "must be two"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        TwoBit(**arguments)
    assert "\n" not in str(refusal.value)

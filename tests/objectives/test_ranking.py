"""The Plackett-Luce loss against its probability, item by item."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import theorysim as ts

plackett_luce = ts.objectives.plackett_luce


def probability(scores, rewards):
    """Of drawing the items in the order of their rewards, one after the other."""
    order, total = np.argsort(-rewards), 1.0
    for i in range(len(order)):
        weights = np.exp(scores[order[i:]])
        total *= weights[0] / weights.sum()
    return total


def test_it_is_the_negative_log_probability():
    rng = np.random.default_rng(0)
    scores, rewards = rng.normal(size=(3, 6)), rng.uniform(size=(3, 6))
    stated = [-np.log(probability(s, r)) for s, r in zip(scores, rewards, strict=True)]
    np.testing.assert_allclose(plackett_luce(jnp.asarray(scores), jnp.asarray(rewards)), stated, rtol=1e-5)
    assert not np.allclose(plackett_luce(jnp.asarray(scores), jnp.asarray(-rewards)), stated, rtol=0.05)


def test_items_that_are_not_given_play_no_part():
    rng = np.random.default_rng(1)
    scores, rewards = rng.normal(size=6), rng.uniform(size=6)
    given = np.array([True, True, False, True, False, False])
    found = plackett_luce(jnp.asarray(scores), jnp.asarray(rewards), jnp.asarray(given))
    assert np.isclose(found, -np.log(probability(scores[given], rewards[given])), rtol=1e-5)

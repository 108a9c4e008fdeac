"""Steps of descent on rankings against autodiff, and as what softmax heads compute; exact in x64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

theory = ts.theory.self_correction


@pytest.fixture
def drawn():
    rng = np.random.default_rng(7)
    return 0.3 * rng.normal(size=(3, 4)), rng.normal(size=4), 0.5 * rng.normal(size=(5, 3)), rng.uniform(size=5)


def by_autodiff(w, x, responses, rewards, rate):
    with jax.enable_x64(True):

        def loss(w):
            scores = -jnp.sum((w @ x - responses) ** 2, axis=1)
            return ts.objectives.plackett_luce(scores, jnp.asarray(rewards))

        return w - rate * np.asarray(jax.grad(loss)(jnp.asarray(w)))


def test_a_step_on_a_pair(drawn):
    w, x, responses, rewards = drawn
    better, worse = responses[:2] if rewards[0] > rewards[1] else responses[1::-1]
    found = by_autodiff(w, x, responses[:2], rewards[:2], 0.1)
    np.testing.assert_allclose(theory.bradley_terry_step(w, x, better, worse, 0.1), found, rtol=1e-12)
    assert not np.allclose(theory.bradley_terry_step(w, x, worse, better, 0.1), found, rtol=1e-3)


def test_a_step_on_a_list(drawn):
    w, x, responses, rewards = drawn
    found = by_autodiff(w, x, responses, rewards, 0.1)
    order = np.argsort(-rewards)
    np.testing.assert_allclose(theory.plackett_luce_step(w, x, responses[order], 0.1), found, rtol=1e-12)
    assert not np.allclose(theory.plackett_luce_step(w, x, responses, 0.1), found, rtol=1e-3)


def test_two_softmax_heads_and_a_product_make_the_step_on_a_pair(drawn):
    """The construction: heads of opposite sharpness read the better and the worse response, a gate their margin."""
    w, x, responses, rewards = drawn
    better, worse = (theory.selected(responses[:2], rewards[:2], sharpness) for sharpness in (1e5, -1e5))
    found = by_autodiff(w, x, responses[:2], rewards[:2], 0.1)
    np.testing.assert_allclose(theory.bradley_terry_step(w, x, better, worse, 0.1), found, rtol=1e-12)
    soft = [theory.selected(responses[:2], rewards[:2], sharpness) for sharpness in (1.0, -1.0)]
    assert not np.allclose(theory.bradley_terry_step(w, x, *soft, 0.1), found, rtol=1e-3)  # blunt heads do not

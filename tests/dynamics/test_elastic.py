"""Elastic weights: nothing at strength 0, the penalty's gradient in closed form, its stability, and no reduced frame."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import theorysim as ts


def setting(strength, lr=0.1, objective=None):
    """A rule held to filters of 1, from filters of 3 with biases; the importance grows with the place."""
    batch = ts.laws.SignalNoise(signal=2.0)(jax.random.key(0), jax.random.normal(jax.random.key(1), (6, 5)))
    anchor = ts.models.TwoLayerCNN(jnp.ones((4, 5)), bias=jnp.zeros(4))
    importance = jax.tree.map(lambda a: jnp.arange(1.0, a.size + 1).reshape(a.shape) / 20, nnx.state(anchor, nnx.Param))
    rule = ts.dynamics.elastic(objective or ts.objectives.logistic(batch), optax.sgd(lr), anchor, importance, strength)
    return rule, ts.models.TwoLayerCNN(jnp.full((4, 5), 3.0), bias=jnp.ones(4)), batch


def leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(nnx.state(model, nnx.Param))]


def nothing(model, key):
    return jnp.float32(0)


def run(rule, model, steps=7, **options):
    return ts.simulate(rule, model, key=jax.random.key(2), times=steps, observe=lambda state: {}, **options).state


def test_strength_zero_is_gradient_descent():
    rule, model, batch = setting(0.0)
    plain = ts.dynamics.gradient_descent(ts.objectives.logistic(batch), optax.sgd(0.1))
    for a, b in zip(leaves(run(rule, model).model), leaves(run(plain, model).model), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("strength", [0.5, 4.0])
def test_each_coordinate_decays_at_its_own_rate(strength):
    """Without an objective a distance shrinks by 1 - lr strength F each step."""
    rule, model, _ = setting(strength, objective=nothing)
    moved = leaves(run(rule, model).model)
    for leaf, start, held in zip(moved, (1.0, 3.0), (0.0, 1.0), strict=True):
        shares = np.arange(1.0, leaf.size + 1).reshape(leaf.shape) / 20
        np.testing.assert_allclose(leaf, held + (start - held) * (1 - 0.1 * strength * shares) ** 7, rtol=1e-5)


def test_it_is_stable_up_to_two():
    """The largest importance is 1: lr strength F = 1.9 shrinks, 2.1 grows."""
    distances = []
    for strength in (19.0, 21.0):
        rule, model, _ = setting(strength, objective=nothing)
        distances.append(max(abs(leaves(run(rule, model, 30).model)[1] - 1).ravel()))
    assert distances[0] < 2 < distances[1]


def test_the_state_of_an_earlier_run_carries_over():
    """Two phases of one rule are one run, momentum included, up to the step's key."""
    _, model, batch = setting(0.0)
    rule = ts.dynamics.gradient_descent(ts.objectives.logistic(batch), optax.sgd(0.05, momentum=0.9))
    whole, half = run(rule, model, 8), run(rule, run(rule, model, 4), 4)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(half), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_a_reduced_frame_is_refused():
    space = ts.exact.frame(jax.random.key(0), 1e6, fixed=1, train=6, filters=4)
    rule, model, _ = setting(1.0)
    with pytest.raises(ts.Refused, match=r"reduced frame.*frame=ambient") as refusal:
        run(rule, model, frame=space)
    assert "\n" not in str(refusal.value)
    run(rule, model, frame=ts.exact.frame(jax.random.key(0), 5, fixed=1, kind="ambient", train=6))


def test_why_it_is_refused():
    """Turning start, anchor and data does not turn the run, though the importance is computed anew."""
    turn = jnp.asarray(np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0], jnp.float32)
    ends = []
    for rotation in (jnp.eye(5), turn):
        noise, filters = jax.random.normal(jax.random.key(1), (2, 6, 5)) @ rotation
        ones = jnp.ones(6)
        batch, other = (ts.laws.Batch((x,), ones, ones) for x in (noise, filters))
        anchor = ts.models.TwoLayerCNN(filters[:4])
        fisher = ts.observers.diagonal_fisher(ts.objectives.logistic, other)(anchor)
        rule = ts.dynamics.elastic(ts.objectives.logistic(batch), optax.sgd(0.1), anchor, fisher, 5.0)
        ends.append(run(rule, anchor).model.filters[...])
    assert float(jnp.abs(ends[0] @ turn - ends[1]).max()) > 1e-3

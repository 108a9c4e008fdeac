"""Losses and their gradients against formulas in numpy's float64, also far out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts
from theorysim import objectives

#: name -> the loss and its derivative
FORMULAS = {
    "logistic": (lambda z: np.logaddexp(0, -z), lambda z: -np.exp(-np.logaddexp(0, z))),
    "hinge": (lambda z: np.maximum(0, 1 - z), lambda z: np.where(z < 1, -1.0, 0.0)),
    "square": (lambda z: (1 - z) ** 2 / 2, lambda z: z - 1),
    "softmax": (lambda z: np.logaddexp(0, -2 * z), lambda z: -2 * np.exp(-np.logaddexp(0, 2 * z))),
    "mae": (
        lambda z: 2 * np.exp(-np.logaddexp(0, 2 * z)),
        lambda z: -4 * np.exp(-np.logaddexp(0, 2 * z) - np.logaddexp(0, -2 * z)),
    ),
}
MARGINS = np.array([-1e4, -300.0, -20.0, -1.5, -1e-3, 0.0, 1e-3, 0.5, 1.5, 20.0, 80.0, 300.0, 1e4])
rows = pytest.mark.parametrize("name", FORMULAS)


def line(weights):
    """A model of the sum of its patch times a weight, f(x) = w x."""
    return lambda patches: patches[0] @ weights


def batch(label, features):
    label = jnp.asarray(label, jnp.float32)
    return ts.laws.Batch((jnp.asarray(features, jnp.float32),), label, label)


def test_weights_of_samples():
    """Weights of 0 and 1 are the batch without the others; a common factor changes nothing."""
    whole = batch([1, -1, 1, -1], [[0.3], [2.0], [-1.0], [0.7]])
    part = objectives.logistic(ts.laws.pick(whole, jnp.array([0, 2])))(line(jnp.ones(1)), None)
    for weights in ([1.0, 0, 1, 0], [3.0, 0, 3, 0]):
        loss = objectives.of_margins(objectives.logistic_loss, whole, jnp.array(weights))
        assert float(loss(line(jnp.ones(1)), None)) == pytest.approx(float(part), rel=1e-6)


@rows
def test_values_and_gradients_of_margins(name):
    loss, (value, slope) = getattr(objectives, f"{name}_loss"), FORMULAS[name]
    margins = jnp.asarray(MARGINS, jnp.float32)
    exact = np.asarray(margins, float)
    found, gradient = loss(margins), jax.vmap(jax.grad(lambda z: loss(z[None])[0]))(margins)
    assert found.dtype == gradient.dtype == jnp.float32
    np.testing.assert_allclose(found, value(exact), rtol=1e-5, atol=1e-37)
    np.testing.assert_allclose(gradient, slope(exact), rtol=1e-5, atol=1e-37)


@rows
def test_in_float64(name):
    with jax.enable_x64(True):
        found = getattr(objectives, f"{name}_loss")(jnp.asarray(MARGINS, jnp.float64))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, FORMULAS[name][0](MARGINS), rtol=1e-12, atol=1e-300)


@rows
def test_the_mean_over_samples_with_observed_labels(name):
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(20, 3)), rng.normal(size=3).astype(np.float32)
    sign, label = rng.choice([-1.0, 1.0], (2, 20))
    data = batch(label, features)._replace(sign=jnp.asarray(sign, jnp.float32))
    objective = getattr(objectives, name)(data)
    found, gradient = jax.value_and_grad(lambda w: objective(line(w), None))(jnp.asarray(weights))
    value, slope = FORMULAS[name]
    margins = label * (features @ weights)
    np.testing.assert_allclose(found, value(margins).mean(), rtol=1e-5)
    np.testing.assert_allclose(gradient, (slope(margins) * label) @ features / 20, rtol=1e-4, atol=1e-6)
    # of the true labels the loss is another: the labels that are observed are those that are fitted
    assert abs(float(found) - value(sign * (features @ weights)).mean()) > 1e-3


@rows
def test_far_out_everything_is_finite(name):
    data = batch([1.0, -1.0, 1.0, -1.0], [[1e4], [1e4], [-1e4], [-1e4]])
    objective = getattr(objectives, name)(data)
    found, gradient = jax.value_and_grad(lambda w: objective(line(w), None))(jnp.ones(1))
    assert np.isfinite(found)
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(found, FORMULAS[name][0](np.array([1e4, -1e4])).mean(), rtol=1e-5)


def test_the_logistic_loss_keeps_its_tail():
    """exp(-80) is a float32, but 1 + exp(-80) is 1: log of it is a defect that this sees."""
    margins = jnp.array([40.0, 80.0])
    np.testing.assert_allclose(objectives.logistic_loss(margins), np.exp([-40.0, -80.0]), rtol=1e-5)
    assert not np.allclose(jnp.log(1 + jnp.exp(-margins)), np.exp([-40.0, -80.0]), rtol=1e-5, atol=0)


def test_a_loss_of_one_s_own():
    data = batch([1.0, -1.0], [[1.0], [3.0]])
    objective = objectives.of_margins(lambda margin: jnp.exp(-margin), data)
    np.testing.assert_allclose(objective(line(jnp.array([0.5])), None), (np.exp(-0.5) + np.exp(1.5)) / 2, rtol=1e-6)


@rows
def test_the_objective_is_the_mean_of_its_loss(name):
    data = batch([1.0, -1.0, 1.0], [[1.0], [2.0], [-3.0]])
    model, key = line(jnp.array([0.7])), jax.random.key(0)
    own = objectives.of_margins(getattr(objectives, f"{name}_loss"), data)
    assert float(own(model, key)) == float(getattr(objectives, name)(data)(model, None))

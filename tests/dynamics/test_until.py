"""A rule that rests at a level; and the transformer whose runs it stops, in two frames."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax

import theorysim as ts


def square(model, key):
    return jnp.sum(model.filters[...] ** 2)


def test_it_follows_the_rule_and_then_stays(key):
    plain = ts.dynamics.gradient_descent(square, optax.sgd(0.1))
    stopped, model = ts.dynamics.until(plain, square, 0.5), ts.models.TwoLayerCNN(jnp.ones((2, 1)))
    times, seen = range(12), {"size": lambda state: square(state.model, None)}

    def sizes(rule):
        run = ts.simulate(rule, model, key=key, times=times, observe=lambda state: {"size": seen["size"](state)})
        return np.asarray(run.records["size"].value)

    free, held = sizes(plain), sizes(stopped)
    first = int(np.argmax(free <= 0.5))
    np.testing.assert_array_equal(held[: first + 1], free[: first + 1])
    assert np.all(held[first:] == held[first])
    assert held[first] <= 0.5 < held[first - 1]
    assert free[-1] < held[-1]  # a rule that is not stopped goes on


def test_reduced_and_ambient_runs_agree():
    """Mean test loss and attention, 150 seeds of each frame, 4 standard errors; another dimension is seen."""
    paper = ts.load("vit_benign")
    size = {"n": 4, "tokens": 3, "head": 2, "steps": 30, "tests": 50, "strength": 2.0, "init": 0.5}

    def mean(**options):
        data = ts.sweep(paper.trial, paper.params(**size, **options), seeds=150).isel(time=-1)
        values = [data[k] for k in ("test_loss", "loss", "value_noise")]
        return np.array([float(v.mean()) for v in values]), np.array([float(v.std()) / np.sqrt(150) for v in values])

    (reduced, error), (ambient, other) = mean(dim=12.0), mean(dim=12.0, frame="ambient")
    assert np.all(np.abs(reduced - ambient) < 4 * np.hypot(error, other))
    assert np.any(np.abs(mean(dim=300.0)[0] - ambient) > 4 * np.hypot(error, other))

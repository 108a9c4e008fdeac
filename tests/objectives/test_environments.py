"""Objectives of several environments: identities in float64, formulas in numpy, and planted defects."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts
from theorysim import objectives

E = 3


@pytest.fixture
def data():
    """Environments of unequal sizes, an order that is mixed, in float64."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        label = jnp.asarray(rng.choice([-1.0, 1.0], 40))
        group = jnp.asarray(rng.permutation(np.repeat([0, 1, 2], [20, 12, 8])))
        batch = ts.laws.Batch((jnp.asarray(rng.normal(size=(40, 5))),), label, label, group)
        yield batch, ts.models.TwoLayerCNN(jnp.asarray(rng.normal(size=(6, 5))))


def weighted(batch, model):
    """Losses, scale gradients and shares of each environment, by numpy."""
    margin, group = np.asarray(batch.label * model(batch.patches)), np.asarray(batch.group)
    here = [group == e for e in range(E)]
    loss = np.array([np.logaddexp(0, -margin[k]).mean() for k in here])
    slope = np.array([(-margin[k] / (1 + np.exp(margin[k]))).mean() for k in here])
    return loss, slope, np.array([k.mean() for k in here])


def in_filters(objective, model):
    """The gradient in the filters."""
    return jax.grad(lambda w: objective(ts.models.TwoLayerCNN(w), None))(model.filters[...])


def test_without_a_penalty_it_is_the_logistic_loss(data):
    batch, model = data
    plain = objectives.logistic(batch)
    for free in (objectives.irm(batch, 0.0, E), objectives.irm(batch, jnp.float64(0), E)):
        np.testing.assert_allclose(free(model, None), plain(model, None), rtol=1e-14)
        np.testing.assert_allclose(in_filters(free, model), in_filters(plain, model), rtol=1e-12, atol=1e-16)


def test_without_a_penalty_a_run_is_that_of_erm():
    """A whole run in float64: the same to the bit but for the order of sums."""
    with jax.enable_x64(True):
        keys = ts.streams(jax.random.key(1), "batch", "noise", "filters", "steps")
        law = ts.laws.TwoBit(0.25, [0.1, 0.2], noise=0.1)
        batch = law(keys.batch, jax.random.normal(keys.noise, (20, 6)))
        start = ts.models.TwoLayerCNN(0.1 * jax.random.normal(keys.filters, (4, 6)), activation="identity")
        ends = []
        for objective in (objectives.logistic(batch), objectives.irm(batch, 0.0, 2), objectives.irm(batch, 5.0, 2)):
            rule = ts.dynamics.gradient_descent(objective, optax.sgd(0.3))
            run = ts.simulate(rule, start, key=keys.steps, times=30, observe=lambda state: {})
            ends.append(np.asarray(run.state.model.filters[...]))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)
    assert np.abs(ends[0] - ends[2]).max() > 1e-2


def test_the_gradient_is_that_of_a_dummy_scale(data):
    batch, model = data

    def risk(scale, e):
        losses = objectives.logistic_loss(scale * batch.label * model(batch.patches))
        return jnp.sum(jnp.where(batch.group == e, losses, 0)) / jnp.sum(batch.group == e)

    found = objectives.irm_gradients(model, batch, E)
    np.testing.assert_allclose(found, [jax.grad(risk)(1.0, e) for e in range(E)], rtol=1e-12)
    np.testing.assert_allclose(found, weighted(batch, model)[1], rtol=1e-12)


def test_values_and_planted_defects(data):
    """The formula holds; with a share not squared, the gradients not squared, or the sign of the penalty it does not."""
    batch, model = data
    loss, slope, share = weighted(batch, model)
    found = float(objectives.irm(batch, 7.0, E)(model, None))
    np.testing.assert_allclose(found, share @ loss + 7 * np.sum(share**2 * slope**2), rtol=1e-12)
    for wrong in (share @ slope**2, np.sum(share * slope) ** 2, np.sum(slope**2), -np.sum((share * slope) ** 2)):
        assert abs(found - share @ loss - 7 * wrong) > 1e-3
    assert not np.allclose(objectives.irm_gradients(model, batch, E), -slope, rtol=1e-3)


def test_vrex(data):
    batch, model = data
    loss, _, _ = weighted(batch, model)
    found = objectives.vrex(batch, 3.0, E)(model, None)
    np.testing.assert_allclose(found, loss.mean() + 3 * loss.var(), rtol=1e-12)


def test_feat(data):
    """The worst environment of the augmented samples, and a share of the others; each set may be empty."""
    batch, model = data
    wrong = jnp.asarray(batch.label * model(batch.patches) <= 0)
    losses, chosen = np.logaddexp(0, -np.asarray(batch.label * model(batch.patches))), np.asarray(wrong)
    each = [losses[chosen & (np.asarray(batch.group) == e)].mean() for e in range(E)]
    found = objectives.feat(batch, wrong, 0.01, E)(model, None)
    np.testing.assert_allclose(found, max(each) + 0.01 * losses[~chosen].mean(), rtol=1e-12)
    assert abs(float(found) - np.mean(each) - 0.01 * losses[~chosen].mean()) > 1e-3
    none = objectives.feat(batch, jnp.zeros(40, bool), 0.5, E)
    np.testing.assert_allclose(none(model, None), 0.5 * losses.mean(), rtol=1e-12)
    every = objectives.feat(batch, jnp.ones(40, bool), 0.5, E)
    assert np.isfinite(in_filters(every, model)).all()


def test_the_strength_may_be_traced(data):
    batch, model = data
    traced = jax.jit(lambda strength: objectives.irm(batch, strength, E)(model, None))(2.0)
    np.testing.assert_allclose(traced, objectives.irm(batch, 2.0, E)(model, None), rtol=1e-12)


@pytest.mark.parametrize("name", ["irm", "vrex"])
def test_a_batch_without_groups_is_refused(name):
    batch = ts.laws.Batch((jnp.ones((2, 1)),), jnp.ones(2), jnp.ones(2))
    with pytest.raises(ts.InvalidArgument, match="group = None: is needed"):
        getattr(objectives, name)(batch, 1.0, 2)

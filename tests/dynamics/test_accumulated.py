"""Sums along a run: they are those of its steps, and the run is not changed by them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

import theorysim as ts


def setting():
    rng = np.random.default_rng(0)
    batch = ts.laws.LinearRegression(1.0)(jax.random.key(0), jnp.asarray(rng.normal(size=(9, 4)), jnp.float32))
    loss = ts.objectives.on_sample(ts.objectives.regression, batch, perturb=ts.objectives.additive_noise(1.0))
    model = ts.models.TwoLayerLinear(jnp.eye(3, 4), jnp.ones(3))
    return model, loss, ts.dynamics.gradient_descent(loss, optax.sgd(0.02))


def test_sums_are_those_of_the_steps():
    model, loss, rule = setting()

    def measure(before, after, key):
        jump = after.model.second[...] - before.model.second[...]
        return {"loss": loss(before.model, key), "jump": jump, "steps": jnp.int32(1)}

    key = jax.random.key(4)
    run = ts.simulate(ts.dynamics.accumulated(rule, measure), model, key=key, times=[0, 10, 30], observe=lambda s: s.total)
    state, losses = rule.init(model), []
    for t in range(30):
        step = jax.random.fold_in(key, t)
        losses.append(float(loss(state.model, step)))
        state = rule.step(state, step)
    np.testing.assert_allclose(run.records["loss"].value, [0, sum(losses[:10]), sum(losses)], rtol=1e-4)
    np.testing.assert_array_equal(run.records["steps"].value, [0, 10, 30])
    np.testing.assert_allclose(run.records["jump"].value[-1], state.model.second[...] - 1, rtol=1e-3, atol=1e-5)


def test_the_run_is_that_of_the_rule():
    model, _, rule = setting()
    summed = ts.dynamics.accumulated(rule, lambda before, after, key: {"one": jnp.float32(1)})
    ends = [ts.simulate(r, model, key=jax.random.key(1), times=20, observe=lambda s: {}).state.model for r in (rule, summed)]
    for one, other in zip(*(jax.tree.leaves((m.filters[...], m.second[...])) for m in ends), strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_goes_on_in_a_second_phase():
    model, _, rule = setting()
    summed = ts.dynamics.accumulated(rule, lambda before, after, key: {"one": jnp.float32(1)})
    first = ts.simulate(summed, model, key=jax.random.key(1), times=5, observe=lambda s: {})
    second = ts.simulate(summed, first.state, key=jax.random.key(2), times=7, observe=lambda s: s.total)
    assert float(second.records["one"]) == 12

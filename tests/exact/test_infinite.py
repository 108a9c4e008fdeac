"""The frame of infinite dimension: the leading order in 1/sqrt(d) of the reduced frame, of the same draws."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts

N, M = 5, 3
DIMS = (1e4, 1e6, 1e8)
LAW = ts.laws.SignalNoise(signal=1.0, projected=True)  # its signal is set from d below


def run(kind: str, dim, key, rows=lambda space: space.train):
    """GD on kappa = sigma_0 sigma_p sqrt(d), SNR and eta d fixed, so that only the order in 1/sqrt(d) is left."""
    keys = ts.streams(key, "space", "train", "run")
    law = ts.laws.SignalNoise(signal=0.5 * jnp.sqrt(dim), projected=True)
    space = ts.exact.frame(keys.space, dim, fixed=law.fixed, kind=kind, train=N, filters=2 * M)
    start = ts.models.TwoLayerCNN(0.1 / jnp.sqrt(dim) * space.filters, power=3)
    batch = law(keys.train, rows(space))
    coefficients = ts.observers.decomposition(space, batch, start)

    def observe(state):
        found = coefficients(state.model)
        filters = jnp.sqrt(dim) * state.model.filters[...]
        return {"f": state.model(batch.patches), "gamma": found.gamma, "rho": found.rho_bar + found.rho_underbar,
                "gram": filters @ filters.T / dim}  # fmt: skip

    rule = ts.dynamics.gradient_descent(ts.objectives.logistic(batch), optax.sgd(3.0 / dim))
    return ts.simulate(rule, start, key=keys.run, times=[0, 20, 200], observe=observe, frame=space).records


@pytest.fixture(scope="module")
def runs():
    with jax.enable_x64(True):
        both = jax.jit(lambda dim, key: {kind: run(kind, dim, key) for kind in ("reduced", "infinite")})
        return {dim: jax.device_get(both(jnp.float64(dim), jax.random.key(4))) for dim in DIMS}


@pytest.mark.parametrize("name", ["f", "gamma", "rho", "gram"])
def test_the_reduced_frame_tends_to_it(runs, name):
    """Path by path, at the rate 1/sqrt(d): ten times nearer at a hundred times the dimension, up to a factor 3."""
    gaps = [np.abs(np.asarray(r["reduced"][name]) - np.asarray(r["infinite"][name])).max() for r in runs.values()]
    assert gaps[-1] < 2e-3
    assert all(3 < before / after < 33 for before, after in pairwise(gaps))


def test_it_does_not_depend_on_the_dimension(runs):
    first, last = (runs[dim]["infinite"] for dim in (DIMS[0], DIMS[-1]))
    for name in ("f", "gamma", "rho"):
        np.testing.assert_allclose(np.asarray(first[name]), np.asarray(last[name]), rtol=1e-9, atol=1e-12)
    assert np.abs(np.asarray(last["rho"])).max() > 1  # something was learned


def test_a_diagonal_block_is_its_matrix(runs, key):
    """The same run on the dense matrix that the block stands for."""
    with jax.enable_x64(True):
        dense = jax.jit(lambda dim: run("infinite", dim, jax.random.key(4), rows=lambda space: space.train.dense()))(1e6)
    for name in ("f", "gamma", "rho"):
        np.testing.assert_allclose(np.asarray(dense[name]), np.asarray(runs[1e6]["infinite"][name]), rtol=1e-9, atol=1e-12)


def test_lost_products_with_the_filters_are_seen(runs, monkeypatch):
    """Planted: the first filters are orthogonal to the noise as well, so nothing memorises it."""
    module = __import__("sys").modules[ts.exact.Frame.__module__]
    sound = module._infinite

    def orthogonal(keys, dim, fixed, blocks):
        drawn = sound(keys, dim, fixed, blocks)
        return {**drawn, "filters": drawn["filters"].at[:, fixed : fixed + N].set(0)}

    monkeypatch.setattr(module, "_infinite", orthogonal)
    with jax.enable_x64(True):
        planted = jax.jit(lambda dim: run("infinite", dim, jax.random.key(4)))(1e8)
    assert np.abs(np.asarray(planted["rho"]) - np.asarray(runs[1e8]["reduced"]["rho"])).max() > 0.1


def test_a_rule_that_does_not_commute_is_refused(key):
    space = ts.exact.frame(key, 1e6, fixed=1, kind="infinite", train=2, filters=2)
    batch = LAW(key, space.train)
    rule = ts.dynamics.gradient_descent(ts.objectives.logistic(batch), optax.adam(0.1))
    with pytest.raises(ts.Refused, match="reduced frame"):
        ts.simulate(rule, ts.models.TwoLayerCNN(space.filters), key=key, times=1, observe=lambda s: {}, frame=space)

"""Attention by kind of token, and agreement of signs."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import theorysim as ts


def test_the_mass_is_the_mean_of_sums():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), size=(5, 4))
    signal = np.array([True, False, False, True])
    stated = np.mean([weights[n, i, signal].sum() for n in range(5) for i in range(4) if not signal[i]])
    found = ts.observers.attention_mass(jnp.asarray(weights), ~signal, signal)
    assert np.isclose(found, stated, rtol=1e-6)
    assert not np.isclose(
        ts.observers.attention_mass(jnp.asarray(weights), signal, ~signal), stated, rtol=1e-3
    )  # not symmetric
    both = [ts.observers.attention_mass(jnp.asarray(weights), slice(None), kind) for kind in (signal, ~signal)]
    assert np.isclose(sum(both), 1, rtol=1e-6)


def test_agreement_of_signs():
    a = jnp.array([[1.0, -1.0], [2.0, 0.0]])
    assert ts.observers.sign_agreement(a, a) == 0.75  # a zero agrees with nothing
    assert ts.observers.sign_agreement(a, -a) == 0

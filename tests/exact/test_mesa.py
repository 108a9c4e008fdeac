"""The closed loss of the diagonal manifold against the explicit layer on drawn sequences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import theorysim as ts

D, T, COUNT = 3, 9, 60_000
A, B = np.array([0.4, 0.7, 0.2]), np.array([0.9, 0.5, 1.1])


def layer(a, b):
    nothing = jnp.zeros((D, D))
    key_query = jnp.block([[nothing, nothing], [jnp.diag(a), nothing]]) + 0j
    return ts.models.AutoregressiveAttention(jnp.block([[jnp.diag(b), nothing]]) + 0j, key_query)


@pytest.mark.parametrize("start", [{"power": 1.0}, {"power": 0.0}, {"power": 0.0, "sparse": 1.0}])
def test_equal_to_the_layer(start):
    law = ts.laws.Rotations(D, scale=0.8, **start)
    exact = float(ts.exact.mesa_loss(A, B, law.moments(), T, D))

    def block(key):
        return ts.objectives.autoregressive(law(key, COUNT // 60, T))(layer(A, B), None)

    drawn = np.asarray(jax.lax.map(block, jax.random.split(jax.random.key(0), 60)))
    error = drawn.std(ddof=1) / 60**0.5
    assert abs(drawn.mean() - exact) < 4 * error + 1e-5
    # planted: the cross term counted with a_j in the place of the other a_r
    if not start.get("sparse"):
        of = law.moments()
        harmonic = float(np.mean(1 / np.arange(1, T - 1)))
        wrong = exact + (T - 2) / 2 * harmonic * float(of.cross) * np.sum(B**2 * (A**2 - (np.sum(A**2) - A**2) / 2))
        assert abs(drawn.mean() - wrong) > 4 * error


def test_the_diagonal_manifold():
    """From random signs the mean gradient of all other entries is 0; from ones it is not."""

    graph, params = nnx.split(layer(A, B))

    def gradients(aligned, key):
        loss = ts.objectives.autoregressive(ts.laws.Rotations(D, power=0.0, aligned=aligned)(key, 500, T))
        found = jax.grad(lambda p: loss(nnx.merge(graph, p), None))(params)
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(found)])

    keys = jax.random.split(jax.random.key(1), 60)
    kept = np.concatenate([np.asarray(leaf).ravel() != 0 for leaf in jax.tree.leaves(params)])
    scores = []
    for aligned in (0.0, 1.0):
        drawn = np.asarray(jax.lax.map(lambda key, aligned=aligned: gradients(aligned, key), keys))[:, ~kept]
        scores.append(np.max(abs(drawn.mean(axis=0)) / (drawn.std(axis=0) / 60**0.5 + 1e-9)))
    assert scores[0] < 5 < 20 < scores[1]

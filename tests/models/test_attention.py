"""Weights of attention: against weighted least squares, the limits, the masks, and planted faults."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

attention, masks = ts.models.attention, ts.models.masks
J, I, D = 30, 6, 3  # noqa: E741


@pytest.fixture
def data(key):
    """Queries, keys and values in float64."""
    with jax.enable_x64(True):
        keys = jax.random.split(key, 3)
        yield tuple(jax.random.normal(k, (rows, D)) for k, rows in zip(keys, (I, J, J), strict=True))


def least_squares(query, key, value, weight, penalty):
    """The intercept b of the weighted fit by the normal equations with a penalty on the slope alone."""
    design = np.column_stack([np.ones(len(key)), key - query])
    penal = np.diag([0.0, *[penalty] * key.shape[1]])
    return np.linalg.solve((design.T * weight) @ design + penal, (design.T * weight) @ value)[0]


@pytest.mark.parametrize("ridge", [0.0, 0.1, 5.0])
def test_local_linear_is_the_local_linear_fit(data, ridge):
    query, key, value = map(np.asarray, data)
    weights = attention.softmax(attention.gaussian(*data[:2], 1.5))
    found = attention.local_linear(weights, *data[:2], ridge, steps=4 * D) @ value
    stated = [least_squares(q, key, value, np.asarray(w), ridge) for q, w in zip(query, weights, strict=True)]
    np.testing.assert_allclose(found, stated, rtol=1e-9, atol=1e-11)
    # planted: a penalty relative to another total, and the mean on the other side
    other = attention.local_linear(weights, *data[:2], J * ridge + 0.3, steps=4 * D) @ value
    mirrored = attention.local_linear(weights, 2 * weights @ data[1] - data[0], data[1], ridge) @ value
    assert min(np.abs(other - found).max(), np.abs(mirrored - found).max()) > 1e-3


def test_weights_sum_to_one_and_centre_on_the_query(data):
    query, key, _ = data
    weights = attention.local_linear(attention.softmax(query @ key.T), query, key, 0.0, steps=4 * D)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-11)
    np.testing.assert_allclose(weights @ key, query, atol=1e-9)
    assert np.abs(attention.softmax(query @ key.T) @ key - query).max() > 0.1


def test_mesa_is_ridge_regression(data):
    query, key, value = data
    seen = masks.causal(J)[J - I :]
    found = attention.mesa(query, key, 0.2, seen, steps=4 * D) @ value
    for i in range(I):
        k, v = (np.asarray(a)[: J - I + i + 1] for a in (key, value))
        stated = np.asarray(query)[i] @ np.linalg.solve(k.T @ k + 0.2 * np.eye(D), k.T @ v)
        np.testing.assert_allclose(found[i], stated, rtol=1e-9)


def test_mesa_agrees_with_recursive_least_squares(data):
    _, key, value = data
    before = masks.causal(J) & ~jnp.eye(J, dtype=bool)
    found = attention.mesa(key, key, 0.5, before, steps=4 * D) @ value[:, 0]
    np.testing.assert_allclose(found, ts.theory.in_context.ridge(key[None], value[None, :, 0], 0.5)[0], rtol=1e-9, atol=1e-12)


def test_on_unit_keys_both_kernels_are_one(data):
    query, key = (a / jnp.linalg.norm(a, axis=1, keepdims=True) for a in data[:2])
    gaussian = attention.softmax(attention.gaussian(query, key, 0.7))
    np.testing.assert_allclose(gaussian, attention.softmax(query @ key.T / 0.49), rtol=1e-10)


def test_nobody_is_seen(data):
    query, key, _ = data
    none = jnp.zeros((I, J), bool).at[1:].set(True)
    weights = attention.softmax(query @ key.T, none)
    for found in (weights, attention.local_linear(weights, query, key, 0.1), attention.mesa(query, key, 0.1, none)):
        assert np.isfinite(found).all()
        assert np.all(found[0] == 0)
        assert np.any(found[1] != 0)


def test_what_is_not_seen_does_not_count(data):
    query, key, _ = data
    mask = jnp.arange(J) < 20
    far = key.at[20:].add(100.0)
    for kind in (
        lambda q, k: attention.linear(q, k, mask),
        lambda q, k: attention.mesa(q, k, 0.1, mask),
        lambda q, k: attention.local_linear(attention.softmax(q @ k.T, mask), q, k, 0.1),
    ):
        np.testing.assert_allclose(kind(query, key), kind(query, far), rtol=1e-9, atol=1e-13)


def test_softmax_of_large_logits():
    assert attention.softmax(jnp.array([[1e4, 0.0]])).tolist() == [[1.0, 0.0]]


def test_fewer_points_than_dimensions(data):
    """Two keys in three dimensions: with a small ridge the fit along their line; without one it is not determined."""
    query, key, _ = data
    weights = attention.local_linear(jnp.full((I, 2), 0.5), query, key[:2], 1e-8, steps=4 * D)
    along = key[1] - key[0]
    share = (query - key[0]) @ along / (along @ along)
    np.testing.assert_allclose(weights, jnp.stack([1 - share, share], axis=1), atol=1e-5)


def test_conjugate_gradients(data):
    a = np.einsum("ij,kj->ik", *[np.asarray(data[1])[:D]] * 2)
    right = np.asarray(data[0])
    found = attention.conjugate_gradients(jnp.asarray(a), jnp.asarray(right), 0.1, steps=4 * D)
    np.testing.assert_allclose(found, np.linalg.solve(a + 0.1 * np.eye(D), right.T).T, rtol=1e-9)
    assert np.all(attention.conjugate_gradients(jnp.asarray(a), jnp.zeros(D)) == 0)
    with pytest.raises(ts.InvalidArgument, match="steps"):
        attention.conjugate_gradients(jnp.asarray(a), jnp.asarray(right), steps=0)

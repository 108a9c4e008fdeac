"""Depth as time: layers by hand, the context, the graph, and the gauge of orthogonal values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

K, D, DEPTH = 5, 4, 3
dynamics, masks = ts.dynamics, ts.models.masks


def run(key, layer, tokens, times=DEPTH, observe=lambda state: {}):
    rule = dynamics.layers(layer)
    return ts.simulate(rule, rule.init(tokens), key=key, times=times, observe=observe)


def by_hand(tokens, query, key_, value, mask, bias, normalised):
    """One layer, token by token, in numpy."""
    moved = []
    for i, token in enumerate(tokens):
        seen = [j for j in range(len(tokens)) if mask[i, j]]
        logits = [(token @ query) @ (tokens[j] @ key_) / np.sqrt(tokens.shape[1]) + bias[i, j] for j in seen]
        weight = np.exp(logits) / np.sum(np.exp(logits))
        new = sum(w * tokens[j] for w, j in zip(weight, seen, strict=True)) @ value
        moved.append(new / np.linalg.norm(new) if normalised else new)
    return np.array(moved)


@pytest.mark.parametrize(("mask", "normalised"), [(masks.causal(K), True), (masks.window(K, 2), 0.0)], ids=["causal", "window"])
def test_layers_by_hand(key, mask, normalised):
    with jax.enable_x64(True):
        query, key_, value, tokens = (jnp.asarray(np.random.default_rng(s).normal(size=(D, D))) for s in range(4))
        tokens = jnp.concatenate([tokens, tokens[:1] + 1])
        bias = -0.3 * (jnp.arange(K)[:, None] - jnp.arange(K))
        weights = dynamics.fixed_weights(query, key_, value)
        found = run(key, dynamics.attention_layer(mask, weights, bias=bias, normalised=normalised), tokens).state.tokens
        stated = np.asarray(tokens)
        for _ in range(DEPTH):
            stated = by_hand(stated, *map(np.asarray, (query, key_, value, mask, bias)), normalised)
        np.testing.assert_allclose(found, stated, rtol=1e-10)
        # planted: a bias that is forgotten, the transposed graph
        for wrong in (dynamics.attention_layer(mask, weights), dynamics.attention_layer(mask.T, weights, bias=bias)):
            assert np.abs(np.asarray(run(key, wrong, tokens).state.tokens) - stated).max() > 1e-3


def test_the_context_is_the_product_of_the_weights(key):
    """Without values the tokens are the context times those of the input; in the other order they are not."""
    tokens = jax.random.normal(key, (K, D))
    layer = dynamics.attention_layer(masks.causal(K), dynamics.random_weights(3.0, "identity"))
    state = run(key, layer, tokens).state
    np.testing.assert_allclose(state.context @ tokens, state.tokens, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(state.context.sum(axis=1), 1, rtol=1e-5)
    assert np.triu(np.asarray(state.context), 1).max() == 0
    turned = np.eye(K)
    now = tokens
    for t in range(DEPTH):
        now, mixing = layer(now, jax.random.fold_in(key, t))
        turned = turned @ np.asarray(mixing)
    assert np.abs(turned @ np.asarray(tokens) - np.asarray(state.tokens)).max() > 1e-3


def test_layers_draw_new_weights_and_batches_share_them(key):
    layer = dynamics.attention_layer(masks.full(K), dynamics.random_weights())
    first, second = (dynamics.random_weights()(jax.random.fold_in(key, t), D, jnp.float32)[0] for t in range(2))
    assert np.abs(first - second).max() > 0.1
    many = jax.random.normal(key, (3, K, D))
    together, mixing = layer(many, key)
    np.testing.assert_allclose(together[1], layer(many[1], key)[0], rtol=2e-5, atol=1e-6)
    assert dynamics.layers(layer).init(many).context.shape == mixing.shape == (3, K, K)


def test_orthogonal_values_are_a_gauge(key):
    """Rotated values with the next layer's query and key rotated back leave the context as it is; Gaussian ones do not."""
    with jax.enable_x64(True):
        tokens = jax.random.normal(key, (K, D))
        draws = [dynamics.random_weights(2.0)(jax.random.fold_in(key, t), D, tokens.dtype) for t in range(DEPTH)]

        def context(values):
            now, turn, product = tokens, jnp.eye(D), jnp.eye(K)
            for (query, key_, _), value in zip(draws, values, strict=True):
                back = jnp.linalg.inv(turn)
                weights = dynamics.fixed_weights(back @ query, back @ key_, value)
                now, mixing = dynamics.attention_layer(masks.causal(K), weights, normalised=True)(now, None)
                turn, product = turn @ value, mixing @ product
            return product

        plain = context([jnp.eye(D)] * DEPTH)
        np.testing.assert_allclose(context([value for *_, value in draws]), plain, rtol=1e-10)
        assert np.abs(context([jax.random.normal(key, (D, D))] * DEPTH) - plain).max() > 1e-3


def test_haar_has_its_moments(key):
    """Of Haar's law E q_11 = 0, E q_11^2 = 1/d and E tr Q = 0; the factor of LAPACK without the signs fails the last."""
    draws = jax.random.normal(key, (2000, D, D))
    q = jax.vmap(dynamics.haar)(draws)
    np.testing.assert_allclose(q @ q.swapaxes(1, 2), np.broadcast_to(np.eye(D), q.shape), atol=1e-5)
    trace = jnp.trace(q, axis1=1, axis2=2)
    assert abs(trace.mean()) < 4 / np.sqrt(2000)
    assert abs((q[:, 0, 0] ** 2).mean() - 1 / D) < 4 * 0.25 / np.sqrt(2000)
    plain = np.linalg.qr(np.asarray(draws))[0]
    assert abs(np.trace(plain, axis1=1, axis2=2).mean()) > 0.1


def test_bad_words_are_told():
    with pytest.raises(ts.InvalidArgument, match="value"):
        dynamics.random_weights(value="unitary")

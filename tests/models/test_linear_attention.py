"""Linear attention: tokens against moments, and what its mask shuts out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

B, K, D, LAYERS = 4, 9, 4, 3


def model_of(key, **options):
    value, query = (0.3 * jax.random.normal(k, (LAYERS, D, D)) for k in jax.random.split(key))
    return ts.models.LinearAttention(value, query, **options)


def test_moments_give_what_tokens_give(key):
    with jax.enable_x64(True):
        tokens = jax.random.normal(key, (B, K, D))
        examples = tokens[:, :-1]
        seen = jnp.einsum("bki,bkj->bij", examples, examples)
        model = model_of(key)
        np.testing.assert_allclose(model.of_moments(seen, tokens[:, -1], K - 1), model(tokens), rtol=1e-12)
        # a query that is a key too is another model
        own = model.of_moments(seen, tokens[:, -1], K - 1, own=True)
        every = model_of(key, mask=ts.models.masks.full(K))
        np.testing.assert_allclose(own, every(tokens), rtol=1e-12)
        assert not np.allclose(own, model(tokens), rtol=1e-3)


def test_the_default_mask_is_that_of_all_examples(key):
    tokens = jax.random.normal(key, (B, K, D))
    mask = ts.models.masks.full(K).at[:, -1].set(False)
    np.testing.assert_allclose(model_of(key, mask=mask)(tokens), model_of(key)(tokens), rtol=2e-5, atol=2e-5)


def test_a_causal_model_does_not_see_the_future(key):
    model, tokens = model_of(key, mask=ts.models.masks.causal(K)), jax.random.normal(key, (B, K, D))
    changed = tokens.at[:, 5:].add(1.0)
    same, other = model.tokens(tokens), model.tokens(changed)
    assert np.array_equal(same[:, :5], other[:, :5])
    assert not np.allclose(same[:, 5:], other[:, 5:])


def test_keys_and_queries_apart_are_their_product(key):
    parts = tuple(jax.random.normal(k, (LAYERS, D, 2)) for k in jax.random.split(key))
    value, tokens = jax.random.normal(key, (LAYERS, D, D)), jax.random.normal(key, (B, K, D))
    apart = ts.models.LinearAttention(value, parts)
    merged = ts.models.LinearAttention(value, jnp.einsum("lir,ljr->lij", *parts))
    np.testing.assert_allclose(apart(tokens), merged(tokens), rtol=1e-5)


def test_bad_shapes_are_told(key):
    with pytest.raises(ts.InvalidArgument, match="key_query"):
        ts.models.LinearAttention(jnp.ones((1, 3, 3)), jnp.ones((1, 2, 2)))

"""The decoder: its mask, its positions and its loop over layers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

K = 6


def decoder(key, mask=None, **options):
    mask = ts.models.masks.causal(K) if mask is None else mask
    return ts.models.Decoder(key, 3, 2, width=12, depth=3, heads=2, mask=mask, **options)


@pytest.mark.parametrize("attention", ["softmax", "linear"])
def test_a_causal_mask_shuts_out_the_future(key, attention):
    model, tokens = decoder(key, attention=attention), jax.random.normal(key, (2, K, 3))
    same, other = model(tokens), model(tokens.at[:, 4:].add(1.0))
    assert np.array_equal(same[:, :4], other[:, :4])
    assert not np.allclose(same[:, 4:], other[:, 4:])


def test_without_positions_order_is_seen_through_the_mask_alone(key):
    tokens, swap = jax.random.normal(key, (2, K, 3)), jnp.array([1, 0, 2, 3, 4, 5])
    full = decoder(key, ts.models.masks.full(K))
    np.testing.assert_allclose(full(tokens[:, swap])[:, swap], full(tokens), atol=1e-5)
    placed = decoder(key, ts.models.masks.full(K), positions=range(K))
    assert not np.allclose(placed(tokens[:, swap])[:, swap], placed(tokens), atol=1e-3)


def test_a_shorter_prompt_uses_a_part_of_the_mask(key):
    model, tokens = decoder(key, positions=range(K)), jax.random.normal(key, (2, K, 3))
    np.testing.assert_allclose(model(tokens[:, :4]), model(tokens)[:, :4], atol=1e-6)


def test_softmax_rows_are_averages(key):
    """With one kind of token, attention gives back its value whatever the scores: no mask can change it."""
    tokens = jnp.ones((1, K, 3))
    np.testing.assert_allclose(decoder(key)(tokens)[:, :1], decoder(key, ts.models.masks.full(K))(tokens)[:, -1:], atol=1e-5)


def test_bad_words_are_told(key):
    with pytest.raises(ts.InvalidArgument, match="heads"):
        ts.models.Decoder(key, 3, 2, width=12, depth=1, heads=5, mask=ts.models.masks.causal(2))
    with pytest.raises(ts.InvalidArgument, match="attention"):
        decoder(key, attention="cosine")

"""Prompts of concepts against their definition."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

K, D, J = 3, 7, 4
PARTS = np.eye(D)[: 2 * K].reshape(K, 2, D)


def drawn(count=600, **options):
    return ts.laws.Concepts(jnp.asarray(PARTS), jnp.asarray(2 * PARTS), **options)(jax.random.key(0), count, J)


def coefficients(vectors):
    """Of a_k and b_k, shape (b, k, K, 2)."""
    return np.einsum("bkd,cpd->bkcp", vectors, PARTS)


def test_words_and_labels_are_those_of_the_concept():
    prompts = drawn()
    k = np.asarray(prompts.concept)
    of = coefficients(prompts.words)[np.arange(600), :, k]
    np.testing.assert_allclose(of[..., 0], 1)
    np.testing.assert_allclose(of[..., 1], prompts.signs)
    labels = np.take_along_axis(coefficients(prompts.labels), k[:, None, None, None], axis=2)[:, :, 0]
    np.testing.assert_allclose(labels[..., 0], 2)
    np.testing.assert_allclose(labels[..., 1], 2 * np.asarray(prompts.signs)[:, :-1])
    assert abs(np.asarray(prompts.labels)).sum(axis=2).max() == pytest.approx(4)  # and of nothing else
    assert set(np.unique(prompts.signs)) == {-1.0, 1.0}
    assert np.bincount(k).min() > 150


@pytest.mark.parametrize(("others", "query_others"), [(1.0, 0.0), (0.0, 1.0), (0.3, 0.6)])
def test_others(others, query_others):
    prompts = drawn(others=others, query_others=query_others)
    there = coefficients(prompts.words)[..., 0].sum(axis=2) - 1
    np.testing.assert_allclose(there[:, -1].mean(), query_others, atol=0.08)
    np.testing.assert_allclose(there[:, :-1].mean(), others, atol=0.04)
    assert coefficients(prompts.words)[..., 0].max() == 1  # another one, not the same again


def test_one_concept_has_no_others():
    law = ts.laws.Concepts(PARTS[:1], PARTS[:1], 1.0, 1.0)
    assert abs(np.asarray(law(jax.random.key(0), 9, J).words)).sum(axis=2).max() == 2


def test_shares_noise_and_sequence():
    prompts = drawn(shares=jnp.array([0.9, 0.1, 0.0]), noise=0.5)
    share = np.bincount(prompts.concept, minlength=K) / 600
    np.testing.assert_allclose(share, [0.9, 0.1, 0.0], atol=0.05)
    clean = drawn(shares=jnp.array([0.9, 0.1, 0.0]))
    assert np.std(prompts.words - clean.words) == pytest.approx(0.5, rel=0.02)
    assert np.std(prompts.labels - clean.labels) == pytest.approx(0.5, rel=0.02)
    np.testing.assert_array_equal(prompts.sequence[:, 0::2], prompts.words)
    np.testing.assert_array_equal(prompts.sequence[:, 1::2], prompts.labels)
    np.testing.assert_array_equal(prompts.matching, prompts.signs[:, :J] == prompts.signs[:, J:])


def test_errors():
    with pytest.raises(ts.InvalidArgument, match="words"):
        ts.laws.Concepts(np.ones((2, 3)), np.ones((2, 2, 3)))
    with pytest.raises(ts.InvalidArgument, match="labels"):
        ts.laws.Concepts(np.ones((2, 2, 3)), np.ones((3, 2, 3)))
    with pytest.raises(ts.InvalidArgument, match="shares"):
        ts.laws.Concepts(np.ones((2, 2, 3)), np.ones((2, 2, 3)), shares=np.ones(3))

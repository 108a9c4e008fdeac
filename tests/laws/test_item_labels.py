"""Items and labels: what is asked for, where, and with which law."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

COUNT = 4000


def draw(key, **options):
    law = ts.laws.ItemLabels(classes=50, labels=20, dim=6, pairs=4, **options)
    known = law.dictionary(jax.random.fold_in(key, 1))
    return law, known, *law(key, COUNT, known)


def asked_at(known, tokens, label):
    """At which positions the label that is asked for stands."""
    return np.all(np.isclose(tokens[:, 1:-1:2], np.asarray(known.labels)[label][:, None]), axis=2)


def test_half_of_the_items_have_the_label_asked_for(key):
    _, known, tokens, label = draw(key)
    at = asked_at(known, tokens, label)
    two = at.sum(axis=1)
    assert np.all(np.isin(two, (2, 4)))  # four, where both classes have one label
    assert abs(np.mean(two == 4) - 1 / 20) < 0.03  # 50 classes share labels unevenly
    assert np.all(abs(at[two == 2].mean(axis=0) - 0.5) < 0.05)


def test_the_query_is_a_new_item_of_the_class(key):
    law, known, tokens, label = draw(key, noise=0.0)
    at = asked_at(known, tokens, label)
    alike = np.all(np.isclose(tokens[:, :-1:2], tokens[:, -1:], atol=1e-6), axis=2)
    assert np.all(alike.sum(axis=1) == 2)
    assert np.all(at[alike])
    noisy = draw(key)[2]
    assert not np.any(np.all(np.isclose(noisy[:, :-1:2], noisy[:, -1:]), axis=2))
    assert law.pairs == 4


@pytest.mark.parametrize("ends", [0.0, 1.0])
def test_which_position_is_asked_for(key, ends):
    """Asked for the ends alone, one of them is always of the class; else it is so in 5 of 6 orders."""
    tokens = draw(key, ends=ends, noise=0.0)[2]
    alike = np.all(np.isclose(tokens[:, :-1:2], tokens[:, -1:], atol=1e-6), axis=2)
    share = np.mean(alike[:, 0] | alike[:, 3])
    assert share == 1 if ends else abs(share - 5 / 6) < 0.03


def test_items_have_the_length_of_their_law(key):
    _, _, tokens, _ = draw(key, noise=2.0)
    assert abs(float(jnp.mean(jnp.sum(tokens[:, 0] ** 2, axis=1))) - 1) < 0.2


def test_conflicts_have_one_item_twice_with_different_labels(key):
    law, known, _, _ = draw(key)
    tokens, label = law.conflict(key, COUNT, known, 1, 3)
    assert np.array_equal(tokens[:, 2], tokens[:, 6])
    assert np.array_equal(tokens[:, 2], tokens[:, 8])
    assert np.all(np.diff(np.sort(label, axis=1), axis=1) > 0)
    np.testing.assert_array_equal(tokens[:, 1::2], np.asarray(known.labels)[label])
    assert np.all(abs(np.bincount(label[:, 0], minlength=20) / COUNT - 1 / 20) < 0.02)


def test_bad_numbers_are_told(key):
    with pytest.raises(ts.InvalidArgument, match="pairs"):
        ts.laws.ItemLabels(classes=5, labels=4, dim=3, pairs=3)
    with pytest.raises(ts.InvalidArgument, match="classes"):
        ts.laws.ItemLabels(classes=1, labels=4, dim=3, pairs=2)
    law = ts.laws.ItemLabels(classes=5, labels=2, dim=3, pairs=4)
    with pytest.raises(ts.InvalidArgument, match="labels"):
        law.conflict(key, 2, law.dictionary(key), 0, 1)

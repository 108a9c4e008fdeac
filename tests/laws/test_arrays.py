"""A user's own arrays: what is refused, how labels are mapped, split and flipped."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

import theorysim as ts

TOTAL, DIM = 12, 3
FEATURES = np.arange(TOTAL * DIM, dtype=float).reshape(TOTAL, DIM)
LABELS = np.array([3, 5] * (TOTAL // 2))
LAW = ts.laws.Arrays(FEATURES, LABELS)


def space(dim=DIM, kind="ambient"):
    """A frame of which nothing but its kind and its size is asked."""
    return ts.exact.Frame(dim, {}, 0, dim, kind)


def refused(call, words, error=ts.InvalidArgument):
    with pytest.raises(error) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        (FEATURES[0], LABELS, "features = (shape (3,)): must have two axes"),
        (FEATURES[None], LABELS, "features = (shape (1, 12, 3)): must have two axes"),
        (FEATURES, LABELS[:-1], "labels = (shape (11,)): must be one for each of 12 samples"),
        (FEATURES, LABELS[:, None], "labels = (shape (12, 1)): must be one for each of 12 samples"),
        (FEATURES, np.full(TOTAL, 3), "labels = (1 values): must have exactly two distinct values"),
        (FEATURES, np.arange(TOTAL) % 3, "labels = (3 values): must have exactly two distinct values"),
        (FEATURES, np.where(LABELS == 3, np.nan, 1.0), "labels = (2 values): must have exactly two distinct values, none NaN"),
        (np.where(FEATURES == 7, np.nan, FEATURES), LABELS, "features = (values): must be finite numbers"),
        (np.where(FEATURES == 7, np.inf, FEATURES), LABELS, "features = (values): must be finite numbers"),
        ([["a", "b", "c"]] * TOTAL, LABELS, "features = (values): must be finite numbers"),
    ],
)
def test_bad_arrays(features, labels, words):
    refused(lambda: ts.laws.Arrays(features, labels), words)


@pytest.mark.parametrize("name", ["flip_plus", "flip_minus"])
@pytest.mark.parametrize("value", [0.6, -0.1, float("nan"), float("inf")])
def test_bad_flips(name, value):
    refused(lambda: replace(LAW, **{name: value}), f"{name} = {value}: must be in [0, 0.5]")


def test_a_reduced_frame_is_refused_with_its_reason(key):
    refused(lambda: LAW.split(key, 4, space(kind="reduced")), "reduced frame: it draws Gaussian vectors", ts.Refused)
    refused(lambda: LAW.split(key, 4, space(kind="reduced")), "use frame=ambient", ts.Refused)


def test_another_dimension_is_refused(key):
    refused(lambda: LAW.split(key, 4, space(dim=DIM + 1)), "dim = 4: must be 3, the columns of the features")


@pytest.mark.parametrize("n", [0, -1, TOTAL, TOTAL + 1])
def test_a_bad_number_of_training_samples(key, n):
    refused(lambda: LAW.split(key, n, space()), f"n = {n}: must be in [1, 11], to leave something to test on")


@pytest.mark.parametrize(
    "labels", [LABELS, LABELS.astype(float) / 10, LABELS == 5, np.where(LABELS == 5, "b", "a"), (LABELS - 4).tolist()]
)
def test_the_larger_label_is_the_class_plus_one(key, labels):
    train, test = ts.laws.Arrays(FEATURES, labels).split(key, 7, space())
    for part in (train, test):
        rows = np.asarray(part.patches[0])[:, 0].astype(int) // DIM
        np.testing.assert_array_equal(part.sign, np.where(LABELS[rows] == 5, 1, -1))
        np.testing.assert_array_equal(part.label, part.sign)


@pytest.mark.parametrize("n", [1, 7, TOTAL - 1])
def test_the_split_is_disjoint_and_complete(key, n):
    train, test = LAW.split(key, n, space())
    assert train.patches[0].shape == (n, DIM)
    assert test.patches[0].shape == (TOTAL - n, DIM)
    both = np.concatenate([train.patches[0], test.patches[0]])
    np.testing.assert_array_equal(both[np.argsort(both[:, 0])], FEATURES)


def test_the_choice_depends_on_the_key_and_on_nothing_else(key):
    one, same = LAW.split(key, 7, space()), replace(LAW, flip_plus=0.5, flip_minus=0.5).split(key, 7, space())
    other = LAW.split(jax.random.fold_in(key, 1), 7, space())
    np.testing.assert_array_equal(one[0].patches[0], same[0].patches[0])
    np.testing.assert_array_equal(one[0].sign, same[0].sign)
    assert (np.asarray(one[0].patches[0]) != np.asarray(other[0].patches[0])).any()


def test_every_sample_is_chosen_equally_often(key):
    """Chi-square over 200 splits; statistical level 1e-6, fixed seed."""
    splits, counts = 200, np.zeros(TOTAL)
    for k in range(splits):
        counts[np.asarray(LAW.split(jax.random.fold_in(key, k), 3, space())[0].patches[0][:, 0]).astype(int) // DIM] += 1
    # three without replacement: each count has variance 600 p (1 - p), summing to (TOTAL - 1) of the usual unit
    p = 3 / TOTAL
    statistic = ((counts - splits * p) ** 2 / (splits * p * (1 - p))).sum() * (TOTAL - 1) / TOTAL
    assert stats.chi2.sf(statistic, TOTAL - 1) > 1e-6


@pytest.mark.parametrize(("plus", "minus"), [(0.3, 0.0), (0.0, 0.2), (0.4, 0.1)])
def test_flips_of_each_class_at_its_own_rate_and_in_training_only(key, plus, minus):
    """Binomial tests; statistical level 1e-6 each, fixed seed."""
    count, n = 20_000, 16_000
    sign = np.random.default_rng(0).choice([-1, 1], count, p=[0.4, 0.6])
    law = ts.laws.Arrays(np.zeros((count, 1)), sign, flip_plus=plus, flip_minus=minus)
    train, test = law.split(key, n, space(dim=1))
    np.testing.assert_array_equal(test.label, test.sign)
    np.testing.assert_array_equal(np.abs(train.label), 1)
    flipped = np.asarray(train.label != train.sign)
    for of, rate, other in ((1, plus, minus), (-1, minus, plus)):
        members = np.asarray(train.sign) == of
        seen = int(flipped[members].sum())
        assert stats.binomtest(seen, int(members.sum()), rate).pvalue > 1e-6
        assert stats.binomtest(seen, int(members.sum()), other).pvalue < 1e-6  # the other class's rate would be seen

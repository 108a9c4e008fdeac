"""Statistics of groups against numpy, and the AUROC against scikit-learn and by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from theorysim.observers import auroc, max_over, mean_over

COUNT = 9
#: few values, so that there are ties
values = st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.25, 3.0]), min_size=COUNT, max_size=COUNT).map(np.float32)
groups = st.lists(st.booleans(), min_size=COUNT, max_size=COUNT).map(np.array)


def both(score, positive):
    """Of scikit-learn, which has no value for one class alone."""
    return roc_auc_score(positive, score) if 0 < positive.sum() < len(positive) else np.nan


@given(values, groups)
def test_mean_and_max(numbers, group):
    expected = (numbers[group].mean(), numbers[group].max()) if group.any() else (np.nan, np.nan)
    found = mean_over(jnp.asarray(numbers), jnp.asarray(group)), max_over(jnp.asarray(numbers), jnp.asarray(group))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@given(values, groups)
def test_auroc_with_ties(score, positive):
    np.testing.assert_allclose(auroc(jnp.asarray(score), jnp.asarray(positive)), both(score, positive), rtol=1e-6)


def test_auroc_of_many_scores():
    rng = np.random.default_rng(0)
    positive = rng.random(400) < 0.3
    for score in (rng.normal(size=400) + positive, rng.integers(0, 4, 400) - positive, np.zeros(400), 1e30 * positive):
        score = np.asarray(score, np.float32)
        np.testing.assert_allclose(auroc(jnp.asarray(score), jnp.asarray(positive)), both(score, positive), rtol=1e-5)


@pytest.mark.parametrize(
    ("score", "positive", "area"),
    [
        ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.75),
        ([1, 2, 3], [0, 1, 0], 0.5),
        ([1, 1], [0, 1], 0.5),
        ([3, 2, 1], [0, 0, 1], 0.0),
        ([1, 2], [1, 1], np.nan),
        ([1, 2], [0, 0], np.nan),
    ],
)
def test_auroc_by_hand(score, positive, area):
    np.testing.assert_array_equal(auroc(jnp.array(score, float), jnp.array(positive, bool)), area)


def test_the_others_do_not_matter_whatever_they_are():
    group = jnp.array([True, False, True])
    for other in (jnp.nan, jnp.inf, -jnp.inf):
        numbers = jnp.array([1.0, other, 3.0])
        assert (float(mean_over(numbers, group)), float(max_over(numbers, group))) == (2.0, 3.0)


def test_a_value_that_diverged_is_seen():
    group = jnp.array([True, True, False])
    numbers = jnp.array([1.0, jnp.nan, 3.0])
    assert np.isnan(mean_over(numbers, group))
    assert np.isnan(max_over(numbers, group))
    # a run that diverged has no area: NaN, and not a number that looks like one
    assert np.isnan(auroc(numbers, jnp.array([True, False, False])))


def test_the_maximum_is_over_all_leading_axes():
    numbers = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    group = np.array([True, False, True, True, False])
    assert float(max_over(jnp.asarray(numbers), jnp.asarray(group))) == numbers[..., group].max()
    assert np.isnan(max_over(jnp.asarray(numbers), jnp.zeros(5, bool)))


def test_under_jit_and_vmap():
    rng = np.random.default_rng(1)
    score, positive = rng.normal(size=(4, 30)).astype(np.float32), rng.random((4, 30)) < 0.5
    areas = jax.jit(jax.vmap(auroc))(score, positive)
    np.testing.assert_allclose(areas, [both(*row) for row in zip(score, positive, strict=True)], rtol=1e-5)

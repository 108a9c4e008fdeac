"""InfoNCE with opposite-label negatives and stop-gradient; the reduced frame against the ambient one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import theorysim as ts

info_nce, similarity = ts.objectives.info_nce, ts.objectives.similarity


def test_it_is_the_sum_over_samples():
    rng = np.random.default_rng(0)
    positive, others, label = rng.normal(size=5), rng.normal(size=(5, 5)), np.array([1, 1, -1, -1, -1])
    stated = 0.0
    for i in range(5):
        negatives = sum(np.exp(others[i, j] / 0.3) for j in range(5) if label[j] != label[i])
        stated -= np.log(np.exp(positive[i] / 0.3) / (np.exp(positive[i] / 0.3) + negatives)) / 5
    found = info_nce(jnp.asarray(positive), jnp.asarray(others), jnp.asarray(label), 0.3)
    assert np.isclose(found, stated, rtol=1e-5)
    # with negatives of the same label too it is another number
    assert not np.isclose(info_nce(jnp.asarray(positive), jnp.asarray(others), jnp.arange(5), 0.3), stated, rtol=1e-3)


def test_no_gradient_goes_through_the_keys():
    h, g = jnp.array([[1.0, 2.0], [0.5, 1.0]]), jnp.array([[2.0, 1.0], [1.0, 0.0]])
    assert jnp.all(jax.grad(lambda k: similarity((h,), (k,)).sum())(g) == 0)
    assert jnp.all(jax.grad(lambda q: similarity((q,), (g,)).sum())(h) == g.sum(0))


def test_patches_are_not_mixed():
    h, g = (jnp.array([[1.0]]), jnp.array([[10.0]])), (jnp.array([[2.0]]), jnp.array([[3.0]]))
    assert similarity(h, g).tolist() == [[32.0]]


def test_the_loss_begins_where_all_are_alike():
    label = jnp.array([1.0, 1.0, -1.0])
    assert np.isclose(info_nce(jnp.zeros(3), jnp.zeros((3, 3)), label, 0.5), ts.theory.multimodal_contrastive.first_loss(label))


def test_reduced_and_ambient_runs_agree():
    """Mean signal and noise learned, 100 seeds of each frame, 4 standard errors; another dimension is seen."""
    paper = ts.load("multimodal_contrastive")
    size = {"n": 8, "width": 4, "steps": 12, "tests": 10, "pairs": 0.0, "init": 0.05, "signal": 2.0}

    def mean(**options):
        data = ts.sweep(paper.trial, paper.params(**size, **options), seeds=100).isel(time=-1)
        values = [data[k] for k in ("signal_learning", "noise_memorization")]
        return np.array([float(v.mean()) for v in values]), np.array([float(v.std()) / 10 for v in values])

    (reduced, error), (ambient, other) = mean(dim=60.0), mean(dim=60.0, frame="ambient")
    assert np.all(np.abs(reduced - ambient) < 4 * np.hypot(error, other))
    assert np.any(np.abs(mean(dim=120.0)[0] - ambient) > 4 * np.hypot(error, other))

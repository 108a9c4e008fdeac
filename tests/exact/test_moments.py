"""Drawn moments of prompts against explicit ones; z-tests of a function together have level 1e-4."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import theorysim as ts
from theorysim.exact import label_moments, linear_attention_loss, moments, moments_of

D, COUNT, LEVEL = 3, 40_000, 1e-4
ROOT = np.array([[1.0, 0.0, 0.0], [0.5, 0.7, 0.0], [0.0, 0.3, 1.2]], np.float32)
CASES = [(2, 0.0), (3, 0.5), (4, 0.5), (40, 0.5)]  # context below, at and above the number of columns; variance of labels


def explicit(key, context, noise):
    law = ts.laws.LinearPrompts(D, root=ROOT, noise=noise)
    keys = jax.random.split(key)
    prompts = law(keys[0], COUNT, context)
    return prompts, moments_of(prompts)


def statistics(m) -> dict[str, np.ndarray]:
    """What can tell two laws of moments apart: first and second moments, and a determinant."""
    found = {f"xy{i}": m.xy[:, i] for i in range(D)} | {"yy": m.yy}
    found |= {f"xy{i}xy{j}": m.xy[:, i] * m.xy[:, j] for i in range(D) for j in range(i + 1)} | {"xy0yy": m.xy[:, 0] * m.yy}
    found |= {"yy2": m.yy**2, "cauchy": m.xy[:, 0] ** 2 / m.yy}
    if m.xx is not None:
        found |= {f"xx{i}{j}": m.xx[:, i, j] for i in range(D) for j in range(i + 1)}
        found |= {"det": jnp.linalg.det(m.tokens), "xx00xy1": m.xx[:, 0, 0] * m.xy[:, 1], "xx00^2": m.xx[:, 0, 0] ** 2}
    return {name: np.asarray(value, float) for name, value in found.items()}


def differ(one, other) -> list[str]:
    one, other = statistics(one), statistics(other)
    names = [name for name in one if name in other]
    limit = stats.norm.isf(LEVEL / 2 / len(names) / len(CASES))
    out = []
    for name in names:
        a, b = one[name], other[name]
        spread = np.sqrt((a.var() + b.var()) / COUNT)
        if abs(a.mean() - b.mean()) > limit * spread + 1e-4 * max(1, abs(a).mean()):
            out.append(f"{name}: {a.mean():.4f} against {b.mean():.4f}")
    return out


@pytest.fixture(scope="module")
def drawn():
    task = ts.laws.LinearPrompts(D).tasks(jax.random.key(9), COUNT)
    found = {}
    for case in CASES:
        context, noise = case
        key = jax.random.key(context)
        other = jax.random.fold_in(key, 1)
        found[case] = (
            explicit(key, context, noise)[1],
            moments(other, task, context, root=ROOT, noise=noise),
            label_moments(other, task, context, root=ROOT, noise=noise),
        )
    return found


@pytest.mark.parametrize("case", CASES)
def test_drawn_moments_have_the_law_of_explicit_ones(drawn, case):
    one, full, labels = drawn[case]
    assert differ(one, full) == []
    assert differ(one, labels) == []


def test_a_wrong_degree_of_freedom_is_seen(drawn):
    one, _, _ = drawn[CASES[2]]
    task = ts.laws.LinearPrompts(D).tasks(jax.random.key(9), COUNT)
    assert differ(one, moments(jax.random.key(1), task, 5, root=ROOT, noise=0.5))
    assert differ(one, label_moments(jax.random.key(1), task, 5, root=ROOT, noise=0.5))


def test_a_transposed_root_is_seen(drawn):
    one, _, _ = drawn[CASES[2]]
    task = ts.laws.LinearPrompts(D).tasks(jax.random.key(9), COUNT)
    assert differ(one, moments(jax.random.key(1), task, 4, root=ROOT.T, noise=0.5))


def test_rows_beyond_the_context_are_zero(drawn):
    _, full, _ = drawn[CASES[0]]
    assert np.abs(np.linalg.det(np.asarray(full.xx, float))).max() < 1e-3 * np.abs(full.xx).max() ** 3


def test_a_task_of_zero_has_labels_of_zero():
    seen = label_moments(jax.random.key(0), jnp.zeros((2, D)), 10)
    assert not np.any(seen.xy)
    assert not np.any(seen.yy)


def test_moments_need_inputs():
    with pytest.raises(ts.InvalidArgument, match="xx"):
        _ = label_moments(jax.random.key(0), jnp.ones((2, D)), 10).tokens


@pytest.mark.parametrize(("inputs", "noise"), [("gaussian", 0.0), ("gaussian", 0.5), ("uniform", 0.5)])
def test_population_loss_is_the_mean_loss_of_prompts(inputs, noise):
    """Within 4 standard errors (level 1e-4) of 40 000 prompts; a missing 1/N term is 20 of them away."""
    context, spectrum, tasks = 6, np.array([1.0, 0.5, 2.0], np.float32), np.array([1.0, 2.0, 0.5], np.float32)
    # uniform coordinates have variance 1/12; with a common law of all coordinates, kurtosis 1.8
    root = np.sqrt(spectrum) if inputs == "gaussian" else np.sqrt(12 * 0.5) * np.ones(D, np.float32)
    covariance = np.diag(spectrum) if inputs == "gaussian" else 0.5 * np.eye(D, dtype=np.float32)
    excess = 0.0 if inputs == "gaussian" else (1.8 - 3) * 0.5**2
    gamma = jax.random.normal(jax.random.key(0), (D, D))
    prompts = ts.laws.LinearPrompts(D, root=root, task_root=np.sqrt(tasks), noise=noise, inputs=inputs)(
        jax.random.key(1), COUNT, context
    )
    query = prompts.x[:, -1]
    said = jnp.einsum("bd,de,be->b", query, gamma, moments_of(prompts).xy / context)
    losses = np.asarray((said - jnp.sum(query * prompts.task, axis=1)) ** 2 / 2, float)
    exact = float(linear_attention_loss(gamma, covariance, context, task=np.diag(tasks), noise=noise, excess=excess))
    assert abs(losses.mean() - exact) < 4 * losses.std() / np.sqrt(COUNT)
    infinite = float(linear_attention_loss(gamma, covariance, 1e9, task=np.diag(tasks), noise=noise, excess=excess))
    assert abs(losses.mean() - infinite) > 4 * losses.std() / np.sqrt(COUNT)

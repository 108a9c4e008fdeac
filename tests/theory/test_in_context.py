"""The learners of a context against linear algebra."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import theorysim as ts
from theorysim.theory import in_context

B, K, D = 3, 9, 4


@pytest.fixture(scope="module")
def prompts():
    with jax.enable_x64(True):
        return jax.device_get(ts.laws.LinearPrompts(D, noise=0.3)(jax.random.key(2), B, K - 1))


def by_hand(prompts, solve):
    """Predictions of `solve(X, y) -> w` on the points before each point."""
    said = np.zeros((B, K))
    for b in range(B):
        for j in range(1, K):
            said[b, j] = solve(prompts.x[b, :j], prompts.y[b, :j]) @ prompts.x[b, j]
    return said


def test_ridge(prompts):
    with jax.enable_x64(True):
        said = in_context.ridge(prompts.x, prompts.y, 0.3)
    wanted = by_hand(prompts, lambda x, y: np.linalg.solve(x.T @ x + 0.3 * np.eye(D), x.T @ y))
    np.testing.assert_allclose(said, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("repeated", [False, True])
def test_least_squares_below_and_above_the_number_of_points(prompts, repeated):
    x = np.array(prompts.x)
    if repeated:
        x[:, 2] = 2 * x[:, 0] - x[:, 1]  # a point in the span of those before it
    with jax.enable_x64(True):
        said = in_context.least_squares(x, prompts.y)
    wanted = by_hand(prompts._replace(x=x), lambda x, y: np.linalg.pinv(x) @ y)
    np.testing.assert_allclose(said, wanted, rtol=1e-7, atol=1e-9)


def test_least_squares_in_single_precision():
    prompts = ts.laws.LinearPrompts(20)(jax.random.key(0), 50, 40)
    said = in_context.least_squares(prompts.x, prompts.y)
    assert float(np.sqrt(np.mean((said - prompts.y)[:, 22:] ** 2))) < 0.05  # no noise: exact once k > d
    assert float(np.mean((said - prompts.y)[:, 1] ** 2)) > 10


def test_ridge_is_bayes(prompts):
    """The mean square error of the Bayes penalty is the least of three, by far more than its error."""
    law = ts.laws.LinearPrompts(D, noise=0.5)(jax.random.key(1), 20_000, 6)
    errors = [float(np.mean((in_context.ridge(law.x, law.y, p)[:, -1] - law.target) ** 2)) for p in (0.05, 0.5, 5.0)]
    assert errors[1] < 0.98 * min(errors[0], errors[2])


def test_discrete_mmse_is_bayes_for_a_finite_list():
    tasks = jax.random.normal(jax.random.key(5), (6, D))
    which = jax.random.randint(jax.random.key(6), (5000,), 0, 6)
    law = ts.laws.LinearPrompts(D, noise=1.0)(jax.random.key(1), 5000, 4, task=tasks[which])
    said = in_context.discrete_mmse(law.x, law.y, tasks, 1.0)
    other = in_context.ridge(law.x, law.y, 1.0)
    assert float(np.mean((said[:, -1] - law.target) ** 2)) < 0.8 * float(np.mean((other[:, -1] - law.target) ** 2))
    np.testing.assert_allclose(said[:, 0], law.x[:, 0] @ tasks.mean(axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("inputs", "variance", "kurtosis"), [("gaussian", 1.0, 3.0), ("uniform", 1 / 12, 1.8)])
def test_best_step_is_best(inputs, variance, kurtosis):
    n, d, noise = 10, 10, 0.2
    best = float(in_context.best_step(d, n, variance=variance, kurtosis=kurtosis, noise=noise))
    law = ts.laws.LinearPrompts(d, noise=noise, inputs=inputs)(jax.random.key(1), 20_000, n)
    truth = np.sum(law.x[:, -1] * law.task, axis=-1)
    said = np.asarray(in_context.one_step(law.x, law.y, 1.0)[:, -1], float)
    fitted = float(said @ truth / (said @ said))
    assert abs(fitted / best - 1) < 0.05
    loss = float(np.mean((best * said - truth) ** 2) / 2)
    assert abs(loss / (variance * d * (1 - best * variance) / 2) - 1) < 0.05

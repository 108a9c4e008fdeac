"""The formulas of the autoregressive layer: moments, limits, the recursion of two numbers, errors."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import theorysim as ts
from theorysim.theory import mesa_optimizer as theory

STARTS = [(1.0, 0.0), (0.0, 0.0), (0.5, 0.0), (0.0, 1.0), (0.5, 1.0)]


@pytest.mark.parametrize(("power", "sparse"), STARTS)
def test_moments_are_those_of_the_law(power, sparse):
    law = ts.laws.Rotations(5, scale=1.3, power=power, sparse=sparse)
    wanted = theory.moments(5, 1.3, power, sparse)
    np.testing.assert_allclose(law.moments(), wanted, rtol=1e-5)
    blocks = [ts.exact.start_moments(law.starts(k, 4000)) for k in jax.random.split(jax.random.key(0), 50)]
    for name in wanted._fields:
        drawn = np.array([getattr(block, name) for block in blocks])
        assert abs(drawn.mean() - getattr(wanted, name)) < 4 * drawn.std() / 7 + 1e-5


def test_published_limits():
    assert np.allclose([theory.limit(theory.moments(5, s), 100) for s in (0.5, 1, 2)], [0.768, 0.192, 0.048], atol=5e-4)
    assert np.allclose([theory.far_limit(theory.moments(5, s)) for s in (0.5, 1, 2)], [0.8, 0.2, 0.05])
    assert np.allclose([theory.limit(theory.moments(5, c, 0.0, 1.0), 100) for c in (0.5, 1, 2)], [4, 1, 0.25])
    assert np.isclose(theory.limit(theory.moments(5, 1.0, 0.0), 100), 1 / (1 + 4 * theory.harmonic(100)))


def test_the_recursion_keeps_its_balance():
    """a^2 - b^2 is multiplied by 1 - (eta g)^2 in each step, and by nothing else."""
    of, lr, length = theory.moments(5), 1e-4, 100
    a, b = theory.path(0.5, 1.5, range(40), lr, of, length)
    big = of.sixth + of.cross * theory.harmonic(length)
    pull = lr * (length - 2) * (a * b * big - of.fourth)
    np.testing.assert_allclose(np.diff(a**2 - b**2), -(pull**2 * (a**2 - b**2))[:-1], rtol=1e-9, atol=1e-14)
    assert np.isclose((a * b)[-1], theory.limit(of, length), rtol=1e-3)


def test_the_recursion_is_gradient_descent_on_the_closed_form():
    of, d, length, lr = theory.moments(3, 0.8), 3, 20, 1e-3
    a, b = 0.4 * np.ones(d), 0.9 * np.ones(d)
    loss = lambda a, b: ts.exact.mesa_loss(a, b, ts.exact.StartMoments(*of), length, d)  # noqa: E731
    step = jax.grad(loss, argnums=(0, 1))(a, b)
    wanted = theory.path(0.4, 0.9, [1], lr, of, length)
    np.testing.assert_allclose([a[0] - lr * step[0][0], b[0] - lr * step[1][0]], np.ravel(wanted), rtol=1e-5)


def test_errors():
    """The limit minimises the loss, not the last error; the least error is that of long sequences."""
    for power in (0.0, 0.7, 1.0):
        of = theory.moments(5, 1.0, power)
        far = theory.last_error(theory.limit(of, 10**6), of, 10**6)
        assert np.isclose(far, theory.least_error(of), atol=1e-3)
        assert theory.last_error(0.5 * theory.limit(of, 100), of, 100) > theory.last_error(theory.limit(of, 100), of, 100)
    powers = np.linspace(0, 2, 20)
    of = theory.moments(5, 1.0, powers)
    assert np.all(np.diff(theory.least_error(of)) > 0)
    assert np.all(np.diff(theory.kurtosis(of)) > 0)
    assert np.isclose(theory.least_error(of)[0], 0)


def test_a_planted_fault_turns_the_claim():
    """Without the cross term the limit of a Gaussian start would be 1/5: the claim must refuse it."""
    paper = ts.load("mesa_optimizer")
    data = paper.run("quick", "gaussian_one", seeds=2)["gaussian_one"].to_dataset()
    claim = next(item for item in paper.claims if item.name == "limit_gaussian_one")
    assert float(claim.check(data).min()) > 0
    of = theory.moments(5)
    wrong = data.assign(product=data["product"] * theory.far_limit(of) / theory.limit(of, 100))
    assert float(claim.check(wrong).max()) < 0

"""The formulas of the portfolio of two prompts: optimality, limits, and what small steps give."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from theorysim.theory import prompt_portfolio as theory

positive = st.floats(0.1, 3)
correlation = st.floats(-0.9, 0.9)
GRID = np.linspace(0, 1, 2001)


def covariance(first, second, rho):
    return first**2, rho * first * second, second**2


@given(positive, positive, positive, positive, correlation)
def test_no_share_of_a_grid_is_better(m_global, m_local, s_global, s_local, rho):
    both = (m_global, m_local), covariance(s_global, s_local, rho)
    mean, sd = theory.score(GRID, *both)
    best = theory.best_share(*both)
    top, width = theory.score(best, *both)
    assert 0 <= best <= 1
    assert top / width >= np.max(mean / sd) - 1e-9


@given(positive, positive, positive, positive, correlation)
def test_the_share_without_correlation_is_worse(m_global, m_local, s_global, s_local, rho):
    """A planted fault: it agrees at no correlation, and is never better."""
    both = (m_global, m_local), covariance(s_global, s_local, rho)
    wrong = theory.best_share_uncorrelated(*both)
    assert theory.accuracy(wrong, *both) <= theory.accuracy(theory.best_share(*both), *both) + 1e-9
    free = (m_global, m_local), covariance(s_global, s_local, 0.0)
    assert theory.best_share(*free) == pytest.approx(theory.best_share_uncorrelated(*free))


def test_values():
    assert theory.accuracy(0.0, (1.0, 9.0), (4.0, 0.0, 1.0)) == pytest.approx(0.69146, abs=1e-5)
    assert theory.accuracy(1.0, (9.0, 1.0), (1.0, 0.0, 4.0)) == pytest.approx(0.69146, abs=1e-5)
    assert theory.best_share((1.0, 1.0), (1.0, 1.0, 4.0)) == 0  # the local prompt is the global one with more noise
    assert theory.best_share((0.0, 1.0), (1.0, 0.0, 1.0)) == 1


@given(st.integers(2, 50), positive, positive, positive)
def test_small_steps(clients, common, own, noise):
    """One group: the global prompt alone; fewer share with more clients, more with more groups."""
    shares = theory.early_share(clients, np.arange(1, clients + 1), common, own, noise, 400, 16)
    assert shares[0] == 0
    assert np.all(np.diff(shares) > 0)
    assert np.all(shares < 1)
    more = theory.early_share(np.array([clients, 2 * clients]), 2, common, own, noise, 400, 16)
    assert more[1] < more[0]


def test_small_steps_from_random_prompts():
    """The mean of samples times labels, drawn here in numpy, beside the formula."""
    rng, (clients, groups, n, features, noise, common, own) = np.random.default_rng(0), (10, 5, 16, 2000, 0.3, 0.3, 0.3)
    local = noise * rng.normal(size=(clients, features)) / np.sqrt(n)
    glob = local.mean(axis=0)
    first, second = common**2 + own**2 / groups, common**2 + own**2  # scores, and squared norms of the signals' parts
    lengths = np.sqrt(first + glob @ glob), np.sqrt(second + (local**2).sum(axis=1))
    means = first / lengths[0], second / lengths[1]
    products = glob @ glob / lengths[0] ** 2, local @ glob / lengths[0] / lengths[1], (local**2).sum(axis=1) / lengths[1] ** 2
    found = theory.best_share(means, products).mean()
    # q = sigma^2 L / n is larger than a signal by far: the formula keeps both
    assert found == pytest.approx(theory.early_share(clients, groups, common, own, noise, features, n), rel=0.05)


def test_the_bound_sees_a_wrong_share(monkeypatch):
    rng = np.random.default_rng(0)
    names = {"mean_global": 1.0, "mean_local": 0.6, "var_global": 1.0, "covariance": 0.3, "var_local": 2.0}
    data = xr.Dataset({name: (("seed", "client"), value * rng.uniform(0.9, 1.1, (20, 3))) for name, value in names.items()})
    data.attrs["params"] = "{}"
    assert (theory.MIXED.slack(data) > 0).all()
    monkeypatch.setattr(theory, "best_share", lambda means, covariance: 0.9 + 0 * means[0])
    assert (theory.MIXED.slack(data) < 0).all()

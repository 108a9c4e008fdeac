"""True bounds pass, planted mistakes are refuted, and a bad regime is said."""

import pytest

import theorysim as ts
from theorysim.testing import assert_bound

from .conftest import FALSE, TRUE, bound

OVER = {"n": [10, 100, 1000], "sigma": [0.25, 1.0, 4.0]}
RAY = {"n": [10, 30, 100, 1000, 3000, 10_000]}


@pytest.mark.parametrize("name", TRUE)
def test_true_bounds_pass(gaussian, name):
    """Each call refutes a true bound with probability 0.001 at most; fixed seeds."""
    trial, params = gaussian
    for seed in range(5):
        assert_bound(TRUE[name], trial, params, OVER, seeds=60, seed=seed)


@pytest.mark.parametrize("name", FALSE)
def test_planted_mistakes_are_refuted(gaussian, name):
    trial, params = gaussian
    with pytest.raises(AssertionError, match=r"planted \(test\) is refuted at n="):
        assert_bound(FALSE[name], trial, params, OVER, seeds=120)


def test_a_bound_in_probability_says_at_which_delta(gaussian):
    trial, params = gaussian
    with pytest.raises(AssertionError, match=r"tested at delta = 0\.2"):
        assert_bound(FALSE["the sense is turned"], trial, params, OVER, seeds=60)


def test_a_small_delta_is_tested_at_a_tenth(gaussian):
    trial, params = gaussian
    wrong = bound(lambda p: 0 * p.sigma, delta=1e-9)
    with pytest.raises(AssertionError, match=r"tested at delta = 0\.1"):
        assert_bound(wrong, trial, params, OVER, seeds=60)


def test_outside_the_regime_nothing_is_tested(gaussian):
    trial, params = gaussian
    with pytest.raises(ts.Refused, match=r"not applicable here: n >= 10 fails by 0\.699 decades"):
        assert_bound(FALSE["a factor n is missing"], trial, params, {"n": [1, 2]}, seeds=10)


def test_cells_outside_do_not_count(gaussian):
    trial, params = gaussian
    only_deep = bound(lambda p: 1e3 * (p.n >= 10) * p.sigma)
    assert_bound(only_deep, trial, params, {"n": [1, 100]}, seeds=30)


def test_an_open_constant_is_fitted_low_and_tested_high(gaussian):
    trial, params = gaussian
    rate = bound(lambda p, C: C * p.sigma * p.n**-0.5, constants={"C": 1})
    assert_bound(rate, trial, params, RAY, seeds=120, along="n")
    for wrong in (lambda p, C: C * p.sigma / p.n, lambda p, C: C * p.sigma * p.n**-0.5 / p.n**0.5):
        with pytest.raises(AssertionError, match=r"C = .* fitted"):
            assert_bound(bound(wrong, constants={"C": 1}), trial, params, RAY, seeds=120, along="n")


def test_a_constant_that_loosens_downwards(gaussian):
    trial, params = gaussian
    rate = bound(lambda p, c: c * p.sigma * p.n**-0.5, ">=", constants={"c": -1})
    assert_bound(rate, trial, params, RAY, seeds=120, along="n")
    wrong = bound(lambda p, c: c * p.sigma, ">=", constants={"c": -1})
    with pytest.raises(AssertionError, match="refuted"):
        assert_bound(wrong, trial, params, RAY, seeds=120, along="n")


@pytest.mark.parametrize(
    ("over", "along", "seeds", "said"),
    [
        ({"n": [10, 100]}, "n", 20, "two decades|2 decades"),
        (RAY, None, 20, "along"),
        (RAY, "sigma", 20, "along = sigma"),
        (RAY, "n", 3, "at least 4"),
    ],
)
def test_an_open_constant_needs_a_scale(gaussian, over, along, seeds, said):
    trial, params = gaussian
    with pytest.raises(ts.InvalidArgument, match=said):
        assert_bound(bound(lambda p, C: C * p.sigma, constants={"C": 1}), trial, params, over, seeds=seeds, along=along)

"""Fitted exponents of planted power laws, and jackknife values."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import theorysim as ts
from theorysim.analysis import fit_exponent, jackknife

DIM = np.geomspace(10, 1e5, 6)


def power_law(slope, prefactor, noise, seeds=30, seed=0) -> xr.Dataset:
    """Seeds share their random number across the grid in part, as the cells of a sweep do."""
    rng = np.random.default_rng(seed)
    error = noise * (rng.normal(size=(seeds, 1)) + rng.normal(size=(seeds, DIM.size)))
    return xr.Dataset({"y": (("seed", "dim"), prefactor * DIM**slope * np.exp(error))}, {"dim": DIM, "seed": np.arange(seeds)})


def mean(data: xr.Dataset) -> xr.DataArray:
    return data.y.mean("seed")


@settings(max_examples=15)
@given(st.floats(-2, 2), st.floats(1e-3, 1e3))
def test_exact_power_law(slope, prefactor):
    fit = fit_exponent(power_law(slope, prefactor, 0.0), mean, against="dim", resamples=100)
    assert (fit.slope, fit.low, fit.high) == pytest.approx((slope,) * 3, abs=1e-9)
    assert fit.prefactor == pytest.approx(prefactor, rel=1e-8)
    np.testing.assert_allclose([fit.local, fit.local_low, fit.local_high], slope, atol=1e-9)
    np.testing.assert_allclose(fit.local.dim, np.sqrt(DIM[1:] * DIM[:-1]))


def test_intervals_cover_the_planted_exponent():
    """Of 60 intervals of 90 % nominal coverage at least 45 hold the truth; fewer has probability 2e-4."""
    fits = [fit_exponent(power_law(0.25, 2.0, 0.1, seed=s), mean, "dim", resamples=100, confidence=0.9) for s in range(60)]
    assert sum(fit.low <= 0.25 <= fit.high for fit in fits) >= 45
    assert sum(fit.low <= 0.3 <= fit.high for fit in fits) < 45, "a wrong exponent must not be covered"
    assert all(fit.low <= fit.slope <= fit.high for fit in fits)


def test_local_slopes_show_what_one_exponent_hides():
    data = power_law(0.0, 1.0, 0.0)
    data["y"] = data.y + (DIM / 1e3) * xr.ones_like(data.y)
    local = fit_exponent(data, mean, against="dim", resamples=100).local
    assert local[0] < 0.05
    assert local[-1] > 0.95
    assert np.all(np.diff(local) > 0)


def test_points_without_a_value_are_left_out():
    data = power_law(0.5, 1.0, 0.0)
    data["y"] = data.y.where(data.dim > 20)
    assert fit_exponent(data, mean, against="dim", resamples=100).slope == pytest.approx(0.5)


def test_text():
    assert str(fit_exponent(power_law(0.25, 1.0, 0.0), mean, "dim", resamples=100)) == "0.250 [0.250, 0.250]"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"against": "signal"}, "against = signal: must be a dimension"),
        ({"resamples": 10}, "resamples = 10: must be a whole number >= 100"),
        ({"confidence": 1.0}, "confidence = 1.0: must be in"),
    ],
)
def test_refused(more, said):
    with pytest.raises(ts.InvalidArgument, match=said):
        fit_exponent(power_law(1.0, 1.0, 0.0), mean, **{"against": "dim", **more})


def test_values_that_are_not_positive_are_refused():
    data = power_law(1.0, 1.0, 0.0).assign_coords(dim=DIM - 10)
    with pytest.raises(ts.InvalidArgument, match="a power law needs positive values"):
        fit_exponent(data, mean, against="dim")


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12))
def test_jackknife_of_a_mean_is_the_data(values):
    data = xr.Dataset({"x": ("seed", values)}, {"seed": np.arange(len(values))})
    np.testing.assert_allclose(jackknife(data, lambda d: d.x.mean("seed")), values, atol=1e-9)


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=12))
def test_jackknife_removes_the_bias_of_a_variance(values):
    """The mean pseudo-value of the plug-in variance is the unbiased one."""
    data = xr.Dataset({"x": ("seed", values)}, {"seed": np.arange(len(values))})
    found = jackknife(data, lambda d: d.x.var("seed")).mean("seed")
    np.testing.assert_allclose(found, np.var(values, ddof=1), atol=1e-8)


def test_jackknife_keeps_dimensions():
    found = jackknife(power_law(1.0, 1.0, 0.1, seeds=4), mean)
    assert found.dims == ("seed", "dim")
    assert found.seed.values.tolist() == [0, 1, 2, 3]


def test_jackknife_needs_two_seeds():
    with pytest.raises(ts.InvalidArgument, match="at least two seeds"):
        jackknife(power_law(1.0, 1.0, 0.0, seeds=1), mean)

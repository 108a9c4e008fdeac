"""Crossings of planted curves."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import theorysim as ts
from theorysim.analysis import phase_boundary

# the package hands out the function under the module's name
isotonic = sys.modules[phase_boundary.__module__].isotonic
X = np.linspace(0, 8, 33)


def curve(values, **more) -> xr.Dataset:
    return xr.Dataset({"error": (("signal", *more), values)}, {"signal": X, **more})


@given(st.floats(0.5, 7.5), st.floats(0.3, 4), st.booleans())
def test_planted_crossing(where, steep, rising):
    """A sigmoid that crosses at a known point, rising or falling; to the curvature within a step of the grid."""
    sign = 1 if rising else -1
    data = curve(1 / (1 + np.exp(-sign * steep * (X - where))))
    assert float(phase_boundary(data, "error", 0.5, along="signal")) == pytest.approx(where, abs=0.02)


@given(st.floats(0.26, 7.7))
def test_piecewise_linear_is_exact(where):
    data = curve(1 - X / (2 * where))
    assert float(phase_boundary(data, "error", 0.5, along="signal")) == pytest.approx(where)


@pytest.mark.parametrize("level", [-0.1, 1.1])
def test_not_crossed_is_nan(level):
    assert np.isnan(phase_boundary(curve(1 - X / 8), "error", level, along="signal"))


def test_flat_or_missing_is_nan():
    assert np.isnan(phase_boundary(curve(np.full(X.shape, 0.3)), "error", 0.2, along="signal"))
    values = np.where(np.arange(X.size) == 7, np.nan, 1 - X / 8)
    assert np.isnan(phase_boundary(curve(values), "error", 0.5, along="signal"))


def test_seeds_are_averaged_and_noise_smoothed():
    """200 noisy seeds of a line: within five standard errors of its crossing, though single seeds are far off."""
    rng = np.random.default_rng(0)
    values = (1 - X / 8)[:, None] + 0.3 * rng.normal(size=(X.size, 200))
    data = curve(values, seed=np.arange(200))
    assert float(phase_boundary(data, "error", 0.5, along="signal")) == pytest.approx(4, abs=5 * 0.3 / np.sqrt(200) * 8 / 2)


def test_one_boundary_for_each_of_the_rest():
    dims = np.array([1.0, 2.0, 3.0])
    data = curve(1 - X[:, None] / (2 * dims), dim=dims)
    found = phase_boundary(data, "error", 0.5, along="signal")
    assert found.dims == ("dim",)
    np.testing.assert_allclose(found, dims)
    np.testing.assert_allclose(found.dim, dims)


def test_a_crossing_is_where_the_monotone_fit_crosses():
    """A dent below the level before the true crossing is averaged away, not taken for the crossing."""
    values = np.where(X < 4, 1.0, 0.0)
    values[5] = 0.45
    found = float(phase_boundary(curve(values), "error", 0.5, along="signal"))
    assert 3.5 < found <= 4


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=25))
def test_isotonic_is_the_least_squares_fit(values):
    values = np.asarray(values)
    expected = isotonic_regression(values, increasing=False).x
    np.testing.assert_allclose(isotonic(values), expected, atol=1e-9)
    np.testing.assert_allclose(isotonic(np.stack([values, values[::-1]]))[0], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("variable", "along", "grid", "said"),
    [
        ("errors", "signal", X, "variable = errors: unknown; there are error"),
        ("error", "dim", X, "along = dim: must be one of the dimensions signal"),
        ("error", "signal", X[::-1], "along = signal: needs at least two values, which increase"),
    ],
)
def test_refused(variable, along, grid, said):
    data = xr.Dataset({"error": ("signal", X)}, {"signal": grid})
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        phase_boundary(data, variable, 0.5, along=along)
    assert "\n" not in str(refusal.value)

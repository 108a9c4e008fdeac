"""Collapse of planted families of curves."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import theorysim as ts
from theorysim.analysis import collapse

SIGNAL = np.concatenate([[0.0], np.geomspace(0.02, 50, 40)])
DIM, N = np.geomspace(1e2, 1e6, 5), np.array([10.0, 20.0, 40.0, 80.0])


def planted(log_scale, noise=0.0, seeds=6, rng=0, rising=False) -> xr.Dataset:
    """Curves exp(-x) of `x = signal * exp(log_scale(n, dim))`, with a common noise of each seed and one of each cell."""
    rng = np.random.default_rng(rng)
    x = SIGNAL * np.exp(log_scale(N[:, None], DIM) * np.ones((N.size, DIM.size)))[..., None]
    shared, own = noise * rng.normal(size=(seeds, 1, 1, 1)), noise * rng.normal(size=(seeds, *x.shape))
    curve = np.exp(-x * np.exp(shared)) + 0.3 * own
    return xr.Dataset(
        {"error": (("seed", "n", "dim", "signal"), 1 - curve if rising else curve)},
        {"n": N, "dim": DIM, "signal": SIGNAL, "seed": np.arange(seeds)},
    )


def law(a, b):
    return lambda n, dim: a * np.log(n / 20) + b * np.log(dim / 1e4)


@given(st.floats(-0.5, 0.5), st.floats(-0.3, 0.3), st.booleans())
@settings(max_examples=8)
def test_two_fields_without_noise(a, b, rising):
    """Curves that rise or fall; what is left is the interpolation on the grid of signals."""
    found = collapse(planted(law(a, b), seeds=2, rising=rising), "error", over=("n", "dim"), resamples=100)
    assert found.exponents["n"] == pytest.approx(a, abs=0.01)
    assert found.exponents["dim"] == pytest.approx(b, abs=0.01)
    assert found.spread_after < 0.02
    for name, slope, sizes in (("n", a, {"n": 3, "dim": 5}), ("dim", b, {"n": 4, "dim": 4})):
        assert dict(found.local[name].sizes) == sizes
        np.testing.assert_allclose(found.local[name], slope, atol=0.03)


def test_one_field_and_its_horizontal_axis():
    data = planted(law(0.0, -0.25)).sel(n=20)
    found = collapse(data, "error", "dim")
    assert found.exponents["dim"] == pytest.approx(-0.25, abs=0.005)
    assert found.spread_after < 0.01 < 0.5 < found.spread_before
    x = found.x(data)
    assert set(x.dims) == {"signal", "dim"}
    assert float(x.sel(dim=1e4, method="nearest")[-1]) == pytest.approx(50 * 1e4 ** found.exponents["dim"])
    # at the same x the curves agree, whatever the dimension
    middle = [np.interp(0.5, x.isel(dim=k) / x.isel(dim=0)[1] * SIGNAL[1], data.error[0].isel(dim=k)) for k in range(DIM.size)]
    np.testing.assert_allclose(middle, middle[0], atol=0.01)
    np.testing.assert_allclose(found.local["dim"].dim, np.sqrt(DIM[1:] * DIM[:-1]))
    assert re.fullmatch(r"signal \* dim\^-0\.2\d+ \[-0\.2\d+, -0\.2\d+\]; spread \S+ to \S+", str(found))


def test_intervals_cover_and_do_not_waste():
    """Of 40 noisy data sets, the 90 % intervals must contain the exponent in 70 % at least, and not be endless."""
    hits, widths = [], []
    for rng in range(40):
        data = planted(law(0.0, -0.25), noise=0.2, seeds=20, rng=rng).sel(n=20).isel(signal=slice(None, None, 3))
        found = collapse(data, "error", ("dim",), resamples=100, confidence=0.9)
        hits.append(found.low["dim"] <= -0.25 <= found.high["dim"])
        widths.append(found.high["dim"] - found.low["dim"])
    assert np.mean(hits) > 0.7
    assert 0.003 < np.median(widths) < 0.05


def test_an_exponent_off_by_a_tenth_is_rejected():
    """The planted defect: data of one law, the exponent of another."""
    data = planted(law(-0.35, -0.25), noise=0.1, seeds=20)
    found = collapse(data, "error", ("n", "dim"))
    assert found.low["n"] <= -0.35 <= found.high["n"] < -0.25
    assert not found.low["dim"] <= -0.35 <= found.high["dim"]


def test_a_bend_shows_in_the_local_exponents():
    bent = lambda n, dim: 0 * n - 0.02 * np.log(dim) ** 2 / 2  # noqa: E731  (local exponent -0.02 log dim)
    found = collapse(planted(bent).sel(n=20), "error", ("dim",))
    expected = -0.02 * np.log(found.local["dim"].dim)
    np.testing.assert_allclose(found.local["dim"], expected, atol=0.01)
    assert (found.local["dim"].diff("dim") < -0.02).all()
    straight = collapse(planted(law(0.0, -0.2)).sel(n=20), "error", ("dim",))
    assert found.spread_after > 5 * straight.spread_after


def test_levels_that_a_curve_does_not_reach_are_left_out():
    """The grid ends before the curves of large dimensions have fallen: the exponent stays, some crossings are missing."""
    data = planted(law(0.0, -0.25)).sel(n=20)
    data["error"] = data.error.where(data.dim < 5e5)  # and one curve is missing altogether
    found = collapse(data.sel(signal=slice(0, 2)), "error", ("dim",))
    missing = np.isnan(found.crossings)
    assert missing.any()
    assert missing.sel(dim=DIM[-1], method="nearest").all()
    assert not missing.isel(dim=0).any()
    assert found.exponents["dim"] == pytest.approx(-0.25, abs=0.01)
    assert np.isnan(found.local["dim"][-1])
    assert np.isfinite(found.local["dim"][:-1]).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"variable": "errors"}, "variable = errors: unknown; there are error"),
        ({"along": "strength"}, "along = strength: must be one of the dimensions n, dim, signal"),
        ({"over": ()}, "over = (): must name at least one field, each once, and not signal"),
        ({"over": ("dim", "dim")}, "must name at least one field, each once, and not signal"),
        ({"over": ("n", "signal")}, "must name at least one field, each once, and not signal"),
        ({"over": ("n", "heat")}, "over = heat: must be a swept field with at least two values"),
        ({"over": ("n",)}, "variable = error: select one value of dim first, or add it to `over`"),
        ({"levels": 0}, "levels = 0: must be a whole number >= 1"),
        ({"resamples": 10}, "resamples = 10: must be a whole number >= 100"),
        ({"confidence": 1.0}, "confidence = 1.0: must be in (0, 1)"),
    ],
)
def test_refused(changes, said):
    with pytest.raises(ts.InvalidArgument, match=re.escape(said)):
        collapse(planted(law(0, 0), seeds=2), **{"variable": "error", "over": ("n", "dim"), **changes})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.isel(seed=[0]), "seed = 1: intervals need at least two seeds"),
        (lambda d: d.mean("seed"), "seed = 0: intervals need at least two seeds"),
        (lambda d: d.assign_coords(dim=d.dim - 100), "over = dim: a power law needs positive values"),
        (lambda d: d.assign_coords(signal=d.signal - 1), "along = signal: a power law needs values >= 0"),
        (lambda d: d.isel(signal=slice(None, None, -1)), "along = signal: needs at least two values, which increase"),
        (lambda d: 0 * d, "variable = error: too few of its curves along signal reach a level that others reach too"),
        (lambda d: d.where(d.signal != 0), "variable = error: every curve has a value that is not a number"),
    ],
)
def test_refused_data(change, said):
    with pytest.raises(ts.InvalidArgument, match=re.escape(said)):
        collapse(change(planted(law(0, 0), seeds=2)).drop_vars("x", errors="ignore"), "error", ("n", "dim"))

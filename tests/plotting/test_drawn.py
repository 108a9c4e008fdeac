"""What is drawn is the data."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex, to_rgba

import theorysim as ts

RNG = np.random.default_rng(0)
TIMES, SEEDS = np.array([0, 1, 3, 10, 30]), 11


@pytest.fixture
def axes():
    return ts.plotting.canvas()[1][0, 0]


def test_band(axes):
    values = RNG.normal(size=(SEEDS, TIMES.size))
    data = xr.DataArray(values, {"time": TIMES}, ("seed", "time"))
    ts.plotting.band(axes, data, "time", "error", central=0.6, color="#D55E00", linestyle="--")
    (line,), (area,) = axes.lines, axes.collections
    np.testing.assert_allclose(line.get_xydata(), np.stack([TIMES, values.mean(0)], 1))
    assert (line.get_label(), line.get_linestyle(), to_hex(line.get_color())) == ("error", "--", "#d55e00")
    points = area.get_paths()[0].vertices
    low, high = np.quantile(values, [0.2, 0.8], axis=0)
    for time, *ends in zip(TIMES, low, high, strict=True):
        here = points[points[:, 0] == time, 1]
        np.testing.assert_allclose([here.min(), here.max()], ends)
    assert to_hex(area.get_facecolor()[0]) == "#d55e00"
    assert area.get_alpha() < 0.5


def test_the_order_of_dimensions_does_not_matter(axes):
    data = xr.DataArray(RNG.normal(size=(SEEDS, TIMES.size)), {"time": TIMES}, ("seed", "time"))
    ts.plotting.band(axes, data, "time", "one")
    ts.plotting.band(axes, data.transpose("time", "seed"), "time", "other")
    np.testing.assert_allclose(*(line.get_xydata() for line in axes.lines))
    assert axes.lines[0].get_color() != axes.lines[1].get_color()


def test_a_band_of_all_seeds_and_of_one(axes):
    one = xr.DataArray([[1.0, 2.0]], {"time": [0, 1]}, ("seed", "time"))
    ts.plotting.band(axes, one, "time", "one seed", central=1.0)
    assert set(axes.collections[0].get_paths()[0].vertices[:, 1]) == {1.0, 2.0}


@pytest.mark.parametrize("dims", [("signal", "dim"), ("dim", "signal")])
def test_heat_map(axes, dims):
    coords = {"signal": [0.0, 1.0, 2.0, 3.0], "dim": [100.0, 200.0, 300.0]}
    values = RNG.random([len(coords[name]) for name in dims])
    data = xr.DataArray(values, coords, dims)
    mesh = ts.plotting.heat_map(axes, data, "signal", "dim", label="error", vmin=0.1, vmax=0.5)
    np.testing.assert_array_equal(mesh.get_array().reshape(3, 4), data.transpose("dim", "signal"))
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [-0.5, 0.5, 1.5, 2.5, 3.5])  # cells are centred on their values
    np.testing.assert_allclose(corners[:, 0, 1], [50, 150, 250, 350])
    assert mesh.get_clim() == (0.1, 0.5)
    assert mesh.colorbar.ax.get_ylabel() == "error"
    assert len(axes.figure.axes) == 2


def test_a_heat_map_without_colour_bar(axes):
    data = xr.DataArray(np.eye(2) > 0, {"x": [0.0, 1.0], "y": [0.0, 1.0]}, ("x", "y"))
    mesh = ts.plotting.heat_map(axes, data, "x", "y", cmap="Greys")
    assert (mesh.colorbar, len(axes.figure.axes), mesh.get_cmap().name) == (None, 1, "Greys")
    assert mesh.get_array().dtype == float


@pytest.fixture(scope="module")
def fit():
    dim, noise = np.geomspace(1e2, 1e6, 5), 0.02 * RNG.normal(size=(30, 5))
    ds = xr.Dataset({"y": (("seed", "dim"), 3 * dim**0.25 * np.exp(noise))}, {"dim": dim})
    return ts.analysis.fit_exponent(ds, lambda data: data.y.mean("seed"), against="dim", resamples=100)


def test_power_law(axes, fit):
    ts.plotting.power_law(axes, fit, "boundary", color="#0072B2", marker="s")
    points, line = axes.lines
    np.testing.assert_allclose(points.get_xydata(), np.stack([fit.curve.dim, fit.curve], 1))
    assert (points.get_marker(), points.get_linestyle()) == ("s", "None")
    assert points.get_label() == f"boundary: slope {fit.slope:.3f} [{fit.low:.3f}, {fit.high:.3f}]"
    x, y = line.get_xydata().T
    np.testing.assert_allclose(y, fit.prefactor * x**fit.slope)
    assert x[0] < 1e2 < 1e6 < x[1]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert {to_rgba(item.get_color()) for item in axes.lines} == {to_rgba("#0072B2")}


def test_local_slopes(axes, fit):
    ts.plotting.local_slopes(axes, fit, color="black", label="slopes")
    points, _, (bars,) = axes.containers[0]
    np.testing.assert_allclose(points.get_xydata(), np.stack([np.geomspace(1e2, 1e6, 9)[1::2], fit.local], 1))
    ends = np.array([[segment[0, 1], segment[1, 1]] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends[:, 0], np.minimum(fit.local_low, fit.local), atol=1e-12)
    np.testing.assert_allclose(ends[:, 1], np.maximum(fit.local_high, fit.local), atol=1e-12)
    assert axes.get_legend_handles_labels()[1] == ["slopes"]


def test_canvas_and_style():
    before = dict(mpl.rcParams)
    figure, axes = ts.plotting.canvas(columns=3, rows=2, width=2.0, height=1.5)
    assert axes.shape == (2, 3)
    np.testing.assert_allclose(figure.get_size_inches(), [6.0, 3.0])
    assert not any(panel.spines["top"].get_visible() for panel in axes.flat)
    assert dict(mpl.rcParams) == before  # a user's own settings are left alone
    with ts.plotting.style():
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(ts.plotting.COLORS)
        assert not mpl.rcParams["text.usetex"]
    assert dict(mpl.rcParams) == before


def test_colours_and_markers_are_all_different():
    assert len(set(ts.plotting.COLORS)) == len(ts.plotting.COLORS) == len(ts.plotting.MARKERS)
    assert len(set(ts.plotting.MARKERS)) == len(ts.plotting.MARKERS)

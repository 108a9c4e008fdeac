"""What every drawing file must hold; for each experiment that has one, at all its presets.

The data are made up: of the names, dimensions and coordinates that the trial gives when it is traced, so nothing is compiled.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache

import jax
import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts
from theorysim._experiment import module
from theorysim._find import CHECKOUT, names
from theorysim._sweep.params import checked
from theorysim._sweep.plan import plan
from theorysim._sweep.template import template_of
from theorysim._sweep.trace import _abstract

load = cache(ts.load)
DRAWN = [name for name in names() if (CHECKOUT / "figures" / f"{name}.py").is_file()]
SIZES = [(name, preset) for name in DRAWN for preset in load(name).presets]


def smooth(dims, sizes, finest, rng):
    """Positive numbers that fall along each axis, most along the finest of the swept ones, and differ a little by seed."""
    total = np.zeros([sizes[dim] for dim in dims])
    for axis, dim in enumerate(dims):
        steepness = 0.0 if dim in ("seed", "sample") else 5.0 if dim in (finest, "time") else 0.3
        place = np.linspace(0, steepness, sizes[dim]).reshape([-1 if k == axis else 1 for k in range(len(dims))])
        total = total + place
    return 0.9 * np.exp(-total) * rng.uniform(0.9, 1.0, total.shape)


def made_up(name, preset, study) -> xr.Dataset:
    """A Dataset as the study's sweep would give, with few seeds."""
    paper, item, rng = load(name), load(name).study(preset, study), np.random.default_rng(0)
    planned, seeds = plan(checked(paper.params, dict(item.base)), item.over, item.seeds), min(item.seeds, 4)
    with jax.enable_x64(item.x64):
        template = template_of(_abstract(paper.trial, planned.parts[0], item.x64)[-1], planned.parts[0])
    finest = max(planned.over, key=lambda axis: len(planned.over[axis]), default=None)
    coords, data = {axis: list(values) for axis, values in planned.over.items()}, {}
    for key, output in template.items():
        coords |= {axis: list(values) for axis, values in output.coords}
        dims = (*planned.over, "seed", *output.dims)
        shape = (*(len(values) for values in planned.over.values()), seeds, *output.shape)
        whole = output.dtype.kind != "f"
        values = rng.integers(0, 2, shape) if whole else smooth(dims, dict(zip(dims, shape, strict=True)), finest, rng)
        data[key] = (dims, values.astype(output.dtype))
    attrs = {"params": json.dumps(asdict(planned.params))}
    return xr.Dataset(data, {**coords, "seed": np.arange(seeds)}, attrs)


@cache
def figures(name, preset) -> dict[str, Figure]:
    drawing = module(CHECKOUT / "figures" / f"{name}.py")
    tree = xr.DataTree.from_dict({f"/{study}": made_up(name, preset, study) for study in load(name).presets[preset]})
    before = dict(mpl.rcParams)
    with ts.plotting.style():
        drawn = drawing.draw(tree)
    assert dict(mpl.rcParams) == before  # a drawing file changes no setting
    return drawn


def panels(figure):
    """The axes that are no colour bar."""
    return [axes for axes in figure.axes if axes.get_subplotspec() is not None and not hasattr(axes, "_colorbar")]


def bars(figure):
    return [axes for axes in figure.axes if hasattr(axes, "_colorbar")]


def labelled(axes):
    """The names of what is drawn in a panel."""
    return axes.get_legend_handles_labels()[1]


def test_there_are_drawings():
    assert "benign_relu" in DRAWN
    assert set(names()) == set(DRAWN)  # every paper has one


@pytest.mark.parametrize(("name", "preset"), SIZES)
def test_draw_gives_figures_by_name(name, preset):
    found = figures(name, preset)
    assert found
    assert all(isinstance(figure, Figure) for figure in found.values())
    assert all(key.isidentifier() for key in found)  # a part of a file's name
    assert all(panels(figure) for figure in found.values())


@pytest.mark.parametrize(("name", "preset"), SIZES)
def test_every_axis_has_its_label(name, preset):
    for key, figure in figures(name, preset).items():
        for axes in panels(figure):
            place = axes.get_subplotspec()
            assert axes.get_xlabel() or not place.is_last_row(), key
            # a panel may take its label from the first of its row, if it has the same scale
            first = next(other for other in panels(figure) if other.get_subplotspec().rowspan == place.rowspan)
            shared = (first.get_ylim(), first.get_yscale()) == (axes.get_ylim(), axes.get_yscale())
            assert axes.get_ylabel() or (shared and first.get_ylabel()), key
        assert all(bar.get_ylabel() for bar in bars(figure)), key


@pytest.mark.parametrize(("name", "preset"), SIZES)
def test_curves_can_be_told_apart(name, preset):
    for key, figure in figures(name, preset).items():
        shown = {text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()}
        for axes in panels(figure):
            drawn = labelled(axes)
            assert len(set(drawn)) == len(drawn), key
            assert set(drawn) <= shown or (len(drawn) == 1 and axes.get_ylabel()), (key, drawn)
            if len([line for line in axes.lines if len(line.get_xdata()) > 2]) > 1:
                assert drawn, key


@pytest.mark.parametrize(("name", "preset"), SIZES)
def test_something_finite_is_drawn_in_every_panel(name, preset):
    for key, figure in figures(name, preset).items():
        for axes in panels(figure):
            drawn = [np.asarray(line.get_ydata(), float) for line in axes.lines if labelled(axes)]
            drawn += [np.asarray(item.get_array(), float) for item in axes.collections if item.get_array() is not None]
            assert any(np.isfinite(values).any() for values in drawn), key
            assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all(), key


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_of_the_readme_are_drawn(name):
    gallery = getattr(module(CHECKOUT / "figures" / f"{name}.py"), "GALLERY", ())
    drawn = {key for preset in load(name).presets for key in figures(name, preset)}
    assert set(gallery) <= drawn
    readme = (CHECKOUT / "README.md").read_text()
    assert all(f"figures/gallery/{name}-{key}.png" in readme for key in gallery)


@pytest.mark.parametrize(("name", "preset"), SIZES)
def test_the_figures_can_be_written(name, preset, tmp_path):
    for key, figure in figures(name, preset).items():
        ts.plotting.save(figure, tmp_path / f"{key}.png", dpi=40)
        assert (tmp_path / f"{key}.png").read_bytes().startswith(b"\x89PNG")

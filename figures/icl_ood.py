"""Figures of in-context learning out of distribution: the posterior's weights and their two terms, fits, transformers."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.icl_ood, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
COMPONENTS = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, "-.", "^"), (PINK, ":", "D"))
CLASSES = ("linear", "quadratic")


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """What a preset has: the posterior's weights and their two terms, fits of the wrong class, transformers."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "mixture" in found:
        figures |= {
            "weights": weights(found["mixture"]),
            "terms": terms(found["mixture"]),
            "simplex": simplex(found["mixture"]),
        }
    if "fits" in found:
        figures["fits"] = fits(found["fits"])
    return figures | {"transformers": transformers(found["transformer"])}


def ranked(data: xr.Dataset) -> xr.Dataset:
    """Components in the order of their test errors, least first, draw by draw."""
    order = np.argsort(data.error.values, axis=-1)
    place = xr.DataArray(order, {"seed": data.seed}, ("seed", "component"))
    return data.isel(component=place).assign_coords(component=range(1, 5))


def weights(data: xr.Dataset) -> Figure:
    """The weights of the components against the context's length, for each width of the components."""
    deltas = data.delta.values
    figure, axes = plot.canvas(columns=len(deltas), rows=2, width=2.4, height=2.2)
    names = {0: "by test error: least", 1: "second", 2: "third", 3: "largest"}
    for column, delta in enumerate(deltas):
        low = ranked(data.sel(mode=0, delta=delta))
        near = data.sel(mode=1, delta=delta)
        for k, (color, line, marker) in enumerate(COMPONENTS):
            plot.band(axes[0, column], low.weight.isel(component=k), "examples", names[k], color=color, linestyle=line,
                      marker=marker, markersize=3)  # fmt: skip
            plot.band(axes[1, column], near.weight.isel(component=k), "examples", f"component {k + 1}", color=color,
                      linestyle=line, marker=marker, markersize=3)  # fmt: skip
        for panel in axes[:, column]:
            panel.set_xscale("log", base=2)
            panel.set(ylim=(-0.03, 1.05), xlabel="examples $k$")
        axes[0, column].set_title(rf"$\delta={delta:.3g}$")
    axes[0, 0].set_ylabel("weight, tasks differ")
    axes[1, 0].set_ylabel("weight, inputs differ")
    for row in axes:
        row[-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def terms(data: xr.Dataset) -> Figure:
    """The logarithm of the weight over that of the best other component, as a sum of two terms."""
    figure, panels = plot.canvas(columns=3, width=3.0)
    titles = ("tasks differ", "inputs differ", "both differ")
    for mode, (axes, title) in enumerate(zip(panels[0], titles, strict=True)):
        part = data.sel(mode=mode, delta=1.0)
        for name, label, (color, line, marker) in (
            ("of_labels", "test error", COMPONENTS[0]), ("of_inputs", "inputs", COMPONENTS[1]),
        ):  # fmt: skip
            term = part[name]
            spread = term.max("component") - term.min("component")
            plot.band(axes, spread, "examples", label, color=color, linestyle=line, marker=marker)
        axes.set(xlabel="examples $k$", ylabel="spread of $\\log\\tilde\\pi$", title=title, xscale="log")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(-2, 3e3)
        axes.legend()
    return figure


def simplex(data: xr.Dataset) -> Figure:
    """The path of the weights of the three components of least error, as the context grows."""
    figure, ((axes,),) = plot.canvas(width=3.6, height=3.2)
    corners = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
    axes.plot(*corners[[0, 1, 2, 0]].T, color=BLACK, linewidth=0.8, label="simplex")
    for delta, (color, line, marker) in zip(data.delta.values[::2], COMPONENTS, strict=False):
        weight = ranked(data.sel(mode=0, delta=delta)).weight.mean("seed").isel(component=slice(0, 3))
        path = (weight / weight.sum("component")).transpose("examples", "component").values @ corners
        axes.plot(*path.T, color=color, linestyle=line, marker=marker, markersize=4, label=rf"$\delta={delta:.3g}$")
        axes.plot(*path[-1], marker, color=color, markersize=9, markerfacecolor="none")
    for corner, name, shift in zip(corners, ("least error", "second", "third"), ((0, 5), (0, -12), (0, -12)), strict=True):
        axes.annotate(name, corner, shift, textcoords="offset points", ha="center", fontsize=8)
    axes.set(xlabel="share of the third less the second", ylabel="share of the least", xlim=(-0.15, 1.15), ylim=(-0.15, 1.0))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(fontsize=7.5, loc="upper left")
    return figure


def fits(data: xr.Dataset) -> Figure:
    """Least squares in each class, on each class; the wrong one peaks where examples are as many as dimensions."""
    figure, panels = plot.canvas(columns=2)
    d = ts.theory.fields(data).dim
    for on, axes in enumerate(panels[0]):
        for fitted, (color, line, _) in zip((0, 1), COMPONENTS, strict=False):
            part = data.error.sel(data=on, fitted=fitted).clip(1e-3)
            plot.band(axes, part, "examples", f"{CLASSES[fitted]} fit", color=color, linestyle=line)
        axes.axhline(d, color=BLACK, linestyle=":", linewidth=0.9, label="predicting 0")
        axes.axvline(d, color="0.6", linewidth=0.8)
        axes.set(xlabel="examples $k$", ylabel="squared error", yscale="log", title=f"{CLASSES[on]} data, $d={d}$")
        axes.legend(fontsize=7.5)
    return figure


def transformers(data: xr.Dataset) -> Figure:
    """The error against the context's length, of transformers pretrained on each class."""
    figure, panels = plot.canvas(columns=2)
    d = ts.theory.fields(data).dim
    for on, axes in enumerate(panels[0]):
        for learned, (color, line, marker) in zip(data.learned.values, COMPONENTS, strict=False):
            part = data.error.sel(data=on, learned=learned) / d
            plot.band(
                axes, part, "examples", f"pretrained: {CLASSES[int(learned)]}", color=color, linestyle=line, marker=marker
            )
        axes.axhline(1, color=BLACK, linestyle=":", linewidth=0.9, label="predicting 0")
        k = np.asarray(data.examples, float)
        axes.plot(k, np.clip(1 - k / d, 1e-3, None), color="0.5", linewidth=0.9, label="least squares, right class")
        axes.set(
            xlabel="examples $k$",
            ylabel="squared error over $Ey^2$",
            yscale="log",
            title=f"{CLASSES[on]} data",
            ylim=(1e-2, 20),
        )
        axes.legend(fontsize=7)
    return figure

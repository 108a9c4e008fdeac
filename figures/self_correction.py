"""Figures of self-correction as in-context alignment: descent, copies and transformers against the number of responses."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

plot = ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
STYLES = ((BLUE, "-", "o"), (SKY, "--", "s"), (GREEN, "-.", "^"), (ORANGE, ":", "D"), (PINK, (0, (5, 1, 1, 1)), "v"))
#: found: released values of the published transformer on clean rewards, at 2 to 6 and 15 responses
RELEASED = ((2, 0.519), (3, 0.370), (4, 0.347), (5, 0.336), (6, 0.327), (15, 0.297))


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """What a preset has: descent by noise, beside copies; transformers by noise, depth and heads."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {"descent": descent(found["descent"])} if "descent" in found else {}
    figures["transformer"] = transformer(found["transformer"], found.get("descent"))
    return figures | {name: variants(found[name], name) for name in ("depth", "heads", "linear") if name in found}


def descent(data: xr.Dataset) -> Figure:
    """Descent's error by noise, and on clean rewards beside copying the best response and the mean."""
    figure, ((left, right),) = plot.canvas(columns=2)
    for noise, (color, line, marker) in zip(data.noise.values, STYLES, strict=True):
        plot.band(left, data.error.sel(noise=noise), "examples", f"$p={noise:g}$", color=color, linestyle=line, marker=marker)
    left.set(xlabel="responses $n$", ylabel=r"error $1-\cos(\hat y,y^*)$", ylim=(0, 1.9))
    left.legend(fontsize=7.5, ncols=2, title="descent, noise of rewards")
    clean = data.sel(noise=0.0)
    plot.band(right, clean.error, "examples", "descent", color=BLUE, marker="o")
    plot.band(right, clean["mean"], "examples", "mean of the responses", color=GREEN, linestyle="-.", marker="^")
    plot.band(right, clean.best, "examples", "best-rewarded response", color=ORANGE, linestyle="--", marker="s")
    noisy = data.sel(noise=0.5)
    plot.band(right, noisy.best, "examples", "best-rewarded, $p=.5$", color=PINK, linestyle=":", marker="D")
    right.set(xlabel="responses $n$", ylabel=r"error $1-\cos(\hat y,y^*)$", yscale="log", ylim=(1e-3, 3))
    right.legend(fontsize=7, loc="lower left")
    return figure


def transformer(data: xr.Dataset, beside: xr.Dataset | None) -> Figure:
    """Transformers in context, solid, and descent, dashed, by noise of the rewards."""
    figure, ((axes,),) = plot.canvas(width=4.0)
    for noise, (color, _, marker) in zip(data.noise.values, STYLES, strict=False):
        label = f"transformer, $p={noise:g}$"
        plot.band(axes, data.error.sel(noise=noise), "examples", label, color=color, marker=marker)
        if beside is not None:
            part = beside.error.sel(noise=noise).sel(examples=beside.examples <= data.examples.max() + 3)
            axes.plot(part.examples, part.mean("seed"), "--", color=color, label=f"descent, $p={noise:g}$")
    longest = float(data.examples.max()) + 3
    found = np.array([point for point in RELEASED if point[0] <= longest])
    axes.plot(found[:, 0], found[:, 1], "X", color=BLACK, label="published transformer, $p=0$")
    axes.plot(data.examples, data.best.isel(noise=0).mean("seed"), ":", color="0.4", label="best-rewarded, $p=0$")
    axes.set(xlabel="responses $n$", ylabel=r"error $1-\cos(\hat y,y^*)$", ylim=(0, 1.1))
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def variants(data: xr.Dataset, over: str) -> Figure:
    """Transformers of other depth, heads, or with linear attention, with and without a feed-forward network."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    hidden = data.hidden.values if "hidden" in data.dims else [None]
    values = data[over].values if over in data.dims else [None]
    for value, (color, _, marker) in zip(values, STYLES, strict=False):
        for network, line in zip(hidden, ("-", "--") if len(hidden) > 1 else ("-",), strict=True):
            part = data.error.sel({k: v for k, v in ((over, value), ("hidden", network)) if v is not None})
            name = "linear attention" if value is None else f"{over} {value:g}"
            label = name + ("" if network is None else ", FFN" if network else ", no FFN")
            plot.band(axes, part, "examples", label, color=color, linestyle=line, marker=marker)
    axes.set(xlabel="responses $n$", ylabel=r"error $1-\cos(\hat y,y^*)$")
    axes.legend(fontsize=7)
    return figure

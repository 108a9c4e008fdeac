"""Figures of invariant in-context learning: masks and their virtues, the recursion of linear attention, small transformers."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

plot = ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
KINDS = (("AR", ORANGE, "--", "s"), ("prefix", GREEN, "-.", "^"), ("BoE", PINK, ":", "D"), ("InvICL", BLUE, "-", "o"))
RECURSIONS = (
    ("prefix: gradient descent", GREEN, "-."), ("AR: online descent", ORANGE, "--"), ("BoE: gradient at 0", PINK, ":"),
    ("InvICL: theorem C.1", BLUE, "-"),
)  # fmt: skip


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """What a preset has: single masks, the untrained transformer's dependences, the recursion, training."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    drawings = {"masks": masks, "properties": properties, "recursion": recursion, "trained": trained}
    return {name: drawings[name](part) for name, part in found.items()}


def masks(data: xr.Dataset) -> Figure:
    """All masks of three examples, coloured by their virtues; and how many have which."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.4)
    virtue = data.virtue.isel(seed=0).values > 0.5
    picture = np.full((8 * 4, 8 * 4), np.nan)
    free = [(i, j) for i in range(3) for j in range(3) if i != j]
    for k, bits in enumerate(product([False, True], repeat=6)):
        mask = np.eye(3)
        mask[tuple(np.transpose(free))] = bits
        row, column = divmod(k, 8)
        shade = 1 + 2 * virtue[k, 0] + virtue[k, 1]  # neither, no leak, invariant, both
        picture[4 * row : 4 * row + 3, 4 * column : 4 * column + 3] = np.where(mask > 0, shade, 0)
    left.pcolormesh(np.ma.masked_invalid(picture)[::-1], cmap="cividis", vmin=0, vmax=4, rasterized=True)
    left.set(xlabel="64 masks: who is seen", ylabel="who sees")
    left.set_xticks([])
    left.set_yticks([])
    left.set_aspect("equal")
    left.grid(visible=False)
    names = ("invariant", "no leak", "dependent", "invariant,\nno leak", "all three")
    sets = ([0], [1], [2], [0, 1], [0, 1, 2])
    counts = [int(virtue[:, which].all(axis=1).sum()) for which in sets]
    right.plot(counts, range(5), "o", color=BLUE, label="masks of three examples")
    for k, count in enumerate(counts):
        right.annotate(str(count), (count, k), (6, -3), textcoords="offset points", fontsize=8)
    right.set(xlabel="number of masks", ylabel="virtues", xlim=(-2, 70), ylim=(-0.6, 5.2))
    right.set_yticks(range(5), names)
    right.legend(fontsize=7.5, loc="upper left")
    return figure


def properties(data: xr.Dataset) -> Figure:
    """How much outputs of an untrained transformer change, by mask."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    shown = (("order", "query, examples turned", "o", BLUE), ("own_label", "input, own label changed", "s", ORANGE),
             ("other_label", "input, another's changed", "^", GREEN))  # fmt: skip
    for k, (name, label, marker, color) in enumerate(shown):
        change = data[name].mean("seed").clip(1e-18)
        axes.plot(np.arange(4) + 0.12 * (k - 1), change, marker, color=color, label=label)
    axes.axhline(1e-12, color=BLACK, linestyle=":", linewidth=0.8, label="rounding")
    axes.set_xticks(range(4), [name for name, *_ in KINDS])
    axes.set(xlabel="mask", ylabel="change of the output", yscale="log", ylim=(1e-19, 1e6))
    axes.legend(fontsize=7, ncols=2)
    return figure


def recursion(data: xr.Dataset) -> Figure:
    """The error of the query's weights, layer by layer."""
    figure, ((left, right),) = plot.canvas(columns=2)
    order = {0: 0, 1: 1, 2: 2, 3: 3}
    for k, (name, color, line) in enumerate(RECURSIONS):
        plot.band(left, data.error.sel(recursion=order[k]), "time", name, color=color, linestyle=line)
    left.axhline(1e-16, color=BLACK, linewidth=0.8, label="least squares: 0")
    left.set(
        xlabel="layer", ylabel="relative error of the weights", yscale="log", xscale="log", ylim=(1e-4, 1e3), xlim=(1, None)
    )
    left.legend(fontsize=7, loc="upper left")
    plot.band(right, data.order_online.clip(1e-18), "time", "AR", color=ORANGE, linestyle="--")
    plot.band(right, data.order.clip(1e-18), "time", "InvICL", color=BLUE)
    right.set(xlabel="layer", ylabel="change if examples are turned", yscale="log", xscale="log", xlim=(1, None))
    right.legend(fontsize=7.5)
    return figure


def trained(data: xr.Dataset) -> Figure:
    """Small transformers under the four masks: at the query, on prompts as long as in training and longer."""
    figure, panels = plot.canvas(columns=2)
    for axes, length in zip(panels[0], data.length.values, strict=True):
        for (name, color, line, marker), kind in zip(KINDS, data.kind.values, strict=True):
            part = data.error.sel(kind=kind, length=length)
            plot.band(axes, part, "time", name, color=color, linestyle=line, marker=marker, markersize=3)
        axes.axhline(1, color=BLACK, linestyle=":", linewidth=0.8, label="predicting 0")
        axes.set(xlabel="step", ylabel="error at the query", yscale="log", title=f"{length:.0f} examples")
        axes.set_xscale("symlog", linthresh=1)
        axes.legend(fontsize=7)
    return figure

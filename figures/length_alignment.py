"""Figures of long-short alignment: errors against length by task and positions, slopes, and what misalignment tells."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.length_alignment, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
POSITIONS = (("no positions", BLUE, "-", "o"), ("sinusoids", ORANGE, "--", "s"), ("decay", GREEN, "-.", "^"))
TASKS = (("mean of the bits", "o"), ("number of bits", "s"), (r"number as $1/\sqrt{l}$ (OutRep)", "^"))
LONGEST = 10


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """Errors against length, the number's local slope, errors against misalignment, and misalignment in the loss."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    tasks = found["tasks"]
    return {"lengths": lengths(tasks), "slopes": slopes(tasks), "scatter": scatter(tasks), "aligned": aligned(found["aligned"])}


def lengths(data: xr.Dataset) -> Figure:
    """The error against the test length, a panel a task; lengths in training are shaded."""
    figure, panels = plot.canvas(columns=3, width=3.1)
    longer = np.geomspace(10.5, 400, 50)
    for (task, _), axes, k in zip(TASKS, panels[0], data.task.values, strict=True):
        axes.axvspan(1, LONGEST, color="0.92")
        for (name, color, line, marker), kind in zip(POSITIONS, data.positions.values, strict=True):
            part = data.error.sel(task=k, positions=kind).clip(1e-8)
            plot.band(axes, part, "length", name, color=color, linestyle=line, marker=marker, markersize=3)
        if k > 0:
            axes.plot(longer, theory.saturated_error(longer, LONGEST), ":", color=BLACK, label="says 10")
        else:
            axes.plot([1, 400], [1 / 12 / LONGEST] * 2, ":", color=BLACK, label="1/120, for scale")
        axes.set(xlabel="length in test", ylabel="square error", xscale="log", yscale="log", title=task)
        axes.legend(fontsize=7)
    return figure


def slopes(data: xr.Dataset) -> Figure:
    """The local exponent of the number's error in l - 10, beside that of a constant and of a saturated output."""
    figure, ((left, right),) = plot.canvas(columns=2)
    part = data.sel(task=1, positions=0)
    plot.band(left, part.said, "length", "trained", color=BLUE, marker="o")
    left.plot(data.length, data.length, ":", color=BLACK, label="the number")
    left.set(xlabel="length in test $l$", ylabel="mean output", xscale="log", yscale="log")
    left.legend()
    longer = part.error.sel(length=data.length[data.length > LONGEST])
    size = np.log(longer.length.values - LONGEST)
    local = np.diff(np.log(np.maximum(longer.mean("seed"), 1e-12))) / np.diff(size)
    middle = LONGEST + np.exp((size[1:] + size[:-1]) / 2)
    right.plot(middle, local, "o", color=BLUE, label="trained, local slope")
    right.axhline(2, color=BLACK, linestyle=":", label="a constant; theorem 3.1")
    limit = float(part.said.sel(length=50).mean("seed"))
    grid = np.geomspace(max(35.0, 1.3 * limit), 400, 50)
    right.plot(grid, theory.saturated_slope(grid, LONGEST, limit), color=ORANGE, label=f"saturated at {limit:.0f}")
    right.set(xlabel="length in test $l$", ylabel=r"$d\log\mathrm{error}/d\log(l-10)$", xscale="log", ylim=(0, 6))
    right.set_xticks([20, 50, 100, 200, 400], ["20", "50", "100", "200", "400"])
    right.minorticks_off()
    right.legend(fontsize=7.5)
    return figure


def scatter(data: xr.Dataset) -> Figure:
    """A run a point: the outputs' misalignment at lengths of training against the error at 50."""
    figure, ((axes,),) = plot.canvas(width=3.9)
    for (task, marker), k in zip(TASKS, data.task.values, strict=True):
        for (name, color, *_), kind in zip(POSITIONS, data.positions.values, strict=True):
            part = data.sel(task=k, positions=kind)
            axes.plot(part.misalignment.clip(1e-9), part.of_output.sel(length=50).clip(1e-9), marker, color=color, markersize=4,
                      label=f"{task.split(' (')[0]}, {name}", alpha=0.8)  # fmt: skip
    axes.set(
        xlabel="misalignment on suffixes of 5 to 10 bits", ylabel="error of the output at length 50", xscale="log", yscale="log"
    )
    axes.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def aligned(data: xr.Dataset) -> Figure:
    """Misalignment and the error at 50 with and without the misalignment in the loss."""
    figure, ((left, right),) = plot.canvas(columns=2)
    for k, (task, marker) in zip(data.task.values, TASKS, strict=False):
        for kind, (name, color, line, _) in zip(data.positions.values, POSITIONS, strict=False):
            part = data.sel(task=k, positions=kind)
            label = f"{task}, {name}"
            plot.band(left, part.misalignment, "alpha", label, color=color, linestyle=line, marker=marker)
            plot.band(right, part.error.sel(length=50).clip(1e-9), "alpha", label, color=color, linestyle=line, marker=marker)
    left.set(xlabel=r"$\alpha$", ylabel="misalignment", yscale="log")
    right.set(xlabel=r"$\alpha$", ylabel="square error at length 50", yscale="log")
    right.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure

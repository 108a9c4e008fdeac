"""Figures of benign overfitting of a vision transformer: the map of test loss, its boundary, and the phases of training."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.vit_benign, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
LEVEL = 0.2


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The test loss over N and N SNR^2, raw and cut; the boundary; curves of training; attention against the strength."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {
        "map": heat(found["boundary"]),
        "boundary": boundary(found["boundary"], found["fixed"], found["frozen"]),
        "curves": curves(found["curves"]),
        "attention": attention(found["boundary"]),
    }


def heat(data: xr.Dataset) -> Figure:
    """The paper's heat maps: test loss, and cut at .2; the vertical line is the boundary of the theorem's form."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6)
    loss = data.test_loss.isel(time=-1).mean("seed")
    order = loss.assign_coords(n=np.arange(data.sizes["n"]))
    plot.heat_map(left, order, "strength", "n", label="test loss")
    plot.heat_map(right, order.copy(data=np.where(order > LEVEL, 1.0, 0.0)), "strength", "n", label="test loss above .2",
                  vmin=0, vmax=1)  # fmt: skip
    for axes in (left, right):
        axes.axvline(2.5, color=ORANGE, linewidth=1.4, label=r"$N\,\mathrm{SNR}^2=2.5$")
        axes.set(xlabel=r"$N\,\mathrm{SNR}^2$", ylabel="samples $N$")
        axes.set_yticks(range(data.sizes["n"]), [f"{n:.0f}" for n in data.n.values])
    left.legend(fontsize=7, loc="lower right")
    return figure


def critical(data: xr.Dataset) -> xr.DataArray:
    return ts.analysis.phase_boundary(data.isel(time=-1), "test_loss", LEVEL, along="strength")


def boundary(data: xr.Dataset, fixed: xr.Dataset, frozen: xr.Dataset) -> Figure:
    """The boundary's SNR against N, at equal training loss and at a fixed time; and the loss that decides it."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6)
    for part, name, color, marker in ((data, "equal training loss", BLUE, "o"), (fixed, "fixed step and time", ORANGE, "s")):
        snr = (critical(part) / part.n) ** 0.5
        left.plot(part.n, snr, marker, color=color, label=name)
    n = np.geomspace(float(data.n.min()) / 1.3, float(data.n.max()) * 1.3, 20)
    left.plot(n, theory.boundary(n, 2.5), color=BLUE, linewidth=1, label=r"$\sqrt{2.5/N}$")
    left.set(xlabel="samples $N$", ylabel=r"$\mathrm{SNR}^*$ at test loss .2", xscale="log", yscale="log")
    left.set_xticks(list(data.n.values), [f"{k:.0f}" for k in data.n.values])
    left.minorticks_off()
    left.legend(fontsize=7.5)
    styles = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"))
    for k, (line, marker), color in zip(data.n.values, styles, (BLUE, ORANGE, GREEN, PINK), strict=False):
        plot.band(
            right, data.test_loss.isel(time=-1).sel(n=k), "strength", f"$N={k:.0f}$", color=color, linestyle=line, marker=marker
        )
    plot.band(right, frozen.test_loss.isel(time=-1), "strength", "attention frozen", color=BLACK, linestyle=":")
    right.axhline(LEVEL, color="0.5", linewidth=0.8, label="level of the boundary")
    right.set(xlabel=r"$N\,\mathrm{SNR}^2$", ylabel="test loss", ylim=(0, None))
    right.legend(fontsize=7)
    return figure


def curves(data: xr.Dataset) -> Figure:
    """Losses, attention and the value's products, step by step, in both regimes; dotted lines part the phases."""
    figure, panels = plot.canvas(columns=3, rows=2, width=2.9, height=2.3)
    for row, strength, name in zip(panels, data.strength.values, ("harmful", "benign"), strict=True):
        part = data.sel(strength=strength).isel(time=slice(1, None))
        plot.band(row[0], part.loss, "time", "train", color=BLUE)
        plot.band(row[0], part.test_loss, "time", "test", color=ORANGE, linestyle="--")
        plot.band(row[1], part.signal_attention, "time", "signal's on signal", color=BLUE)
        plot.band(row[1], part.noise_attention, "time", "noise's on signal", color=ORANGE, linestyle="--")
        plot.band(row[2], part.value_signal, "time", "signal", color=BLUE)
        plot.band(row[2], part.value_noise, "time", "own noise", color=ORANGE, linestyle="--")
        row[0].set(ylabel=f"loss, {name}", yscale="log")
        row[1].set(ylabel="attention", ylim=(0, 1.25))
        row[2].set(ylabel="value's product")
        fitted = float(part.time[int(np.argmax(np.asarray(part.loss.mean("seed")) < 0.1))])
        for axes in row:
            axes.axvline(fitted, color=BLACK, linestyle=":", linewidth=0.8)
            axes.set(xlabel="step", xscale="log", title=rf"$N\,\mathrm{{SNR}}^2={strength:g}$")
            axes.legend(fontsize=7, loc="lower left" if axes is row[0] else "upper left")
    return figure


def attention(data: xr.Dataset) -> Figure:
    """Where attention begins to find the signal."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    styles = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"))
    last = data.isel(time=-1)
    for k, (line, marker), color in zip(data.n.values, styles, (BLUE, ORANGE, GREEN, PINK), strict=False):
        label = f"$N={k:.0f}$"
        plot.band(axes, last.signal_attention.sel(n=k), "strength", label, color=color, linestyle=line, marker=marker)
    axes.axhline(1 / ts.theory.fields(data).tokens, color=BLACK, linestyle=":", linewidth=0.8, label="uniform")
    axes.set(xlabel=r"$N\,\mathrm{SNR}^2$", ylabel="signal's attention on signal", ylim=(0, 1.02))
    axes.legend()
    return figure

"""Figures of feature learning in diffusion models: both learners' curves, the plateau, and the ratio at stationarity."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.diffusion_features, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """Signal and noise learning of classifier and denoiser, linear growth, the plateau's ratio, the stationary one."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {
        "curves": curves(found["classifier"], found["stationary"]),
        "growth": growth(found["linear"]),
        "plateau": plateau(found["linear"], found["samples"]),
        "stationary": stationary(found["stationary"], found["linear"]),
    }


def at_plateau(data: xr.Dataset) -> xr.Dataset:
    """The last time at which the filters' square is less than a tenth above its start."""
    return data.isel(time=(data["size"] < 1.1 * data["size"].isel(time=0)).sum("time") - 1)


def curves(classifier: xr.Dataset, denoiser: xr.Dataset) -> Figure:
    """The paper's two rows: largest products with signal and noise against steps, at low and at high SNR."""
    figure, panels = plot.canvas(columns=2, rows=2, width=3.6, height=2.4)
    for row, strength in zip(panels, (0.75, 6.75), strict=True):
        for axes, data, name in zip(row, (denoiser, classifier), ("diffusion", "classification"), strict=True):
            part = data.sel(strength=strength, method="nearest")
            plot.band(axes, part.signal_max, "time", r"signal, $\max|\langle w,\mu\rangle|$", color=BLUE)
            plot.band(axes, part.noise_max, "time", r"noise, $\max|\langle w,\xi\rangle|$", color=ORANGE, linestyle="--")
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xlim(left=0)
            axes.set(ylabel="learned", title=rf"{name}, $n\,\mathrm{{SNR}}^2={strength}$", xlabel="step")
            axes.legend(fontsize=7, loc="upper left")
    return figure


def growth(data: xr.Dataset) -> Figure:
    """What is learned of the noise against time in units of the formula's rate: a line of slope one, then more."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    p, strengths = ts.theory.fields(data), data.strength.values
    for strength, color, marker in zip(
        strengths[:: max(len(strengths) // 3, 1)], (BLUE, ORANGE, GREEN, PINK), plot.MARKERS, strict=False
    ):
        part = data.sel(strength=strength).isel(time=slice(1, None)).mean("seed")
        signal = np.sqrt(strength * p.dim / p.n)
        rate = theory.growth(
            p.n, signal, p.noise, p.dim, p.init, width=p.width, alpha=np.exp(-0.2), beta=np.sqrt(1 - np.exp(-0.4))
        )
        scaled = rate[1] * part.step * part.time
        axes.plot(
            scaled,
            part.gained_noise.clip(1e-9),
            marker,
            color=color,
            markersize=3.5,
            label=rf"$n\,\mathrm{{SNR}}^2={strength:g}$",
        )
        end = float(at_plateau(data.sel(strength=strength)).time.mean())
        axes.axvline(float(rate[1] * part.step.isel(time=-1)) * end, color=color, linewidth=0.7, linestyle=":")
    line = np.geomspace(1e-3, 1, 20)
    axes.plot(line, line, color=BLACK, linewidth=1, label="formula, slope 1")
    axes.set(xlabel=r"formula's rate times $\eta t$", ylabel=r"mean gain of $\langle w,\xi_i\rangle$")
    axes.set(xscale="log", yscale="log", ylim=(3e-4, 5))
    axes.legend(fontsize=7)
    return figure


def plateau(data: xr.Dataset, samples: xr.Dataset) -> Figure:
    """The ratio in the first stage, over two decades; at the start it is another one."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    seen = at_plateau(data)
    measured = (seen.signal / seen.noise_learned).mean("seed")
    start = (data.signal / data.noise_learned).isel(time=0).mean("seed")
    n = ts.theory.fields(data).n
    axes.plot(data.strength, measured, "o", color=BLUE, label=f"first stage, $n={n}$")
    for size, marker, color in zip(samples.n.values, ("^", "v"), (GREEN, PINK), strict=False):
        part = at_plateau(samples.sel(n=size))
        axes.plot(part.strength, (part.signal / part.noise_learned).mean("seed"), marker, color=color, markerfacecolor="none",
                  markersize=8, label=f"first stage, $n={size:.0f}$")  # fmt: skip
    axes.plot(data.strength, start, "s", color=ORANGE, label="before training")
    line = np.geomspace(0.08, 12, 20)
    axes.plot(line, theory.plateau(line), color=BLACK, linewidth=1, label=r"$n\,\mathrm{SNR}^2/2$")
    axes.set(xlabel=r"$n\,\mathrm{SNR}^2$", ylabel="signal over noise learned", xscale="log", yscale="log")
    axes.legend(fontsize=7.5)
    return figure


def stationary(data: xr.Dataset, linear: xr.Dataset) -> Figure:
    """The ratio at stationarity beside that of the first stage, and how stationary it is."""
    figure, ((left, right),) = plot.canvas(columns=2)
    end = data.isel(time=-1)
    plot.band(left, end.signal_max / end.noise_max, "strength", "at the end", color=BLUE, marker="o")
    seen = at_plateau(linear)
    plot.band(left, seen.signal / seen.noise_learned, "strength", "first stage", color=ORANGE, linestyle="--", marker="s")
    line = np.geomspace(0.1, 20, 20)
    left.plot(line, theory.plateau(line), ":", color=BLACK, label=r"$n\,\mathrm{SNR}^2/2$")
    left.set(xlabel=r"$n\,\mathrm{SNR}^2$", ylabel="signal over noise learned", xscale="log", yscale="log")
    left.legend(fontsize=7.5)
    styles = (("-", BLUE), ("--", ORANGE), ("-.", GREEN), (":", PINK))
    for strength, (style, color) in zip(data.strength.values, styles, strict=False):
        part = data.sel(strength=strength).isel(time=slice(1, None))
        plot.band(
            right, part.gradient.clip(1e-12), "time", rf"$n\,\mathrm{{SNR}}^2={strength:g}$", color=color, linestyle=style
        )
    right.set(xlabel="step", ylabel="norm of the gradient", xscale="log", yscale="log")
    right.legend(fontsize=7.5)
    return figure

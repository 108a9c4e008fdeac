"""Figures of SignGD on a two-layer transformer: stages, rules side by side, losses, slopes, and the attention's time."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.signgd_transformer, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
RULES = (("small", "SignGD", BLUE, "-"), ("adam", "Adam", ORANGE, "--"), ("gd", "gradient descent", GREEN, "-."))


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """Stages of SignGD, slopes beside the formulas, rules side by side, and the collapse of the noise's attention."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    rules = {name: found[name] for name, *_ in RULES}
    return {
        "stages": stages(found["sign"].sel(disjoint=0.0)),
        "slopes": slopes(found["sign"]),
        "losses": losses(rules),
        "noise_terms": noise_terms(rules),
        "collapse": collapse(found["attention"]),
    }


def stages(data: xr.Dataset) -> Figure:
    """The paper's first figure: attention, alignment, and query and key noise and signal, against steps."""
    figure, ((left, middle, right),) = plot.canvas(columns=3, width=3.1)
    plot.band(left, data.signal_attention, "time", "$s_{11}$, signal's query", color=BLUE)
    plot.band(left, data.noise_attention, "time", "$s_{21}$, noise's query", color=ORANGE, linestyle="--")
    left.set(xlabel="step", ylabel="weight on the signal", ylim=(-0.02, 0.62))
    plot.band(middle, data.agreement, "time", "query and key noise", color=GREEN)
    middle.axhline(0.5, color=BLACK, linestyle=":", linewidth=0.8, label="chance")
    middle.set(xlabel="step", ylabel="agreement in sign", ylim=(0.4, 1.12))
    for name, label, color, line in (
        ("query_noise", "query noise", BLUE, "-"), ("key_noise", "key noise", ORANGE, "--"),
        ("query_signal", "query signal", GREEN, "-."), ("key_signal", "key signal", PINK, ":"),
    ):  # fmt: skip
        plot.band(right, data[name], "time", label, color=color, linestyle=line)
    right.set(xlabel="step", ylabel="mean size of products")
    for axes in (left, middle, right):
        axes.legend(fontsize=7.5)
    return figure


def slopes(data: xr.Dataset) -> Figure:
    """The mean value's noise against the formula with and without overlap, and query noise in its second stage."""
    figure, ((left, right),) = plot.canvas(columns=2)
    p = ts.theory.fields(data)
    kappa = theory.overlap(int(p.n), int(p.sparsity), int(p.dim))
    early = data.sel(time=slice(0, 300))
    for disjoint, name, color, marker, share in ((0.0, "overlapping", BLUE, "o", kappa), (1.0, "disjoint", ORANGE, "s", 1.0)):
        seen = early.value_noise.sel(disjoint=disjoint).mean("seed")
        left.plot(seen.time, seen, marker, color=color, markersize=4, label=f"{name} supports")
        line = theory.value_slope(p.lr, p.sparsity, p.noise, share) * seen.time
        left.plot(seen.time, line, color=color, label=rf"formula, $\kappa={share:.2f}$")
    left.set(xlabel="step", ylabel=r"mean value noise $\langle\bar v,y\xi\rangle$")
    first = data.sel(disjoint=0.0, time=slice(0, 75))
    plot.band(right, first.query_noise, "time", "query noise", color=BLUE, marker="o")
    plot.band(right, first.key_noise, "time", "key noise", color=ORANGE, linestyle="--", marker="s")
    right.plot(first.time, theory.value_slope(p.lr, p.sparsity, p.noise) / 2 * first.time, ":", color=BLACK,
               label=r"$\eta s\sigma_p\sqrt{2/\pi}\,t$")  # fmt: skip
    right.set(xlabel="step", ylabel="mean size")
    left.legend(fontsize=7.5)
    right.legend(fontsize=7.5)
    return figure


def losses(data: dict[str, xr.Dataset]) -> Figure:
    """Training loss, test loss and test error of the three rules on the same data."""
    figure, panels = plot.canvas(columns=3, rows=2, width=2.9, height=2.3)
    for row, signal in zip(panels, (1.0, 4.0), strict=True):
        for axes, quantity, label in zip(
            row, ("loss", "test_loss", "test_error"), ("training loss", "test loss", "test error"), strict=True
        ):
            for name, title, color, line in RULES:
                plot.band(axes, data[name][quantity].sel(signal=signal).clip(1e-9), "time", title, color=color, linestyle=line)
            axes.set(xlabel="step", ylabel=label, title=rf"$\|\mu\|={signal:g}$")
            if quantity == "test_error":
                axes.axhline(0.5, color=BLACK, linestyle=":", linewidth=0.8, label="chance")
            else:
                axes.set_yscale("log")
        row[2].legend(fontsize=7)
    return figure


def noise_terms(data: dict[str, xr.Dataset]) -> Figure:
    """Query noise, key noise and their agreement under SignGD and Adam."""
    figure, ((left, middle, right),) = plot.canvas(columns=3, width=3.0)
    for name, title, color, line in RULES[:2]:
        part = data[name].sel(signal=1.0)
        plot.band(left, part.query_noise, "time", title, color=color, linestyle=line)
        plot.band(middle, part.key_noise, "time", title, color=color, linestyle=line)
        plot.band(right, part.agreement, "time", title, color=color, linestyle=line)
    for axes, label in zip((left, middle, right), ("query noise", "key noise", "agreement in sign"), strict=True):
        axes.set(xlabel="step", ylabel=label)
        axes.legend(fontsize=7.5)
    return figure


def collapse(data: xr.Dataset) -> Figure:
    """The noise's attention against steps, and against the scaled time, for several noises and widths."""
    figure, ((left, right),) = plot.canvas(columns=2)
    p = ts.theory.fields(data)
    colors, lines = (BLUE, ORANGE, GREEN), ("-", "--", ":")
    for width, line in zip(data.width.values, lines, strict=False):
        for noise, color in zip(data.noise.values, colors, strict=True):
            seen = data.noise_attention.sel(width=width, noise=noise).mean("seed").clip(1e-5)
            scaled = data.time * p.lr * p.sparsity * noise * theory.MEAN_ABS * np.sqrt(width)
            label = rf"$m_k={width:.0f}$, $\sigma_p={noise:g}$"
            left.plot(data.time, seen, color=color, linestyle=line, label=label)
            right.plot(scaled, seen, color=color, linestyle=line, label=label)
    grid = np.linspace(0, 4, 80)
    kappa = theory.overlap(int(p.n), int(p.sparsity), int(p.dim))
    right.plot(grid, 1 / (1 + np.exp((kappa * grid) ** 2)), color=BLACK, linewidth=0.9, label="formula")
    left.set(xlabel="step", ylabel="$s_{21}$", yscale="log", ylim=(1e-4, 1))
    right.set(xlabel=r"$t\,\eta s\sigma_p\sqrt{2m_k/\pi}$", ylabel="$s_{21}$", yscale="log", ylim=(1e-4, 1), xlim=(0, 4))
    right.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure

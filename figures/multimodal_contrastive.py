"""Figures of multi-modal against single-modal contrastive learning: the paper's four panels, growth rates, and their race."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.multimodal_contrastive, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
PAIRS = ((0.0, "one modality", ORANGE, "--"), (1.0, "two modalities", BLUE, "-"))


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """Loss, accuracy, signal and noise against steps; growth a step against the formulas; the race in C_mu."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {"curves": curves(found["curves"]), "growth": growth(found["curves"], found["race"]), "race": race(found["race"])}


def curves(data: xr.Dataset) -> Figure:
    """The paper's four panels."""
    figure, panels = plot.canvas(columns=2, rows=2, width=3.5, height=2.4)
    shown = (
        (data.loss, "training loss"), (1 - data.test_error, "accuracy on shifted samples"),
        (data.signal_learning, "signal learning"), (data.noise_memorization, "noise memorisation"),
    )  # fmt: skip
    for axes, (value, label) in zip(panels.ravel(), shown, strict=True):
        for pairs, name, color, line in PAIRS:
            plot.band(axes, value.sel(pairs=pairs), "time", name, color=color, linestyle=line)
        axes.set(xlabel="step", ylabel=label)
        axes.legend(fontsize=7.5)
    return figure


def growth(data: xr.Dataset, race: xr.Dataset) -> Figure:
    """Growth a step in the first stage, step by step, and the two modalities' signal against the second's strength."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.7)
    early = data.sel(time=slice(0, 12))
    p = ts.theory.fields(data)
    shown = (
        ("noise_memorization", 0.0, "noise, one modality", ORANGE, "--"), ("signal_learning", 1.0, "signal, two", BLUE, "-"),
        ("noise_memorization", 1.0, "noise, two", GREEN, "-."),
    )  # fmt: skip
    for name, pairs, label, color, line in shown:
        value = early[name].sel(pairs=pairs)
        step = (value.isel(time=slice(1, None)).values / value.isel(time=slice(0, -1)).values).mean(axis=0) - 1
        left.plot(value.time[1:], step, color=color, linestyle=line, marker="o", markersize=3, label=label)
    rates = (
        (theory.noise_growth(p.lr, p.noise, p.dim, p.n, p.temperature), ORANGE, "formula"),
        (theory.signal_growth(p.lr, p.signal, p.gain, p.temperature), BLUE, "formula"),
        (theory.noise_growth(p.lr, p.noise, p.dim, p.n, p.temperature, 1.06), GREEN, "bound"),
    )
    for k, (rate, color, _) in enumerate(rates):
        left.axhline(rate, color=color, linestyle=":", linewidth=0.9, label="formulas and bound" if k == 0 else None)
    left.set(xlabel="step", ylabel="growth a step", ylim=(0, 1.25))
    left.legend(fontsize=7, loc="upper right")
    steps = race.sel(time=slice(2, 6))
    for name, label, color, marker in (("signal_learning", "signal", BLUE, "o"), ("noise_memorization", "noise", GREEN, "^")):
        ends = steps[name].isel(time=[0, -1])
        rate = (ends.isel(time=1, drop=True) / ends.isel(time=0, drop=True)) ** 0.25 - 1
        plot.band(right, rate, "gain", label, color=color, marker=marker)
    gain = np.linspace(0.4, 4.2, 30)
    right.plot(gain, theory.signal_growth(p.lr, p.signal, gain, p.temperature), ":", color=BLACK, label="signal, formula")
    right.axhline(rates[2][0], color=GREEN, linestyle=":", linewidth=0.9, label="noise, bound")
    right.set(xlabel=r"$C_\mu$", ylabel="growth a step, two modalities")
    right.legend(fontsize=7)
    return figure


def race(data: xr.Dataset) -> Figure:
    """What is learned at the end, and the probe's error, against the second modality's strength."""
    figure, ((left, right),) = plot.canvas(columns=2)
    last, p = data.isel(time=-1), ts.theory.fields(data)
    plot.band(left, last.signal_learning, "gain", "signal", color=BLUE, marker="o")
    plot.band(left, last.noise_memorization, "gain", "noise", color=ORANGE, linestyle="--", marker="s")
    plot.band(right, last.test_error, "gain", "probe on shifted samples", color=BLUE, marker="o")
    for axes in (left, right):
        axes.axvline(theory.threshold(p.signal, p.noise, p.dim, p.n), color=BLACK, linestyle=":", label="rates are equal")
        axes.axvline(2.66, color="0.6", linewidth=0.9, label=r"theorem: $C_\mu\geq2.66$")
        axes.set(xlabel=r"$C_\mu$")
    left.set(ylabel="learned at the end")
    right.set(ylabel="error", ylim=(0, 0.55))
    left.legend(fontsize=7.5)
    right.legend(fontsize=7.5)
    return figure

"""Figures of multi-concept word semantics: what attention and network learn, and how the errors fall."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.concept_icl, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
TRAINED, SKEWED, SHORT, LONG = range(4)


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The published four panels and shifts, both losses, and the error over mixtures."""
    found = data["training"].to_dataset()
    return {
        "stages": stages(found),
        "error_and_loss": error_and_loss(found),
        "shifts": shifts(found.sel(attention=1)),
        "mixtures": mixtures(found),
    }


def predicted(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Attention and error from the products, the mean over concepts."""
    p, (shared, semantic) = ts.theory.fields(data), (data["product"].isel(part=k) for k in (0, 1))
    found = [
        theory.reading(semantic.sel(concept=k).values, shared.sel(concept=1 - k).values, p.demonstrations, p.others, p.others,
                       semantic.sel(concept=1 - k).values)
        for k in (0, 1)
    ]  # fmt: skip
    like = semantic.isel(concept=0, drop=True)
    first, second = (like.copy(data=(one + two) / 2) for one, two in zip(*found, strict=True))
    return first, second


def stages(data: xr.Dataset) -> Figure:
    """Loss, attention, products and the network's reading over the steps."""
    figure, axes = plot.canvas(columns=2, rows=2, width=3.5, height=2.5)
    (loss, attention), (products, network) = axes
    on, p = data.sel(attention=1), ts.theory.fields(data)
    for value, label, color, line in ((1, "trained", BLUE, "-"), (0, "attention frozen", ORANGE, "--")):
        part = data.sel(attention=value, case=TRAINED)
        plot.band(loss, part.loss, "time", label, color=color, linestyle=line)
        plot.band(attention, part.matching, "time", label, color=color, linestyle=line)
    loss.axhline(float(theory.cross_entropy_floor(p.demonstrations)), color=BLACK, linestyle=":", label="entropy of $2^{-J}$")
    attention.plot(data.time, predicted(on)[0].mean("seed"), ":", color=BLACK, label="from the products")
    first = on["product"].mean("concept")
    for k, label, color, line in ((1, "$b^\\top W_K^\\top W_Q b$", BLUE, "-"), (0, "$a^\\top W_K^\\top W_Q a$", ORANGE, "--")):
        plot.band(products, first.isel(part=k), "time", label, color=color, linestyle=line)
    plot.band(products, on.noise_product, "time", "other directions, largest", color=GREEN, linestyle=":")
    for k, label, color, line in ((1, "$r^\\top W_O d_k/m$", BLUE, "-"), (0, "$r^\\top W_O c_k/m$", ORANGE, "--")):
        plot.band(network, on.read.mean("concept").isel(part=k), "time", label, color=color, linestyle=line)
    loss.set(xlabel="step", ylabel="cross-entropy", ylim=(0, None))
    attention.set(xlabel="step", ylabel="attention on matches", ylim=(0.5, 1.01))
    products.set(xlabel="step", ylabel="product")
    network.set(xlabel="step", ylabel="reading of the network")
    for panel in axes.ravel():
        panel.legend(fontsize=7)
    return figure


def error_and_loss(data: xr.Dataset) -> Figure:
    """The 0-1 error falls exponentially, the cross-entropy slowly; both at 4 and at 12 demonstrations."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=2.9)
    on, p = data.sel(attention=1), ts.theory.fields(data)
    least = 0.5 / p.tests
    for case, length, color, line in ((TRAINED, p.demonstrations, BLUE, "-"), (LONG, p.long, GREEN, "--")):
        part = on.sel(case=case)
        plot.band(left, part.error.clip(min=least), "time", f"$J={length}$", color=color, linestyle=line)
        plot.band(right, part.loss, "time", f"$J={length}$", color=color, linestyle=line)
    frozen = data.sel(attention=0, case=TRAINED)
    plot.band(left, frozen.error, "time", "attention frozen", color=ORANGE, linestyle="-.")
    plot.band(right, frozen.loss, "time", "attention frozen", color=ORANGE, linestyle="-.")
    left.plot(data.time, predicted(on)[1].mean("seed").clip(min=least), ":", color=BLACK, label="from the products, $J=4$")
    floor = float(theory.cross_entropy_floor(p.demonstrations))
    right.axhline(floor, color=BLACK, linestyle=":", label="entropy of $2^{-4}$, least at $J=4$")
    left.set(xlabel="step", ylabel="0-1 error, with a match", yscale="log")
    right.set(xlabel="step", ylabel="cross-entropy, all prompts", yscale="log")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return figure


def shifts(data: xr.Dataset) -> Figure:
    """Error and attention on prompts that were not trained on."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=2.9)
    cases = ((TRAINED, "as trained", BLUE, "-"), (SHORT, "2 demonstrations", ORANGE, "--"),
             (LONG, "12 demonstrations", GREEN, "-."), (SKEWED, "frequencies .9, .1", PINK, ":"))  # fmt: skip
    for k, (case, label, color, line) in enumerate(cases):
        for panel, name in ((left, "error"), (right, "matching")):
            values = data[name].sel(case=case).mean("seed")
            panel.plot(data.time, values, line, color=color, marker=plot.MARKERS[k], markevery=5, markersize=3, label=label)
    for k, (flip, angle, label, color) in enumerate(((1, 45, "mixture at 45°", YELLOW), (-1, 30, "half switched, 30°", SKY))):
        values = data.mixed.sel(flip=flip, angle=angle).mean("seed")
        left.plot(data.time, values, "-", color=color, marker=plot.MARKERS[4 + k], markevery=5, markersize=3, label=label)
    left.axhline(0.5, color=BLACK, linewidth=0.8, linestyle=":", label="guessing")
    left.set(xlabel="step", ylabel="0-1 error", ylim=(0, None))
    right.set(xlabel="step", ylabel="attention on matches", ylim=(0.5, 1.01))
    left.legend(fontsize=7)
    right.legend(fontsize=7, loc="lower right")
    return figure


def mixtures(data: xr.Dataset) -> Figure:
    """The error on mixtures of two concepts, and on those of which one pairs words and labels the other way."""
    figure, ((panel,),) = plot.canvas(width=4.2, height=2.9)
    looks = ((1, 1, "pairs as trained", BLUE, "-"), (1, -1, "second concept switched", ORANGE, "--"),
             (0, 1, "pairs as trained, attention frozen", GREEN, ":"))  # fmt: skip
    for k, (attention, flip, label, color, line) in enumerate(looks):
        part = data.mixed.sel(attention=attention, flip=flip).isel(time=-1)
        panel.plot(part.angle, part.mean("seed"), line, color=color, marker=plot.MARKERS[k], markersize=4, label=label)
    panel.plot([0, 45, 45, 90], [0, 0, 1, 1], ":", color=BLACK, linewidth=0.9, label="most of the label switched")
    panel.set(xlabel="angle from the first to the second concept, degrees", ylabel="0-1 error", xticks=np.arange(0, 91, 15))
    panel.legend(fontsize=7)
    return figure

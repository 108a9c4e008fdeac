"""Figures of "On the role of label noise in the feature learning process": the two stages, early stopping, sample selection."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

plot = ts.plotting
T1 = 5
BLUE, ORANGE, GREEN = plot.COLORS[:3]


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The published layout, the early-stopping curve and the histogram of losses; the last two for the digits as well."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "curves" in found and "control" in found:
        figures["stages"] = stages(found["curves"], found["control"])
    for curves, selection in (("curves", "selection"), ("digits", "digits_selection")):
        if curves in found:
            # the digits have no known noise level, hence no T1 of their own
            stop = "stop at $T_1$" if curves == "curves" else f"stop at step {T1}"
            figures["early_stopping"] = early_stopping(found[curves], stop)
        if selection in found:
            figures["selection"] = histogram(found[selection])
    return figures


def on_log_time(axes: Axes, last: float) -> None:
    axes.set(xscale="log", xlim=(1, last), xlabel="iteration")
    axes.axvline(T1, color="black", linewidth=0.8, linestyle=":")


def stages(noisy: xr.Dataset, clean: xr.Dataset) -> Figure:
    """The published layout: coefficients above, training accuracies below; label noise on the left, none on the right."""
    figure, axes = plot.canvas(columns=2, rows=2, height=2.4)
    for column, (data, title) in enumerate(((noisy, r"label noise $\tau=0.3$"), (clean, "no label noise"))):
        top, bottom = axes[:, column]
        data = data.sel(time=slice(1, None))
        flips = bool(data.accuracy_noisy.notnull().any())
        rows = (
            (top, ("signal_learning", "noise_noisy", "noise_clean")),
            (bottom, ("accuracy", "accuracy_noisy", "accuracy_clean")),
        )
        words = (
            (r"signal: $\max\gamma$", r"noise, flipped: $\max\bar\rho$", r"noise, clean: $\max\bar\rho$"),
            ("all samples", "flipped samples", "clean samples"),
        )
        for (panel, names), labels in zip(rows, words, strict=True):
            looks = zip(names, labels, (BLUE, ORANGE, GREEN), ("-", "--", "-."), strict=True)
            for name, label, color, line in looks:
                if flips or not name.endswith("noisy"):
                    plot.band(panel, data[name], "time", label, color=color, linestyle=line)
            on_log_time(panel, float(data.time[-1]))
        top.set(yscale="log", ylim=(4e-3, 40), title=title)
        bottom.set(ylim=(-0.03, 1.03))
    axes[0, 0].set_ylabel("coefficient")
    axes[1, 0].set_ylabel("training accuracy")
    axes[0, 0].legend(loc="lower right")
    axes[1, 1].legend(*axes[1, 0].get_legend_handles_labels(), loc="center")
    axes[1, 0].annotate("$T_1$", (T1, 0.3), (3, 0), textcoords="offset points")
    return figure


def early_stopping(data: xr.Dataset, stop: str) -> Figure:
    """The test error is least while the flipped samples are not fitted yet."""
    figure, ((left, right),) = plot.canvas(columns=2)
    data = data.sel(time=slice(1, None))
    plot.band(left, data.test_error, "time", "test error, true labels", color=BLUE)
    plot.band(right, data.accuracy_clean, "time", "clean samples", color=GREEN, linestyle="-.")
    plot.band(right, data.accuracy_noisy, "time", "flipped samples", color=ORANGE, linestyle="--")
    for axes in (left, right):
        on_log_time(axes, float(data.time[-1]))
    left.annotate(stop, (T1, 0.9), (3, 0), textcoords="offset points", xycoords=("data", "axes fraction"))
    left.set(ylabel="test error, true labels", ylim=(0, None))
    right.set(ylabel="training accuracy", ylim=(-0.03, 1.03))
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def histogram(data: xr.Dataset) -> Figure:
    """The losses of clean and of flipped samples at $T_1$, with the threshold log 2."""
    figure, ((axes,),) = plot.canvas(width=4.4)
    losses, flipped = np.asarray(data.loss_each).ravel(), np.asarray(data.flipped, bool).ravel()
    bins = np.linspace(losses.min(), losses.max(), 50)
    axes.hist(losses[~flipped], bins, color=GREEN, alpha=0.8, label="clean samples")
    axes.hist(
        losses[flipped], bins, color=ORANGE, alpha=0.8, label="flipped samples", hatch="///", edgecolor="white", linewidth=0
    )
    axes.axvline(np.log(2), color="black", linestyle="--", linewidth=1, label=r"$\log 2$")
    score = float(data.auroc.mean())
    axes.set(xlabel=f"loss at iteration {T1}", ylabel=f"samples, {data.sizes['seed']} seeds")
    axes.set_title(f"loss as a detector of flips: AUROC {score:.4f}", loc="left")
    axes.legend()
    return figure

"""Figures of "PromptFolio": accuracy against the share of the local prompt, the best share, and the portfolio picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtr

import theorysim as ts

plot, theory = ts.plotting, ts.theory.prompt_portfolio
SHARE = r"share of the local prompt $\theta$"
EARLY = "formula in $K$ and $S$ alone"
GRID = xr.DataArray(np.arange(201) / 200, {"share": np.arange(201) / 200}, dims="share")


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """Accuracy, best share and frontier of the clients."""
    found, figures = {name: node.to_dataset() for name, node in data.children.items()}, {}
    if "users" in found:
        figures |= {"accuracy": accuracies(found["users"]), "frontier": frontier(found["users"])}
        if "small_steps" in found and "no_global" in found:
            figures["optimum"] = optimum(found["users"], found["small_steps"], found["no_global"])
    return figures


def mean_accuracy(data: xr.Dataset, share: xr.DataArray) -> xr.DataArray:
    return theory.accuracy(share, *theory.assets(data)).mean("client")


def accuracies(data: xr.Dataset) -> Figure:
    """Accuracy against the share for several numbers of clients, and of groups, with the clients' best share marked."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.0)
    families = (
        (left, "clients", data.sel(groups=5), "$K={:g}$", "$S=5$ groups"),
        (right, "groups", data.sel(clients=10), "$S={:g}$", "$K=10$ clients"),
    )
    for axes, field, part, label, title in families:
        for k, value in enumerate(part[field].values):
            here = part.sel({field: value})
            plot.band(axes, mean_accuracy(here, GRID), "share", label.format(value), color=plot.COLORS[k])
        best = theory.best_share(*theory.assets(part)).mean("client")
        top = mean_accuracy(part, best).mean("seed")
        label = r"closed-form $\theta^*$"
        axes.plot(best.mean("seed"), top, "o", color="black", label=label, clip_on=False, zorder=5)
        axes.set(xlabel=SHARE, xlim=(0, 1), ylim=(0.62, 1.07), title=title)
        axes.legend(loc="upper right", fontsize=7)
    left.set_ylabel("test accuracy, mean of clients")
    return figure


def optimum(data: xr.Dataset, small: xr.Dataset, without: xr.Dataset) -> Figure:
    """The best share against the number of clients: trained, with small steps, and without a global signal."""
    figure, axes = plot.canvas(columns=3, width=3.0, height=2.9)
    titles = ("trained", "small steps", "trained, no global signal")
    clients = np.geomspace(float(data.clients[0]), float(data.clients[-1]), 60)
    for panel, part, title in zip(axes[0], (data, small, without), titles, strict=True):
        p = ts.theory.fields(part)
        for k, groups in enumerate(part.groups.values):
            plot_best(panel, part.sel(groups=groups, clients=part.clients >= groups), k, rf"grid, $S={groups:g}$")
            if part is small:
                seen = clients[clients >= groups]
                early = theory.early_share(seen, groups, p.common, p.own, p.noise, p.features, p.n)
                panel.plot(seen, early, color=plot.COLORS[k], linewidth=2, label=None if k else EARLY)
        panel.set(xscale="log", xlabel="clients $K$", title=title, ylim=(-0.05, 1.05) if part is without else (-0.02, 0.42))
        panel.set_xticks(part.clients.values, [f"{value:g}" for value in part.clients.values])
        panel.minorticks_off()
    for panel in axes[0, ::2]:
        panel.set_ylabel(r"best share $\theta^*$, mean of clients")
    axes[0, 0].legend(fontsize=7)
    axes[0, 1].legend(fontsize=7, handles=[line for line in axes[0, 1].lines if line.get_label() == EARLY])
    return figure


def plot_best(axes: Axes, data: xr.Dataset, k: int, label: str) -> None:
    """The grid's best shares as markers, the closed form of each client as a dotted line."""
    both = theory.assets(data)
    accuracy = theory.accuracy(GRID, *both)
    grid = GRID[accuracy.fillna(-1).argmax("share")].where(accuracy.isel(share=0).notnull())
    marks: dict[str, Any] = {"color": plot.COLORS[k], "fillstyle": "none", "label": label}
    axes.plot(data.clients, grid.mean(("client", "seed")), plot.MARKERS[k], **marks)
    closed = theory.best_share(*both).mean(("client", "seed"))
    text = None if k else r"closed form $v_2/(v_1+v_2)$"
    axes.plot(data.clients, closed, color=plot.COLORS[k], linewidth=0.9, linestyle=":", label=text)


def frontier(data: xr.Dataset) -> Figure:
    """The portfolio picture: mean score against its standard deviation, for the clients of one run."""
    few, many = float(data.clients[0]), float(data.clients[-1])
    figure, axes = plot.canvas(columns=2, width=3.6, height=3.0)
    for panel, clients in zip(axes[0], (few, many), strict=True):
        here = data.sel(clients=clients, groups=5).isel(seed=0).dropna("client")
        both = theory.assets(here)
        panel.plot(both[1][2] ** 0.5, both[0][1], "s", color=plot.COLORS[1], fillstyle="none", label="local prompts")
        panel.plot(both[1][0] ** 0.5, both[0][0], "o", color=plot.COLORS[0], fillstyle="none", label="global prompt")
        first = theory.assets(here.isel(client=0))
        mean, sd = theory.score(GRID, *first)
        panel.plot(sd, mean, color=plot.COLORS[2], label="mixtures of client 1")
        best = theory.best_share(*first)
        top, width = theory.score(best, *first)
        panel.plot(width, top, "*", color="black", markersize=9, label=rf"closed-form $\theta^*={float(best):.2f}$", zorder=5)
        right = 1.1 * float((both[1][2] ** 0.5).max())
        ratio = float(top / width)
        panel.plot([0, right], [0, ratio * right], color="black", linewidth=0.8, label=f"accuracy {ndtr(ratio):.3f}")
        panel.set(xlim=(0, right), ylim=(0, 1.15 * float(max(both[0][0].max(), both[0][1].max(), top))))
        panel.set(xlabel="standard deviation of the score", title=f"$K={clients:g}$ clients, $S=5$ groups")
        panel.legend(fontsize=7, loc="lower right")
    axes[0, 0].set_ylabel("mean score of the true class")
    axes[0, 1].set_ylabel("mean score of the true class")
    return figure

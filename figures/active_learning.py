"""Figures of "Provably neural active learning succeeds via prioritizing perplexing samples"."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.active_learning, ts.plotting
NAMES = {0.0: "at random", 1.0: "uncertainty", 2.0: "diversity (k-centre)"}
LOOKS = {0.0: ("grey", "s", ":"), 1.0: (plot.COLORS[0], "o", "-"), 2.0: (plot.COLORS[1], "^", "--")}
EDGE, BUDGET = 0.05, 30


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    found = {name: node.to_dataset().squeeze(drop=True) for name, node in data.children.items()}
    params = {name: ts.theory.fields(node.to_dataset()) for name, node in data.children.items()}
    figures = {}
    if "labels" in found:
        figures["labels"] = against_labels(found["labels"])
    if "xor" in found:
        figures["labels_xor"] = against_labels(found["xor"])
        figures["shares"] = shares(found["labels"], found["xor"])
    if "complexity" in found:
        figures["complexity"] = complexity(found["complexity"], params["complexity"].initial)
    if "curves" in found:
        figures["trajectories"] = trajectories(found["curves"])
    if "order" in found:
        figures["order"] = order(found["order"], float(params["order"].easy))
    return figures


def strategies(data: xr.Dataset) -> list[tuple[float, str, dict]]:
    looks = [(float(value), *LOOKS[float(value)]) for value in data.strategy.values]
    return [(value, NAMES[value], {"color": c, "marker": m, "linestyle": line}) for value, c, m, line in looks]


def against_labels(data: xr.Dataset) -> Figure:
    """The test error against the number of queried labels, on all samples and on the hard ones."""
    figure, (panels,) = plot.canvas(columns=2)
    parts = (("test_error", "all samples"), ("test_error_hard", "samples of the hard feature"))
    for axes, (name, title) in zip(panels, parts, strict=True):
        for value, label, look in strategies(data):
            plot.band(axes, data[name].sel(strategy=value), "queried", label, **look)
        axes.set(xlabel="queried labels $n^*$", title=title, ylim=(-0.02 * float(data[name].max()), None))
    panels[0].set_ylabel(f"test error, {data.sizes['seed']} seeds")
    panels[1].set_ylabel("test error")
    panels[1].legend()
    return figure


def shares(linear: xr.Dataset, xor: xr.Dataset) -> Figure:
    """The share of hard samples among the queried ones."""
    figure, ((axes,),) = plot.canvas(width=4.4)
    for k, (data, word) in enumerate(((linear, "one signal a feature"), (xor, "XOR features"))):
        share = data.hard_share.sel(queried=BUDGET)
        place, middle = np.arange(3) + 0.38 * (k - 0.5), share.mean("seed")
        low, high = (share.quantile(q, "seed") for q in (0.1, 0.9))
        spread = np.maximum([middle - low, high - middle], 0)
        color = plot.COLORS[(0, 4)[k]]
        axes.bar(place, middle, 0.36, yerr=spread, color=color, label=word, capsize=3, error_kw={"linewidth": 1})
    axes.axhline(0.2, color="black", linewidth=1, linestyle="--", label="share in the pool, $p$")
    axes.set_xticks(range(3), list(NAMES.values()))
    axes.set(ylabel=f"hard share of {BUDGET} queried samples", ylim=(0, 1.35), xlabel="strategy")
    axes.legend(loc="upper left", ncols=2)
    return figure


def labels_needed(data: xr.Dataset, strategy: float, initial: int) -> xr.DataArray:
    """Labels in all until the error on hard samples is 5 %."""
    one = data.sel(strategy=strategy, drop=True)
    return initial + ts.analysis.phase_boundary(one, "test_error_hard", EDGE, along="queried")


def complexity(data: xr.Dataset, initial: int) -> Figure:
    """The labels that are needed against the share of hard samples, with the theory's curves."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.0)
    for k, share in enumerate(data.share.values):
        color = plot.COLORS[k]
        for value, line in ((0.0, ":"), (1.0, "-")):
            error = data.test_error_hard.sel(share=share, strategy=value).mean("seed")
            label = f"$p={share:g}$" if value else None
            left.plot(
                initial + data.queried,
                error.where(error > 0),
                line,
                color=color,
                marker=LOOKS[value][1],
                markersize=3,
                label=label,
            )
    left.axhline(EDGE, color="black", linewidth=0.8)
    left.set(xlabel="labels in all, $n_0+n^*$", ylabel="error on hard samples", yscale="log", ylim=(1e-3, 4), xscale="log")
    ticks(left.xaxis, (20, 50, 100, 200, 320))
    left.set_title("dotted: at random; full: uncertainty", fontsize=8)
    left.legend(loc="upper right", ncols=2)
    fits = {}
    for value, label, look in strategies(data):
        measure = partial(labels_needed, strategy=value, initial=initial)
        fit = ts.analysis.fit_exponent(data, measure, against="share", resamples=100)
        fits[value] = fit.curve
        look.pop("linestyle")
        plot.power_law(right, fit, label, **look)
    p = np.geomspace(float(data.share.min()) / 1.5, float(data.share.max()) * 1.5, 100)
    # the theory leaves n_2* open: the one that fits chance best
    needed = float(np.exp(np.log(fits[0.0] * fits[0.0].share).mean()))
    passive = rf"theory: $n_2^*/p$, $n_2^*={needed:.1f}$ fitted"
    right.plot(p, theory.passive_labels(needed, p), "--", color="black", linewidth=1, label=passive)
    active = r"theory: $n_0+n_2^*-pn_0$, the same $n_2^*$"
    right.plot(p, theory.active_labels(needed, p, initial), "-.", color="black", linewidth=1, label=active)
    right.set(xlabel="share of hard samples $p$", ylabel=f"labels for a hard error of {100 * EDGE:.0f} %", ylim=(12, 1500))
    ticks(right.xaxis, tuple(map(float, data.share.values)))
    ticks(right.yaxis, (20, 50, 100, 200, 500, 1000))
    right.legend(fontsize=7, loc="upper right")
    return figure


def ticks(axis: Axis, values: tuple[float, ...]) -> None:
    """Plain numbers on a logarithmic axis."""
    axis.set_ticks(values, labels=[f"{value:g}" for value in values])
    axis.set_ticks([], minor=True)


def trajectories(data: xr.Dataset) -> Figure:
    """The largest coefficients of both features while the network is trained on all labels."""
    figure, (panels,) = plot.canvas(columns=2)
    data = data.sel(time=slice(1, None))
    for axes, name, title in zip(panels, ("signal_easy", "signal_hard"), ("easy: ", "hard: "), strict=True):
        for value, label, look in strategies(data):
            look.pop("marker")
            plot.band(axes, data[name].sel(strategy=value), "time", label, **look)
        feature = 1 if name == "signal_easy" else 2
        axes.set(xscale="log", xlabel="iteration", ylabel=rf"$\max\,\gamma_{feature}$", title=rf"{title}$\gamma_{feature}$")
        axes.set_ylim(0, None)
    panels[1].legend()
    return figure


def crossing(data: xr.Dataset, easy: float) -> xr.DataArray:
    gap = data.assign(gap=data.test_error_hard - data.test_error_easy)
    return ts.analysis.phase_boundary(gap, "gap", 0.0, along="hard") / easy


def ratio_of_errors(axes: Axes, data: xr.Dataset, easy: float) -> None:
    for k, share in enumerate(data.share.values):
        one = data.sel(share=share)
        ratio = one.test_error_hard.mean("seed") / one.test_error_easy.mean("seed")
        axes.plot(data.hard / easy, ratio, color=plot.COLORS[k], marker=plot.MARKERS[k], label=f"$p={share:g}$")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xlabel=r"strength ratio $\|\mu_2\|/\|\mu_1\|$", ylabel="error of feature 2 over feature 1", yscale="log")
    axes.set_ylim(0.02, None)
    axes.legend()


def order(data: xr.Dataset, easy: float) -> Figure:
    """The strength at which two weak features have the same error: by $n\\|\\mu\\|^2$, not by $n\\|\\mu\\|^4$."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.0)
    ratio_of_errors(left, data, easy)
    odds = data.assign_coords(share=(1 - data.share) / data.share).rename(share="odds").sortby("odds")
    fit = ts.analysis.fit_exponent(odds, lambda part: crossing(part, easy), against="odds", resamples=100)
    plot.power_law(right, fit, "measured", color=plot.COLORS[0])
    x = np.geomspace(1, float(odds.odds.max()), 50)
    lines = ((2, "--", r"$n_\ell\|\mu_\ell\|^2$ equal: 1/2"), (4, ":", r"$n_\ell\|\mu_\ell\|^4$ equal: 1/4"))
    for power, line, label in lines:
        right.plot(x, theory.equal_strength(1 / (1 + x), power), line, color="black", linewidth=1, label=label)
    right.set(xlabel="$(1-p)/p$", ylabel=r"$\|\mu_2\|/\|\mu_1\|$ at equal errors", ylim=(0.9, 3))
    ticks(right.xaxis, (1, 1.5, 2, 3, 4))
    ticks(right.yaxis, (1, 1.5, 2, 3))
    right.legend(fontsize=7, loc="upper left")
    return figure

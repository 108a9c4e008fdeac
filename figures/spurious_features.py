"""Figures of "Understanding and improving feature learning for OOD generalization": curves and a phase portrait."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import theorysim as ts

theory, plot = ts.theory.spurious_features, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
LAMBDA, ROUND = 1e4, 151.0
INVARIANT, SPURIOUS = r"invariant $\gamma^{inv}$", r"spurious $\gamma^{spu}$"
LOOKS = (("invariant", INVARIANT, BLUE, "-"), ("spurious", SPURIOUS, ORANGE, "-"))
MAP, MANY = "map of two numbers", r"map of two numbers, $n=\infty$"


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The curves that the paper outlines, the order of learning, and the plane of both features."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {
        "erm": erm(found["erm"], found["reversed"]),
        "order": order(found["order"]),
        "scratch": scratch(found["control"]),
        "after": after(found["after"]),
        "pretraining": pretraining(found["after"]),
        "portrait": portrait(found["after"], found["spurious_only"]),
    }


def at(data: xr.Dataset, pretraining: float = 0.0, strength: float = LAMBDA, augmenting: float = 0.0) -> xr.Dataset:
    return data.sel(pretraining=pretraining, strength=strength, augmenting=augmenting)


def frequencies(data: xr.Dataset) -> np.ndarray:
    """The four patterns of both environments, in the limit of many samples."""
    p = ts.theory.fields(data)
    return theory.shares(p.invariant_flip, (p.spurious_flip - p.spread, p.spurious_flip + p.spread))


def predicted(data: xr.Dataset, length: int, last: int) -> np.ndarray:
    """Both features over the steps 0 .. `last` of IRMv1 after ERM of a length, many samples, from the origin."""
    p, share = ts.theory.fields(data), frequencies(data)
    start = theory.path(share, [0.0, 0.0], [length], p.lr, p.width)[0]
    return theory.path(share, start, np.arange(last + 1), p.rate, p.width, LAMBDA)


def erm(first: xr.Dataset, second: xr.Dataset) -> Figure:
    """Both features under ERM, in both orders of the correlations, beside the first growth and the map."""
    figure, axes = plot.canvas(columns=2, width=3.6)
    for panel, data in zip(axes[0], (first, second), strict=True):
        p, share = ts.theory.fields(data), frequencies(data)
        seen = data.squeeze(("strength", "pretraining", "augmenting")).sel(time=slice(1, None))
        for name, label, color, line in LOOKS:
            plot.band(panel, seen[name], "time", label, color=color, linestyle=line)
        path = theory.path(share, [0.0, 0.0], seen.time.values, p.rate, p.width)
        for k, flip in enumerate((p.invariant_flip, p.spurious_flip)):
            early, slope = np.array([1, 20]), theory.growth(flip, p.rate, p.width)
            panel.plot(early, slope * early, ":", color=BLACK, linewidth=1.2, label=None if k else r"$\eta(1-2\delta)t/(2m)$")
            panel.plot(seen.time, path[:, k], "--", color=BLACK, linewidth=1, label=None if k else MAP)
        betas = f"{p.spurious_flip - p.spread:.3g}, {p.spurious_flip + p.spread:.3g}"
        panel.set_title(rf"$\alpha={p.invariant_flip:.3g}$, $\beta_e={betas}$")
        panel.set(xscale="log", yscale="log", xlabel="iteration", ylabel="feature", ylim=(4e-3, 3))
    axes[0, 0].legend(loc="lower right")
    axes[0, 1].legend(loc="lower right")
    return figure


def order(data: xr.Dataset) -> Figure:
    """Which feature leads at the end, and the line of equal correlations."""
    figure, ((axes,),) = plot.canvas(width=4.2, height=3.2)
    lead = (data.spurious - data.invariant).isel(time=-1).mean("seed")
    widest = float(abs(lead).max())
    label = rf"$\gamma^{{spu}}-\gamma^{{inv}}$ at iteration {int(data.time[-1])}"
    plot.heat_map(axes, lead, "invariant_flip", "spurious_flip", label=label, cmap="PuOr", vmin=-widest, vmax=widest)
    x = np.array(axes.get_xlim())
    low, high = axes.get_ylim()
    axes.plot(x, x, "--", color=BLACK, label=r"theory: $\overline{1-2\beta_e}=1-2\alpha$")
    for a in lead.invariant_flip.values:
        for b in lead.spurious_flip.values:
            ahead = float(lead.sel(invariant_flip=a, spurious_flip=b))
            color = "white" if abs(ahead) > 0.6 * widest else BLACK
            axes.text(a, b, f"{ahead:+.2f}", ha="center", va="center", fontsize=7, color=color)
    axes.set(ylim=(low, high), xlabel=r"invariant flips $\alpha$", ylabel=r"mean spurious flips $\bar\beta$")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def scratch(data: xr.Dataset) -> Figure:
    """From scratch: the larger feature and the gradients, with the penalty and without it."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6)
    p, share = ts.theory.fields(data), frequencies(data)
    for strength, label, color in ((0.0, r"$\lambda=0$ (ERM)", GREEN), (LAMBDA, r"IRMv1, $\lambda=10^4$", PINK)):
        seen = at(data, strength=strength).sel(time=slice(1, None))
        plot.band(left, np.maximum(abs(seen.invariant), abs(seen.spurious)), "time", label, color=color)
        for e, line in ((0, "-"), (1, "--")):
            plot.band(
                right, abs(seen.gradient.isel(environment=e)), "time", f"{label}, $e={e + 1}$", color=color, linestyle=line
            )
    times = np.arange(1, int(data.time[-1]) + 1)
    path = theory.path(share, [0.0, 0.0], times, p.rate, p.width)
    left.plot(times, path.max(axis=1), ":", color=BLACK, label=rf"$\lambda=0$, {MAP}, from 0")
    rest = theory.rest_invariant(LAMBDA, p.invariant_flip)
    left.axhline(rest, color=BLACK, linewidth=1, linestyle="--", label=r"rest: $\gamma^{inv}=1/(\lambda(1-2\alpha))$")
    right.axhline(-theory.rest_gradient(LAMBDA), color=BLACK, linewidth=1, linestyle="-.", label=r"rest: $C_e=-1/\lambda$")
    left.set(ylabel="larger feature", ylim=(1e-4, 3))
    right.set(ylabel=r"$|C_e|$", ylim=(3e-5, 30))
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="iteration")
        axes.legend(loc="upper left", fontsize=7)
    return figure


def after(data: xr.Dataset) -> Figure:
    """IRMv1 after ERM of three lengths: features above, gradients below."""
    lengths = [20.0, 50.0, 200.0]
    figure, axes = plot.canvas(columns=3, rows=2, width=3.0, height=2.4)
    last = int(data.time[-1])
    for (top, bottom), length in zip(axes.T, lengths, strict=True):
        seen, path = at(data, length).sel(time=slice(1, None)), predicted(data, int(length), last)
        for k, (name, label, color, line) in enumerate(LOOKS):
            plot.band(top, seen[name], "time", label, color=color, linestyle=line)
            top.plot(np.arange(1, last + 1), path[1:, k], "--", color=BLACK, linewidth=1, label=None if k else MANY)
        exact = theory.gradients(frequencies(data), path[1:, 0], path[1:, 1])
        for e, color in ((0, GREEN), (1, PINK)):
            plot.band(bottom, seen.gradient.isel(environment=e), "time", f"$e={e + 1}$", color=color)
            bottom.plot(np.arange(1, last + 1), exact[:, e], "--", color=BLACK, linewidth=1, label=None if e else MANY)
        top.set(title=f"after {length:.0f} steps of ERM", ylim=(-0.25, 1.05))
        bottom.set(ylim=(-0.19, 0.08), xlabel="iteration of IRMv1")
        for panel in (top, bottom):
            panel.set_xscale("log")
            panel.axhline(0, color=BLACK, linewidth=0.5)
    axes[0, 0].set_ylabel("feature")
    axes[1, 0].set_ylabel(r"gradient $C_e$")
    axes[0, 0].legend(loc="upper right", fontsize=7)
    axes[1, 2].legend(loc="lower right", fontsize=7)
    return figure


def pretraining(data: xr.Dataset) -> Figure:
    """What IRMv1 ends with against the length of ERM before it: features, and the accuracy in the unseen environment."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.7, height=3.0)
    p, last = ts.theory.fields(data), int(data.time[-1])
    plain, round_ = (data.sel(strength=LAMBDA, augmenting=a) for a in (0.0, ROUND))
    for name, label, color, _ in LOOKS:
        plot.band(left, plain[name].isel(time=-1), "pretraining", label, color=color, marker="o")
    plot.band(left, round_.invariant.isel(time=-1), "pretraining", rf"{INVARIANT}, FeAT between", color=GREEN, marker="^")
    lengths = np.unique(np.rint(np.concatenate([np.arange(10), np.geomspace(10, float(data.pretraining[-1]), 25)])).astype(int))
    share = frequencies(data)
    start = theory.path(share, [0.0, 0.0], lengths, p.lr, p.width)
    finish = theory.path(share, start, [last], p.rate, p.width, LAMBDA)[0]
    for k in (0, 1):
        left.plot(lengths, finish[:, k], "--", color=BLACK, linewidth=1, label=None if k else MANY)
    curves = (
        (plain.ood_accuracy.isel(time=0), "ERM alone", ORANGE, "s"),
        (plain.ood_accuracy.isel(time=-1), "ERM, then IRMv1", BLUE, "o"),
        (round_.ood_accuracy.isel(time=-1), "ERM, FeAT, IRMv1", GREEN, "^"),
    )
    for curve, label, color, marker in curves:
        plot.band(right, curve, "pretraining", label, color=color, marker=marker)
    right.axhline(1 - p.invariant_flip, color=BLACK, linewidth=0.8, linestyle="--", label=r"invariant feature: $1-\alpha$")
    right.axhline(1 - p.test_flip, color=BLACK, linewidth=0.8, linestyle=":", label=r"spurious feature: $1-\beta_{test}$")
    left.set(ylabel=f"feature after {last} steps of IRMv1", ylim=(-0.2, 1.15))
    right.set(ylabel=rf"accuracy at $\beta_{{test}}={p.test_flip:.3g}$", ylim=(0, 1.3), yticks=np.arange(0, 1.1, 0.2))
    for axes in (left, right):
        axes.set_xscale("symlog", linthresh=5, linscale=0.4)
        ticks = [t for t in (0, 5, 10, 100, 1000) if t <= data.pretraining[-1]]
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.set(xlabel="steps of ERM before", xlim=(0, None))
    left.legend(loc="upper left", fontsize=7)
    right.legend(loc="upper center", fontsize=7, ncols=2)
    return figure


def basins(axes: Axes, data: xr.Dataset, x: np.ndarray, y: np.ndarray) -> None:
    """Starts from which IRMv1 finds the invariant feature (white) and from which it returns to the origin (grey)."""
    p, share = ts.theory.fields(data), frequencies(data)
    start = np.stack(np.meshgrid(x, y), axis=-1)
    end = theory.path(share, start, [2500], p.rate, p.width, LAMBDA)[0]
    axes.contourf(x, y, end[..., 0], levels=[-9, 0.1, 9], colors=["0.87", "white"])
    field = theory.velocity(share, start[::3, ::3, 0], start[::3, ::3, 1], LAMBDA)
    field = field / np.linalg.norm(field, axis=-1, keepdims=True)
    axes.quiver(x[::3], y[::3], field[..., 0], field[..., 1], color="0.6", scale=38, width=0.0025)
    gradient = theory.gradients(share, start[..., 0], start[..., 1])
    for e, line in ((0, "solid"), (1, "dashed")):
        axes.contour(x, y, gradient[..., e], levels=[0], colors=["0.35"], linewidths=0.9, linestyles=line)


def portrait(data: xr.Dataset, hidden: xr.Dataset) -> Figure:
    """The plane of both features: IRMv1's field, where its gradients vanish, its basins, and the runs."""
    figure, ((axes,),) = plot.canvas(width=6.6, height=4.4)
    p, share = ts.theory.fields(data), frequencies(data)
    basins(axes, data, np.linspace(-0.32, 1.02, 37), np.linspace(-0.5, 1.1, 37))
    for e, line in ((0, "-"), (1, "--")):
        axes.plot([], [], color="0.35", linewidth=0.9, linestyle=line, label=f"$C_{e + 1}=0$")
    erm_path = theory.path(share, [0.0, 0.0], np.arange(1001), p.lr, p.width)
    axes.plot(*erm_path.T, ":", color=BLACK, linewidth=1.8, label="ERM")
    long = float(hidden.pretraining[-1])
    runs = (
        (at(data, 20.0), "IRMv1 after 20 of ERM", BLUE, "o"),
        (at(data, 200.0), "IRMv1 after 200 of ERM", ORANGE, "s"),
        (at(data, 20.0, augmenting=ROUND), "IRMv1 after 20 of ERM, FeAT", GREEN, "^"),
        (at(hidden, 20.0), "IRMv1 after 20, spurious alone", PINK, "v"),
        (at(hidden, long), f"IRMv1 after {long:.0f}, spurious alone", YELLOW, "D"),
    )
    for seen, label, color, marker in runs:
        path = seen[["invariant", "spurious"]].median("seed")
        axes.plot(path.invariant, path.spurious, color=color, marker=marker, markevery=[0], markersize=7, label=label)
        axes.plot(path.invariant[-1], path.spurious[-1], "x", color=color, markersize=7, markeredgewidth=2)
    axes.plot([], [], "x", color=BLACK, linestyle="none", markeredgewidth=2, label=f"its end, {int(data.time[-1])} steps")
    axes.plot(
        theory.calibrated(p.invariant_flip), 0, "*", color=BLACK, markersize=10, linestyle="none", label="invariant predictor"
    )
    axes.set(xlabel=INVARIANT, ylabel=SPURIOUS, xlim=(-0.32, 1.02), ylim=(-0.5, 1.1))
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Patch(color="0.87"))
    axes.legend(handles, [*labels, "returns to the origin"], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.set_title(r"IRMv1, $n=\infty$: field and basins; runs: medians over seeds", loc="left")
    return figure

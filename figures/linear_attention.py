"""Figures of linear attention in context: limits of training, shifts, one step of gradient descent, depth, double descent."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.linear_attention, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
LINES = ("-", "--", "-.", ":")


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The flow's limits and its spectrum, lengths and shifts, the layer beside one step, depth, contexts and tasks."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {
        "flow": flow(found["flow"]),
        "spectrum": spectrum(found["flow"]),
        "length": length(found["flow"]),
        "shifts": shifts(found["flow"], found["random"]),
        "one_step": one_step(found["one_step"]),
        "depth": depth(found["depth"]),
        "contexts": contexts(found["contexts"]),
        "tasks": tasks(found["tasks"]),
    }


def flow(data: xr.Dataset) -> Figure:
    """The loss over its least value, and the two norms, against steps."""
    figure, ((left, right),) = plot.canvas(columns=2)
    d = ts.theory.fields(data).dim
    for k, (n, color) in enumerate(zip(data.context.values, (BLUE, ORANGE), strict=True)):
        for condition, line in zip(data.condition.values, LINES, strict=False):
            part = data.sel(context=n, condition=condition)
            excess = part.loss / part.loss.isel(time=-1) - 1
            label = f"$N={n:.0f}$, condition {condition:g}"
            plot.band(left, excess.isel(time=slice(1, -1)).clip(1e-9), "time", label, color=color, linestyle=line)
        part = data.sel(context=n, condition=1)
        plot.band(right, part.corner, "time", f"$W^{{PV}}$ corner, $N={n:.0f}$", color=color)
        norm = (part.corner**2 - part.imbalance).clip(0) ** 0.5
        plot.band(right, norm, "time", rf"$\|W^{{KQ}}\|$, $N={n:.0f}$", color=color, linestyle="--")
        right.axhline(theory.limits(np.eye(d), n)[0], color=BLACK, linewidth=0.8, linestyle=":",
                      label="limits of theorem 4.1" if k == 0 else None)  # fmt: skip
    left.set(xlabel="step", ylabel="loss over its end, less 1", xscale="log", yscale="log")
    right.set(xlabel="step", ylabel="norm")
    right.set_xscale("symlog", linthresh=1)
    right.set_xlim(left=0)
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return figure


def spectrum(data: xr.Dataset) -> Figure:
    """What the trained layer multiplies each eigendirection by, beside the inverse of Gamma and of the covariance."""
    figure, ((axes,),) = plot.canvas()
    condition = float(data.condition.max())
    part = data.sel(condition=condition).isel(time=-1)
    values = condition ** -np.linspace(0, 1, data.sizes["direction"])
    for n, color, marker in zip(data.context.values, (BLUE, ORANGE), plot.MARKERS, strict=False):
        learned = (part.corner * part.block).sel(context=n)
        axes.plot(values, learned.mean("seed"), marker, color=color, label=f"trained, $N={n:.0f}$")
        stated = np.diag(np.linalg.inv(theory.preconditioner(np.diag(values), n)))
        axes.plot(values, stated, color=color, label=rf"$\Gamma^{{-1}}$, $N={n:.0f}$")
    axes.plot(values, 1 / values, ":", color=BLACK, label=r"$\Lambda^{-1}$, $N\to\infty$")
    axes.set(xlabel=r"eigenvalue of $\Lambda$", ylabel="eigenvalue of the layer's matrix", xscale="log", yscale="log")
    axes.legend(fontsize=7.5)
    return figure


def length(data: xr.Dataset) -> Figure:
    """The error against the test length, for two lengths in training; the trained length is marked."""
    figure, ((axes,),) = plot.canvas()
    d, m = ts.theory.fields(data).dim, np.geomspace(5, 5000, 60)
    for n, color, line, marker in zip(data.context.values, (BLUE, ORANGE), LINES, plot.MARKERS, strict=False):
        axes.plot(m, theory.isotropic_error(d, n, m), line, color=color, label=f"formula, trained on $N={n:.0f}$")
        seen = data.test_error.sel(context=n, condition=1).isel(time=-1).mean("seed")
        axes.plot([n], [float(seen)], marker, color=color, label=f"trained, $M=N={n:.0f}$")
    axes.plot(m, d * (d + 1) / (m + d + 1), ":", color=BLACK, label="best step for each length")
    axes.annotate("least squares: 0 for $M\\geq d$", (0.97, 0.93), xycoords="axes fraction", fontsize=7.5, ha="right")
    axes.set(
        xlabel="examples in the test prompt $M$", ylabel=r"error $E(\hat y-y)^2$", xscale="log", yscale="log", ylim=(2e-3, 10)
    )
    axes.legend(fontsize=7, loc="lower left")
    return figure


def shifts(data: xr.Dataset, random: xr.Dataset) -> Figure:
    """Relative errors on endless prompts, by shift; and after training on random covariances."""
    figure, ((left, right),) = plot.canvas(columns=2)
    part = data.shifted.sel(condition=1).isel(time=-1)
    d = ts.theory.fields(data).dim
    for n, color, marker in zip(data.context.values, (BLUE, ORANGE), plot.MARKERS, strict=False):
        left.plot(range(4), part.sel(context=n).mean("seed"), marker, color=color, label=f"trained on $N={n:.0f}$")
        for scale, line in ((1, "--"), (2, ":")):
            left.axhline(theory.shifted_bias(d, n, scale), color=color, linestyle=line, linewidth=0.9,
                         label=rf"$(1-{'' if scale == 1 else scale}c)^2$, $N={n:.0f}$")  # fmt: skip
    left.set(xlabel="shift in test", ylabel="relative error, $M\\to\\infty$", yscale="log", xlim=(-0.5, 3.5))
    left.set_xticks(range(4), ["none", "tasks\n$\\times 4$", "queries\n$\\times 3$", "inputs\n$\\times 2$"])
    left.set_ylim(1e-3, 30)
    left.legend(fontsize=7, ncols=2)
    fresh = random.fresh.isel(time=-1)
    plot.band(right, fresh.clip(1e-9), "spread", "one layer", color=BLUE, marker="o")
    right.axhline(1, color=BLACK, linestyle=":", label="predicting 0")
    right.set(xlabel="spread of the log-covariances", ylabel="relative error, $M\\to\\infty$", yscale="log")
    right.legend()
    return figure


def one_step(data: xr.Dataset) -> Figure:
    """Von Oswald's panels: loss, difference and cosine while training, and the loss on inputs of another scale."""
    figure, ((left, middle, right),) = plot.canvas(columns=3)
    data = data.isel(time=slice(1, None))
    plot.band(left, data.test_loss, "time", "trained layer", color=BLUE, marker="o")
    step = data.step_loss.isel(time=-1).mean("seed")
    left.axhline(float(step), color=ORANGE, linestyle="--", label="one step of gradient descent")
    left.axhline(0.206, color=BLACK, linestyle=":", linewidth=0.9, label="closed form, .206")
    plot.band(middle, data.difference, "time", "difference of predictions", color=BLUE, marker="o")
    plot.band(middle, 1 - data.cosine, "time", "1 - cosine of sensitivities", color=ORANGE, marker="s", linestyle="--")
    last = data.isel(time=-1)
    plot.band(right, last.scaled, "scale", "trained layer", color=BLUE, marker="o")
    plot.band(right, last.step_scaled, "scale", "one step", color=ORANGE, linestyle="--")
    left.set(xlabel="step of Adam", ylabel="loss", xscale="log")
    middle.set(xlabel="step of Adam", ylabel="layer against one step", xscale="log", yscale="log")
    right.set(xlabel="scale of the inputs in test", ylabel="loss over scale$^2$", yscale="log")
    left.set_ylim(0.15, 0.62)
    for axes, place in ((left, "upper right"), (middle, "lower left"), (right, "upper left")):
        axes.legend(fontsize=7.5, loc=place)
    return figure


def depth(data: xr.Dataset) -> Figure:
    """Layers against as many steps of gradient descent, for equal and unequal eigenvalues."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    loss = data.test_loss.isel(time=-1)
    names = {0.0: "steps of gradient descent", 1.0: "layers, trained"}
    for free, line, marker in ((0.0, "--", "s"), (1.0, "-", "o")):
        for condition, color in ((1.0, BLUE), (4.0, ORANGE)):
            label = f"{names[free]}, condition {condition:g}"
            part = loss.sel(free=free, condition=condition)
            plot.band(axes, part, "layers", label, color=color, linestyle=line, marker=marker)
    fields = ts.theory.fields(data)
    n, d = fields.context, fields.dim
    axes.axhline(d * (d + 1) / (n + d + 1) / 2, color=BLACK, linestyle=":", linewidth=0.9, label="best preconditioned step")
    axes.set(xlabel="layers or steps", ylabel="loss", yscale="log", xticks=list(data.layers.values))
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def contexts(data: xr.Dataset) -> Figure:
    """The double descent in the number of contexts."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    fields = ts.theory.fields(data)
    d, kappa, noise = fields.dim, fields.tasks / fields.dim, fields.noise
    seen = data.assign_coords(contexts=data.contexts / d / (d + 1)).icl_error
    taus = [np.linspace(0.15, 0.97, 80), np.linspace(1.03, 2.4, 80)]
    for length, color, marker in zip(data.context.values, (BLUE, ORANGE), plot.MARKERS, strict=False):
        alpha = length / d
        for k, tau in enumerate(taus):
            axes.plot(tau, theory.ridgeless_error(tau, alpha, kappa, noise), color=color,
                      label=rf"theory, $\alpha={alpha:g}$" if k == 0 else None)  # fmt: skip
        low, high = (seen.sel(context=length).quantile(q, "seed") for q in (0.1, 0.9))
        middle = seen.sel(context=length).mean("seed")
        axes.errorbar(seen.contexts, middle, [(middle - low).clip(0), (high - middle).clip(0)], fmt=marker, color=color,
                      capsize=2, label=rf"simulated, $\alpha={alpha:g}$")  # fmt: skip
        axes.axhline(float(theory.bayes_error(alpha, noise)), color=color, linestyle=":", linewidth=0.9,
                     label=rf"Bayes, $\alpha={alpha:g}$")  # fmt: skip
    axes.set(
        xlabel=r"contexts $\tau=n/d(d+1)$", ylabel="error on fresh tasks", yscale="log", title=f"$d={d}$", ylim=(3e-4, None)
    )
    axes.legend(fontsize=7, ncols=2, loc="lower left")
    return figure


def tasks(data: xr.Dataset) -> Figure:
    """From memorising tasks to learning in context."""
    figure, ((axes,),) = plot.canvas(width=3.8)
    fields = ts.theory.fields(data)
    d, n = fields.dim, fields.contexts
    seen = data.assign_coords(tasks=data.tasks / d)
    plot.band(axes, seen.icl_error, "tasks", "fresh tasks (ICL)", color=BLUE, marker="o")
    plot.band(axes, seen.idg_error, "tasks", "training tasks (IDG)", color=ORANGE, marker="s", linestyle="--")
    kappa, tau, alpha = np.geomspace(0.2, 4.5, 80), n / d / (d + 1), fields.context / d
    axes.plot(kappa, theory.ridgeless_error(tau, alpha, kappa, fields.noise), ":", color=BLACK, label="theory, fresh tasks")
    axes.axhline(float(theory.bayes_error(alpha, fields.noise)), color=GREEN, linestyle="-.", label="Bayes, fresh tasks")
    axes.set(xlabel=r"training tasks $\kappa=k/d$", ylabel="error", xscale="log", yscale="log", ylim=(1e-3, 2))
    axes.set_xticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    axes.minorticks_off()
    axes.set_title(rf"$d={d}$, $\tau={tau:.0f}$, $\alpha={alpha:g}$")
    axes.legend(fontsize=7.5, loc="lower right")
    return figure

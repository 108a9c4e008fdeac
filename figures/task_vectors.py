"""Figures of in-context vector arithmetic: training on questions beside training on prompts."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.task_vectors, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
RUNS = ((0.0, "questions", BLUE, "-", "o"), (0.5, "both", GREEN, "-.", "^"), (1.0, "prompts", ORANGE, "--", "s"))
KINDS = ("as in training", "one sign", "longer", "unseen low level", "mixed tasks")
STYLES = ((BLACK, "-"), (PINK, ":"), (SKY, "--"), (GREEN, "-."), (ORANGE, (0, (5, 1, 1, 1))))


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """What is retrieved, the plane of W_V, errors and margins."""
    found = data["trained"].to_dataset()
    return {"retrieved": retrieved(found), "plane": plane(found), "errors": errors(found), "margins": margins(found)}


def retrieved(data: xr.Dataset) -> Figure:
    """Loss, cosines of what is retrieved, and the products of attention."""
    figure, ((first, second, third),) = plot.canvas(columns=3)
    for prompts, name, color, line, _ in RUNS:
        run = data.sel(prompts=prompts)
        plot.band(first, run.loss, "time", f"trained on {name}", color=color, linestyle=line)
        plot.band(second, run.along, "time", rf"$\cos(h_0,a)$, {name}", color=color, linestyle=line)
        plot.band(third, run.score.sel(of=1), "time", rf"$|b^\top W_K^\top W_Qb|$, {name}", color=color, linestyle=line)
    for prompts, name, color, line, marker in RUNS[::2]:
        second.plot(data.time, data.across.sel(prompts=prompts).mean("seed"), linestyle=line, color=color, marker=marker,
                    markersize=3, label=rf"$\cos(h_0,\pm b)$, {name}")  # fmt: skip
    first.set(xlabel="step", ylabel="training loss")
    second.set(xlabel="step", ylabel="cosine", ylim=(-0.02, 1.45))
    third.set(xlabel="step", ylabel="attention product")
    for axes in (first, second, third):
        axes.legend(fontsize=7, ncols=2 if axes is second else 1)
    return figure


def plane(data: xr.Dataset) -> Figure:
    """What W_V does to the two kinds of vectors, step by step."""
    figure, ((axes,),) = plot.canvas()
    for prompts, name, color, line, marker in RUNS:
        value = data.value.sel(prompts=prompts).mean("seed")
        axes.plot(value.sel(of=0), value.sel(of=1), color=color, linestyle=line, marker=marker, markersize=3, label=name)
    axes.set(xlabel=r"$|a^\top W_Va|$, task vectors", ylabel=r"$|b^\top W_Vb|$, low level")
    axes.legend(title="trained on")
    return figure


def errors(data: xr.Dataset) -> Figure:
    """The error on prompts of each kind, and with task vectors of other prompts."""
    figure, ((left, middle, right),) = plot.canvas(columns=3)
    for axes, (prompts, name, *_) in zip((left, middle), RUNS[::2], strict=True):
        for kind, (label, (color, line)) in enumerate(zip(KINDS, STYLES, strict=True)):
            plot.band(axes, data.test_error.sel(prompts=prompts, kind=kind), "time", label, color=color, linestyle=line)
        axes.set(xlabel="step", ylabel="error on prompts", title=f"trained on {name}", ylim=(-0.02, 1))
        axes.legend(fontsize=7)
    run = data.sel(prompts=0.0)
    plot.band(right, run.swapped, "time", "of the same concept", color=BLUE)
    plot.band(right, run.shuffled, "time", "of any prompt", color=ORANGE, linestyle="--")
    right.axhline(1 - 1 / ts.theory.fields(data).concepts, color=BLACK, linestyle=":", label="another concept")
    right.set(xlabel="step", ylabel="error with another task vector", title="trained on questions", ylim=(-0.02, 1.2))
    right.legend(fontsize=7)
    return figure


def margins(data: xr.Dataset) -> Figure:
    """The margin where all demonstrations share the query's sign, beside the usual one."""
    figure, ((axes,),) = plot.canvas()
    for prompts, name, color, line, marker in RUNS[::2]:
        run = data.margin.sel(prompts=prompts)
        plot.band(axes, run.sel(kind=0), "time", f"{name}, usual", color=color, linestyle=line)
        axes.plot(data.time, run.sel(kind=1).mean("seed"), linestyle=":", marker=marker, markersize=3, color=color,
                  label=f"{name}, one sign")  # fmt: skip
    share = ts.theory.fields(data).share
    axes.axhline(float(theory.margin(1.0, 0.0, share)), color=BLACK, linewidth=0.8, label="a task vector, no noise")
    axes.set(xlabel="step", ylabel="mean margin of the logits", ylim=(0, 1.05))
    axes.legend(fontsize=7, loc="lower right", title="trained on")
    return figure

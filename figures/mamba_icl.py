"""Figures of "Trained Mamba emulates online gradient descent": the learned map, the memory, losses and their constants."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.mamba_icl, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The published figures, the course of training, the constant of the loss, and the price of forgetting."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {
        "heat_map": heat_map(found["gaussian"], found["dead_column"]),
        "cosine": cosine(found["gaussian"]),
        "training": training(found["gaussian"], found["static"]),
        "test_loss": test_loss(found["published"]),
        "sizes": sizes(found["sizes"]),
        "forgetting": forgetting(found["forgetting"]),
    }
    return figures | ({"whole": whole(found["whole"])} if "whole" in found else {})


def heat_map(data: xr.Dataset, dead: xr.Dataset) -> Figure:
    """C^T W_B of the first seed before training, after it, and after it from first columns that are 0."""
    figure, axes = plot.canvas(columns=3, width=3.3, height=2.6)
    beta = theory.best(*(getattr(ts.theory.fields(data), name) for name in ("dim", "context")))
    end = dead.sel(alive=0.0).squeeze(("context", "retained"))
    steps = int(data.time[-1])
    looks = (
        (data.isel(time=0), "before training"),
        (data.isel(time=-1), rf"after {steps} steps: $\beta={beta:.3f}$"),
        (end.isel(time=-1), "after training, first columns 0"),
    )
    for panel, (seen, title) in zip(axes[0], looks, strict=True):
        matrix = seen.matrix.isel(seed=0).transpose("row", "column")
        matrix = matrix.assign_coords(
            row=np.arange(1, 1 + matrix.sizes["row"]), column=np.arange(1, 1 + matrix.sizes["column"])
        )
        widest = max(float(abs(matrix).max()), 1e-9)
        plot.heat_map(panel, matrix, "column", "row", label=r"$C^\top W_B$", cmap="RdBu_r", vmin=-widest, vmax=widest)
        for i in matrix.row.values:
            for j in matrix.column.values:
                value = float(matrix.sel(row=i, column=j))
                text = f"{value:.2f}" if widest < 5 else f"{value:.0f}"
                color = "white" if abs(value) > 0.6 * widest else BLACK
                panel.text(j, i, text.replace("-0.00", "0.00"), ha="center", va="center", fontsize=7, color=color)
        last = matrix.sizes["column"]
        panel.set_xticks(range(1, last + 1), [*(f"$x_{j}$" for j in range(1, last)), "$y$"])
        panel.set_yticks(matrix.row.values)
        panel.invert_yaxis()
        panel.set(xlabel="written from", ylabel="read at the query's", title=title)
    return figure


def cosine(data: xr.Dataset) -> Figure:
    """How the memory turns towards the task, example by example."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.5)
    p = ts.theory.fields(data)
    data = data.assign_coords(position=data.position + 1) if "position" in data.coords else data.assign_coords(
        position=np.arange(1, data.sizes["position"] + 1)
    )  # fmt: skip
    seen = np.arange(1, data.sizes["position"] + 1)
    exact = theory.alignment(seen, p.dim, p.context)
    for panel, name in ((left, "cosine"), (right, "alignment")):
        plot.band(panel, data[name].sel(when=1), "position", "trained", color=BLUE)
        plot.band(panel, data[name].sel(when=0), "position", "untrained", color=ORANGE)
        panel.axhline(0, color=BLACK, linewidth=0.5)
        panel.set(xlabel="examples seen, $l$", ylim=(-0.5, 1.02))
    right.plot(seen, exact, "--", color=BLACK, label=r"$s_l/\sqrt{s_l^2+(d+1)q_l}$")
    left.set_ylabel(r"mean cosine of $w$ and $\tilde h_l$")
    right.set_ylabel(r"$E\langle w,\tilde h_l\rangle/\sqrt{E\|w\|^2E\|\tilde h_l\|^2}$")
    left.legend(loc="lower right")
    right.legend(loc="lower right")
    return figure


def training(data: xr.Dataset, static: xr.Dataset) -> Figure:
    """The excess loss with the stated and the measured rate, and the losses of both layers."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.7, height=2.9)
    p = ts.theory.fields(data)
    matrix = data.matrix.transpose("seed", "time", "row", "column").values
    values = theory.excess(matrix[..., :-1], matrix[..., -1], p.dim, p.context)
    excess = data.loss.transpose("seed", "time").copy(data=np.maximum(values, 1e-26))
    for k in range(data.sizes["seed"]):
        left.plot(
            data.time, excess[k], color=BLUE, linewidth=1.6 if not k else 0.6, label=None if k else "runs (the first: thick)"
        )
    grams = [data[name].isel(seed=0).values for name in ("gram_read", "gram_write")]
    rates = (theory.stated_rate(p.lr, p.states, p.dim, p.context), theory.rate(*grams, p.lr, p.dim, p.context))
    labels = (r"stated: $2\eta\beta_1d_h/2", "its slowest mode: $")
    last = float(data.time[-1])
    for rate, label, line, first in zip(rates, labels, ("--", ":"), (0.05 * last, 0.35 * last), strict=True):
        time, start = np.array([first, last]), float(np.exp(np.log(excess[0]).interp(time=first)))
        sign = "=" if label.endswith("2") else ""
        left.plot(time, 3 * start * np.exp(-rate * (time - first)), line, color=BLACK, label=f"{label}{sign}{float(rate):.3f}$")
    left.set(yscale="log", xlabel="iteration", ylabel=r"$L-L^*$", ylim=(1e-24, 1e4))
    left.legend(loc="upper right", fontsize=7)
    later = slice(1, None)
    plot.band(right, data.loss.sel(time=later), "time", "S6", color=BLUE)
    plot.band(right, static.loss.sel(time=later), "time", "S4", color=ORANGE)
    for when, time, label in ((0, 1, None), (1, float(data.time[-1]), "S6, explicit scan")):
        right.plot(time, float(data.explicit.sel(when=when).mean("seed")), "D", color=BLUE, label=label)
    shuffled = float(data.label_shuffled.sel(when=1).mean("seed"))
    right.plot(float(data.time[-1]), shuffled, "X", color=PINK, markersize=7, linestyle="none", label="S6, labels shuffled")
    right.axhline(p.dim / 2, color=BLACK, linewidth=0.8, linestyle=":", label="saying 0: $d/2$")
    right.axhline(theory.least_loss(p.dim, p.context), color=BLACK, linewidth=0.8, linestyle="--", label="$L^*$")
    right.set(xscale="log", yscale="log", xlabel="iteration", ylabel="loss")
    right.legend(loc="upper right", fontsize=7)
    return figure


def lines(axes: Axes, p, context: np.ndarray, noise: float = 0.0) -> None:
    """The theory's losses over the number of examples."""
    axes.plot(context, theory.loss_bound(p.dim, context), color=ORANGE, label=r"bound $3d(d+1)/(2N)$")
    axes.plot(context, theory.least_loss(p.dim, context, 0.5, noise), "--", color=BLACK, label="Mamba, $L^*$")
    axes.plot(context, theory.attention_loss(p.dim, context, noise), ":", color=GREEN, label="linear attention, best")


def test_loss(data: xr.Dataset) -> Figure:
    """The test loss of the layer trained on a sample, without and with label noise."""
    figure, axes = plot.canvas(columns=2, width=4.1, height=2.8)
    p, context = ts.theory.fields(data), np.geomspace(float(data.context[0]), float(data.context[-1]), 80)
    for panel, noise in zip(axes[0], data.noise.values, strict=True):
        seen = data.sel(noise=noise)
        lines(panel, p, context, float(noise))
        plot.band(
            panel, seen.explicit.sel(when=1), "context", "trained S6, test prompts", color=BLUE, marker="o", linestyle="none"
        )
        if noise:
            plot.band(panel, seen.ridge, "context", "ridge regression (Bayes)", color=PINK, marker="s", linewidth=0.8)
        panel.axhline(p.dim / 2, color="0.5", linewidth=0.8, linestyle="-.", label="saying 0, S4: $d/2$")
        panel.set(xscale="log", yscale="log", xlabel="examples $N$", ylabel="test loss", title=rf"label noise $\rho={noise:g}$")
        panel.set_ylim(0.003, 20)
        panel.set_xticks([4, 8, 20, 40, 80], ["4", "8", "20", "40", "80"])
        panel.minorticks_off()
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    axes[0, 0].text(0.03, 0.03, r"least squares: 0 for $N\geq d$", transform=axes[0, 0].transAxes, fontsize=7)
    return figure


def sizes(data: xr.Dataset) -> Figure:
    """The loss after training over the number of examples, and times it: down to the constant."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=2.9)
    data = data.squeeze(("retained", "alive")).isel(time=-1)
    p, context = ts.theory.fields(data), np.geomspace(float(data.context[0]), float(data.context[-1]), 200)
    half = p.dim * (p.dim + 1) / 2
    lines(left, p, context)
    plot.band(left, data.loss, "context", "after population GD", color=BLUE, marker="o", linestyle="none")
    plot.band(
        right, data.loss * data.context / half, "context", "after population GD", color=BLUE, marker="o", linestyle="none"
    )
    right.plot(context, context * theory.least_loss(p.dim, context) / half, "--", color=BLACK, label="Mamba, $L^*$")
    right.plot(
        context, context * theory.attention_loss(p.dim, context) / half, ":", color=GREEN, label="linear attention, best"
    )
    right.axhline(theory.price(), color=PINK, linewidth=0.9, label=r"$\frac{3}{2}\ln2=1.040$")
    left.set(xscale="log", yscale="log", xlabel="examples $N$", ylabel="loss")
    right.set(
        xscale="log",
        xlabel="examples $N$",
        ylabel=r"$NL\,/\,\frac{1}{2}d(d+1)$",
        ylim=(0.35, 1.15),
        title="times $N$ (the bound is at 3)",
    )
    left.legend(loc="lower left", fontsize=7)
    right.legend(loc="lower right", fontsize=7)
    return figure


def forgetting(data: xr.Dataset) -> Figure:
    """What it costs to forget: N L over that of linear attention."""
    figure, ((axes,),) = plot.canvas(width=4.0, height=2.8)
    data = data.squeeze(("context", "alive")).isel(time=-1)
    p = ts.theory.fields(data)
    scaled = data.loss * float(p.context) / (p.dim * (p.dim + 1) / 2)
    plot.band(
        axes,
        scaled,
        "retained",
        rf"after population GD, $N=10^{{{np.log10(float(p.context)):.0f}}}$",
        color=BLUE,
        marker="o",
        linestyle="none",
    )
    kept = np.linspace(0.01, 0.99, 99)
    axes.plot(kept, theory.price(kept), "--", color=BLACK, label=r"$\frac{(1+r)\ln(1/r)}{2(1-r)}$")
    axes.axhline(1, color=GREEN, linestyle=":", label="linear attention")
    axes.axvline(0.5, color="0.6", linewidth=0.8, label=r"the paper's $\Delta=\ln2/N$")
    axes.set(xlabel=r"what is left of the first example, $r=\alpha^N$", ylabel=r"$NL\,/\,\frac{1}{2}d(d+1)$", ylim=(0.9, 2.5))
    axes.legend(loc="upper right")
    return figure


def whole(data: xr.Dataset) -> Figure:
    """A whole Mamba, trained on fresh prompts by Adam."""
    figure, ((axes,),) = plot.canvas(width=4.0, height=2.8)
    p = ts.theory.fields(data)
    plot.band(axes, data.loss, "time", "Mamba block", color=BLUE)
    axes.axhline(p.dim / 2, color=BLACK, linewidth=0.8, linestyle=":", label="saying 0, any layer linear in its tokens: $d/2$")
    axes.axhline(
        theory.least_loss(p.dim, p.context), color=ORANGE, linewidth=0.9, linestyle="--", label="$L^*$ of one S6 layer"
    )
    axes.axhline(theory.attention_loss(p.dim, p.context), color=GREEN, linestyle=":", label="linear attention, best")
    axes.set(xlabel="iteration", ylabel=f"test loss, $d={p.dim}$, $N={p.context:g}$", yscale="log", ylim=(0.05, 4))
    axes.legend(loc="upper right", fontsize=7)
    return figure

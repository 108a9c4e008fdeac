"""Figures of "On the emergence of position bias in transformers": what the last token draws on, by mask and depth."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.position_bias, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
MASKS = (
    ("full", BLUE, "-", "o"),
    ("causal", ORANGE, "--", "s"),
    ("window of 4", GREEN, "-.", "^"),
    ("prefix of 2", PINK, ":", "D"),
)
SHADES = ("#C6DBEF", "#7FB3DA", "#3787C0", "#0B559F", "#08306B")


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The first token's share against depth, the common slope, windows, the decay mask, RoPE, and the trained stacks."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {
        "depth": depth(found["masks"]),
        "slope": slope(found["masks"], found["windows"]),
        "windows": windows(found["windows"], found["masks"]),
        "decay": decay(found["decay"]),
        "rope": rope(found["decay"]),
        "trained": trained(found["trained"]),
    }


def depth(data: xr.Dataset) -> Figure:
    """P(last, first) by mask, and the whole last row of the causal mask at some depths."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8)
    data = data.sel(gain=1)
    for graph, (name, color, line, marker) in enumerate(MASKS):
        plot.band(left, data.drawn.sel(source=0, graph=graph), "time", name, color=color, linestyle=line, marker=marker)
    n = data.sizes["source"]
    left.axhline(1 / n, color=BLACK, linewidth=0.8)
    left.annotate("$1/N$", (40, 1 / n), (0, 3), textcoords="offset points", fontsize=8)
    left.set_xscale("log", base=2)
    left.set(xlabel="layers $T$", ylabel="weight of the last token on the first", ylim=(-0.02, 1.05))
    left.legend(loc="upper left")
    rows(right, data.sel(graph=1), [1, 2, 4, 8, 16])
    right.set(xlabel="token $j$", ylabel="$P_{Nj}$, causal", yscale="log", ylim=(1e-5, 2))
    right.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def rows(axes: Axes, data: xr.Dataset, depths: list[int]) -> None:
    """The last row of P, a curve a depth."""
    for t, color, marker in zip(depths, SHADES, plot.MARKERS, strict=False):
        label = f"{t} layer{'s' if t > 1 else ''}"
        plot.band(
            axes, data.drawn.sel(time=t).assign_coords(source=data.source + 1), "source", label, color=color, marker=marker
        )


def slope(data: xr.Dataset, of_windows: xr.Dataset) -> Figure:
    """log of the mass that is not on the first token, with the common slope and the bound."""
    figure, ((axes,),) = plot.canvas(width=4.8, height=3.1)
    causal, n = data.sel(graph=1), data.sizes["source"]
    plot.band(axes, causal.rest.sel(gain=1), "time", "causal, random $W_Q,W_K$", color=ORANGE, linestyle="--", marker="s")
    plot.band(axes, causal.rest.sel(gain=0), "time", "causal, uniform", color=BLUE, marker="o")
    for reach, color, marker in ((4.0, GREEN, "^"), (8.0, PINK, "D")):
        part = of_windows.rest.sel(reach=reach)
        plot.band(axes, part, "time", f"window of {reach:g}", color=color, linestyle="-.", marker=marker)
    plot.band(axes, data.rest.sel(gain=1, graph=0), "time", "full mask", color="0.5", linestyle=":")
    t = np.linspace(1, 64, 200)
    own = np.exp(causal.slowest.sel(gain=0) - causal.slowest.sel(gain=0, time=40)).isel(seed=0)
    scale = float(causal.rest.sel(gain=0, time=40).mean("seed"))
    axes.plot(own.time, 4 * scale * own, color=BLACK, linewidth=1, label=r"slope $-\max_{j\geq2}\log A_{jj}=\ln2$ (shifted)")
    axes.plot(t, theory.mass_bound(2, 1 / n, t), color=BLACK, linewidth=1, linestyle=":", label=r"theorem 4.1, $(1-1/N)^T$")
    axes.set(yscale="log", xlim=(0, 64), ylim=(1e-18, 30), xlabel="layers $T$", ylabel="mass of the last token off the first")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def windows(data: xr.Dataset, masks: xr.Dataset) -> Figure:
    """The weight on the first token for windows of several widths."""
    figure, ((axes,),) = plot.canvas(width=4.2, height=2.9)
    for reach, color, marker in zip(data.reach.values, SHADES, plot.MARKERS, strict=False):
        plot.band(axes, data.drawn.sel(reach=reach, source=0), "time", f"window of {reach:g}", color=color, marker=marker)
    causal = masks.drawn.sel(graph=1, gain=1, source=0)
    plot.band(axes, causal, "time", "causal", color=ORANGE, linestyle="--")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="layers $T$", ylabel="weight of the last token on the first", ylim=(-0.02, 1.05))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def decay(data: xr.Dataset) -> Figure:
    """The last row under decay masks against the binomial formula, and the distance of its peak."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8)
    n, data = data.sizes["source"], data.sel(pull=0)
    part = data.sel(decay=0.3)
    back = np.arange(n)
    for t, color, marker in zip([1, 2, 4, 8, 12], SHADES, plot.MARKERS, strict=False):
        row = part.drawn.sel(time=t).mean("seed").values[::-1]
        left.plot(back, row, marker, color=color, markersize=3, label=f"{t} layer{'s' if t > 1 else ''}")
        stated = theory.decay_profile(back, t, 0.3)
        left.plot(back, stated * row[0] / stated[0], color=color, linewidth=1)
    left.plot([], [], color="0.4", linewidth=1, label="binomial formula")
    left.set(yscale="log", ylim=(1e-5, 2), xlabel="distance $x=N-j$", ylabel="$P_{Nj}$, decay $m=.3$")
    left.legend(fontsize=7.5, ncols=2, loc="upper right")
    grid = np.linspace(1, 16, 100)
    for m, color, marker in zip([m for m in data.decay.values if m], (BLUE, GREEN, ORANGE), "o^s", strict=False):
        at = n - 1 - data.drawn.sel(decay=m).argmax("source").isel(seed=0).sel(time=slice(None, 16))
        right.plot(at.time, at, marker, color=color, label=f"$m={m:g}$")
        right.plot(grid, np.minimum(theory.peak(grid, m), n - 1), color=color, linewidth=1)
    right.axhline(n - 1, color=BLACK, linewidth=0.8, linestyle=":")
    right.annotate("the first token", (1, n - 1), (0, -11), textcoords="offset points", fontsize=8)
    right.plot([], [], color="0.4", linewidth=1, label="$x^*=(T-1)/(e^m-1)$")
    right.set(xlabel="layers $T$", ylabel="distance of the peak", ylim=(-2, n + 3))
    right.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(0, 0.88))
    return figure


def rope(data: xr.Dataset) -> Figure:
    """The last row under RoPE without content."""
    figure, panels = plot.canvas(columns=2, width=3.6)
    n, p = data.sizes["source"], ts.theory.fields(data)
    for axes, pull in zip(panels[0], data.pull.values, strict=True):
        for t, color, marker in zip([1, 4, 8, 12, 24], SHADES, plot.MARKERS, strict=False):
            row = data.drawn.sel(time=t, pull=pull, decay=0).mean("seed").values[::-1]
            axes.plot(np.arange(n), row, color=color, marker=marker, markersize=2.5, label=f"{t} layer{'s' if t > 1 else ''}")
        name = rf"RoPE, $\theta={p.turn:g}$" if pull else "the causal mask alone"
        axes.set(yscale="log", ylim=(1e-5, 2), xlabel="distance $x=N-j$", ylabel="$P_{Nj}$", title=name)
    panels[0][0].legend(fontsize=7.5, loc="upper left")
    return figure


def trained(data: xr.Dataset) -> Figure:
    """The gaps of the trained stacks, with the paper's tables."""
    figure, (panels,) = plot.canvas(columns=2, width=4.3, height=3.0)
    paper = {  # found: the paper's tables, at its size, with depth 2
        "causal": (0.059, 0.077, 0.018),
        "neither": (0.0, 0.0, 0.0),
        "causal mask": (0.276, 0.308, -0.006),
        "positions": (0.293, 0.013, -0.264),
        "both": (0.316, 0.078, -0.238),
    }
    free, ends = data.sel(table=0, positions=0), data.sel(table=1)
    left = (("full mask", free.sel(graph=0), None), ("causal mask", free.sel(graph=1), "causal"))
    right = tuple(
        (name, ends.sel(graph=graph, positions=positions), name)
        for name, graph, positions in (("neither", 0, 0), ("causal mask", 1, 0), ("positions", 0, 1), ("both", 1, 1))
    )
    for axes, bars, title in (
        (panels[0], left, "no residual, no positions, any item asked for"),
        (panels[1], right, "residual, asked for the first or the last"),
    ):
        width = 0.8 / len(bars)
        for k, (name, part, key) in enumerate(bars):
            place = np.arange(3) + (k - (len(bars) - 1) / 2) * width
            value = part.gap.mean("seed")
            spread = [value - part.gap.quantile(0.1, "seed"), part.gap.quantile(0.9, "seed") - value]
            axes.bar(place, value, width * 0.9, color=plot.COLORS[k], label=name)
            axes.errorbar(place, value, np.maximum(spread, 0), fmt="none", ecolor=BLACK, capsize=2, linewidth=0.8)
            if key:
                axes.plot(place, paper[key], "D", color="white", markeredgecolor=BLACK, markersize=4)
        axes.plot([], [], "D", color="white", markeredgecolor=BLACK, markersize=4, label="the paper, larger")
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.set_xticks(range(3), ["first-middle", "first-last", "middle-last"])
        axes.set(xlabel="positions of the two", ylabel="preference of the earlier", title=title, ylim=(-0.85, 0.75))
        axes.legend(fontsize=7.5, loc="lower left")
    return figure

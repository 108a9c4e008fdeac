"""Figures of "Local linear attention": adapting to segments, the static task, weights and exponents at an edge."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.local_linear_attention, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
#: name, colour, line and place along the dimension `method`
METHODS = (
    ("softmax", BLUE, "--", 1),
    ("Mesa (ridge)", ORANGE, "-.", 2),
    ("local linear", GREEN, "-", 3),
    ("linear", PINK, ":", 0),
)
FITS = (("softmax (local constant)", BLUE, "o"), ("local linear", GREEN, "^"))
SLOPE, CURVATURE = {"edge": -4.0, "inside": 0.0}, 8.0
PLACES = ("edge", "inside")


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The running error over segments, the choice of bandwidth and ridge, the static task, and the edge: weights and risks."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "segments" in found:
        figures["segments"] = segments(found["segments"])
        figures["grid"] = grid(found["segments"])
    if "static" in found:
        figures["static"] = static(found["static"])
    if "weights" in found:
        figures["weights"] = weights(found["weights"])
    if "edge" in found:
        figures["exponents"] = exponents(found["edge"])
        figures["bandwidths"] = bandwidths(found["edge"])
    return figures


def chosen(data: xr.Dataset, method: int) -> xr.Dataset:
    """A method at the bandwidth and ridge of its least error on the held-out sequences, for each seed."""
    points = data.isel(method=method).stack(point=("bandwidth", "ridge")).reset_index("point", drop=True)
    return points.isel(point=points.held_out_error.argmin("point"))


def segments(data: xr.Dataset) -> Figure:
    """The error of each method against the position, where every segment has its own map, and where all have one."""
    figure, axes = plot.canvas(columns=2, width=4.3, height=3.0)
    p = ts.theory.fields(data)
    for panel, change, title in ((axes[0, 0], 1.0, "each segment has its own map"), (axes[0, 1], 0.0, "control: one map")):
        for name, color, line, k in METHODS:
            running = chosen(data.sel(change=change), k).running.isel(position=slice(1, None))
            plot.band(panel, running, "position", name, color=color, linestyle=line)
        panel.axhline(p.width * p.noise**2, color=BLACK, linewidth=0.9, linestyle="--", label=r"noise, $d\sigma^2$")
        for edge in range(p.length, p.segments * p.length, p.length):
            panel.axvline(edge, color="0.7", linewidth=0.8)
        panel.set(yscale="log", ylim=(0.012, 2e3), xlabel="position", title=title)
    axes[0, 0].set_ylabel("squared error")
    axes[0, 1].legend(loc="upper right", ncols=3, fontsize=7.5)
    return figure


def grid(data: xr.Dataset) -> Figure:
    """What bandwidth and ridge do on the held-out sequences, and in the end in each segment."""
    figure, ((left, right),) = plot.canvas(columns=2, width=4.0, height=2.9)
    part = data.sel(change=1.0)
    held = part.held_out_error.isel(method=3)
    looks = zip(part.ridge.values, (SKY, GREEN, YELLOW, PINK), plot.MARKERS, strict=False)
    for ridge, color, marker in looks:
        label = rf"local linear, $\lambda={ridge:g}$"
        plot.band(left, held.sel(ridge=ridge), "bandwidth", label, color=color, marker=marker)
    softmax, mesa = (part.held_out_error.isel(method=k, ridge=0) for k in (1, 2))
    plot.band(left, softmax, "bandwidth", "softmax", color=BLUE, linestyle="--", marker="s")
    plot.band(left, mesa, "bandwidth", "Mesa (ridge)", color=ORANGE, linestyle="-.")
    left.set(xscale="log", yscale="log", xlabel="bandwidth $h$", ylabel="error, held-out sequences", ylim=(0.03, 3))
    left.set_xticks(part.bandwidth.values, [f"{h:g}" for h in part.bandwidth.values])
    left.minorticks_off()
    left.legend(loc="upper left", fontsize=7, ncols=2)
    place = np.arange(data.sizes["segment"])
    for shift, (name, color, _, k) in zip((-0.2, 0.0, 0.2), METHODS[:3], strict=True):
        error = chosen(part, k).error
        mean, spread = error.mean("seed").values, error.std("seed").values / np.sqrt(error.sizes["seed"])
        marker = plot.MARKERS[k - 1]
        right.errorbar(place + shift, mean, 2 * spread, fmt=marker, color=color, capsize=2, label=name)
    right.set_xticks(place, [str(k + 1) for k in place])
    right.set(yscale="log", xlabel="segment", ylabel="error at the chosen values", ylim=(0.02, 2))
    right.legend(loc="upper left", fontsize=7.5)
    return figure


def static(data: xr.Dataset) -> Figure:
    """Error against the number of keys: three linear pieces, and one."""
    figure, axes = plot.canvas(columns=2, width=3.8, height=2.9)
    for panel, change, title in ((axes[0, 0], 1.0, "three linear pieces"), (axes[0, 1], 0.0, "control: one piece")):
        part = data.sel(change=change)
        for name, label, color, marker in (
            ("softmax_error", "softmax (local constant)", BLUE, "o"),
            ("local_error", "local linear", GREEN, "^"),
            ("global_error", "global linear", ORANGE, "s"),
        ):
            plot.band(panel, part[name], "n", label, color=color, marker=marker)
        panel.set(xscale="log", yscale="log", xlabel="keys $n$", title=title)
        panel.set_xticks(part.n.values, [f"{n:.0f}" for n in part.n.values])
        panel.minorticks_off()
    n, p = data.n.values, ts.theory.fields(data)
    axes[0, 1].plot(n, 3 * p.noise**2 / n, ":", color=BLACK, label=r"least squares, $3\sigma^2/n$")
    axes[0, 0].set(ylabel="squared error", ylim=(0.05, 2))
    axes[0, 1].set(ylabel="squared error", ylim=(3e-8, 1))
    axes[0, 0].legend(loc="upper right", fontsize=7.5)
    axes[0, 1].legend(loc="lower left", fontsize=7.5)
    return figure


def weights(data: xr.Dataset) -> Figure:
    """The weights of the keys for a query at the edge and one inside, beside the equivalent kernels."""
    figure, axes = plot.canvas(columns=2, width=3.9, height=3.0)
    one = data.isel(seed=0)
    for k, place in enumerate(PLACES):
        panel, offset = axes[0, k], one.offset.isel(place=k).values
        near = abs(offset) < 3.6
        fine = np.linspace(0 if place == "edge" else -3.5, 3.5, 300)
        for j, (label, color, marker) in enumerate(FITS):
            shown = one.weight.isel(order=j, place=k).values[near]
            panel.plot(offset[near], shown, marker, color=color, markersize=3, alpha=0.6, label=label)
            line = "-" if j else "--"
            kernel = theory.equivalent_kernel(theory.ORDERS[j], place, fine)
            panel.plot(fine, kernel, line, color=BLACK, linewidth=1.1, label=f"limit, {theory.ORDERS[j]}")
            mean = round(float(data.moment.isel(order=j, place=k).mean("seed")), 2) + 0.0
            panel.axvline(mean, color=color, linewidth=1.2, linestyle=line, label=f"weighted mean key: {mean:+.2f}")
        panel.axhline(0, color=BLACK, linewidth=0.6)
        panel.set(xlabel="key, from the query, in bandwidths", title=f"query {'at the edge' if k == 0 else 'inside'}")
        panel.legend(loc="upper right" if k == 0 else "upper left", fontsize=7)
    axes[0, 0].set(ylabel=r"weight $\times\,nb$")
    axes[0, 1].set(ylabel=r"weight $\times\,nb$", ylim=(-0.03, 0.75))
    return figure


def stated(data: xr.Dataset, order: str, place: str) -> tuple[str, str, float, float, float]:
    return order, place, SLOPE[place], CURVATURE, float(ts.theory.fields(data).noise)


def exponents(data: xr.Dataset) -> Figure:
    """The risk at the best bandwidth against the number of keys, and its local slopes, at the edge and inside."""
    figure, axes = plot.canvas(columns=2, rows=2, width=4.0, height=2.7)
    n = np.geomspace(float(data.n.min()), float(data.n.max()), 100)
    for k, place in enumerate(PLACES):
        top, bottom = axes[:, k]
        for j, (label, color, marker) in enumerate(FITS):
            order, _, *at = stated(data, theory.ORDERS[j], place)

            def least(part, j=j, k=k):
                return part.risk.isel(order=j, place=k).mean("seed").min("b")

            fit = ts.analysis.fit_exponent(data, least, against="n", resamples=200)
            hollow = "none" if j else None
            plot.power_law(top, fit, label, color=color, marker=marker)
            theory_risk = theory.risk(order, place, n, theory.best_bandwidth(order, place, n, *at), *at)
            top.plot(n, theory_risk, ":" if j else "--", color=BLACK, linewidth=1.2, label=f"leading order, {order}")
            plot.local_slopes(bottom, fit, color=color, marker=marker, label=label, markerfacecolor=hollow)
        bottom.axhline(-2 / 3, color=BLACK, linewidth=0.9, linestyle="--", label="$-2/3$")
        bottom.axhline(-4 / 5, color=BLACK, linewidth=0.9, linestyle=":", label="$-4/5$")
        bottom.set(xlabel="keys $n$", ylim=(-0.95, -0.45), xlim=top.get_xlim())
        top.set_title("query at the edge" if k == 0 else "query inside (control)", loc="left")
        low, high = top.get_ylim()
        top.set(ylim=(low / 8, 20 * high), xlabel="keys $n$", ylabel="least risk")
        top.legend(loc="upper right", fontsize=6.5)
        bottom.set_ylabel("local slope")
    axes[1, 0].legend(loc="upper left", fontsize=7, ncols=2)
    axes[1, 1].legend(loc="upper left", fontsize=7, ncols=2)
    return figure


def bandwidths(data: xr.Dataset) -> Figure:
    """The risk against the bandwidth at the most keys, beside its leading order."""
    figure, axes = plot.canvas(columns=2, width=3.9, height=2.9)
    n = float(data.n.max())
    part = data.sel(n=n)
    for k, place in enumerate(PLACES):
        panel, b = axes[0, k], data.b.values
        for j, (label, color, marker) in enumerate(FITS):
            order, _, *at = stated(data, theory.ORDERS[j], place)
            plot.band(panel, part.risk.isel(order=j, place=k), "b", label, color=color, marker=marker, linestyle="none")
            panel.plot(
                b, theory.risk(order, place, n, b, *at), ":" if j else "--", color=BLACK, label=f"leading order, {order}"
            )
        panel.set(xscale="log", yscale="log", xlabel="bandwidth $b$")
        panel.set_title(f"query {'at the edge' if k == 0 else 'inside'}, $n={n:.0f}$", loc="left")
        low, high = panel.get_ylim()
        panel.set(ylim=(low, 30 * high), ylabel="risk")
        panel.legend(loc="upper left", fontsize=7)
    return figure

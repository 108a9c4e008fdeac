"""Figures of "Benign overfitting in two-layer ReLU CNNs for XOR data": heat maps, the angle, the exponent, the collapse."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.benign_xor, ts.plotting
SIGNAL, RATIO = r"signal strength $\|\mu\|$", r"$x=n\|\mu\|^4/(\sigma_p^4d)$"
CUT, EDGE, WIDE = 0.2, 0.2, 0.3


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "map" in found:
        figures["map"] = heat_maps(found["map"])
    if "spots" in found:
        figures["angle"] = angle(found["spots"].squeeze("dim", drop=True), found["linear"])
    if "exponent" in found:
        figures["exponent"] = exponent(found["exponent"])
        figures["collapse"] = collapse(found["exponent"])
    if "angle" in found:
        figures["angle_law"] = angle_law(found["angle"])
    return figures


def cosine(value: float) -> str:
    return rf"$\cos\theta={value:g}$"


def heat_maps(data: xr.Dataset) -> Figure:
    """The error on noisy labels, averaged over the flips of the test points, for two angles."""
    figure, (panels,) = plot.canvas(columns=2, width=3.8, height=3.2)
    p = ts.theory.fields(data)
    noisy = p.flip + (1 - 2 * p.flip) * data.test_error
    edges = ts.analysis.phase_boundary(data.assign(noisy=noisy), "noisy", CUT, along="signal")
    for axes, value in zip(panels, data.cosine.values, strict=True):
        label = "test error, noisy labels" if value == data.cosine.values[-1] else None
        plot.heat_map(axes, noisy.sel(cosine=value).mean("seed"), "signal", "dim", label=label, vmin=0.1, vmax=0.5)
        edge = edges.sel(cosine=value)
        axes.plot(edge, edge.dim, "o", color="white", markeredgecolor="black", markersize=3.5, label=f"measured, error {CUT}")
        # the theorem leaves its constant open: the one that fits best in logarithms
        constant = float(np.exp(np.log(theory.signal_to_noise(p.n, edge, edge.dim, value)).mean()))
        dims = np.linspace(float(data.dim[0]), float(data.dim[-1]), 100)
        curve = theory.critical_signal(p.n, dims, constant, value)
        law = rf"$\|\mu\|\propto d^{{1/4}}$, $n\|\mu\|^4(1-\cos\theta)^2={constant:.1f}\,d$"
        axes.plot(curve, dims, color=plot.COLORS[1], label=law)
        axes.set(xlabel=SIGNAL, ylabel="dimension $d$", title=cosine(value), xlim=(0, float(data.signal.max())))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), fontsize=7)
    return figure


def angle(data: xr.Dataset, linear: xr.Dataset) -> Figure:
    """The error at $d=200$ against the signal for each angle, with the linear network and the floor."""
    figure, ((axes,),) = plot.canvas(width=4.4, height=3.2)
    flip = ts.theory.fields(data).flip
    for k, value in enumerate(data.cosine.values):
        error = flip + (1 - 2 * flip) * data.test_error.sel(cosine=value)
        label = cosine(value) + (", $u=v$" if value == 1 else "")
        plot.band(axes, error, "signal", label, color=plot.COLORS[k], marker=plot.MARKERS[k])
    error = flip + (1 - 2 * flip) * linear.test_error.sel(cosine=0)
    plot.band(axes, error, "signal", "linear network, " + cosine(0), color="grey", linestyle="--", marker="x")
    axes.axhline(flip, color="black", linewidth=0.8, linestyle=":", label="flip rate $p$")
    axes.set(xlabel=SIGNAL, ylabel="test error, noisy labels", ylim=(0, 0.62))
    axes.legend(loc="upper center", ncols=2, fontsize=7)
    return figure


def boundary(data: xr.Dataset, edge: float = EDGE) -> xr.DataArray:
    """The signal at which the clean test error is 20 %."""
    p = ts.theory.fields(data)
    return theory.signal_of_ratio(ts.analysis.phase_boundary(data, "test_error", edge, along="ratio"), p.n, p.dim)


def exponent(data: xr.Dataset) -> Figure:
    """The boundary family: against $d$ for each angle, with local slopes."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.0)
    for k, value in enumerate(data.cosine.values):
        fit = ts.analysis.fit_exponent(data.sel(cosine=value), boundary, against="dim")
        look = {"color": plot.COLORS[k], "marker": plot.MARKERS[k]}
        plot.power_law(left, fit, cosine(value), **look)
        # side by side, since the slopes agree
        fit.local["dim"] = fit.local.dim * 1.25 ** (k - 1)
        plot.local_slopes(right, fit, label=cosine(value), **look)
    left.set(xlabel="dimension $d$", ylabel=rf"boundary $\|\mu\|^*$ (test error {100 * EDGE:.0f} %)")
    right.axhline(0.25, color="black", linewidth=1.0, linestyle="--", label="theorem: 1/4")
    right.set(xlabel="dimension $d$", ylabel="local slope", ylim=(0.2, 0.28))
    left.legend(fontsize=7, loc="upper left")
    right.legend(fontsize=7, loc="lower right", ncols=2)
    return figure


def collapse(data: xr.Dataset) -> Figure:
    """At large $d$ the excess error is one function of $x$; its logarithm is linear up to the $\\sqrt x$ of a Gaussian tail."""
    figure, ((axes,),) = plot.canvas(width=4.4, height=3.2)
    error = data.test_error.sel(cosine=0).mean("seed")
    for k, dim in enumerate(data.dim.values):
        label = f"$d=10^{round(np.log10(dim))}$"
        axes.plot(data.ratio, error.sel(dim=dim), plot.MARKERS[k], color=plot.COLORS[k], fillstyle="none", label=label)
    tail = error.mean("dim").sel(ratio=slice(15, None))
    rate, height = np.polyfit(tail.ratio, np.log(tail * tail.ratio**0.5), 1)
    x = np.geomspace(float(data.ratio[0]), float(data.ratio[-1]), 200)
    law = rf"$\propto x^{{-1/2}}e^{{-x/{-1 / rate:.0f}}}$, fitted for $x>15$"
    axes.plot(x, np.exp(height + rate * x) / x**0.5, color="black", linewidth=1, label=law)
    bound = theory.benign_error(0.0, x, float((-tail.ratio / np.log(tail)).max()))
    axes.plot(x, bound, color="grey", linestyle="--", linewidth=1, label=r"theorem: $e^{-x/C}$, least $C$ above all points")
    axes.set(yscale="log", xlabel=RATIO, ylabel="test error, true labels", ylim=(float(tail.min()) / 3, 1.5))
    axes.legend(fontsize=7, loc="lower left")
    return figure


def angle_law(data: xr.Dataset) -> Figure:
    """The boundary against $1-\\cos\\theta$: flat for wide angles, a power -1/2 for narrow ones."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.0)
    p = ts.theory.fields(data)
    for k, value in enumerate(data.cosine.values):
        error = data.test_error.sel(cosine=value).mean("seed")
        left.plot(data.ratio, error, color=plot.COLORS[k], marker=plot.MARKERS[k], label=f"{value:g}")
    left.axhline(WIDE, color="black", linewidth=0.8, linestyle=":", label="boundary")
    left.set(xscale="log", yscale="log", xlabel=RATIO, ylabel="test error, true labels", ylim=(5e-3, 0.6))
    left.legend(title=r"$\cos\theta$", ncols=2, fontsize=7, title_fontsize=8, loc="lower left")
    unit = theory.signal_of_ratio(1.0, p.n, p.dim)
    edge = boundary(data, WIDE) / unit
    rng, seeds = np.random.default_rng(0), data.sizes["seed"]
    draws = [boundary(data.isel(seed=rng.integers(seeds, size=seeds)), WIDE) / unit for _ in range(100)]
    low, high = np.nanquantile(np.stack(draws), (0.025, 0.975), axis=0)
    gap = 1 - edge.cosine
    spread = np.maximum([edge - low, high - edge], 0)
    right.errorbar(gap, edge, spread, fmt="o", color=plot.COLORS[0], capsize=2, label=f"measured, {seeds} seeds, 95 %")
    narrow = edge.sel(cosine=slice(theory.CLASSIC, None))
    constant = float(np.exp(np.log(narrow * (1 - narrow.cosine) ** 0.5).mean()))
    law = constant * gap**-0.5
    right.plot(
        gap, law, color="black", linewidth=1, linestyle="--", label=r"theory $\propto(1-\cos\theta)^{-1/2}$, constant fitted"
    )
    right.axvspan(0, 1 - theory.CLASSIC, color="grey", alpha=0.1, linewidth=0)
    right.text(0.03, 0.04, "challenging regime", transform=right.transAxes, fontsize=8)
    right.set(
        xscale="log", yscale="log", xlabel=r"$1-\cos\theta$", ylabel=r"boundary $\|\mu\|^*/(d/n)^{1/4}$", xlim=(0.17, 1.15)
    )
    right.set_xticks([0.2, 0.3, 0.5, 0.75, 1], ["0.2", "0.3", "0.5", "0.75", "1"])
    right.set_yticks([1, 1.5, 2, 2.5], ["1", "1.5", "2", "2.5"])
    right.minorticks_off()
    right.legend(fontsize=7, loc="upper right")
    return figure

"""Figures of "Benign overfitting in two-layer convolutional networks": the map, both regimes, the race, and the exponents."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.benign_polynomial, ts.plotting
BLUE, ORANGE, GREEN, PINK = plot.COLORS[:4]
DIM = 1000  # of the map


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {
        name: make(found[name]) for name, make in (("map", heat_map), ("curves", curves), ("race", race)) if name in found
    }
    if "cubic" in found:
        figures["exponent"] = exponent(found)
        figures["dims"] = dims(found["dims"], found["fixed_init"])
        figures["time"] = time(found["time"])
    return figures


def heat_map(data: xr.Dataset) -> Figure:
    """The test error over samples and signal, with the stated threshold and the race's, which has no free constant."""
    figure, ((axes,),) = plot.canvas(width=4.6, height=3.3)
    plot.heat_map(axes, data.test_error.mean("seed"), "signal", "n", label="test error", vmin=0, vmax=0.5)
    n = np.geomspace(float(data.n[0]) / 1.4, float(data.n[-1]) * 1.4, 50)
    axes.plot(DIM**0.5 * theory.critical_snr(n, 3), n, "--", color="black", label=r"$n\,\mathrm{SNR}^3=1$")
    race = data.race.isel(signal=0).median(("class", "seed"))
    axes.plot(DIM**0.5 * theory.critical_snr(data.n, 3, race), data.n, "o-", color=ORANGE, markeredgecolor="white",
              label="race, no free constant")  # fmt: skip
    axes.set(yscale="log", xlabel=r"signal strength $\|\mu\|$", ylabel="training samples $n$")
    axes.set(ylim=(n[0], n[-1]), xlim=(float(data.signal[0]) - 0.5, float(data.signal[-1]) + 0.5))
    axes.set_yticks(data.n.values, [str(value) for value in data.n.values])
    axes.minorticks_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=2)
    return figure


def curves(data: xr.Dataset) -> Figure:
    """Signal and noise coefficients, training loss and test error in time, on both sides of the threshold."""
    figure, axes = plot.canvas(columns=2, rows=2, height=2.3)
    for (top, bottom), signal in zip(axes.T, data.signal.values, strict=True):
        here = data.sel(signal=signal, time=slice(1, None))
        plot.band(top, here.signal_learning, "time", r"signal: $\max\gamma$", color=BLUE)
        plot.band(top, here.noise_memorization, "time", r"noise: $\max\bar\rho$", color=ORANGE, linestyle="--")
        plot.band(bottom, here.train_loss, "time", "training loss", color=GREEN, linestyle="-.")
        plot.band(bottom, here.test_error, "time", "test error", color=PINK)
        ratio = theory.signal_ratio(80, signal / DIM**0.5, 3)
        top.set(xscale="log", yscale="log", ylim=(1e-3, 30), title=rf"$\|\mu\|={signal:g}$: $n\,\mathrm{{SNR}}^3={ratio:.2g}$")
        bottom.set(xscale="log", ylim=(-0.02, 1.0), xlabel="iteration")
        top.set_xlabel("iteration")
    axes[0, 0].set_ylabel("coefficient")
    axes[1, 0].set_ylabel("loss, error")
    axes[0, 0].legend(loc="center right")
    axes[1, 0].legend(loc="upper right")
    return figure


def race(data: xr.Dataset) -> Figure:
    """Each class of each run: how strongly it answers to its signal at the end, against its own race."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.5)
    order = ("seed", "class", "ratio")
    x = np.asarray((data.ratio / data.race).transpose(*order)).ravel()
    y = np.asarray(data.response.transpose(*order)).ravel()
    left.scatter(x, np.maximum(y, 1e-4), s=5, color=BLUE, alpha=0.35, linewidths=0, rasterized=True, label="a class of a run")
    left.axvline(1, color="black", linestyle="--", linewidth=1, label="race: a draw")
    left.axhline(0.5, color=ORANGE, linewidth=1, label="learned: above 1/2")
    left.set(xscale="log", yscale="log", xlim=(0.1, 10), ylim=(7e-5, 400))
    left.set(xlabel=r"$n\,\mathrm{SNR}^3/c^*$, with its own $c^*$", ylabel=r"response $F_j(j\mu)$")
    share = (data.response > 0.5).mean(("class", "seed"))
    told = (data.ratio > data.race).mean(("class", "seed"))
    right.plot(data.ratio, share, "o", color=BLUE, label="gradient descent")
    right.plot(data.ratio, told, color=ORANGE, label="race")
    right.set(xlabel=r"$n\,\mathrm{SNR}^3$", ylabel="share of classes that learn", ylim=(-0.03, 1.03))
    left.legend(loc="upper left", bbox_to_anchor=(0, 0.98), fontsize=7)
    right.legend(loc="lower right")
    return figure


def half(won: xr.DataArray) -> xr.DataArray:
    """The value of n SNR^q at which half of the classes have won."""
    return ts.analysis.phase_boundary(won.mean("class").rename("share").to_dataset(), "share", 0.5, along="ratio")


def boundary(data: xr.Dataset) -> xr.DataArray:
    return half(data.response > 0.5)


def boundary_snr(data: xr.Dataset, q: int) -> xr.DataArray:
    """The boundary of gradient descent, with the race as a control variate."""
    told = half((data.ratio > data.race).transpose(*data.response.dims))
    medians = xr.DataArray([theory.race_median(int(n), 20, q) for n in data.n], {"n": data.n})
    return theory.critical_snr(data.n, q, boundary(data) / told * medians)


def exponent(found: dict[str, xr.Dataset]) -> Figure:
    """The boundary in n for two powers, with the race and the stated exponents."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8, height=3.0)
    cases = (
        ("cubic", 3, "$q=3$", BLUE, "o"),
        ("third", 3, r"$q=3$, $\kappa/3$", GREEN, "^"),
        ("quartic", 4, "$q=4$", ORANGE, "s"),
    )
    for name, q, label, color, marker in cases:
        data = found[name]
        fit = ts.analysis.fit_exponent(data, lambda part, q=q: boundary_snr(part, q), against="n")
        plot.power_law(left, fit, label, color=color, marker=marker)
        plot.local_slopes(right, fit, color=color, marker=marker, label=label)
        if name != "third":
            medians = np.array([theory.race_median(int(n), 20, q) for n in data.n])
            label = "race, no free constant" if q == 3 else None
            left.plot(data.n, theory.critical_snr(data.n, q, medians), "x", color="black", markersize=7, label=label)
            right.axhline(-1 / q, color=color, linestyle="--", linewidth=1, label=rf"theorem, $q={q}$: $-1/{q}$")
    left.set(xlabel="training samples $n$", ylabel=r"boundary $\mathrm{SNR}^*$")
    right.set(xlabel="training samples $n$", ylabel="local slope", ylim=(-0.45, -0.15), xlim=(40, 640))
    for axes in (left, right):
        axes.set_xticks([40, 80, 160, 320, 640], ["40", "80", "160", "320", "640"])
        axes.minorticks_off()
    left.set_yticks([0.15, 0.2, 0.3, 0.4], ["0.15", "0.2", "0.3", "0.4"])
    left.legend(fontsize=6.5, loc="lower left")
    right.legend(fontsize=7, loc="upper right", ncols=2)
    return figure


def dims(fixed_kappa: xr.Dataset, fixed_init: xr.Dataset) -> Figure:
    """The boundary in d: a power law at fixed kappa, not at fixed first filters."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8, height=3.0)

    def by_response(part: xr.Dataset) -> xr.DataArray:
        return part.dim**0.5 * theory.critical_snr(20, 3, boundary(part))

    def by_error(part: xr.Dataset) -> xr.DataArray:
        found = ts.analysis.phase_boundary(part, "test_error", 0.25, along="ratio")
        return part.dim**0.5 * theory.critical_snr(20, 3, found)

    cases = (
        (fixed_kappa, by_response, r"fixed $\kappa$, by response", BLUE, "o"),
        (fixed_kappa, by_error, r"fixed $\kappa$, by error", GREEN, "^"),
        (fixed_init, by_response, r"fixed $\sigma_0$, by response", ORANGE, "s"),
    )
    for data, measure, label, color, marker in cases:
        fit = ts.analysis.fit_exponent(data, measure, against="dim")
        plot.power_law(left, fit, label, color=color, marker=marker)
        plot.local_slopes(right, fit, color=color, marker=marker, label=label)
    right.axhline(0.5, color="black", linestyle="--", linewidth=1, label="theorem: 1/2")
    left.set(xlabel="dimension $d$", ylabel=r"boundary $\|\mu\|^*$")
    right.set(xlabel="dimension $d$", ylabel="local slope")
    left.legend(fontsize=6.5, loc="upper left")
    right.legend(fontsize=7, loc="best")
    return figure


def time(data: xr.Dataset) -> Figure:
    """When the signal is learned, against the size of the first filters."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6)
    for k, ratio in enumerate(data.ratio.values):

        def learned_at(part: xr.Dataset, ratio: float = ratio) -> xr.DataArray:
            share = (part.response.sel(ratio=ratio) > 0.5).mean("class").rename("share").to_dataset()
            return ts.analysis.phase_boundary(share, "share", 0.5, along="time")

        fit = ts.analysis.fit_exponent(data, learned_at, against="init")
        look = {"color": plot.COLORS[k], "marker": plot.MARKERS[k]}
        plot.power_law(left, fit, rf"$n\,\mathrm{{SNR}}^3={ratio:g}$", **look)
        plot.local_slopes(right, fit, label=rf"$n\,\mathrm{{SNR}}^3={ratio:g}$", **look)
    right.axhline(-1, color="black", linestyle="--", linewidth=1, label=r"theorem: $-(q-2)=-1$")
    left.set(xlabel=r"$\kappa=\sigma_0\sigma_p\sqrt{d}$", ylabel="steps until the signal is learned")
    right.set(xlabel=r"$\kappa=\sigma_0\sigma_p\sqrt{d}$", ylabel="local slope", ylim=(-1.3, -0.6))
    right.set_xticks([1e-3, 1e-2, 1e-1], ["$10^{-3}$", "$10^{-2}$", "$10^{-1}$"])
    right.minorticks_off()
    left.legend(fontsize=6.5, loc="lower left")
    right.legend(loc="upper right")
    return figure

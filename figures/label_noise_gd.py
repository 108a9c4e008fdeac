"""Figures of "How does label noise gradient descent improve generalization in the low SNR regime?"."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

plot, from_theory = ts.plotting, ts.theory.label_noise_gd
BLUE, ORANGE, GREEN = plot.COLORS[:3]
GD, NOISE = {"color": BLUE, "linestyle": "--"}, {"color": ORANGE}
#: study -> title of its panel; the flips of the study `curves` come first
VARIANTS = {
    "gaussian_1": r"$e\sim N(1,1)$",
    "gaussian_06": r"$e\sim N(0.6,1)$",
    "uniform_2": r"$e\sim U[-1,2]$",
    "uniform_3": r"$e\sim U[-2,3]$",
    "cubic": "$q=3$",
    "quartic": "$q=4$, $n=50$",
    "three_layers": "three layers",
}


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "curves" in found:
        figures["curves"] = curves(found["curves"])
        figures["variants"] = variants(found)
        figures["iota"] = plateau(found["curves"])
    if "rows" in found:
        figures["rows"] = rows(found["rows"])
    if "map" in found:
        figures["map"] = heat_maps(found["map"])
    if "boundary" in found:
        figures["boundary"] = boundary(found["boundary"])
    if "law" in found:
        figures["law"] = law(found["law"], found["samples"])
    return figures


def both(axes: Axes, data: xr.Dataset, measure) -> None:
    """Gradient descent beside label-noise descent with p = .1."""
    plot.band(axes, measure(data.sel(flip=0.0)), "time", "GD", **GD)
    plot.band(axes, measure(data.sel(flip=0.1)), "time", "label noise GD", **NOISE)


def curves(data: xr.Dataset) -> Figure:
    """The published figure: the ratio of noise to signal, the training loss, the test accuracy."""
    figure, (axes,) = plot.canvas(columns=3, width=2.9)
    data = data.sel(time=slice(1, None))
    both(axes[0], data, lambda part: part.noise_memorization / part.signal_learning)
    both(axes[1], data, lambda part: part.train_loss)
    both(axes[2], data, lambda part: 1 - part.test_error)
    axes[0].set(yscale="log", ylabel=r"noise to signal, $\max\bar\rho/\max\gamma$", ylim=(1, 200))
    axes[0].set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    axes[0].minorticks_off()
    axes[1].set(yscale="log", ylabel="training loss, labels without flips")
    axes[2].set(ylabel="test accuracy", ylim=(0.45, 1.02))
    for panel in axes:
        panel.set(xlabel="step")
        panel.axvline(2000, color="black", linewidth=0.8, linestyle=":", label="published end")
    axes[2].legend(loc="center right", bbox_to_anchor=(1.0, 0.35))
    axes[0].legend(loc="upper right")
    axes[1].legend(loc="lower right", bbox_to_anchor=(1.0, 0.45))
    return figure


def variants(found: dict[str, xr.Dataset]) -> Figure:
    """Other flip rates, other noises and other networks, one panel each."""
    flips = [float(p) for p in found["curves"].flip.values if p > 0.1]
    shown: list[tuple[str, xr.Dataset, float | None]] = [(f"$p={p:g}$", found["curves"], p) for p in flips]
    shown += [(title, found[name], None) for name, title in VARIANTS.items() if name in found]
    columns = 5 if len(shown) > 4 else len(shown)
    figure, axes = plot.canvas(columns, -(-len(shown) // columns), width=2.0, height=1.9)
    for panel, (title, data, flip) in zip(axes.ravel(), shown, strict=False):
        own = data.sizes["flip"] == 2  # a network with a gradient descent of its own
        descent = (data if own else found["curves"]).sel(flip=0.0)
        noisy = data.sel(flip=0.1) if own else data.isel(flip=0) if flip is None else data.sel(flip=flip)
        for part, label, look in ((descent, "GD", GD), (noisy, "label noise GD", NOISE)):
            plot.band(panel, 1 - part.test_error, "time", label, **look)
        panel.set(title=title, ylim=(0.42, 1.03), xlabel="step")
        panel.set_xticks([0, int(data.time[-1]) // 2, int(data.time[-1])])
    for panel in axes.ravel()[len(shown) :]:
        panel.remove()
    axes.ravel()[len(flips) - 1].legend(fontsize=7, loc="center right")  # p = 1/2, where nothing is learned
    for panel in axes[:, 0]:
        panel.set_ylabel("test accuracy")
    return figure


def plateau(data: xr.Dataset) -> Figure:
    """Under label noise margins settle, and the signal drifts at a rate without free constants."""
    figure, ((left, right),) = plot.canvas(columns=2)
    noisy, descent = data.sel(flip=0.1, time=slice(1, None)), data.sel(flip=0.0, time=slice(1, None))
    plot.band(left, descent.iota, "time", "GD, mean", **GD)
    plot.band(left, noisy.iota, "time", "label noise GD, mean", **NOISE)
    time = noisy.time.values
    low, high = noisy.iota_min.mean("seed"), noisy.iota_max.mean("seed")
    left.fill_between(time, low, high, color=ORANGE, alpha=0.12, linewidth=0, label="least to largest of the samples")
    left.axhline(from_theory.stationary_margin(0.1), color="black", linewidth=1, linestyle="-.", label=r"$\log\frac{1-p}{p}$")
    plot.band(right, descent.signal_response, "time", "GD", **GD)
    plot.band(right, noisy.signal_response, "time", "label noise GD", **NOISE)
    rate = from_theory.drift(200, 20, 2.0, 2000, 0.5, 0.1, 0.5)
    start = noisy.signal_response.sel(time=500, method="nearest")
    drifting = float(np.exp(np.log(start).mean())) * np.exp(rate * (time - float(start.time)))
    early = (time > 200) & (time < 3500)
    right.plot(
        time[early], drifting[early], color="black", linewidth=1, linestyle="-.", label=r"$\propto e^{\Lambda t}$, derived"
    )
    first = float(data.signal_response.sel(flip=0.1, time=0).mean())
    start = time[time < 16]  # later it is far above
    bound = first * np.exp(from_theory.signal_rate(20, 2.0, 0.5) * start)
    right.plot(start, bound, color="black", linewidth=1, linestyle=":", label=r"bound $e^{2\eta\|\mu\|^2t/m}$")
    left.set(xscale="log", xlabel="step", ylabel=r"$\iota_i$: mean of $\bar\rho_{y_i,r,i}^2$ over filters $r$", ylim=(0, 8))
    right.set(
        yscale="log", xscale="log", xlabel="step", ylabel=r"signal response $\max|\langle w,\mu\rangle|$", ylim=(0.02, 40)
    )
    left.legend(loc="upper left", fontsize=7)
    right.legend(loc="upper left", fontsize=7)
    return figure


def heat_maps(data: xr.Dataset) -> Figure:
    """The published pair: test accuracy over SNR and n; where gradient descent learns the signal, and where the drift does."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8, height=3.0)
    accuracy = 1 - data.test_error.mean("seed")
    n = np.linspace(*edges(data.n.values), 200)
    race = np.sqrt(2 / n)
    # from a response of .15, which is about that of every cell when the noise has been fitted
    pace = from_theory.drift(n, 20, 1.0, 2000, 1.0, 0.1, 0.5) * 0.25 * 2000
    drifting = np.sqrt(np.log(1 / 0.15) / 1000 / pace)
    for panel, flip, title in ((left, 0.0, "GD"), (right, 0.1, "label noise GD")):
        mesh = plot.heat_map(panel, accuracy.sel(flip=flip), "snr", "n", vmin=0.5, vmax=1.0, cmap="viridis")
        panel.plot(race, n, color="white", linewidth=1.4, linestyle="--", label=r"$n\,\mathrm{SNR}^2=2$")
        if flip:
            panel.plot(drifting, n, color=ORANGE, linewidth=1.6, label="derived drift, 1000 steps")
        panel.set(title=title, xlabel="SNR", ylabel="samples $n$", xlim=edges(data.snr.values), ylim=edges(data.n.values))
    right.legend(loc="upper left", fontsize=7, facecolor="0.35", labelcolor="white", frameon=True)
    bar = figure.colorbar(mesh, ax=[left, right], label="test accuracy")
    bar.outline.set_visible(False)
    return figure


def rows(data: xr.Dataset) -> Figure:
    """Rows of the published heat maps: the test accuracy against SNR."""
    figure, (axes,) = plot.canvas(columns=data.sizes["n"], width=3.2)
    for panel, n in zip(axes, data.n.values, strict=True):
        for flip, label, look in ((0.0, "GD", GD), (0.1, "label noise GD", NOISE)):
            plot.band(panel, 1 - data.test_error.sel(n=n, flip=flip), "snr", label, marker="o", **look)
        race = (2 / n) ** 0.5
        if race < data.snr.max():
            panel.axvline(race, color="black", linewidth=0.8, linestyle=":", label=r"$n\,\mathrm{SNR}^2=2$")
        panel.set(title=f"$n={n:g}$, 1000 steps", xlabel="SNR", ylabel="test accuracy", ylim=(0.45, 1.03))
        panel.legend(loc="upper left")
    return figure


def edges(x: np.ndarray) -> tuple[float, float]:
    """The ends of a map's outer cells."""
    return float(x[0] - (x[1] - x[0]) / 2), float(x[-1] + (x[-1] - x[-2]) / 2)


def boundary(data: xr.Dataset) -> Figure:
    """Gradient descent's boundary in n, for three sizes of the first filters, and its local slopes beside the derived ones."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6)

    def measure(part: xr.Dataset) -> xr.DataArray:
        return ts.analysis.phase_boundary(part, "learned", 0.5, along="strength") / part.n**0.5

    for k, init in enumerate(data.init.values):
        part, color, marker = data.sel(init=init), plot.COLORS[k], plot.MARKERS[k]
        fit = ts.analysis.fit_exponent(part, measure, against="n", resamples=200)
        label = rf"$\sigma_0\sigma_p\sqrt{{d}}={init:g}$"
        plot.power_law(left, fit, label, color=color, marker=marker)
        plot.local_slopes(right, fit, color=color, marker=marker, label="measured, " + label)
        middle = np.sqrt(fit.curve.values[1:] * fit.curve.values[:-1])
        right.plot(fit.local.n, from_theory.boundary_slope(20, init, middle), color=color, linewidth=1.0)
    right.plot([], [], color="0.3", linewidth=1.0, label="derived, same colour")
    right.axhline(-0.5, color="black", linewidth=1.0, linestyle="--", label="$n$ SNR$^2$ = const: $-1/2$")
    left.set(xlabel="samples $n$", ylabel=r"GD's boundary SNR$^*$ ($F(\mu)>\frac{1}{2}$)")
    right.set(xlabel="samples $n$", ylabel="local slope", ylim=(-0.51, -0.37), xlim=(40, 640))
    for panel in (left, right):
        ticks(panel, data.n.values)
    left.set_yticks([0.05, 0.1, 0.2], ["0.05", "0.1", "0.2"])
    left.legend(fontsize=6.5, loc="upper right")
    right.legend(fontsize=6.5, loc="upper right")
    return figure


def ticks(axes: Axes, values: np.ndarray) -> None:
    """Ticks of a logarithmic axis at the swept values alone."""
    axes.set_xticks(values, [f"{value:.2g}" if value < 1 else f"{value:g}" for value in values])
    axes.minorticks_off()


def law(data: xr.Dataset, samples: xr.Dataset) -> Figure:
    """The fan of trajectories over SNR, the ratio of the rules' times, and the signal's growth rate in step size and in n."""
    figure, ((fan, ratio), (in_lr, in_n)) = plot.canvas(columns=2, rows=2, width=3.7)
    noisy, descent = data.sel(flip=0.1), data.sel(flip=0.0)
    for k, strength in enumerate(data.strength.values):
        part = noisy.sel(lr=0.4, strength=strength).sel(time=slice(10, None))
        plot.band(fan, part.signal_margin, "time", rf"$n\,$SNR$^2={strength**2:.2g}$", color=plot.COLORS[k])
    fan.axhline(0.5, color="black", linewidth=0.8, linestyle=":", label="$t^*$: margin 1/2")
    fan.set(xscale="log", xlabel=r"step, $\eta=0.4\,nm/(\sigma_p^2d)$", ylabel="margin of the signal alone")
    learned = ts.analysis.first_time(noisy.sel(lr=0.4).signal_margin, 0.5).mean("seed")
    fitted = ts.analysis.first_time(-descent.sel(lr=0.4).train_loss, -0.01).mean("seed")
    x, snr, setting = data.strength.values**2, data.strength.values / 50**0.5, (1.0, 0.4 * 1000, 0.01)
    stated = from_theory.memorising_time(50, 20, *setting) / from_theory.label_noise_time(50, 20, snr, *setting)
    ratio.plot(x, fitted / learned, "o", color=ORANGE, label="measured")
    ratio.plot(x, stated, color="black", linewidth=1, linestyle="--", label="stated times, constants 1")
    ratio.set(xscale="log", yscale="log", xlabel=r"$n\,\mathrm{SNR}^2$", ylabel=r"$T$(GD) / $t^*$(label noise GD)")
    lrs = data.lr.values
    for k, strength in list(enumerate(data.strength.values))[2:]:  # for weaker ones chance is as large as the growth
        mean = [float(rate(noisy.sel(lr=lr, strength=strength), 50 / lr, 200 / lr).mean("seed")) for lr in lrs]
        in_lr.plot(lrs, mean, plot.MARKERS[k], color=plot.COLORS[k], label=rf"$n\,$SNR$^2={strength**2:.2g}$")
        in_lr.plot(lrs, from_theory.drift(50, 20, strength / 50**0.5, 1.0, lrs * 1000, 0.1), color=plot.COLORS[k], linewidth=1)
    in_lr.plot([], [], color="0.3", linewidth=1, label=r"$\Lambda\propto\eta^2$, derived")
    in_lr.plot(
        lrs, 2e-4 * lrs / lrs[0], color="black", linewidth=1, linestyle="--", label=r"stated: $\propto\eta$, at any height"
    )
    in_lr.set(
        xscale="log",
        yscale="log",
        ylabel="growth rate of the signal per step",
        xlabel=r"$\eta$, in units of $nm/(\sigma_p^2d)$",
    )
    fit = ts.analysis.fit_exponent(samples, lambda part: rate(part, 2000, 8000).mean("seed"), against="n", resamples=100)
    plot.power_law(in_n, fit, "measured", color=ORANGE)
    n = samples.n.values.astype(float)
    derived = from_theory.drift(n, 20, (0.2 / 50) ** 0.5, 1.0, 0.1 * 1000, 0.1)
    in_n.plot(n, derived, color="black", linewidth=1, linestyle="-.", label=r"$\Lambda\propto 1/n$, derived")
    in_n.plot(n, np.full(len(n), derived[0]), color="black", linewidth=1, linestyle="--", label="stated: free of $n$")
    in_n.set(xlabel=r"samples $n$, fixed $\eta$ and $\|\mu\|$", ylabel="growth rate of the signal per step")
    for panel, values in ((ratio, x), (in_lr, lrs), (in_n, n)):
        ticks(panel, values)
    in_n.set_yticks([5e-5, 1e-4, 2e-4], ["0.00005", "0.0001", "0.0002"])
    for panel in (fan, ratio, in_lr, in_n):
        panel.legend(fontsize=6.5)
    return figure


def rate(data: xr.Dataset, start: float, stop: float) -> xr.DataArray:
    """The growth rate of the response to the signal between two steps."""
    first, last = (data.sel(time=when, method="nearest") for when in (start, stop))
    return np.log(last.signal_response / first.signal_response) / (last.time - first.time)

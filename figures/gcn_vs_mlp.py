"""Figures of "Graph neural networks provably benefit from structural information": training, maps, controls, the gain."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

plot, theory = ts.plotting, ts.theory.gcn_vs_mlp
BLUE, ORANGE, GREEN, PINK = plot.COLORS[:4]
MODELS = ((0, "MLP", ORANGE, "--"), (1, "GCN", BLUE, "-"))
SWEPT = ("average", "signal", "density", "homophily", "rewired")
STRENGTH, SNR = r"signal strength $\|\mu\|$", r"$\mathrm{SNR}=\|\mu\|/(\sigma_p\sqrt{d})$"


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    # fields that a study does not vary are no dimensions here
    found = {
        name: node.to_dataset().squeeze([x for x in SWEPT if node.to_dataset().sizes.get(x) == 1], drop=True)
        for name, node in data.children.items()
    }
    figures = {}
    if "curves" in found:
        figures["training"] = training(found["curves"])
        figures["coefficients"] = coefficients(found["curves"])
    if "map" in found:
        figures["heat_maps"] = heat_maps(found["map"])
    if "boundary" in found:
        figures["lower_bound"] = lower_bound(found["boundary"])
    if "homophily" in found:
        figures["homophily"] = homophily(found["homophily"])
    if "degree" in found:
        figures["degree"] = degree(found["degree"])
    if "degree_1000" in found:
        figures["gain"] = gain(found)
    return figures


def training(data: xr.Dataset) -> Figure:
    """Losses above, accuracies below; training nodes on the left, a fresh graph on the right."""
    figure, axes = plot.canvas(columns=2, rows=2, height=2.3)
    shown = data.sel(time=slice(1, None))
    for row, what in enumerate(("loss", "accuracy")):
        for panel, where in zip(axes[row], ("train", "test"), strict=True):
            for average, label, color, line in MODELS:
                plot.band(panel, shown[f"{where}_{what}"].sel(average=average), "time", label, color=color, linestyle=line)
            panel.set(xscale="log", ylim=(-0.03, 1.03), ylabel=f"{where} {what}")
    for panel in axes[1]:
        panel.set(xlabel="epoch")
    axes[0, 1].axhline(theory.HARMFUL_LOSS, color="black", linewidth=0.8, linestyle=":", label="lower bound .1 for the MLP")
    axes[0, 0].legend()
    axes[0, 1].legend(loc="upper left", fontsize=7)
    return figure


def coefficients(data: xr.Dataset) -> Figure:
    """The largest signal and noise coefficients of each model."""
    figure, axes = plot.canvas(columns=2)
    shown = data.sel(time=slice(1, None))
    for panel, (average, label, _, _) in zip(axes[0], MODELS, strict=True):
        mine = shown.sel(average=average)
        plot.band(panel, mine.signal_learning, "time", r"signal: $\max\gamma$", color=BLUE)
        plot.band(panel, mine.noise_memorization, "time", r"noise: $\max\bar\rho$", color=ORANGE, linestyle="--")
        panel.set(xscale="log", yscale="log", ylim=(3e-4, 30), xlabel="epoch", ylabel="coefficient", title=label)
        panel.legend(loc="lower right")
    return figure


def critical_signal(data: xr.Dataset) -> xr.DataArray:
    """The signal at which 95 % of a fresh graph are classified."""
    return ts.analysis.phase_boundary(data, "test_accuracy", 0.95, along="signal")


def heat_maps(data: xr.Dataset) -> Figure:
    """Test accuracy over SNR and n, with the measured boundary and those of the theory, all with the constant of the MLP."""
    p = ts.theory.fields(data)
    edge = critical_signal(data) / p.noise
    shown = data.test_accuracy.mean("seed")
    shown = shown.assign_coords(signal=shown.signal / p.noise).rename(signal="snr")
    n = np.asarray(shown.n, float)
    constant = float(np.exp(np.log(n * edge.sel(average=0) ** p.power).mean()))
    figure, axes = plot.canvas(columns=2, width=3.8, height=3.3)
    fine = np.linspace(n.min(), n.max(), 60)
    for panel, (average, label, _, _) in zip(axes[0], MODELS, strict=True):
        plot.heat_map(panel, shown.sel(average=average), "snr", "n", label="test accuracy", vmin=0.5, vmax=1.0, cmap="viridis")
        panel.plot(
            edge.sel(average=average), n, "o", color="white", markeredgecolor="black", markersize=4, label="measured, 95 %"
        )
        if average:
            lines = (("first", r"D^{(q-2)/2}", "-."), ("latest", r"D^{q-2}", ":"))
            for version, power, line in lines:
                snr = theory.critical_snr(fine, p.power, constant, fine * p.density, version)
                panel.plot(snr, fine, color="black", linestyle=line, label=rf"$n\,\mathrm{{SNR}}^q{power}=C$")
        else:
            snr = theory.critical_snr(fine, p.power, constant)
            panel.plot(snr, fine, color="black", label=rf"$n\,\mathrm{{SNR}}^q=C$, $C={constant:.1f}$ fitted")
        panel.set(xlabel=SNR, ylabel="training nodes $n$", title=label, xlim=(float(shown.snr[0]) * 0.5, float(shown.snr[-1])))
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=7, ncols=1)
    return figure


def lower_bound(data: xr.Dataset) -> Figure:
    """Test loss and accuracy against the signal, with the losing side's bound and where the theory says that it holds."""
    p = ts.theory.fields(data)
    edge = critical_signal(data)
    figure, ((left, right),) = plot.canvas(columns=2)
    for average, label, color, line in MODELS:
        mine = data.sel(average=average)
        plot.band(left, mine.test_loss, "signal", label, color=color, linestyle=line, marker="o", markersize=3)
        plot.band(right, mine.test_accuracy, "signal", label, color=color, linestyle=line, marker="o", markersize=3)
        around = p.n * p.density if average else 1.0
        until = p.noise * theory.critical_snr(p.n, p.power, 1.0, around)
        left.plot([0, until], 2 * [theory.HARMFUL_LOSS], color=color, linewidth=8 if average else 3, solid_capstyle="butt")
        right.plot(2 * [float(edge.sel(average=average))], [0.4, 0.95], color=color, linewidth=0.8, linestyle=":")
    left.plot([], [], color="grey", linewidth=4, label="lower bound .1, where\n$n\\,\\mathrm{SNR}^q\\,(D^{q-2})\\leq1$")
    ratio = float(edge.sel(average=0) / edge.sel(average=1))
    right.set_title(rf"$\|\mu\|^*$ at 95 %: MLP over GCN {ratio:.2f}", fontsize=8)
    right.axhline(0.95, color="black", linewidth=0.6)
    left.set(xlabel=STRENGTH, ylabel="test loss", ylim=(-0.03, 1.15), xlim=(0, None))
    right.set(xlabel=STRENGTH, ylabel="test accuracy", ylim=(0.4, 1.02), xlim=(0, None))
    left.legend(loc="upper right", fontsize=7)
    right.legend(loc="lower right")
    return figure


def homophily(data: xr.Dataset) -> Figure:
    """Accuracy and loss of the GCN against homophily, on the graph and on the one whose nodes are permuted."""
    figure, ((left, right),) = plot.canvas(columns=2)
    looks = ((0, "stochastic block model", BLUE, "-", "o"), (1, "same degrees, nodes permuted", ORANGE, "--", "s"))
    for rewired, label, color, line, marker in looks:
        mine = data.sel(rewired=rewired)
        for panel, shown in ((left, mine.test_accuracy), (right, mine.train_loss)):
            plot.band(panel, shown, "homophily", label, color=color, linestyle=line, marker=marker)
    left.set(xlabel="homophily $(p-s)/(p+s)$", ylabel="GCN test accuracy", ylim=(0.38, 1.03))
    right.set(xlabel="homophily $(p-s)/(p+s)$", ylabel="GCN training loss", ylim=(-0.03, 0.75))
    left.legend(loc="center right", fontsize=7)
    right.legend(loc="center right", fontsize=7)
    return figure


def mark(panel: Axes, nodes: np.ndarray) -> None:
    """Ticks at the degrees that were run: minor ones of a logarithmic axis would overlap."""
    panel.set_xticks(nodes, [f"{value:.3g}" for value in nodes])
    panel.minorticks_off()


def slopes_of(panels: tuple[Axes, Axes], fits: list, power: int) -> None:
    """Power laws on the left, local slopes beside the exponents of both versions on the right."""
    left, right = panels
    for k, (label, fit) in enumerate(fits):
        plot.power_law(left, fit, label, color=plot.COLORS[k], marker=plot.MARKERS[k])
        plot.local_slopes(right, fit, color=plot.COLORS[k], marker=plot.MARKERS[k], label=label)
    for version, words, line in (("first", "(q-2)/(2q)", "--"), ("latest", "(q-2)/q", ":")):
        stated = theory.gain_exponent(power, version)
        text = rf"{version} version{'s' * (version == 'first')}: ${words}={stated:.3g}$"
        right.axhline(stated, color="black", linewidth=1.0, linestyle=line, label=text)
    right.set(xlabel="$D+1$", ylabel="local slope", xscale="log")
    left.set(xlabel="$D+1$")
    for panel in (left, right):
        panel.legend(fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        panel.set_xlim(left.get_xlim())


def by_degree(data: xr.Dataset) -> xr.Dataset:
    return data.assign_coords(density=1 + ts.theory.fields(data).n * data.density)


def degree(data: xr.Dataset) -> Figure:
    """At the published sizes, against the degree: the averaged noise, and the boundary if the signals cross it."""
    p, shown = ts.theory.fields(data), by_degree(data)
    fit = ts.analysis.fit_exponent(shown, lambda part: p.noise / critical_signal(part), against="density", resamples=200)
    crossed = np.isfinite(fit.slope)
    figure, axes = plot.canvas(columns=3 if crossed else 1, width=3.3, height=3.2)
    norm = shown.averaged_norm.isel(signal=0).mean("seed")
    nodes = np.asarray(norm["density"], float)
    first = axes[0, 0]
    first.loglog(nodes, norm, "o", color=BLUE, label="measured")
    first.loglog(nodes, theory.averaged_noise(1.0, nodes - 1, p.noise), color="black", label=r"$\sigma_p\sqrt{d/(D+1)}$")
    first.set(xlabel="$D+1$", ylabel=r"norm of averaged noise $\|(\hat A\Xi)_i\|$")
    first.set_yticks([2, 3, 4, 6], ["2", "3", "4", "6"])
    first.legend()
    if crossed:
        slopes_of((axes[0, 1], axes[0, 2]), [(rf"$q={p.power}$, $n={p.n}$, $d={p.dim:g}$", fit)], p.power)
        axes[0, 1].set(ylabel=r"$1/\mathrm{SNR}^*$ of the GCN (95 % accuracy)")
        axes[0, 1].set_yticks([5, 6, 7, 8, 10], ["5", "6", "7", "8", "10"])
    for panel in axes[0]:
        mark(panel, nodes)
    return figure


def gain(found: dict[str, xr.Dataset]) -> Figure:
    """At $d=10^9$: the MLP's critical SNR over the GCN's, against the degree, beside both stated exponents."""
    data = {rf"$n=500$, init {init:g}": found["init"].sel(init=init) for init in found["init"].init.values}
    data |= {"$n=1000$, init 0.3": found["degree_1000"], "$n=500$, init 0.3, dense": found["dense"]}
    # the MLP was run at one n only: its critical SNR is the constant below times n^(-1/q)
    alone = float(ts.analysis.phase_boundary(found["mlp"], "learned", 0.5, along="signal"))
    power = ts.theory.fields(found["mlp"]).power

    def over(part: xr.Dataset) -> xr.DataArray:
        edge = ts.analysis.phase_boundary(part, "learned", 0.5, along="signal")
        return alone / edge * edge["density"] ** theory.gain_exponent(power, "first")

    fits = [(label, ts.analysis.fit_exponent(by_degree(part), over, against="density")) for label, part in data.items()]
    figure, axes = plot.canvas(columns=2, width=3.8, height=3.9)
    slopes_of((axes[0, 0], axes[0, 1]), fits, power)
    axes[0, 0].set(ylabel=r"gain $\mathrm{SNR}^*_{\mathrm{MLP}}/\mathrm{SNR}^*_{\mathrm{GCN}}$", title=f"$q={power}$, $d=10^9$")
    axes[0, 0].set_yticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4"])
    for panel in axes[0]:
        mark(panel, np.array([7, 13, 25, 61, 121, 241]))
    axes[0, 1].set(ylim=(-0.05, 0.6))
    return figure

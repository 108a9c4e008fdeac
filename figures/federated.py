"""Figures of "Convergence and generalization in federated learning": rounds, groups, weights, signals, exponent in K."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

THEORY, plot = ts.theory.federated, ts.plotting
AVERAGES = ("local training", "FedAvg", "weighted FedAvg", "similar features")
LINES = ("--", "-", "-.", ":")
LOCAL, FEDAVG, WEIGHTED, SIMILAR = range(4)
STRENGTH = r"signal strength $\|\mu\|$"
#: n, q and kappa of the study behind the exponent, drift by study
SAMPLES, POWER = 10, 3
DRIFTS = (("exponent", 0.2), ("drift_one", 1.0), ("drift_four", 4.0))


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "curves" in found and "groups" in found:
        one, four = found["curves"].sel(signal=6.5), found["groups"].sel(groups=4)
        figures["rounds"] = rounds(one, four)
        figures["coefficients"] = coefficients(one)
    if "groups" in found:
        figures["groups"] = groups(found["groups"])
        figures["weights"] = weights(found["groups"].sel(groups=4))
    if "map" in found:
        figures["signal"] = signal(found["map"])
    if "exponent" in found:
        figures["exponent"] = exponent(found)
    return figures


def curve(axes: Axes, data: xr.DataArray, over: str, average: int, label: str | None = None) -> None:
    color = plot.COLORS[(1, 0, 2, 3)[average]]
    style = {"color": color, "linestyle": LINES[average]}
    words = AVERAGES[average] if label is None else label
    # half of the seeds: wider bands would hide each other
    plot.band(axes, data.sel(average=average), over, words, central=0.5, **style)


def rounds(one: xr.Dataset, four: xr.Dataset) -> Figure:
    """Train loss above, test error below, against rounds; one signal on the left, four on the right."""
    figure, axes = plot.canvas(columns=2, rows=2, height=2.3)
    titles = (r"one signal, $\|\mu\|=6.5$", r"four signals, $\|\mu\|=8$")
    for column, (data, title) in enumerate(zip((one, four), titles, strict=True)):
        top, bottom = axes[:, column]
        # with one signal the clients of one's own signal are all clients
        for average in (LOCAL, FEDAVG, WEIGHTED, SIMILAR) if column else (LOCAL, FEDAVG, SIMILAR):
            curve(top, data.train_loss, "time", average)
            curve(bottom, data.test_error, "time", average)
        top.set(yscale="log", ylim=(1e-6, 2), title=title)
        bottom.set(ylim=(-0.02, 0.55), xlabel="round")
        bottom.axhline(0.5, color="black", linewidth=0.8, linestyle=":")
    axes[0, 0].set_ylabel("training loss")
    axes[1, 0].set_ylabel("test error")
    axes[1, 0].legend(*axes[1, 1].get_legend_handles_labels(), loc="upper right", bbox_to_anchor=(1, 0.85))
    axes[1, 1].annotate(
        "chance", (0.98, 0.5), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right"
    )
    return figure


def coefficients(data: xr.Dataset) -> Figure:
    """What the filters learn of the client's signal, and of the noise of its samples."""
    figure, panels = plot.canvas(columns=2)
    for axes, average in zip(panels[0], (LOCAL, FEDAVG), strict=True):
        for name, label, color, line in (
            ("signal_learning", r"signal: $\max_r\langle w_r-w_r(0),\mu\rangle$", plot.COLORS[0], "-"),
            ("noise_memorization", r"noise: $\max_{r,i}\langle w_r-w_r(0),\xi_i\rangle$", plot.COLORS[1], "--"),
        ):
            shown = data[name].sel(average=average, time=slice(1, None))
            plot.band(axes, shown, "time", label, color=color, linestyle=line)
        axes.set(yscale="log", ylim=(0.03, 20), xlabel="round", title=AVERAGES[average])
    panels[0, 0].set_ylabel("coefficient")
    panels[0, 1].legend(loc="lower right", fontsize=7)
    return figure


def groups(data: xr.Dataset) -> Figure:
    """Errors against the number of signals: after four rounds, and at the end."""
    figure, panels = plot.canvas(columns=2)
    count = data.sizes["client"]
    for axes, part in zip(panels[0], (data.sel(time=4), data.isel(time=-1)), strict=True):
        for average in range(4):
            curve(axes, part.test_error, "groups", average)
        axes.set(xscale="log", xlabel=rf"orthogonal signals $C$ ($K={count}$)", ylim=(-0.02, 0.72))
        axes.set_yticks(np.arange(6) / 10)
        axes.set_xticks(data.groups.values, [f"{c:.0f}" for c in data.groups.values])
        axes.minorticks_off()
        axes.axhline(0.5, color="black", linewidth=0.8, linestyle=":", label="chance")
        axes.set_title(rf"after {int(part.time)} rounds, $\|\mu\|=8$")
    panels[0, 0].set_ylabel("test error")
    panels[0, 1].legend(loc="upper left", fontsize=7, ncols=2)
    return figure


def weights(data: xr.Dataset) -> Figure:
    """The averages that each client receives, clients of one signal side by side: by similarity, and by signal."""
    figure, panels = plot.canvas(columns=2, height=2.9)
    order = np.argsort(data.client.values % 4, kind="stable")
    seen = data.similar_weights.mean("seed").values[np.ix_(order, order)]
    place = np.arange(len(order))
    same = np.equal.outer(order % 4, order % 4)
    for axes, value, title in (
        (panels[0, 0], seen, f"similar features, mean of {data.sizes['seed']} seeds"),
        (panels[0, 1], same / same.sum(axis=1, keepdims=True), "by signal"),
    ):
        shown = xr.DataArray(value, {"client": place, "other": place}, ("client", "other"))
        label = "weight $a_{kk'}$" if axes is panels[0, 1] else None
        plot.heat_map(axes, shown, "other", "client", label=label, vmin=0, vmax=0.4)
        axes.set(xlabel="from client $k'$, by signal", title=title)
        axes.set_xticks([2, 7, 12, 17], ["1", "2", "3", "4"])
        axes.set_yticks([2, 7, 12, 17], ["1", "2", "3", "4"])
    panels[0, 0].set_ylabel("to client $k$, by signal")
    return figure


def signal(data: xr.Dataset) -> Figure:
    """The test error against the signal strength, with n K_k SNR^q where it is 1/4: the small-drift theory has it constant."""
    figure, panels = plot.canvas(columns=2)
    p = ts.theory.fields(data)
    for axes, count in zip(panels[0], data.groups.values, strict=True):
        part = data.sel(groups=count)
        for average in range(4) if count > 1 else (LOCAL, FEDAVG, SIMILAR):
            sharing = 1 if average == LOCAL else THEORY.shared(p.clients, count)
            edge = ts.analysis.phase_boundary(part.sel(average=average), "test_error", 0.25, along="signal")
            ratio = THEORY.signal_ratio(p.n, sharing, float(edge) / (p.noise * p.dim**0.5), p.power)
            curve(axes, part.test_error, "signal", average, f"{AVERAGES[average]}: {ratio:.1f}")
        axes.axhline(0.25, color="black", linewidth=0.8, linestyle=":")
        axes.set(xlabel=STRENGTH, ylim=(-0.02, 0.85), title=rf"$C={count:.0f}$")
        axes.set_yticks(np.arange(6) / 10)
        axes.legend(
            loc="upper right",
            fontsize=7,
            ncols=2,
            title=r"$\bar nK_k\mathrm{SNR}^q$ at error 1/4: one number at small drift",
            title_fontsize=7,
        )
    panels[0, 0].set_ylabel("test error")
    return figure


def boundary(data: xr.Dataset) -> xr.DataArray:
    ratio = ts.analysis.phase_boundary(data.isel(average=0), "signal_learnt", 0.5, along="ratio")
    return THEORY.critical_snr(SAMPLES, data.clients, POWER, ratio)


def exponent(found: dict[str, xr.Dataset]) -> Figure:
    """The boundary against the clients for small and large drift, and its slope against the drift."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8, height=3.0)
    here = [(name, drift) for name, drift in DRIFTS if name in found]
    for k, (name, drift) in enumerate(here):
        fit = ts.analysis.fit_exponent(found[name], boundary, against="clients")
        plot.power_law(left, fit, f"$D={drift:g}$", color=plot.COLORS[k], marker=plot.MARKERS[k])
        spread = np.maximum([[fit.slope - fit.low], [fit.high - fit.slope]], 0)
        words = ("whole range", "local slopes") if not k else (None, None)
        look = {"color": plot.COLORS[k]}
        right.errorbar([drift], [fit.slope], spread, fmt=plot.MARKERS[k], capsize=3, label=words[0], **look)
        local = np.asarray(fit.local, float)
        right.plot(np.full(local.size, drift * 1.15), local, "_", label=words[1], **look)
        if not k:
            clients = np.asarray(fit.curve.clients, float)
            theory = THEORY.critical_snr(SAMPLES, clients, POWER, SAMPLES * clients[0] * float(fit.curve[0]) ** POWER)
            left.plot(clients, theory, color="black", linestyle="--", linewidth=1, label="theory, through the first point")
    left.set(xlabel="clients $K$", ylabel=r"boundary $\mathrm{SNR}^*$")
    left.set_xticks([2, 4, 8, 16], ["2", "4", "8", "16"])
    left.set_yticks([0.2, 0.3, 0.4, 0.5], ["0.2", "0.3", "0.4", "0.5"])
    left.minorticks_off()
    left.set_ylim(0.13, 0.6)
    left.legend(fontsize=7, loc="lower left")
    right.axhline(-1 / POWER, color="black", linewidth=1, linestyle="--", label="theory: $-1/3$")
    right.set(xscale="log", xlabel=r"drift $D=E\eta\sigma_p^2d/(\bar nm)$", ylabel="slope in $K$")
    right.set_xticks([drift for _, drift in here], [f"{drift:g}" for _, drift in here])
    right.minorticks_off()
    right.legend(fontsize=7)
    return figure

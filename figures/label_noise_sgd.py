"""Figures of "On the learning dynamics of two-layer linear networks with label noise SGD": two phases, their theory, exits."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

THEORY, plot, fields = ts.theory.label_noise_sgd, ts.plotting, ts.theory.fields
BLUE, ORANGE, GREEN, PINK = plot.COLORS[:4]
ITERATION, NORM = "iteration (thousands)", r"mean $\|w_i\|$"


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """All figures that the studies of a preset allow."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "noise" in found:
        figures["label_noise"] = phases(found["noise"].sel(sigma=4.0).isel(rho=0), r"label noise $\sigma=4$")
        figures["collapse"] = collapse(found["noise"])
    if "sam" in found:
        figures["sam"] = phases(found["sam"].sel(rho=0.3).isel(sigma=0), r"SAM $\rho=.3$, no label noise")
    if {"noise", "sam", "frozen"} <= set(found):
        figures["noise_levels"] = noise_levels(found["noise"], found["sam"], found["frozen"])
    if "periodic" in found:
        figures["periodic"] = periodic(found["periodic"].sel(sigma=4.0).isel(rho=0))
    if "exit" in found:
        figures["exit"] = exits(found["exit"])
    if {"oscillation", "held"} <= set(found):
        figures["oscillation"] = oscillation(found["oscillation"], found["held"])
    if "phase_two" in found:
        figures["phase_two"] = phase_two(found["phase_two"])
    if "identity" in found:
        figures["identity"] = identity(found["identity"])
    return figures


def thousands(data: xr.Dataset) -> xr.Dataset:
    """The records over time in thousands of steps."""
    return data.assign_coords(time=data.time / 1000)


def phases(data: xr.Dataset, title: str) -> Figure:
    """The published layout: losses, norm and alignment, the path of single neurons; below all neurons at three times."""
    figure, axes = plot.canvas(columns=3, rows=2, width=2.7, height=2.3)
    loss, mean, path = axes[0]
    over_time = thousands(data)
    for name, label, color, line in (("train_loss", "train", BLUE, "-"), ("test_loss", "test", ORANGE, "--")):
        plot.band(loss, over_time[name].clip(1e-6, None), "time", label, color=color, linestyle=line)
    loss.set(yscale="log", ylabel="loss without label noise", xlabel=ITERATION, title=title)
    for name, label, color, line in (
        ("norm", NORM, BLUE, "-"), ("alignment", r"mean $|\langle w_i,\theta^*\rangle|$", ORANGE, "--"),
        ("cosine", "mean |cosine|", GREEN, ":"),
    ):  # fmt: skip
        plot.band(mean, over_time[name], "time", label, color=color, linestyle=line)
    if float(fields(data).sigma) > 0:  # for SAM the identity is another
        stated = data.norm.isel(time=0) * np.exp(-THEORY.shrink_rate(fields(data).lr, data.square_residual))
        law = r"from the identity: $e^{-\eta^2\sum r^2/2}$"
        mean.plot(over_time.time, stated.mean("seed"), color="black", linewidth=0.8, label=law)
    mean.set(xlabel=ITERATION, ylabel="over all neurons", ylim=(0, 1.75))
    mean.legend(fontsize=7, loc="upper right")
    loss.legend(loc="upper right")
    one = data.isel(seed=0)
    far = np.asarray(abs(one.neuron_alignment.isel(end=-1))).argsort()
    for k, marker, color in ((far[-1], "o", BLUE), (far[len(far) // 2], "s", ORANGE)):
        way = one.isel(neuron=int(k))
        label = "most aligned at the end" if k == far[-1] else "median"
        path.plot(abs(way.neuron_alignment), way.neuron_norm, marker, color=color, linestyle="-", markersize=2.5, label=label)
        path.plot(abs(way.neuron_alignment[:1]), way.neuron_norm[:1], marker, color=color, markersize=6)
    path.set_title("paths of two neurons (large: start)", fontsize=8)
    ends = [0, data.sizes["end"] // 2, data.sizes["end"] - 1]
    for panel, k in zip(axes[1], ends, strict=True):
        now = one.isel(end=k)
        panel.plot(abs(now.neuron_alignment), now.neuron_norm, ".", color=BLUE, markersize=2.5, label="neuron")
        panel.set_title(f"iteration {int(data.end[k])}, {data.sizes['neuron']} neurons", fontsize=8)
    for panel in (path, *axes[1]):
        panel.plot([0, 2], [0, 2], color="black", linewidth=0.8, linestyle=":", label="along the target")
        panel.set(xlim=(0, 0.8), ylim=(0, 2.0), xlabel=r"$|\langle w_i,\theta^*\rangle|$", ylabel=r"$\|w_i\|$")
    for panel in (path, axes[1, 0]):
        panel.legend(fontsize=7, loc="upper right")
    return figure


def noise_levels(noise: xr.Dataset, sam: xr.Dataset, frozen: xr.Dataset) -> Figure:
    """How the norm shrinks and the neurons leave the lazy regime, by the level of label noise and by SAM's radius."""
    figure, ((left, middle, right),) = plot.canvas(columns=3, width=3.0)
    root = np.sqrt(fields(noise).width)
    for k, level in enumerate(noise.sigma.values):
        runs = thousands(noise.sel(sigma=level).isel(rho=0))
        look = {"color": plot.COLORS[k], "linestyle": ("-", "--", "-.", ":")[k]}
        plot.band(left, runs.norm, "time", rf"$\sigma={level:g}$", **look)
        plot.band(middle, (runs.moved_min * root).isel(time=slice(1, None)), "time", rf"$\sigma={level:g}$", **look)
    plot.band(left, thousands(frozen).norm, "time", r"$\sigma=4$, second frozen", color="black", linestyle="-")
    for k, rho in enumerate(sam.rho.values[1:]):
        runs = thousands(sam.sel(rho=rho).isel(sigma=0))
        plot.band(right, runs.norm, "time", rf"$\rho={rho:g}$", color=plot.COLORS[k + 1], linestyle=("--", "-.", ":")[k])
    middle.axhline(1, color="black", linewidth=1, label="edge of the lazy regime")
    left.set(xlabel=ITERATION, ylabel=NORM, ylim=(0, 1.7), title="label noise")
    right.set(xlabel=ITERATION, ylabel=NORM, ylim=(0, 1.7), title="SAM without label noise")
    middle.set(xscale="log", yscale="log", xlabel=ITERATION, ylim=(1e-7, 30), title="the last neuron to leave")
    middle.set_ylabel(r"$\min_i\|w_i(t)-w_i(0)\|\,\sqrt{m}$")
    left.legend(fontsize=7, ncols=2, loc="upper right")
    middle.legend(fontsize=7, loc="lower right")
    right.legend(fontsize=7)
    return figure


def collapse(noise: xr.Dataset) -> Figure:
    """The mean norm at all levels of label noise against what the identity predicts, and the residuals behind it."""
    figure, ((left, right),) = plot.canvas(columns=2)
    p, longest = fields(noise), 0.0
    for k, level in enumerate(noise.sigma.values[1:]):
        runs = noise.sel(sigma=level).isel(rho=0).mean("seed")
        x = THEORY.shrink_rate(p.lr, runs.square_residual)
        longest = max(longest, float(x.max()))
        left.plot(x, runs.norm / runs.norm[0], plot.MARKERS[k], color=plot.COLORS[k], markersize=3, fillstyle="none",
                  label=rf"$\sigma={level:g}$")  # fmt: skip
        later = thousands(runs.isel(time=slice(1, None)))
        mean = runs.square_residual.diff("time") / runs.time.diff("time")
        right.plot(later.time, mean / level**2, plot.MARKERS[k], color=plot.COLORS[k], markersize=3, fillstyle="none",
                   label=rf"$\sigma={level:g}$")  # fmt: skip
    line = np.linspace(0, longest, 50)
    left.plot(line, np.exp(-line), color="black", linewidth=1, label=r"identity, $a_i^2d\ll\|w_i\|^2$: $e^{-x}$")
    right.axhline(
        THEORY.square_residual(1, p.lr, p.width, p.dim), color="black", linewidth=1, label=r"lazy: $1/(1-\eta(m+d)/2)$"
    )
    right.axhline(1, color="black", linewidth=1, linestyle="--", label="the label noise alone")
    left.set(yscale="log", xlabel=r"$x=\frac{\eta^2}{2}\sum_t r_t^2$", ylabel=NORM + ", relative to its start")
    right.set(xlabel=ITERATION, ylabel=r"mean $r^2/\sigma^2$", ylim=(0.9, 3))
    left.legend()
    right.legend(fontsize=7)
    return figure


def periodic(data: xr.Dataset) -> Figure:
    """Label noise on and off in turns: the norm falls, and the second layer oscillates, only while it is on.

    The sums of squares resolve 5e-6 on the right, in float32.
    """
    figure, ((left, right),) = plot.canvas(columns=2)
    steps = int(data.end[1] - data.end[0])
    p, over_time = fields(data), thousands(data)
    jump = np.sqrt(abs(data.oscillation.diff("time")) / data.time.diff("time") / p.width)
    plot.band(left, over_time.norm, "time", NORM, color=BLUE)
    plot.band(right, thousands(jump.to_dataset(name="jump")).jump, "time", "root mean square", color=ORANGE)
    for axes in (left, right):
        for k, begin in enumerate(range(0, int(data.end[-1]), 2 * steps)):
            axes.axvspan(begin / 1e3, (begin + steps) / 1e3, color="black", alpha=0.08, linewidth=0,
                         label="label noise on" if k == 0 and axes is left else None)  # fmt: skip
        axes.set(xlabel=ITERATION, xlim=(0, float(data.end[-1]) / 1e3))
    left.set(ylabel=NORM)
    right.set(yscale="log", ylabel=r"$|a_i(t+1)-a_i(t)|$, root mean square", ylim=(5e-6, 0.1))
    left.legend(loc="upper right")
    return figure


def exits(data: xr.Dataset) -> Figure:
    """When the last neuron leaves the lazy regime, against width, noise and step size, with the derived time and the bound."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.7)
    p, times = fields(data), THEORY.left_lazy(data)
    derived = THEORY.exit_time(p.sigma, p.lr, p.width, p.dim, data.norm_min.isel(time=0)).mean("seed")
    shown = [(sigma, lr) for sigma in data.sigma.values for lr in data.lr.values]
    for k, (sigma, lr) in enumerate(shown):
        mean = times.sel(sigma=sigma, lr=lr).mean("seed")
        label = rf"$\sigma={sigma:g}$, $\eta={lr:g}$"
        look = {"color": plot.COLORS[k % 7], "label": label}
        left.plot(data.width, mean, plot.MARKERS[k % 7], **look)
        left.plot(data.width, derived.sel(sigma=sigma, lr=lr), color=plot.COLORS[k % 7], linewidth=1)
        unit = sigma**2 * lr**2 * np.sqrt(data.width)
        right.plot(data.width, mean * unit, plot.MARKERS[k % 7], **look)
    right.plot(data.width, THEORY.exit_bound(1, 1, data.width) * np.sqrt(data.width), "k--", linewidth=1, label="bound $T_1$")
    flat = (derived * p.sigma**2 * p.lr**2 * np.sqrt(p.width)).isel(lr=0, sigma=0)
    right.plot(data.width, flat, "k-", linewidth=1, label=r"derived, least $\eta$")
    left.plot([], [], "k-", linewidth=1, label=r"derived: $2(1-\eta(m+d)/2)/(\sigma^2\eta^2\sqrt{m}\,\min\|w_i(0)\|)$")
    left.set(ylabel="exit time of the last neuron")
    right.set(ylabel=r"exit time $\times\,\sigma^2\eta^2\sqrt{m}$", ylim=(1, 5e3))
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="width $m$")
        axes.margins(y=0.1)
        axes.set_xticks(data.width.values, [f"{m:g}" for m in data.width.values])
        axes.minorticks_off()
        axes.legend(fontsize=6.5, loc="upper right" if axes is left else "center right")
    left.set_ylim(float(times.mean("seed").min()) / 3, float(times.mean("seed").max()) * 30)
    return figure


def oscillation(chain: xr.Dataset, held: xr.Dataset) -> Figure:
    """Lemma 4: a second layer that is driven by its chain, with W following gradient descent."""
    figure, ((left, right),) = plot.canvas(columns=2)
    for k, lr in enumerate(chain.lr.values):
        runs, look = chain.sel(lr=lr).isel(held=0), {"color": plot.COLORS[k], "linestyle": ("-", "--", "-.", ":")[k]}
        runs = runs.isel(time=runs.time > 0)
        scaled = runs.assign_coords(time=runs.time * lr**2)
        plot.band(left, scaled.mean_square, "time", rf"$\eta={lr:g}$", **look)
        left.axhline(THEORY.oscillation_level(lr), color=plot.COLORS[k], linewidth=0.7)
        decay = runs.assign_coords(time=runs.time * lr**1.5).mean_square / runs.mean_square.isel(time=0)
        plot.band(right, decay.assign_coords(time=runs.time.values * lr**1.5), "time", rf"$\eta={lr:g}$", **look)
    still = held.isel(held=0, lr=0)
    still = still.isel(time=still.time > 0)
    plot.band(left, still.assign_coords(time=still.time * still.lr**2).mean_square, "time", "chain held still", color="black")
    left.plot([], [], color="black", linewidth=0.7, label=r"levels $\sqrt{\eta}$")
    x = np.linspace(0, 8, 80)
    right.plot(x, THEORY.oscillation_decay(1.0, x), color="black", linewidth=1, label=r"$e^{-x}$, isotropic inputs")
    left.set(xscale="log", yscale="log", xlabel=r"$\eta^2t$", ylabel=r"mean $\|w_i\|^2$", xlim=(1e-3, 1), ylim=(1e-3, 2))
    right.set(yscale="log", xlabel=r"$x=\eta^{3/2}t$", ylabel=r"mean $\|w_i\|^2$, relative", xlim=(0, 8), ylim=(1e-3, 1.5))
    left.legend(fontsize=7, loc="lower left")
    right.legend(fontsize=7, loc="upper right")
    return figure


def phase_two(data: xr.Dataset) -> Figure:
    """Lemmas 5 and 6: alignment, then convergence, from small norms and without label noise."""
    figure, ((left, right),) = plot.canvas(columns=2)
    p, runs = fields(data), data.isel(sigma=0, width=0)
    for k, lr in enumerate(data.lr.values):
        own = runs.sel(lr=lr)
        own = own.assign_coords(time=own.time / THEORY.alignment_time(lr, p.target))
        look = {"color": plot.COLORS[k], "linestyle": ("-", "--", "-.", ":")[k]}
        plot.band(left, own.cosine, "time", rf"$\eta={lr:g}$", **look)
        left.plot([1], [THEORY.aligned_cosine(lr)], "v", color=plot.COLORS[k], markersize=6)
        distance = np.sqrt(2 * own.test_loss) / (lr * np.log(1 / lr))
        plot.band(right, distance.clip(1e-3, None), "time", rf"$\eta={lr:g}$", **look)
    left.plot([], [], "kv", label=r"lemma 5: $1-\sqrt{\eta}\log(1/\eta)$")
    right.plot([2], [1], "kv", label="lemma 6")
    time = r"$\eta\|\theta^*\|t\,/\log(1/\eta)$"
    left.set(xlabel=time, ylabel=f"mean |cosine|, $m={float(data.width[0]):g}$", xlim=(0, 3), ylim=(0, 1.02))
    right.set(xlabel=time, ylabel=r"$\|W^\top a-\theta^*\|\,/\,\eta\log(1/\eta)$", yscale="log", xlim=(0, 3), ylim=(5e-4, 500))
    left.legend(fontsize=7, loc="lower right")
    right.legend(fontsize=7, loc="upper right")
    return figure


def identity(data: xr.Dataset) -> Figure:
    """How far the exact identities are off, and that of SGD when it is taken for SAM."""
    figure, ((axes,),) = plot.canvas(width=4.6)
    later = data.isel(time=slice(1, None))
    for k, rho in enumerate(data.rho.values):
        look = {"color": plot.COLORS[k], "linestyle": ("-", "--", "-.", ":")[k]}
        name = rf"SAM $\rho={rho:g}$" if rho else r"SGD, $\sigma=4$"
        plot.band(axes, later.identity_error.sel(rho=rho), "time", name, **look)
        if rho:
            wrong = later.identity_error_sgd.sel(rho=rho)
            plot.band(axes, wrong, "time", rf"identity of SGD, $\rho={rho:g}$", color=look["color"], linewidth=2.4, alpha=0.5)
    axes.set(xscale="log", yscale="log", xlabel="iteration", ylim=(1e-17, 1e3))
    axes.set_ylabel(r"worst error of $\|w_i\|^2-a_i^2$")
    axes.legend(fontsize=7, ncols=2, loc="center left", bbox_to_anchor=(0.0, 0.5))
    return figure

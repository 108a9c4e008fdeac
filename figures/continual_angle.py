"""Figures of "angle matters": forgetting against the angle, its mechanism, the replay buffer, which samples to store."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

plot, theory = ts.plotting, ts.theory.continual_angle
BLUE, ORANGE, GREEN, PINK = plot.COLORS[:4]
BALANCE = float(theory.critical_angle(theory.balance_constant()))
REPLAYED = float(theory.critical_angle(theory.replay_constant(theory.balance_constant())))
ANGLE, FORGETTING = r"angle $\theta$ between the signals (degrees)", "forgetting: task-1 error after task 2"


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The published figure, the mechanism, and what the studies of the preset add."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    figures = {}
    if "angles" in found:
        figures["forgetting"] = forgetting(found["angles"], found.get("shuffled"))
        figures["mechanism"] = mechanism(found["angles"], found.get("small"))
    if "buffer" in found:
        figures["buffer"] = buffer(found["buffer"])
    if "sampling" in found and "by_chance" in found:
        figures["sampling"] = sampling(found["sampling"], found["by_chance"])
    if "coefficients" in found:
        figures["coefficients"] = coefficients(found["coefficients"])
    return figures


def above(axes: Axes, angle: float, words: str, color: str = "black", side: str = "center") -> None:
    """A word over the panel, at an angle."""
    place = ("data", "axes fraction")
    axes.annotate(words, (angle, 1.01), ha=side, va="bottom", fontsize=7.5, xycoords=place, color=color)


def forgetting(data: xr.Dataset, shuffled: xr.Dataset | None) -> Figure:
    """The published layout: four methods; with the ranges of the theorem and the derived angles."""
    figure, ((axes,),) = plot.canvas(width=5.6, height=3.3)
    low, high = theory.critical_angle(theory.BENIGN_CONSTANT), theory.critical_angle(theory.HARMFUL_CONSTANT)
    axes.axvspan(0, float(low), color=GREEN, alpha=0.1, linewidth=0)
    axes.axvspan(float(high), 180, color=ORANGE, alpha=0.1, linewidth=0)
    above(axes, float(low) / 2, rf"benign: $\cos\theta\geq-C_1$ ($C_1={theory.BENIGN_CONSTANT}$ assumed)", GREEN)
    above(axes, 167, "harmful\nfor CL", ORANGE)
    for angle, words, side in ((BALANCE, "balance\n(derived) ", "right"), (REPLAYED, "replay's\nrange", "center")):
        axes.axvline(angle, color="black", linewidth=0.9, linestyle=":")
        above(axes, angle, words, side=side)
    looks = (
        (0, 0, "CL", BLUE, "-"),
        (10, 0, "Replay", ORANGE, "--"),
        (0, 1e6, "EWC", GREEN, "-."),
        (10, 1e6, "EWC-Replay", PINK, "-"),
    )
    for marker, (replayed, strength, label, color, line) in zip("os^D", looks, strict=True):
        curve = data.forgetting.sel(replayed=replayed, strength=strength)
        plot.band(axes, curve, "angle", label, color=color, linestyle=line, marker=marker, markersize=3)
    if shuffled is not None:
        control = shuffled.forgetting.sel(replayed=10, strength=0).mean("seed")
        axes.plot(control.angle, control, "x:", color="grey", markersize=4, label="Replay, labels shuffled (mean)")
    axes.axhline(0.5, color="black", linewidth=0.5)
    axes.annotate("chance", (1, 0.5), (0, 2), textcoords="offset points", fontsize=7)
    axes.set(xlabel=ANGLE, ylabel=FORGETTING, xlim=(0, 180), ylim=(-0.02, 1.02))
    axes.legend(loc="center left", bbox_to_anchor=(0.02, 0.76))
    return figure


def responses(plane: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Cube roots of the summed cubes of the filters along the signal of task 1, and against it."""
    along = plane.isel(axis=0)
    ours, against = (((sign * along).clip(min=0) ** 3).sum("filter") ** (1 / 3) for sign in (1, -1))
    return ours, against


def mechanism(data: xr.Dataset, small: xr.Dataset | None) -> Figure:
    """Filters in the plane of the signals, what is kept and what answers, and where they balance."""
    figure, (panels,) = plot.canvas(columns=2 if small is None else 3, width=3.5, height=3.2)
    plain = data.sel(replayed=0, strength=0)
    filters(panels[0], plain.sel(angle=140))
    theta = np.linspace(90, 180, 91)
    keeps, answers = responses(plain.plane)
    before, _ = responses(plain.plane_first)
    for part, curve, label, color, marker in (
        (keeps, theory.kept(theta), r"to $\mu_1$, own class", BLUE, "o"),
        (answers, theory.answered(theta), r"to $\mu_1$, other class", ORANGE, "s"),
    ):
        plot.band(panels[1], part / before, "angle", label, color=color, linestyle="none", marker=marker, markersize=3.5)
        words = r"derived: $\sin^2\theta$" if color == BLUE else r"derived: $-\cos\theta$"
        panels[1].plot(theta, curve, color=color, linestyle="--", linewidth=1, label=words)
    panels[1].set(xlabel=ANGLE, ylabel="response after task 2, relative", xlim=(0, 180), ylim=(0, 1.25))
    panels[1].legend(loc="lower left", fontsize=7, bbox_to_anchor=(0.0, 0.28))
    panels[1].axvline(BALANCE, color="black", linewidth=0.9, linestyle=":")
    if small is not None:
        near = plain.sel(angle=slice(110, 150))
        plot.band(panels[2], near.forgetting, "angle", "published filters, steps", color=BLUE, marker="o", markersize=3)
        few = small.forgetting.sel(replayed=0, strength=0)
        plot.band(panels[2], few, "angle", "a tenth, a third of them", color=GREEN, linestyle="--", marker="^", markersize=3)
        panels[2].axvline(BALANCE, color="black", linewidth=0.9, linestyle=":", label=r"$\sin^2\theta=-\cos\theta$")
        panels[2].set(xlabel=ANGLE, ylabel=FORGETTING, xlim=(114, 150), ylim=(-0.02, 1.02))
        panels[2].legend(loc="lower right", fontsize=7)
    return figure


def filters(axes: Axes, data: xr.Dataset) -> None:
    """One run's filters in the plane of the signals, those of the class -1 turned over: start, after task 1, after task 2."""
    start, first, last = (np.asarray(data[name].isel(seed=0)) for name in ("plane_start", "plane_first", "plane"))
    theta, reach = np.radians(float(data.angle)), 1.2 * np.abs(np.stack([first, last])).max()
    for k, path in enumerate(np.stack([start, first, last], axis=1)):
        axes.plot(path[:2, 0], path[:2, 1], color=BLUE, linewidth=0.9, label="by task 1" if k == 0 else None)
        axes.plot(path[1:, 0], path[1:, 1], color=ORANGE, linewidth=0.9, linestyle="--", label="by task 2" if k == 0 else None)
    axes.plot(first[:, 0], first[:, 1], "o", color=BLUE, markersize=3.5, label="after task 1")
    axes.plot(last[:, 0], last[:, 1], "s", color=ORANGE, markersize=3.5, label="after task 2")
    for angle, words in ((0.0, r"$\mu_1$"), (theta, r"$\mu_2$")):
        tip = 0.95 * reach * np.array([np.cos(angle), np.sin(angle)])
        axes.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": "black", "linewidth": 0.8})
        axes.annotate(words, tip, (4, 4), textcoords="offset points")
    axes.set(xlabel=r"filter along $\mu_1$", ylabel=r"filter along the rest of $\mu_2$", aspect="equal")
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set_title(rf"$\theta={float(data.angle):g}^\circ$, one run, both classes", fontsize=8)
    axes.legend(loc="lower right", fontsize=7)


def crossings(data: xr.Dataset) -> xr.DataArray:
    seeds = [data.isel(seed=[k]) for k in range(data.sizes["seed"])]
    return xr.concat([ts.analysis.phase_boundary(one, "forgetting", 0.5, "angle") for one in seeds], dim=data.seed)


def buffer(data: xr.Dataset) -> Figure:
    """Forgetting for each size of the buffer, and the crossing against the size."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=2.9)
    data = data.sel(strength=0)
    sizes = data.replayed.values
    for k, size in enumerate(sizes):
        label = "none" if size == 0 else f"{size:g} of 100"
        plot.band(
            left, data.forgetting.sel(replayed=size), "angle", label, color=plot.COLORS[k], marker=plot.MARKERS[k], markersize=3
        )
    left.set(xlabel=ANGLE, ylabel=FORGETTING, ylim=(-0.02, 1.02))
    left.legend(title="replayed samples", title_fontsize=8)
    found = crossings(data).fillna(180)  # a large buffer may never let it reach 1/2
    low, middle, high = found.quantile([0.1, 0.5, 0.9], "seed", skipna=True).values
    right.errorbar(
        sizes, middle, [middle - low, high - middle], fmt="o-", color=BLUE, capsize=2, label="measured: median, 80 % of seeds"
    )
    right.axhline(BALANCE, color=BLUE, linewidth=0.9, linestyle=":", label=rf"balance, no replay: {BALANCE:.1f}")
    right.axhline(REPLAYED, color=ORANGE, linewidth=1, linestyle="--", label=rf"$\cos\theta=-(C_2+1)/2$: {REPLAYED:.0f}")
    right.set(xlabel="replayed samples, of 100", ylabel="angle at which forgetting is 1/2", ylim=(118, 182))
    right.legend(loc="lower right", fontsize=7)
    return figure


def sampling(data: xr.Dataset, chance: xr.Dataset) -> Figure:
    """A toy: which samples of task 1 to store if each has a direction of its own."""
    figure, (panels,) = plot.canvas(columns=data.sizes["angle"], width=3.3, height=2.8)
    for axes, angle in zip(panels, data.angle.values, strict=True):
        plot.band(axes, data.forgetting.sel(angle=angle), "place", "ten of that tilt", color=BLUE, marker="o", markersize=3)
        for replayed, label, color, line in ((10, "ten by chance", GREEN, "--"), (0, "none", ORANGE, ":")):
            level = float(chance.forgetting.sel(angle=angle, replayed=replayed).mean())
            axes.axhline(level, color=color, linestyle=line, label=label)
        axes.axvline(0.5, color="black", linewidth=0.6, linestyle=":")
        axes.annotate("median\nangle", (0.5, 0.98), (3, 0), textcoords="offset points", va="top", fontsize=7)
        axes.set(xlabel="quantile of the stored tilts", ylabel=FORGETTING, ylim=(-0.02, 1.02))
        axes.set_title(rf"a toy, task 2 at ${angle:g}^\circ$", fontsize=9)
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.0), fontsize=7)
    return figure


def coefficients(data: xr.Dataset) -> Figure:
    """Coefficients of both tasks over the steps of task 1, then of task 2, which moves none of task 1's."""
    angles = data.angle.values
    figure, rows = plot.canvas(columns=2, rows=len(angles), width=3.4, height=2.3)
    looks = (
        ("gamma_one", r"$\max\gamma^{(\mu_1)}$", BLUE, "-"), ("gamma_two", r"$\max\gamma^{(\mu_2)}$", ORANGE, "--"),
        ("rho_one", r"$\max\rho^{(\xi_1)}$", GREEN, "-."), ("rho_two", r"$\max\rho^{(\xi_2)}$", PINK, ":"),
    )  # fmt: skip
    later = data.sel(time=slice(1, None))
    for panels, angle in zip(rows, angles, strict=True):
        part = later.sel(angle=angle)
        words = "", f": forgetting {float(part.forgetting.isel(time=-1).mean()):.2f}"
        for axes, suffix, task in zip(panels, ("_first", ""), (1, 2), strict=True):
            for name, label, color, line in looks:
                plot.band(axes, part[f"{name}{suffix}"], "time", label, color=color, linestyle=line)
            axes.set(xscale="log", xlabel=f"steps on task {task}", ylabel="coefficient")
            axes.set_title(rf"task {task}, $\theta={angle:g}^\circ${words[task - 1]}")
    rows[0, 0].legend(loc="upper left")
    return figure

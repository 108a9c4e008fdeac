"""Figures of "NLPrompt": errors of PromptCE and PromptMAE, the gradient of flipped samples, purification by transport."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

plot, theory = ts.plotting, ts.theory.prompt_mae
#: loss -> its name, colour and line
LOOKS = {"ce": ("PromptCE", plot.COLORS[1], "--"), "mae": ("PromptMAE", plot.COLORS[0], "-")}
BLUE, ORANGE, GREEN = plot.COLORS[:3]


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """Error, gradient share and coefficients over time, the over-parameterised case, and the purification."""
    found, figures = {name: node.to_dataset() for name, node in data.children.items()}, {}
    if "curves" in found:
        figures |= {"error": errors(found["curves"]), "gradient_share": shares(found["curves"])}
        figures["coefficients"] = coefficients(found["curves"])
    if "over" in found:
        figures["overparameterised"] = overparameterised(found["over"])
    if "purified" in found:
        figures["purification"] = purification(found["purified"])
    return figures


def exact(data: xr.Dataset, loss: str) -> xr.DataArray:
    noise = ts.theory.fields(data).noise
    return xr.apply_ufunc(lambda beta, phi: theory.error(beta, phi, noise), data[f"beta_{loss}"], data[f"phi_{loss}"])


def error_curves(axes: Axes, data: xr.Dataset) -> None:
    """The closed form as lines with a band over seeds, the fresh points as markers."""
    for loss, (name, color, line) in LOOKS.items():
        plot.band(axes, exact(data, loss), "time", rf"{name}: $\Phi(-\beta/(\sigma\|\phi\|))$", color=color, linestyle=line)
        few = data[f"error_{loss}"].mean("seed").isel(time=slice(None, None, 4))
        axes.plot(few.time, few, "o", color=color, fillstyle="none", label=f"{name}: fresh points")
    axes.set(xscale="log", xlim=(1, float(data.time[-1])), xlabel="gradient step")


def errors(data: xr.Dataset) -> Figure:
    """The test error over time at each flip rate."""
    data = data.sel(time=slice(1, None))
    figure, axes = plot.canvas(columns=data.sizes["flip"], width=2.9)
    for panel, flip in zip(axes[0], data.flip.values, strict=True):
        error_curves(panel, data.sel(flip=flip))
        panel.set(title=f"flips $p={flip:g}$", ylim=(-0.01, 0.44))
    axes[0, 0].set_ylabel("test error, true labels")
    axes[0, 0].legend(fontsize=7)
    return figure


def shares(data: xr.Dataset) -> Figure:
    """How much of the gradient comes from flipped samples."""
    data = data.sel(flip=data.flip > 0)
    first = np.asarray(data.time) == 0
    time = np.where(first, 0.5, data.time)  # the start has a place on the logarithmic axis
    figure, axes = plot.canvas(columns=data.sizes["flip"], width=3.2)
    for panel, flip in zip(axes[0], data.flip.values, strict=True):
        here = data.sel(flip=flip).assign_coords(time=time)
        for loss, (name, color, line) in LOOKS.items():
            plot.band(panel, here[f"share_{loss}"], "time", name, color=color, linestyle=line)
        panel.axhline(theory.STATIONARY_SHARE, color="black", linewidth=0.9, linestyle=":", label="stationary point: 1/2")
        panel.axhline(flip, color="0.5", linewidth=0.9, linestyle="-.", label="equal weights: $p$")
        panel.set(xscale="log", xlim=(0.5, time[-1]), xlabel="gradient step (left edge: start)", title=f"flips $p={flip:g}$")
        panel.set(ylim=(0.1, 0.56))
    axes[0, 0].set_ylabel("flips' share of the gradient")
    axes[0, -1].legend(loc="lower right")
    return figure


def coefficients(data: xr.Dataset) -> Figure:
    """The relevant and the irrelevant coefficient, with the formula for the first step."""
    p, data = ts.theory.fields(data), data.sel(flip=data.flip > 0, time=slice(1, None))
    figure, axes = plot.canvas(columns=data.sizes["flip"], width=3.2)
    for panel, flip in zip(axes[0], data.flip.values, strict=True):
        here = data.sel(flip=flip)
        for loss, (name, color, _) in LOOKS.items():
            weight = getattr(theory, f"{loss}_weight")
            beta, square = theory.first_step(p.n, p.dim - 1, flip, p.noise, p.lr, p.init, weight)
            plot.band(panel, here[f"beta_{loss}"], "time", rf"{name}: $\beta$", color=color)
            plot.band(panel, here[f"phi_{loss}"], "time", rf"{name}: $\|\phi\|$", color=color, linestyle=":")
            label = "first step, formula" if loss == "mae" else None
            panel.plot([1, 1], [beta, np.sqrt(square)], "X", color="black", clip_on=False, label=label, markersize=5)
        panel.set(
            xscale="log", yscale="log", xlim=(1, float(data.time[-1])), xlabel="gradient step", title=f"flips $p={flip:g}$"
        )
        panel.set(ylim=(0.08, 200))
    axes[0, 0].set_ylabel("coefficient of the prompt")
    axes[0, 0].legend(fontsize=7, ncols=2, loc="upper left")
    return figure


def overparameterised(data: xr.Dataset) -> Figure:
    """With more features than samples both losses fit all labels, and end at the same error."""
    figure, ((left, right),) = plot.canvas(columns=2)
    data = data.sel(time=slice(1, None))
    error_curves(left, data)
    for loss, (name, color, line) in LOOKS.items():
        plot.band(right, data[f"loss_{loss}"], "time", name, color=color, linestyle=line)
    p = ts.theory.fields(data)
    left.set(ylabel="test error, true labels", title=f"$n={p.n}$, $L={p.dim - 1:g}$, $p={p.flip:g}$", ylim=(0, None))
    right.set(xscale="log", yscale="log", xlim=left.get_xlim(), xlabel="gradient step", ylabel="training loss")
    left.legend(fontsize=7, loc="lower right")
    right.legend()
    return figure


def purification(data: xr.Dataset) -> Figure:
    """Precision and recall of the clean split against the rate of wrong labels, and against the noise of the prototypes."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.7, height=3.0)
    p, rate, known = ts.theory.fields(data), np.linspace(0.0, 0.9, 50), data.sel(tilt=slice(0, 100))
    shown = ((known.isel(tilt=0), "class prototypes", BLUE), (data.isel(tilt=-1), "random prototypes", ORANGE))
    for part, kind, color in shown:
        left.plot(part.flip, part.precision.mean("seed"), "o", color=color, label=f"precision, {kind}")
        left.plot(part.flip, part.recall.mean("seed"), "s", color=color, fillstyle="none", label=f"recall, {kind}")
    left.plot(rate, theory.precision(1 / p.classes, rate, p.classes), color="black", linewidth=1, label="by chance: $1-r$")
    left.plot(rate, 1 - rate / 2, color="0.5", linewidth=1, linestyle=":", label="half of the wrong labels left")
    left.set(xlabel="rate of wrong labels $r$", ylabel="precision, recall", xlim=(0, 0.9), ylim=(0, 1.05))
    left.legend(fontsize=6.5, loc="lower left", bbox_to_anchor=(0.0, 0.16))

    rate = 0.5
    known = known.sel(flip=rate)
    hit = known.hit.mean("seed")
    right.plot(known.tilt, known.precision.mean("seed"), "o", color=BLUE, label="precision")
    right.plot(known.tilt, known.recall.mean("seed"), "s", color=GREEN, fillstyle="none", label="recall")
    right.plot(known.tilt, theory.precision(hit, rate, p.classes), color=BLUE, linewidth=1, label="precision from $a$, formula")
    right.plot(known.tilt, hit, color=GREEN, linewidth=1, label="$a$: pseudo-labels that are true")
    nearest = known.hit_nearest.mean("seed")
    right.plot(known.tilt, nearest, color=ORANGE, linestyle="-.", label="$a$ of the nearest prototype")
    right.axhline(1 - rate, color="black", linewidth=1, linestyle=":", label="precision by chance: $1-r$")
    right.set(xscale="log", xlabel="noise of the prototypes, std of its length", ylabel="precision, recall", ylim=(-0.12, 1.05))
    right.set_xticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
    right.minorticks_off()
    right.set_title(f"wrong labels: $r={rate:g}$")
    right.legend(fontsize=6.5, loc="lower left")
    return figure

"""Figures of "On mesa-optimization in autoregressively trained transformers": the learned step, and what it recovers."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.mesa_optimizer, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
INITS = ((0.1, 0.1), (0.5, 1.5), (2.0, 2.0))
LOOKS = ((BLUE, "-"), (ORANGE, "-"), (GREEN, "-"))


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The published curves and maps, the plane of both diagonals, and the error over the tails of the start."""
    found = {name: single(node.to_dataset()) for name, node in data.children.items()}
    return {
        "curves": curves(found),
        "portrait": portrait(found["gaussian_one"], found["flow"]),
        "gaussian": gaussian(found["gaussian"]),
        "sparse": sparse(found["sparse"]),
        "kurtosis": kurtosis(found["kurtosis"]),
        "heat_maps": heat_maps(found["starts"]),
        "sample_size": sample_size(found["sample_size"]),
    }


def single(data: xr.Dataset) -> xr.Dataset:
    """Without the swept fields that have one value."""
    return data.squeeze([dim for dim in ("init", "aligned", "clip") if data.sizes.get(dim) == 1])


def moments(data: xr.Dataset):
    p = ts.theory.fields(data)
    return theory.moments(p.dim, p.scale, p.power, p.sparse)


def curves(found: dict[str, xr.Dataset]) -> Figure:
    """ab over the epochs from three inits, for both starts and three scales."""
    figure, axes = plot.canvas(columns=3, rows=2, width=3.0, height=2.3)
    for row, start in zip(axes, ("gaussian", "sparse"), strict=True):
        for panel, name, scale in zip(row, ("half", "one", "two"), ("0.5", "1", "2"), strict=True):
            data = found[f"{start}_{name}"]
            p, of = ts.theory.fields(data), moments(data)
            panel.axhline(float(theory.limit(of, p.length)), color=BLACK, linewidth=0.9, label="$k_1/K$")
            panel.axhline(
                float(theory.far_limit(of)), color=PINK, linewidth=0.9, linestyle="--", label=r"$k_1/k_2$, $T\to\infty$"
            )
            for k, (first, second) in enumerate(INITS):
                seen = data["product"].sel(init=k)
                panel.plot(data.time, seen.mean("seed"), color=LOOKS[k][0], label=f"$(a_0,b_0)=({first:g},{second:g})$")
                a, b = theory.path(first, second, data.time.values, p.lr, of, p.length)
                panel.plot(data.time, a * b, ":", color=BLACK, linewidth=1, label=None if k else "recursion")
            symbol = r"\sigma" if start == "gaussian" else "c"
            panel.set_title(rf"{'Gaussian' if start == 'gaussian' else 'sparse'} start, ${symbol}={scale}$")
            panel.set(xlabel="epoch", ylabel="$ab$", ylim=(0, 2.2 * float(theory.far_limit(of))))
            panel.set_xlim(0, min(300, float(data.time[-1])))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    axes[0, 0].legend().set_visible(False)
    return figure


def portrait(code: xr.Dataset, flow: xr.Dataset) -> Figure:
    """Both diagonals: hyperbolas a^2 - b^2 = const to the curve ab = k1 / K, and how well they are kept."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=3.0)
    p, of = ts.theory.fields(code), moments(code)
    a = np.linspace(0.08, 2.4, 200)
    left.plot(a, float(theory.limit(of, p.length)) / a, color=BLACK, linewidth=1.2, label="$ab=k_1/K$")
    for k, (first, second) in enumerate(INITS):
        seen = code.sel(init=k).mean("seed")
        left.plot(seen["first"], seen["second"], "-", marker=plot.MARKERS[k], markersize=3, color=LOOKS[k][0],
                  label=f"from $({first:g},{second:g})$")  # fmt: skip
        grid = np.linspace(0, 2.4, 200)
        square = grid**2 - (first**2 - second**2)
        left.plot(grid[square >= 0], np.sqrt(square[square >= 0]), ":", color="0.5", linewidth=1,
                  label="$a^2-b^2$ conserved" if k == 1 else None)  # fmt: skip
    left.set(xlabel="$a$", ylabel="$b$", xlim=(0, 2.4), ylim=(0, 4.4), title="Gaussian start")
    left.legend(loc="upper right", fontsize=7)
    for data, color in ((code, ORANGE), (flow, BLUE)):
        seen = data.sel(init=1)
        change = (seen.imbalance - seen.imbalance.isel(time=0)).mean("seed")
        lr = float(ts.theory.fields(data).lr)
        right.plot(data.time, change, color=color, label=rf"$\eta={lr:g}$")
        a, b = theory.path(*INITS[1], data.time.values, lr, of, p.length)
        right.plot(data.time, a**2 - b**2 - (a[0] ** 2 - b[0] ** 2), "--", color=BLACK, linewidth=1,
                   label="recursion" if data is flow else None)  # fmt: skip
    right.axhline(0, color=BLACK, linewidth=0.5)
    right.set(xlabel="epoch", ylabel=r"change of $a^2-b^2$, from $(0.5,1.5)$")
    right.legend(loc="center right", fontsize=7)
    return figure


def gaussian(data: xr.Dataset) -> Figure:
    """Both matrices on a Gaussian sample: the step, and the last prediction over the truth."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=2.8)
    p, of = ts.theory.fields(data), moments(data)
    for clip, label, color in ((0.0, "both matrices", BLUE), (1.0, "other entries clipped", ORANGE)):
        plot.band(left, data["product"].sel(clip=clip), "time", label, color=color)
        plot.band(right, data.ratio.sel(clip=clip), "time", label, color=color)
    left.axhline(float(theory.limit(of, p.length)), color=BLACK, linewidth=0.9, label="$k_1/K$, population")
    left.axhline(float(data.limit.mean()), color=PINK, linewidth=0.9, linestyle="--", label=rf"limit on $n={p.n}$, mean")
    right.axhline(float(theory.recovered(1.0, of)), color=BLACK, linewidth=0.9, linestyle="--", label=r"$k_1/k_2=1/5$")
    right.axhline(1, color=GREEN, linewidth=0.9, linestyle=":", label="recovery, least squares")
    left.set(xlabel="epoch", ylabel="$ab$", ylim=(0, 0.3))
    right.set(xlabel="epoch", ylabel="last prediction over truth", ylim=(0, 1.05))
    left.legend(loc="lower right", fontsize=7)
    right.legend(loc="center right", fontsize=7)
    return figure


def sparse(data: xr.Dataset) -> Figure:
    """Both matrices on sparse starts: the step, and the error of the last prediction."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6, height=2.8)
    p, of = ts.theory.fields(data), moments(data)
    for k, (first, second) in enumerate(INITS):
        seen, color = data.sel(init=k), LOOKS[k][0]
        plot.band(left, seen["product"], "time", f"from $({first:g},{second:g})$", color=color)
        plot.band(right, np.maximum(seen.error, 1e-14), "time", f"from $({first:g},{second:g})$", color=color)
        a, b = theory.path(first, second, data.time.values, p.lr, of, p.length)
        left.plot(data.time, a * b, "--", color=BLACK, linewidth=1, label=None if k else "recursion, population")
        error = theory.last_error(a * b, of, p.length)
        right.plot(
            data.time, np.maximum(error, 1e-14), "--", color=BLACK, linewidth=1, label=None if k else "recursion, population"
        )
    left.axhline(float(theory.far_limit(of)), color=PINK, linewidth=0.9, label="$1/c^2$")
    left.set(xlabel="epoch", ylabel="$ab$", ylim=(0, 2.2))
    right.set(xlabel="epoch", ylabel="relative error, last position", yscale="log", ylim=(1e-14, 1e4))
    left.legend(loc="upper right", fontsize=7)
    right.legend(loc="upper right", fontsize=7)
    return figure


def kurtosis(data: xr.Dataset) -> Figure:
    """What is left of the error after training, over the kurtosis of the start."""
    figure, ((axes,),) = plot.canvas(width=4.2, height=2.9)
    p, last = ts.theory.fields(data), data.isel(time=-1)
    shown = last.assign_coords(power=theory.kurtosis(theory.moments(p.dim, p.scale, data.power.values)))
    plot.band(axes, shown.error, "power", "trained, fresh sequences", color=BLUE, marker="o", linestyle="none")
    powers = np.linspace(0, float(data.power[-1]), 60)
    of = theory.moments(p.dim, p.scale, powers)
    finite = theory.last_error(theory.limit(of, p.length), of, p.length)
    axes.plot(theory.kurtosis(of), finite, "--", color=BLACK, label=f"formula, $T={p.length}$")
    axes.plot(theory.kurtosis(of), theory.least_error(of), ":", color=ORANGE, label=r"$1-k_1^2/(k_2\,Ex_{1j}^2)$, $T\to\infty$")
    axes.axvline(1, color=GREEN, linewidth=0.8, label="signs: recovered")
    axes.axvline(3, color="0.6", linewidth=0.8, linestyle="-.", label="Gaussian")
    axes.set(xlabel="kurtosis of the start's coordinates", ylabel="relative error, last position", ylim=(-0.02, 0.8))
    axes.legend(loc="lower right", fontsize=7)
    return figure


def heat_maps(data: xr.Dataset) -> Figure:
    """All entries after training on ones, and on random signs: the mean over seeds; the colours end far below the diagonals."""
    figure, axes = plot.canvas(columns=2, rows=2, width=3.9, height=2.7)
    for row, (aligned, start) in zip(axes, ((1.0, "ones"), (0.0, "random signs")), strict=True):
        seen = data.sel(aligned=aligned, clip=0.0).mean("seed")
        for panel, name, label in zip(row, ("key_query", "value"), ("$W^{KQ}$", "$W^{PV}$"), strict=True):
            first, matrix = str(seen[name].dims[0]), seen[name]
            matrix = matrix.assign_coords({dim: np.arange(1, 1 + matrix.sizes[dim]) for dim in matrix.dims})
            plot.heat_map(panel, matrix, "column", first, label=f"{label}, real part", vmin=-0.1, vmax=0.1, cmap="RdBu_r")
            for i in matrix[first].values:
                for j in matrix.column.values:
                    value = float(matrix.sel({first: i, "column": j}))
                    if abs(value) > 0.1:
                        panel.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=6, color="white")
            panel.invert_yaxis()
            panel.set_xticks(matrix.column.values)
            panel.set_yticks(matrix[first].values)
            panel.set(xlabel="column", ylabel="row", title=f"{label}, start of {start}")
    return figure


def sample_size(data: xr.Dataset) -> Figure:
    """The off-diagonal part of both blocks, over the number of sequences."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.5, height=2.8)
    last = data.isel(time=-1)
    for panel, matrix, block in ((left, 0, "$W^{KQ}$"), (right, 1, "$W^{PV}$")):
        for aligned, label, color, marker in ((1.0, "start of ones", ORANGE, "s"), (0.0, "random signs", BLUE, "o")):
            off = last.off_diagonal.isel(matrix=matrix).sel(aligned=aligned)
            plot.band(panel, off, "n", label, color=color, marker=marker)
        n = data.n.values.astype(float)
        scale = float(last.off_diagonal.isel(matrix=matrix).sel(aligned=0.0).isel(n=0).mean())
        panel.plot(n, scale * (n / n[0]) ** -0.5, "--", color=BLACK, label="$n^{-1/2}$")
        panel.axhline(0.05, color="0.6", linewidth=0.8, linestyle=":", label="5 %")
        panel.set(xscale="log", yscale="log", xlabel="sequences $n$", ylabel=f"off-diagonal over diagonal, {block}")
        panel.set_ylim(0.01, 0.3)
        panel.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], ["1 %", "2 %", "5 %", "10 %", "20 %"])
        panel.set_xticks(n, [f"{v:g}" for v in n])
        panel.minorticks_off()
    left.legend(loc="lower left", fontsize=7)
    right.legend(loc="lower left", fontsize=7)
    return figure

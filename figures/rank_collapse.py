"""Figures of "On the role of attention masks and LayerNorm in transformers": collapse by mask, and a portrait of two tokens."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import theorysim as ts

theory, plot = ts.theory.rank_collapse, ts.plotting
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = plot.COLORS
LIGHT_BLUE, LIGHT_ORANGE = "#DCE9F3", "#F9E0D0"
MASKS = (("full", BLUE, "-"), ("causal", ORANGE, "--"), ("backward window", GREEN, "-."), ("two-sided window", PINK, ":"))
LEAST = 1e-16  # rounding in float64


def draw(data: xr.DataTree) -> dict[str, Figure]:
    """The published curves by mask and temperature, the two-token portrait, the radius, and equilibria of each rank."""
    found = {name: node.to_dataset() for name, node in data.children.items()}
    return {
        "portrait": portrait(found["pair"]),
        "basins": basins(found["pair"]),
        "masks": masks(found["stacks"]),
        "linear": linear(found["stacks"]),
        "temperature": temperature(found["stacks"]),
        "measures": measures(found["stacks"]),
        "radius": radius(found["radius"]),
        "ranks": ranks(found["ranks"]),
    }


# --- two tokens --------------------------------------------------------------------------------------------------------


def angle_of(point: np.ndarray) -> np.ndarray:
    return np.arctan2(point[..., 1], point[..., 0])


def reaches_b(first: np.ndarray, second: np.ndarray, shear: float, layers: int = 100) -> np.ndarray:
    """Whether the theory's map takes the second token off the line of the first."""
    for _ in range(layers):
        first, second = theory.two_token_map(first, second, shear)
    return abs(np.sin(second - first)) > 1 / (2 * shear)


def in_pi(axes: Axes, x: bool = True, y: bool = True) -> None:
    ticks, names = np.arange(-2, 3) * np.pi / 2, [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"]
    if x:
        axes.set_xticks(ticks, names)
        axes.set_xlim(-np.pi, np.pi)
    if y:
        axes.set_yticks(ticks, names)
        axes.set_ylim(-np.pi, np.pi)


def portrait(data: xr.Dataset) -> Figure:
    """The two-token LayerNorm map: the circle of the second token, its map, and the torus of both."""
    shear = float(data.shear.sel(shear=2.0, method="nearest"))
    data = data.sel(shear=shear).isel(seed=0)
    figure, ((circle, cobweb, torus),) = plot.canvas(columns=3, width=3.5, height=3.5)
    second_token(circle, data.sel(moving=0), shear)
    map_of_angles(cobweb, shear)
    both_tokens(torus, data.sel(moving=1), shear)
    figure.suptitle(rf"two tokens, rows of unit length, $W_V=((1,w),(0,1))$, $w={shear:g}$", fontsize=10)
    return figure


def second_token(axes: Axes, data: xr.Dataset, shear: float) -> None:
    b, apart = theory.equilibrium_b(shear), theory.equilibrium_b(shear, +1)
    edge, low = angle_of(apart), -np.pi / 2
    arcs = ((np.linspace(low, edge, 100), LIGHT_BLUE), (np.linspace(edge, low + 2 * np.pi, 100), LIGHT_ORANGE))
    for arc, color in arcs:
        axes.plot(1.07 * np.cos(arc), 1.07 * np.sin(arc), color=color, linewidth=11, solid_capstyle="butt")
    for kind, color, label in ((0, BLUE, "starts that reach $A$"), (1, ORANGE, "starts that reach $B$")):
        start = data.second.values[data.reached.values == kind][:150]
        axes.plot(1.07 * np.cos(start), 1.07 * np.sin(start), ".", color=color, markersize=2.5, label=label)
    axes.plot(np.cos(np.linspace(-np.pi, np.pi, 300)), np.sin(np.linspace(-np.pi, np.pi, 300)), color="0.6", linewidth=0.8)
    for start, color in ((0.0, BLUE), (edge - 0.15, BLUE), (edge + 0.15, ORANGE), (-1.8, ORANGE)):
        path = [start]
        for _ in range(12):
            path.append(float(theory.two_token_map(np.pi / 2, path[-1], shear)[1]))
        x, y = 0.88 * np.cos(np.array(path)), 0.88 * np.sin(np.array(path))
        axes.plot(x, y, ".-", color=color, linewidth=0.8, markersize=3)
        for k in range(2):
            axes.annotate("", (x[k + 1], y[k + 1]), (x[k], y[k]), arrowprops={"arrowstyle": "->", "color": color, "lw": 0.8})
    axes.plot(*b, "o", color=ORANGE, markersize=8, label="$B$: rank 2, attracts")
    axes.plot(0, 1, "o", color=BLUE, markersize=8, label="$A=x_1$: rank 1, attracts")
    axes.plot(*apart, "o", color="white", markeredgecolor=BLACK, markersize=7, label="separatrix: repels")
    axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xlabel="first coordinate of $x_2$", ylabel="second coordinate of $x_2$")
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set_title("first token at rest at $A$", loc="left")
    axes.legend(loc="center", fontsize=7, bbox_to_anchor=(0.55, 0.47))


def map_of_angles(axes: Axes, shear: float) -> None:
    theta = np.linspace(-np.pi, np.pi, 2001)
    image = np.array(theory.two_token_map(np.pi / 2, theta, shear)[1])
    image[np.append(abs(np.diff(image)) > 1, False)] = np.nan
    axes.plot(theta, image, color=BLACK, label=r"one layer, $f(\theta_2)$")
    axes.plot(theta, theta, color="0.6", linewidth=0.8, label=r"$\theta_2$")
    for start, color in ((-0.9, BLUE), (-1.65, ORANGE)):
        x = [start, start]
        y = [-np.pi, start]
        for _ in range(8):
            new = float(theory.two_token_map(np.pi / 2, x[-1], shear)[1])
            if abs(new - x[-1]) > np.pi:
                break
            x, y = [*x, x[-1], new], [*y, new, new]
        axes.plot(x, y, color=color, linewidth=0.9)
    points = ((np.pi / 2, BLUE, BLUE), (angle_of(theory.equilibrium_b(shear)), ORANGE, ORANGE))
    points += ((angle_of(theory.equilibrium_b(shear, +1)), "white", BLACK),)
    names = zip(points, "ABS", theory.slopes(shear), strict=True)
    for (at, face, rim), name, slope in names:
        axes.plot(at, at, "o", color=face, markeredgecolor=rim, markersize=7)
        text = {"A": "$A$", "B": "$B$", "S": "separatrix"}[name]
        place = {"A": (2, -16), "B": (10, 9), "S": (-86, 2)}[name]
        axes.annotate(f"{text}: slope {slope:.2f}", (at, at), place, textcoords="offset points", fontsize=7.5)
    in_pi(axes)
    axes.set(xlabel=r"angle $\theta_2$ of the second token", ylabel="its angle after one layer")
    axes.legend(loc="upper left", fontsize=7.5)
    axes.set_title("its map, with one path in each basin", loc="left")


def both_tokens(axes: Axes, data: xr.Dataset, shear: float) -> None:
    side = np.linspace(-np.pi, np.pi, 151)
    first, second = np.meshgrid(side, side)
    inside = reaches_b(first, second, shear)
    axes.contourf(side, side, 1.0 * inside, levels=[-1, 0.5, 2], colors=[LIGHT_BLUE, LIGHT_ORANGE])
    axes.contour(side, side, 1.0 * inside, levels=[0.5], colors=[BLACK], linewidths=0.8)
    axes.plot([], [], color=BLACK, linewidth=0.8, label="separatrix")
    coarse = np.linspace(-np.pi, np.pi, 19)[:-1] + np.pi / 18
    x, y = np.meshgrid(coarse, coarse)
    to = theory.two_token_map(x, y, shear)
    turn = [np.angle(np.exp(1j * (new - old))) for new, old in zip(to, (x, y), strict=True)]
    axes.quiver(x, y, *turn, color="0.55", scale=28, width=0.004)
    for kind, color, label in ((0, BLUE, "run, ends at $A$"), (1, ORANGE, "run, ends at $B$")):
        kept = np.flatnonzero(data.reached.values == kind)[:200]
        axes.plot(data.first.values[kept], data.second.values[kept], ".", color=color, markersize=3, label=label)
    for sign in (1, -1):
        b, apart = sign * theory.equilibrium_b(shear), sign * theory.equilibrium_b(shear, +1)
        axes.plot(sign * np.pi / 2, sign * np.pi / 2, "o", color=BLUE, markersize=7)
        axes.plot(sign * np.pi / 2, angle_of(b), "o", color=ORANGE, markersize=7)
        axes.plot(sign * np.pi / 2, angle_of(apart), "o", color="white", markeredgecolor=BLACK, markersize=6)
    in_pi(axes)
    axes.grid(visible=False)
    axes.set(xlabel=r"angle $\theta_1$ of the first token", ylabel=r"angle $\theta_2$ of the second token")
    axes.set_title(f"both start anywhere: {float(data.fraction):.3f} reach $B$", loc="left")
    axes.legend(loc="upper left", fontsize=7, frameon=True, framealpha=0.9, ncols=3, columnspacing=0.8, handletextpad=0.4)


def basins(data: xr.Dataset) -> Figure:
    """Where the second token must start to reach B, over w; and the share of those starts."""
    figure, ((left, right),) = plot.canvas(columns=2, width=4.2, height=3.2)
    rest, edges = data.sel(moving=0), np.linspace(-np.pi, np.pi, 49)
    x, shares = rest.shear.values, []
    for w in x:
        part = rest.sel(shear=w)
        start, hit = part.second.values.ravel(), part.reached.values.ravel().astype(float)
        count = np.histogram(start, edges)[0]
        shares.append(np.histogram(start, edges, weights=hit)[0] / np.maximum(count, 1))
    place = np.arange(len(x))
    mesh = left.pcolormesh(
        place, (edges[1:] + edges[:-1]) / 2, np.array(shares).T, cmap="Oranges", vmin=0, vmax=2.6, rasterized=True
    )
    left.grid(visible=False)
    fine = np.linspace(0, len(x) - 1, 400)
    w = np.interp(fine, place, x)
    with np.errstate(invalid="ignore"):
        curves = [np.where(w >= 1, angle_of(theory.equilibrium_b(np.maximum(w, 1), side)), np.nan) for side in (-1, 1)]
    left.plot(fine, curves[0], color=ORANGE, linewidth=2.5, label="$B$")
    left.plot(fine, curves[1], "--", color=BLACK, label="separatrix")
    left.axhline(np.pi / 2, color=BLUE, linewidth=2, label="$A$")
    left.axhline(-np.pi / 2, color=BLACK, linewidth=0.9, linestyle=":", label="$-x_1$: both cancel")
    left.set_xticks(place, [f"{v:g}" for v in x])
    in_pi(left, x=False)
    left.set(xlabel="$w$", ylabel=r"start $\theta_2$ of the second token")
    left.legend(loc="upper left", fontsize=7, ncols=2, frameon=True, framealpha=0.9, bbox_to_anchor=(0.0, 0.74))
    bar = figure.colorbar(mesh, ax=left, label="share of starts that reach $B$", boundaries=np.linspace(0, 1, 101))
    bar.set_ticks([0, 0.5, 1])
    bar.outline.set_visible(False)  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]
    plot.band(right, rest.fraction, "shear", "first token at rest", color=BLUE, marker="o", linestyle="none")
    plot.band(
        right, data.sel(moving=1).fraction, "shear", "first token anywhere (no formula)", color=GREEN, marker="^", linewidth=0.8
    )
    grid = np.linspace(1, float(x.max()), 400)
    right.plot(grid, theory.basin(grid), color=BLACK, label=r"theory: $\frac{1}{2}-\frac{1}{2\pi}\arcsin\frac{1}{w}$")
    right.plot([float(x.min()), 1], [0, 0], color=BLACK, linewidth=1.4)
    right.axvline(1, color=BLACK, linewidth=0.8, linestyle=":")
    right.set(xlabel="$w$", ylabel="share of starts that reach $B$", ylim=(-0.02, 0.68))
    right.legend(loc="upper right", fontsize=7.5)
    return figure


# --- stacks ------------------------------------------------------------------------------------------------------------


def relative(data: xr.Dataset) -> xr.DataArray:
    return (data.distance / data.distance.isel(time=0)).clip(LEAST)


def geometric(axes: Axes, data: xr.DataArray, label: str, **style) -> None:
    """The median over seeds, with a band of the central ones: mu spans decades."""
    x = data.time.values
    (line,) = axes.plot(x, data.median("seed"), label=label, **style)
    axes.fill_between(
        x, data.quantile(0.1, "seed"), data.quantile(0.9, "seed"), color=line.get_color(), alpha=0.18, linewidth=0
    )


def masks(data: xr.Dataset) -> Figure:
    """The published layout: mu against layers, by mask, without and with rows of unit length, for both laws of W_V."""
    figure, axes = plot.canvas(columns=2, rows=2, width=3.7, height=2.6)
    p = ts.theory.fields(data)
    gap = float(theory.window_gap(p.tokens, p.reach))
    for row, normalised in enumerate((0.0, 1.0)):
        for column, gaussian in enumerate((0.0, 1.0)):
            panel = axes[row, column]
            part = data.sel(normalised=normalised, gaussian=gaussian, gain=1).sel(time=slice(1, None))
            whole = data.sel(normalised=normalised, gaussian=gaussian, gain=1)
            for k, (name, color, line) in enumerate(MASKS):
                seen = relative(whole.sel(mask=k)).sel(time=part.time)
                geometric(panel, seen, name, color=color, linestyle=line)
            t = part.time.values.astype(float)
            panel.plot(t, np.maximum(0.5**t, LEAST / 10), color=BLACK, linewidth=0.9, linestyle="--", label=r"$2^{-t}$")
            panel.plot(t, (1 - gap) ** t, color=BLACK, linewidth=0.9, linestyle=":", label=r"$\lambda_2^t$, two-sided window")
            panel.axhline(LEAST, color="0.6", linewidth=0.8)
            law = "Gaussian" if gaussian else "orthogonal"
            kind = "rows of unit length" if normalised else "no normalisation"
            panel.set_title(f"{kind}, {law} $W_V$", loc="left")
            panel.set(xscale="log", yscale="log", ylim=(LEAST / 5, 30))
    for panel in axes[1]:
        panel.set_xlabel("layer")
    for panel in axes[:, 0]:
        panel.set_ylabel(r"$\mu(X^t)/\mu(X^0)$")
    axes[0, 1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[0, 1].annotate("rounding", (1.1, 2 * LEAST), fontsize=7, color="0.4")
    return figure


def linear(data: xr.Dataset) -> Figure:
    """log mu is linear in depth, at the rates of the theory."""
    figure, ((axes,),) = plot.canvas(width=4.8, height=3.2)
    part, p = data.sel(normalised=0, gaussian=0, gain=1), ts.theory.fields(data)
    gap = float(theory.window_gap(p.tokens, p.reach))
    for k, (name, color, line) in enumerate(MASKS):
        geometric(axes, relative(part.sel(mask=k)), name, color=color, linestyle=line)
    causal = part.sel(mask=1)
    after = causal.sel(time=slice(1, 48))
    own = np.exp((after.slowest - after.slowest.sel(time=16)).mean("seed"))
    start = float(relative(causal).sel(time=16).median("seed"))
    axes.plot(after.time, 3 * start * own, color=BLACK, linewidth=1, label=r"$\max_{j\geq2}\prod_s A^s_{jj}$, causal (shifted)")
    t = np.array([0.0, 64.0])
    axes.plot(t, 0.4 * (1 - gap) ** t, color=BLACK, linewidth=1, linestyle=":", label=r"$\lambda_2^t$, two-sided (shifted)")
    axes.set(yscale="log", xlim=(0, 64), ylim=(LEAST / 5, 30), xlabel="layer", ylabel=r"$\mu(X^t)/\mu(X^0)$")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def temperature(data: xr.Dataset) -> Figure:
    """The published temperatures: larger logits, by mask."""
    figure, axes = plot.canvas(columns=4, width=2.6, height=2.7)
    width = ts.theory.fields(data).width
    for k, (name, _, _) in enumerate(MASKS):
        panel, part = axes[0, k], data.sel(normalised=0, gaussian=0, mask=k)
        for gain, color, line in ((1.0, BLUE, "-"), (8.0, ORANGE, "--"), (64.0, GREEN, "-.")):
            geometric(
                panel,
                relative(part.sel(gain=gain)),
                rf"$d_{{QK}}={Fraction(width / gain**2).limit_denominator()}$",
                color=color,
                linestyle=line,
            )
        panel.set(yscale="log", xlim=(0, 40), ylim=(LEAST, 10), xlabel="layer", title=name)
    axes[0, 0].set_ylabel(r"$\mu(X^t)/\mu(X^0)$")
    axes[0, 3].legend(loc="lower left")
    return figure


def measures(data: xr.Dataset) -> Figure:
    """Effective rank and mean cosine against layers."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.6)
    part = data.sel(normalised=1, gaussian=0, gain=1).sel(time=slice(1, None))
    for k, (name, color, line) in enumerate(MASKS):
        geometric(left, part.effective_rank.sel(mask=k), name, color=color, linestyle=line)
        geometric(right, part.mean_cosine.sel(mask=k), name, color=color, linestyle=line)
    left.axhline(1, color=BLACK, linewidth=0.8, linestyle=":", label="collapsed: 1")
    left.set(xscale="log", yscale="log", xlabel="layer", ylabel=r"effective rank $(\sum\sigma^2)^2/\sum\sigma^4$")
    left.minorticks_off()
    left.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    right.axhline(1, color=BLACK, linewidth=0.8, linestyle=":")
    right.set(xscale="log", xlabel="layer", ylabel=r"mean $|\cos|$ of two tokens", ylim=(0, 1.05))
    left.legend(loc="upper right", fontsize=7.5)
    right.legend(*left.get_legend_handles_labels(), loc="lower right", fontsize=7.5)
    return figure


def gaps(data: xr.Dataset) -> np.ndarray:
    """The measured 1 - lambda_2 for each reach: the last half of the depths above rounding, of the mean log mu."""
    mean = xr.DataArray(np.log(relative(data))).mean("seed")
    found = []
    for reach in data.reach.values:
        curve = mean.sel(reach=reach)
        kept = curve.time.values[curve.values > np.log(1e-11)].astype(float)
        late = kept[kept >= kept[-1] / 2]
        found.append(-np.expm1(np.polyfit(late, curve.sel(time=late), 1)[0]) if len(late) > 1 else np.nan)
    return np.array(found)


def radius(data: xr.Dataset) -> Figure:
    """The rate against the window, beside the exact one and theorem 1's; and its local slopes."""
    figure, ((left, right),) = plot.canvas(columns=2, width=3.8, height=3.0)
    p, reach = ts.theory.fields(data), data.reach.values
    fine, measured = np.arange(1, int(reach.max()) + 1), gaps(data)
    exact = theory.window_gap(p.tokens, fine)
    left.plot(reach, measured, "o", color=BLUE, label="measured")
    left.plot(fine, exact, color=BLACK, label=r"exact $1-\lambda_2$")
    left.plot(fine, theory.diffusive_gap(p.tokens, fine), "--", color=GREEN, label=r"diffusion, $\pi^2w(w+1)/(6N^2)$")
    least = [-np.expm1(np.log1p(-((1 / (2 * w + 1)) ** theory.radius(p.tokens, w))) / theory.radius(p.tokens, w)) for w in fine]
    left.plot(fine, least, ":", color=PINK, label=r"theorem 1: $1-(1-\epsilon^r)^{1/r}$")
    left.set(xscale="log", yscale="log", xlabel="reach $w$ of the window", ylabel="rate a layer", ylim=(1e-10, 1))
    left.legend(loc="lower right", fontsize=7.5)
    middle = np.sqrt(fine[1:] * fine[:-1])
    right.plot(middle, np.diff(np.log(exact)) / np.diff(np.log(fine)), color=BLACK, label="exact")
    between = np.sqrt(reach[1:] * reach[:-1])
    with np.errstate(invalid="ignore"):
        right.plot(between, np.diff(np.log(measured)) / np.diff(np.log(reach)), "o", color=BLUE, label="measured")
    right.axhline(1.84, color=ORANGE, linestyle="--", label="one power, 1.84")
    right.axhline(2, color=BLACK, linewidth=0.8, linestyle=":", label="long sequences, wide windows: 2")
    right.set(xscale="log", xlabel="reach $w$ of the window", ylabel=r"local slope of $1-\lambda_2$", ylim=(1.5, 2.3))
    right.legend(loc="upper left", fontsize=7.5)
    ticks = [t for t in (1, 2, 4, 8) if t <= reach.max()]
    for axes in (left, right):
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
    return figure


def ranks(data: xr.Dataset) -> Figure:
    """One stack with equilibria of every rank: their tokens, and what a push does."""
    count = data.sizes["rank"]
    figure, axes = plot.canvas(columns=count + 1, width=2.0, height=2.5)
    tokens = data.equilibrium.isel(seed=0)
    for r in range(count):
        panel = axes[0, r]
        panel.pcolormesh(tokens.isel(rank=r).values, cmap="PuOr", vmin=-1, vmax=1)
        for (i, j), value in np.ndenumerate(tokens.isel(rank=r).values):
            color = "white" if abs(value) > 0.6 else BLACK
            panel.text(
                j + 0.5, i + 0.5, f"{round(float(value), 2) + 0.0:.2f}", ha="center", va="center", fontsize=6.5, color=color
            )
        panel.invert_yaxis()
        rank, moved = (float(data[name].isel(rank=r)[0]) for name in ("numerical_rank", "residual"))
        panel.set_title(f"rank {rank:.0f}\none layer moves it {moved:.0e}", fontsize=7.5)
        panel.grid(visible=False)
        ticks = np.arange(tokens.sizes["token"]) + 0.5
        panel.set_xticks(ticks, [str(k + 1) for k in range(len(ticks))])
        panel.set_yticks(ticks, [str(k + 1) for k in range(len(ticks))])
        panel.set(xlabel="coordinate", ylabel="token" if r == 0 else "")
    last = axes[0, count]
    for r in range(1, count):
        color, line = (ORANGE, GREEN, PINK, SKY)[(r - 1) % 4], ("-", "--", "-.", ":")[(r - 1) % 4]
        geometric(last, data.away.isel(rank=r).sel(time=slice(1, None)), f"rank {r + 1}", color=color, linestyle=line)
    last.set(xscale="log", yscale="log", xlabel="layer", ylabel="distance after a push")
    last.legend(loc="upper left", fontsize=7)
    last.set(ylim=(None, 1e3))
    return figure

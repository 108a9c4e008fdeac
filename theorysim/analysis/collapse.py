"""The exponents with which curves fall onto one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidArgument
from .exponent import quantiles
from .phase_boundary import crossing, falls, isotonic, positions

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Collapse:
    """Curves drawn against one combination `x = along * prod_k field_k^a_k`; made by `collapse`.

    - `along`: the field whose exponent is 1.
    - `exponents`, `low`, `high`: the exponent of each other field, and its interval.
    - `local`, `local_low`, `local_high`: for each field, its exponents between neighbouring values (at their geometric mean),
      the other fields fixed. One combination serves all curves only where these agree.
    - `spread_before`, `spread_after`: how far apart the curves are, in log `along` and in log `x` (root mean square).
    - `crossings`: where each curve reaches each level.

    >>> import numpy as np, xarray as xr
    >>> axes = {"seed": [0, 1], "dim": [1.0, 16.0], "signal": [0.0, 1.0, 9.0]}
    >>> seed, dim, signal = (xr.DataArray(values, {name: values}, (name,)) for name, values in axes.items())
    >>> print(collapse(xr.Dataset({"gain": signal * dim**0.5 + 0 * seed}), "gain", "dim"))
    signal * dim^0.500 [0.500, 0.500]; spread 0.54 to ...
    """

    along: str
    exponents: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    local: dict[str, xr.DataArray]
    local_low: dict[str, xr.DataArray]
    local_high: dict[str, xr.DataArray]
    spread_before: float
    spread_after: float
    crossings: xr.DataArray

    def __str__(self) -> str:
        powers = (f"{name}^{a:.3f} [{self.low[name]:.3f}, {self.high[name]:.3f}]" for name, a in self.exponents.items())
        return f"{self.along} * {' * '.join(powers)}; spread {self.spread_before:.2g} to {self.spread_after:.2g}"

    def x(self, ds: xr.Dataset) -> xr.DataArray:
        """The combination at the points of a Dataset: the horizontal axis of the collapsed curves."""
        combined = ds[self.along]
        for name, a in self.exponents.items():
            combined = combined * ds[name] ** a
        return combined.rename("x")


def collapse(
    ds: xr.Dataset,
    variable: str,
    over: Sequence[str],
    *,
    along: str = "signal",
    levels: int = 7,
    resamples: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> Collapse:
    r"""Fit the exponents $a_k$ with which the curves of a variable become one function of $x=s\prod_k f_k^{a_k}$.

    If $v = g(s\prod_k f_k^{a_k})$ with a monotone $g$, then the signal $s^*$ at which a curve reaches the level $\ell$ obeys

    $$ \log s^*(\ell, f) = c_\ell - \sum_k a_k\log f_k, \qquad c_\ell=\log g^{-1}(\ell), $$

    which is linear in $a$, whatever the shape of $g$: it is solved by least squares over all levels and curves, with one free
    constant a level. The seed mean of each curve is made monotone by its isotonic fit, as in `phase_boundary`. The levels
    divide evenly the range from the median over curves of their least value to that of their greatest; a level that a curve
    does not reach is left out for this curve. Cells share random numbers within a seed, so intervals resample whole seeds.

    **Arguments:**

    - `ds`: with dimensions `seed`, `along` and those of `over`; select one time first.
    - `variable`: its name in `ds`; whether it rises or falls along `along` is read from its ends.
    - `over`: the fields whose exponents are fitted, each with at least two values, which are positive.
    - `along`: the field whose exponent is 1; its values must be >= 0 and increase.
    - `levels`: how many levels, >= 1.
    - `resamples`: bootstrap resamples of the seeds, >= 100.
    - `confidence`: of the percentile intervals, in (0, 1).
    - `seed`: of the resampling.

    **Returns:** a `Collapse`.

    **Raises:** `InvalidArgument` for an unknown variable or field, values out of range, or curves that reach too few levels
    for their exponents.

    >>> import numpy as np, xarray as xr
    >>> signal, dim = np.geomspace(0.1, 100, 40), np.geomspace(1e2, 1e6, 5)
    >>> curves = np.exp(-signal * dim[:, None] ** -0.25) * np.ones((10, 1, 1))
    >>> ds = xr.Dataset({"error": (("seed", "dim", "signal"), curves)}, {"signal": signal, "dim": dim})
    >>> fit = collapse(ds, "error", over=("dim",))
    >>> round(fit.exponents["dim"], 2), fit.spread_after < 0.01 < 0.5 < fit.spread_before
    (-0.25, True)
    """
    import xarray as xr

    over = (over,) if isinstance(over, str) else tuple(over)
    x = positions(ds, variable, along)
    logs = _check(ds, variable, over, along, x)
    for name, value, low in (("levels", levels, 1), ("resamples", resamples, 100)):
        if not isinstance(value, int) or value < low:
            raise InvalidArgument(name, value, f"must be a whole number >= {low}")
    if not 0 < confidence < 1:
        raise InvalidArgument("confidence", confidence, "must be in (0, 1)")
    values = np.asarray(ds[variable].transpose("seed", *over, along), float)
    if not np.isfinite(values.mean(axis=0)).all(axis=-1).any():
        raise InvalidArgument("variable", variable, "every curve has a value that is not a number")
    sign = 1 if falls(values.mean(axis=0)) else -1
    values = sign * values
    curves = isotonic(values.mean(axis=0))
    heights = np.linspace(np.nanmedian(curves[..., -1]), np.nanmedian(curves[..., 0]), levels + 2)[1:-1]

    def log_crossings(fit: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            points = np.log(np.stack([crossing(x, fit, height) for height in heights]))
        return np.where(np.isfinite(points), points, np.nan)

    measured = log_crossings(curves)
    exponents, local = _exponents(measured, logs)
    if not np.isfinite(exponents).all():
        raise InvalidArgument("variable", variable, f"too few of its curves along {along} reach a level that others reach too")
    rng, count = np.random.default_rng(seed), len(values)
    resampled = (values[rng.integers(count, size=count)].mean(axis=0) for _ in range(resamples))
    draws = [_exponents(log_crossings(isotonic(mean)), logs) for mean in resampled]
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    edges = quantiles(np.stack([found for found, _ in draws]), tails)
    low, high = (dict(zip(over, map(float, edge), strict=True)) for edge in edges)
    locals_: tuple[dict[str, xr.DataArray], dict[str, xr.DataArray], dict[str, xr.DataArray]] = ({}, {}, {})
    for k, name in enumerate(over):
        coords = {other: np.asarray(ds[other], float) for other in over}
        coords[name] = np.sqrt(coords[name][1:] * coords[name][:-1])
        parts = [local[k], *quantiles(np.stack([parts[k] for _, parts in draws]), tails)]
        for kept, part in zip(locals_, parts, strict=True):
            kept[name] = xr.DataArray(part, coords, over)
    shifted = measured + np.tensordot(exponents, np.stack(np.meshgrid(*logs, indexing="ij")), 1)
    coords = {"level": sign * heights, **{name: ds[name] for name in over}}
    points = xr.DataArray(np.exp(measured), coords, ("level", *over), name=along)
    fitted = dict(zip(over, map(float, exponents), strict=True))
    return Collapse(along, fitted, low, high, *locals_, _spread(measured), _spread(shifted), points)


def _check(ds: xr.Dataset, variable: str, over: tuple[str, ...], along: str, x: np.ndarray) -> list[np.ndarray]:
    """The logarithms of the fields' values, after all checks of dimensions."""
    dims = [str(dim) for dim in ds[variable].dims]
    if x[0] < 0:
        raise InvalidArgument("along", along, "a power law needs values >= 0")
    if not over or along in over or len(set(over)) < len(over):
        raise InvalidArgument("over", over, f"must name at least one field, each once, and not {along}")
    for name in over:
        if name not in dims or name == "seed" or ds.sizes[name] < 2:
            raise InvalidArgument("over", name, "must be a swept field with at least two values")
        if np.any(np.asarray(ds[name], float) <= 0):
            raise InvalidArgument("over", name, "a power law needs positive values")
    rest = set(dims) - {*over, along, "seed"}
    if rest:
        raise InvalidArgument("variable", variable, f"select one value of {', '.join(sorted(rest))} first, or add it to `over`")
    if "seed" not in dims or ds.sizes["seed"] < 2:
        raise InvalidArgument("seed", ds.sizes.get("seed", 0), "intervals need at least two seeds")
    return [np.log(np.asarray(ds[name], float)) for name in over]


def _exponents(points: np.ndarray, logs: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Exponents from log crossings (level, *fields), and those between neighbours, averaged over levels; NaN if undecided."""
    reached, count = np.isfinite(points), len(points)
    level, *places = np.nonzero(reached)
    rows = np.column_stack([np.eye(count)[level], *(-log[place] for log, place in zip(logs, places, strict=True))])
    rows = rows[:, np.concatenate([reached.reshape(count, -1).any(axis=1), np.ones(len(logs), bool)])]
    found = np.full(len(logs), np.nan)
    if len(rows) and np.linalg.matrix_rank(rows) == rows.shape[1]:
        found = np.linalg.lstsq(rows, points[reached], rcond=None)[0][-len(logs) :]
    local = []
    for k, log in enumerate(logs):
        steps = np.diff(log).reshape([-1 if axis == k else 1 for axis in range(len(logs))])
        local.append(_mean(-np.diff(points, axis=k + 1) / steps))
    return found, local


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis of what is finite; NaN where nothing is."""
    good = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.where(good, values, 0).sum(axis=0) / good.sum(axis=0)


def _spread(points: np.ndarray) -> float:
    """Root mean square distance, over levels and curves, from the mean of the level."""
    curves = points.reshape(len(points), -1).T
    return float(np.sqrt(np.nanmean((curves - _mean(curves)) ** 2)))

"""Exponents of power laws, with intervals from seeds and local slopes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidArgument
from .jackknife import jackknife

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Exponent:
    """A fitted power law `curve ~ prefactor * x^slope`.

    - `slope`, `low`, `high`: the exponent and its interval.
    - `prefactor`: the constant.
    - `curve`: the measured points.
    - `local`: slopes between neighbouring points, at their geometric mean; `local_low`, `local_high` their intervals. A power
      law is a power law only where these agree.

    >>> import numpy as np, xarray as xr
    >>> ds = xr.Dataset({"y": (("seed", "x"), np.ones((3, 2)) * [1.0, 8.0])}, {"x": [1.0, 4.0], "seed": range(3)})
    >>> print(fit_exponent(ds, lambda d: d.y.mean("seed"), against="x"))
    1.500 [1.500, 1.500]
    """

    slope: float
    low: float
    high: float
    prefactor: float
    curve: xr.DataArray
    local: xr.DataArray
    local_low: xr.DataArray
    local_high: xr.DataArray

    def __str__(self) -> str:
        return f"{self.slope:.3f} [{self.low:.3f}, {self.high:.3f}]"


def log_slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Least-squares slope and intercept of log y against log x, over the points where y is a positive number."""
    good = np.isfinite(y) & (y > 0)
    if good.sum() < 2:
        return float("nan"), float("nan")
    slope, intercept = np.polyfit(np.log(x[good]), np.log(y[good]), 1)
    return float(slope), float(intercept)


def quantiles(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles over the first axis, without the values that are NaN; NaN where all are."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
        return np.nanquantile(values, levels, axis=0)


def fit_exponent(
    ds: xr.Dataset,
    measure: Callable[[xr.Dataset], xr.DataArray],
    against: str,
    *,
    resamples: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> Exponent:
    r"""Fit $y\propto x^a$ to a measured curve, with an interval from resampled seeds.

    $$ \hat a = \arg\min_a \min_c \sum_k (\log y(x_k) - a\log x_k - c)^2 $$

    Cells of a sweep share random numbers within a seed, so whole seeds are resampled, never cells.

    **Arguments:**

    - `ds`: with dimensions `seed` and `against`.
    - `measure`: `Dataset -> DataArray` over `against` alone, such as a `phase_boundary`.
    - `against`: the field on the horizontal axis; its values must be positive.
    - `resamples`: bootstrap resamples of the seeds, >= 100.
    - `confidence`: of the percentile interval, in (0, 1).
    - `seed`: of the resampling.

    **Returns:** an `Exponent`, with local slopes.

    **Raises:** `InvalidArgument` for values out of range.

    >>> import numpy as np, xarray as xr
    >>> dim, noise = np.geomspace(10, 1e4, 4), np.random.default_rng(0).normal(size=(20, 4))
    >>> ds = xr.Dataset({"y": (("seed", "dim"), dim**0.25 * (1 + 0.01 * noise))}, {"dim": dim, "seed": range(20)})
    >>> fit = fit_exponent(ds, lambda d: d.y.mean("seed"), against="dim")
    >>> fit.low < 0.25 < fit.high, round(fit.slope, 2)
    (True, 0.25)
    """
    import xarray as xr

    if against not in ds.dims or ds.sizes[against] < 2:
        raise InvalidArgument("against", against, "must be a dimension with at least two values")
    x = np.asarray(ds[against], float)
    if np.any(x <= 0):
        raise InvalidArgument("against", against, "a power law needs positive values")
    if resamples < 100:
        raise InvalidArgument("resamples", resamples, "must be a whole number >= 100")
    if not 0 < confidence < 1:
        raise InvalidArgument("confidence", confidence, "must be in (0, 1)")
    rng, count = np.random.default_rng(seed), ds.sizes["seed"]
    curve = measure(ds)
    draws = np.stack([np.asarray(measure(ds.isel(seed=rng.integers(count, size=count))), float) for _ in range(resamples)])
    slope, intercept = log_slope(x, np.asarray(curve, float))
    slopes = np.array([log_slope(x, y)[0] for y in draws])
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = quantiles(slopes, tails)
    middle = {against: np.sqrt(x[1:] * x[:-1])}

    def local(y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.diff(np.log(y), axis=-1) / np.diff(np.log(x))

    edges = quantiles(local(draws), tails)
    slopes_of = [xr.DataArray(v, middle, (against,)) for v in (local(np.asarray(curve, float)), *edges)]
    return Exponent(slope, float(low), float(high), float(np.exp(intercept)), curve, *slopes_of)


def slope_by_seed(ds: xr.Dataset, measure: Callable[[xr.Dataset], xr.DataArray], against: str) -> xr.DataArray:
    r"""The exponent of `fit_exponent`, one jackknife pseudo-value a seed: what a claim about an exponent needs.

    **Arguments:** `ds`: with dimensions `seed` and `against`; `measure`: `Dataset -> DataArray` over `against` alone;
    `against`: the field on the horizontal axis, positive.

    **Returns:** an array over `seed`, whose mean estimates the exponent.

    >>> import numpy as np, xarray as xr
    >>> ds = xr.Dataset({"y": (("seed", "x"), np.ones((3, 2)) * [1.0, 8.0])}, {"x": [1.0, 4.0], "seed": range(3)})
    >>> slope_by_seed(ds, lambda d: d.y.mean("seed"), against="x").values.round(3).tolist()
    [1.5, 1.5, 1.5]
    """
    import xarray as xr

    def fit(part: xr.Dataset) -> xr.DataArray:
        return xr.DataArray(log_slope(np.asarray(part[against], float), np.asarray(measure(part), float))[0])

    return jackknife(ds, fit)

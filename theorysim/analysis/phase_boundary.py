"""Where a monotone quantity crosses a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidArgument

if TYPE_CHECKING:
    import xarray as xr


def isotonic(values: np.ndarray) -> np.ndarray:
    """The non-increasing least-squares fit along the last axis, by the max-min formula for interval means."""
    count = values.shape[-1]
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    first, last = np.arange(count)[:, None], np.arange(count)[None, :]
    length = np.maximum(last - first + 1, 1)
    means = (sums[..., None, 1:] - sums[..., :-1, None]) / length
    # fit_k = min over first <= k of max over last >= k of the mean of first .. last
    best = np.where(last >= first, means, -np.inf)
    best = np.flip(np.maximum.accumulate(np.flip(best, -1), axis=-1), -1)
    best = np.where(last >= first, best, np.inf)
    return best.min(axis=-2)


def positions(ds: xr.Dataset, variable: str, along: str) -> np.ndarray:
    """The values of the field `along`, after the checks that every crossing needs."""
    if variable not in ds:
        raise InvalidArgument("variable", variable, f"unknown; there are {', '.join(map(str, ds.data_vars))}")
    rest = [str(dim) for dim in ds[variable].dims if dim != "seed"]
    if along not in rest:
        raise InvalidArgument("along", along, f"must be one of the dimensions {', '.join(rest)}")
    x = np.asarray(ds[along], float)
    if len(x) < 2 or np.any(np.diff(x) <= 0):
        raise InvalidArgument("along", along, "needs at least two values, which increase")
    return x


def falls(values: np.ndarray) -> bool:
    """Whether curves along the last axis fall, read from their ends."""
    return bool(np.nanmean(values[..., -1]) <= np.nanmean(values[..., 0]))


def crossing(x: np.ndarray, fit: np.ndarray, level: float) -> np.ndarray:
    """Where curves that do not increase along the last axis reach a level, interpolated linearly; NaN where they do not."""
    beyond = fit <= level
    k = np.argmax(beyond, axis=-1)
    crossed = beyond.any(axis=-1) & (k > 0) & np.isfinite(fit).all(axis=-1)
    k = np.maximum(k, 1)[..., None]
    right, left = np.take_along_axis(fit, k, -1), np.take_along_axis(fit, k - 1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (left - level) / (left - right)
    return np.where(crossed, (x[k - 1] + share * (x[k] - x[k - 1]))[..., 0], np.nan)


def phase_boundary(ds: xr.Dataset, variable: str, level: float, along: str) -> xr.DataArray:
    r"""The point where the seed mean of a monotone variable crosses a level.

    The mean over seeds is made monotone by its isotonic least-squares fit, of which the crossing is interpolated linearly:

    $$ x^* = \inf\{x : \hat v(x)\ \text{is beyond the level}\}. $$

    **Arguments:**

    - `ds`: with dimensions `along` and (if seeds are to be averaged) `seed`.
    - `variable`: its name in `ds`; whether it rises or falls is read from its ends.
    - `level`: the level.
    - `along`: the swept field along which to look; its values must increase.

    **Returns:** the crossing, over the remaining dimensions; NaN where the level is not crossed.

    **Raises:** `InvalidArgument` for an unknown variable or dimension, or values that do not increase.

    >>> import numpy as np, xarray as xr
    >>> ds = xr.Dataset({"error": ("signal", [0.5, 0.4, 0.2, 0.0])}, {"signal": [0.0, 1.0, 2.0, 3.0]})
    >>> round(float(phase_boundary(ds, "error", 0.3, along="signal")), 3)
    1.5
    """
    import xarray as xr

    x = positions(ds, variable, along)
    mean = ds[variable].mean("seed") if "seed" in ds[variable].dims else ds[variable]
    mean = mean.transpose(..., along)
    v = np.asarray(mean, float)
    sign = 1 if falls(v) else -1
    point = crossing(x, isotonic(sign * v), sign * level)
    rest = [dim for dim in mean.dims if dim != along]
    return xr.DataArray(point, {dim: ds[dim] for dim in rest if dim in ds.coords}, rest, name=along)

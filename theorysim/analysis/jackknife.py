"""One value a seed for a statistic of all seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .._errors import InvalidArgument

if TYPE_CHECKING:
    import xarray as xr


def jackknife(ds: xr.Dataset, statistic: Callable[[xr.Dataset], xr.DataArray]) -> xr.DataArray:
    r"""The pseudo-values of a statistic that is no mean, such as a fitted exponent.

    $$ \theta_s = k\,\hat\theta - (k-1)\,\hat\theta_{-s}, $$

    with $\hat\theta_{-s}$ computed without seed $s$ of $k$. Their mean estimates the statistic without its first-order bias,
    their spread its error, so that a claim about the statistic becomes margins per seed.

    **Arguments:** `ds`: with a dimension `seed` of at least 2; `statistic`: `Dataset -> DataArray` without that dimension.

    **Returns:** the statistic's dimensions after a leading `seed`.

    **Raises:** `InvalidArgument` with fewer than two seeds.

    Source: Tukey (1958).

    >>> import xarray as xr
    >>> ds = xr.Dataset({"x": ("seed", [1.0, 2.0, 6.0])}, {"seed": [0, 1, 2]})
    >>> jackknife(ds, lambda d: d.x.mean("seed")).values.tolist()
    [1.0, 2.0, 6.0]
    """
    import xarray as xr

    count = ds.sizes.get("seed", 0)
    if count < 2:
        raise InvalidArgument("seed", count, "a jackknife needs at least two seeds")
    whole = statistic(ds)
    without = [statistic(ds.drop_isel(seed=s)) for s in range(count)]
    return xr.concat([count * whole - (count - 1) * part for part in without], dim=ds["seed"])

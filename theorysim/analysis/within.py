"""Margins of a two-sided statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


def within(value: xr.DataArray, low: Any, high: Any) -> xr.DataArray:
    r"""Margins of the statement that the mean of a quantity over seeds lies in an interval.

    $$ (v_s - \mathrm{low},\ \mathrm{high} - v_s), $$

    two parts that must both hold. A margin such as $\epsilon-|v_s-c|$ would not do: its mean over seeds asks that every seed is
    near $c$, not that their mean is.

    **Arguments:** `value`: with a dimension `seed`; `low`, `high`: numbers, or arrays that broadcast.

    **Returns:** the margins, with a further dimension `side` (`above`, `below`), for the check of a claim.

    >>> import xarray as xr
    >>> within(xr.DataArray([0.5, 1.5], dims="seed"), 0.9, 1.1).mean("seed").values.round(3).tolist()
    [0.1, 0.1]
    """
    import xarray as xr

    sides: list[xr.DataArray] = [value - low, -(value - high)]
    return xr.concat(sides, dim=xr.DataArray(["above", "below"], dims="side"))

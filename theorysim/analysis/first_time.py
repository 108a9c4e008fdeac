"""When a recorded quantity first passes a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._errors import InvalidArgument

if TYPE_CHECKING:
    import xarray as xr


def first_time(values: xr.DataArray, level: float) -> xr.DataArray:
    r"""The first time at which a quantity is above a level, $t^*=\min\{t : v(t)>\text{level}\}$, among the recorded times.

    **Arguments:** `values`: with a dimension `time`; for a quantity that falls, give both with a minus sign; `level`.

    **Returns:** the time, over the remaining dimensions; NaN where the level is never passed.

    **Raises:** `InvalidArgument` without a dimension `time`.

    >>> import xarray as xr
    >>> error = xr.DataArray([0.5, 0.3, 0.0, 0.1], {"time": [0, 10, 100, 1000]}, ("time",))
    >>> float(first_time(-error, -0.2)), float(first_time(error, 0.9))
    (100.0, nan)
    """
    if "time" not in values.dims:
        raise InvalidArgument("values", ", ".join(map(str, values.dims)), "needs a dimension time")
    return values.time.where(values > level).min("time")

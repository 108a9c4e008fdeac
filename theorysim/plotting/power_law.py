"""Measured power laws: the points with their fit, and the local slopes that say whether it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis import Exponent


def power_law(axes: Axes, fit: Exponent, label: str, *, color: str, marker: str = "o") -> None:
    """Draw measured points and the fitted line on logarithmic axes.

    **Arguments:** `axes`; `fit`: from `analysis.fit_exponent`; `label`: for the legend, to which the exponent is added;
    `color`, `marker`: of the points.

    >>> import numpy as np, theorysim as ts, xarray as xr
    >>> ds = xr.Dataset({"y": (("seed", "dim"), np.ones((3, 2)))}, {"dim": [1.0, 10.0]})
    >>> figure, axes = ts.plotting.canvas()
    >>> fit = ts.analysis.fit_exponent(ds, lambda d: d.y.mean("seed"), against="dim")
    >>> power_law(axes[0, 0], fit, "a constant", color="black")
    >>> axes[0, 0].get_xscale()
    'log'
    """
    (name,) = fit.curve.dims
    x = np.asarray(fit.curve[name], float)
    ends = np.array([x.min() / 1.5, x.max() * 1.5])
    axes.set(xscale="log", yscale="log")
    text = rf"{label}: slope {fit.slope:.3f} [{fit.low:.3f}, {fit.high:.3f}]"
    axes.plot(x, np.asarray(fit.curve, float), marker, color=color, label=text)
    axes.plot(ends, fit.prefactor * ends**fit.slope, color=color, linewidth=1.0)


def local_slopes(axes: Axes, fit: Exponent, *, color: str, marker: str = "o", **style: Any) -> None:
    """Draw the slopes between neighbouring points, with their intervals.

    **Arguments:** `axes`; `fit`: from `analysis.fit_exponent`; `color`, `marker`, `style`: of the points.

    >>> import numpy as np, theorysim as ts, xarray as xr
    >>> ds = xr.Dataset({"y": (("seed", "dim"), np.ones((3, 2)))}, {"dim": [1.0, 10.0]})
    >>> figure, axes = ts.plotting.canvas()
    >>> local_slopes(axes[0, 0], ts.analysis.fit_exponent(ds, lambda d: d.y.mean("seed"), against="dim"), color="black")
    """
    (name,) = fit.local.dims
    slope, low, high = (np.asarray(v, float) for v in (fit.local, fit.local_low, fit.local_high))
    # the percentile interval need not contain the estimate
    spread = np.maximum([slope - low, high - slope], 0)
    axes.set_xscale("log")
    axes.errorbar(np.asarray(fit.local[name], float), slope, spread, fmt=marker, color=color, capsize=2, **style)

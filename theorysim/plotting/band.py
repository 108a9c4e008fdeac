"""Curves over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def band(axes: Axes, data: xr.DataArray, over: str, label: str, *, central: float = 0.8, **style: Any) -> None:
    """Draw the mean over seeds with a band of its central seeds.

    **Arguments:** `axes`; `data`: with dimensions `seed` and `over`; `over`: the horizontal axis; `label`: for the legend;
    `central`: the share of seeds inside the band, in (0, 1]; `style`: for the line, and its colour for the band.

    >>> import numpy as np, xarray as xr
    >>> figure, axes = __import__("theorysim").plotting.canvas()
    >>> data = xr.DataArray(np.ones((3, 5)), {"time": range(5)}, ("seed", "time"))
    >>> band(axes[0, 0], data, "time", "a constant")
    >>> len(axes[0, 0].lines)
    1
    """
    x = np.asarray(data[over])
    (line,) = axes.plot(x, np.asarray(data.mean("seed")), label=label, **style)
    low, high = (np.asarray(data.quantile(q, "seed")) for q in ((1 - central) / 2, (1 + central) / 2))
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.18, linewidth=0)

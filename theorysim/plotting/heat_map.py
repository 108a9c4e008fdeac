"""A quantity over two swept fields, with the theory's curve on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh


def heat_map(axes: Axes, data: xr.DataArray, x: str, y: str, *, label: str | None = None, **style: Any) -> QuadMesh:
    """Draw a map with a colour bar.

    **Arguments:** `axes`; `data`: with dimensions `x` and `y` (a mean over seeds is the caller's); `x`, `y`: swept fields;
    `label`: of the colour bar, which is left out without it; `style`: for `pcolormesh`, such as `vmin` and `vmax`.

    **Returns:** the mesh, whose colour bar is `mesh.colorbar`.

    >>> import numpy as np, xarray as xr
    >>> figure, axes = __import__("theorysim").plotting.canvas()
    >>> data = xr.DataArray(np.eye(3), {"signal": range(3), "dim": range(3)}, ("signal", "dim"))
    >>> heat_map(axes[0, 0], data, "signal", "dim", label="error").colorbar.ax.get_ylabel()
    'error'
    """
    data = data.transpose(y, x)
    mesh = axes.pcolormesh(
        np.asarray(data[x], float), np.asarray(data[y], float), np.asarray(data, float), shading="nearest", rasterized=True,
        **{"cmap": "viridis_r", **style},
    )  # fmt: skip
    axes.grid(visible=False)
    if label is not None:
        mesh.colorbar = axes.figure.colorbar(mesh, ax=axes, label=label)
        mesh.colorbar.outline.set_visible(False)  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]
    return mesh

"""One style for all figures: no LaTeX needed, readable in print and by colour-blind readers, the same bytes each time."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.transforms import BboxBase

#: Okabe and Ito's colours, dark enough on white, told apart by all readers; use them with `MARKERS`
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# embedding a font, its library warns of dates that nobody set
logging.getLogger("fontTools").setLevel(logging.ERROR)

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "mathtext.fontset": "cm",
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}


def style() -> AbstractContextManager[None]:
    """The house's style, for the time of a `with` block; the command line draws in it.

    >>> with style():
    ...     figure, axes = canvas()
    """
    return mpl.rc_context(_STYLE)


def canvas(columns: int = 1, rows: int = 1, *, width: float = 3.4, height: float = 2.7) -> tuple[Figure, np.ndarray]:
    """A figure in the house's style and its axes.

    **Arguments:** `columns`, `rows`: of panels; `width`, `height`: of a panel, in inches.

    **Returns:** the figure, and the axes as an array of shape `(rows, columns)`.

    >>> figure, axes = canvas(columns=2)
    >>> axes.shape
    (1, 2)
    """
    with style():
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, path: str | Path, dpi: int = 200, part: BboxBase | None = None) -> None:
    """Write a figure; the same figure gives the same bytes.

    **Arguments:** `figure`; `path`: its ending (`.pdf`, `.png`, `.svg`) gives the format; `dpi`: of a picture in pixels;
    `part`: a box in inches, the only part that is written.

    >>> import tempfile, pathlib
    >>> figure, _ = canvas()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(figure, pathlib.Path(folder) / "empty.png")
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {".pdf": {"CreationDate": None}, ".png": {"Software": None}, ".svg": {"Date": None}}.get(path.suffix, {})
    with mpl.rc_context({**_STYLE, "svg.hashsalt": "theorysim"}):
        figure.savefig(path, dpi=dpi, metadata=metadata, bbox_inches=part)

"""A figure as pictures that stand side by side, or one below the other where a screen is narrow."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from ..plotting import save
from ._mathtext import as_words


@dataclass(frozen=True)
class Picture:
    """A column of a figure's panels: its bytes as a data URI, its size in inches, and what it shows in words."""

    data: str
    width: float
    height: float
    words: str


def pictures(figure: Figure) -> list[Picture]:
    """The columns of a figure's panels, from left to right; together they are the figure."""
    figure.draw_without_rendering()
    groups, cuts = _columns(figure)
    height = float(figure.get_figheight())
    edges = [0.0, *cuts, float(figure.get_figwidth())]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for group, left, right in zip(groups, edges[:-1], edges[1:], strict=True):
            path = Path(folder) / "part.png"
            save(figure, path, part=Bbox.from_extents(left, 0, right, height))
            data = "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
            found.append(Picture(data, right - left, height, _words(group, figure)))
    return found


def _is_bar(axes: Axes) -> bool:
    return axes.get_label() == "<colorbar>" or axes.get_subplotspec() is None


def _columns(figure: Figure) -> tuple[list[list[Axes]], list[float]]:
    """Panels that lie above each other, with their colour bars, and where to cut between the columns (inches)."""
    extents = []
    for axes in figure.axes:
        box = axes.get_tightbbox()
        if box is not None and axes.get_visible():
            extents.append((box.x0 / figure.dpi, box.x1 / figure.dpi, axes))
    groups: list[list[Axes]] = []
    cuts: list[float] = []
    reach = 0.0
    for left, right, axes in sorted(extents, key=lambda item: item[:2]):
        if not groups or (left > reach and not _is_bar(axes)):
            cuts += [(reach + left) / 2] if groups else []
            groups.append([])
        groups[-1].append(axes)
        reach = max(reach, right)
    # what belongs to the whole figure is not cut
    if not groups or figure.legends or figure.texts or figure.get_suptitle():
        return [list(figure.axes)], []
    return groups, cuts


def _words(group: Sequence[Axes], figure: Figure) -> str:
    """What the axes, legends and colour bars of a column say."""
    said = []
    for axes in group:
        if _is_bar(axes):
            said.append(f"colours: {as_words(axes.get_ylabel() or axes.get_xlabel())}")
            continue
        text = f"{_label(axes, figure, 'y')} against {_label(axes, figure, 'x')}"
        title = " ".join(filter(None, (axes.get_title(loc) for loc in ("left", "center", "right"))))  # pyright: ignore[reportArgumentType]
        drawn = axes.get_legend_handles_labels()[1]
        text += f", {as_words(title)}" if title else ""
        said.append(text + (f"; drawn: {', '.join(map(as_words, drawn))}" if drawn else ""))
    return ". ".join(said)


def _label(axes: Axes, figure: Figure, which: str) -> str:
    """The label of an axis, which a panel may share with the others of its row or column."""
    place = axes.get_subplotspec()
    assert place is not None
    for other in [axes, *figure.axes]:
        spec = other.get_subplotspec()
        if spec is None or (spec.rowspan != place.rowspan if which == "y" else spec.colspan != place.colspan):
            continue
        if label := (other.get_ylabel() if which == "y" else other.get_xlabel()):
            return as_words(label)
    return "value"

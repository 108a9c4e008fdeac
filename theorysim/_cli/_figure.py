"""`theorysim figure`."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .._errors import InvalidArgument
from .._experiment import Experiment, module, told
from .._find import find
from ..plotting import save, style
from ._run import papers, store_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

#: dots per inch of the small pictures of the README
SMALL = 110


def draw(chosen: list[str], presets: list[str], out: Path, fresh: bool) -> None:
    if any(place.is_file() for place in (out, *out.parents)):
        raise InvalidArgument("out", str(out), "is a file, or below one; figures go into a folder")
    asked = [(paper, drawing_of(paper)) for paper in papers(chosen, presets)]
    for paper, path, drawing in [(paper, path, module(path)) for paper, path in asked]:
        for preset in presets:
            if preset not in paper.presets:
                continue  # asked for all experiments: each draws the sizes that it has
            figures, _ = figures_of(paper, preset, drawing, fresh)
            for name, figure in figures.items():
                for ending in ("pdf", "png"):
                    save(figure, out / f"{paper.name}-{preset}-{name}.{ending}")
                print(out / f"{paper.name}-{preset}-{name}.png")
                gallery = path.parent / "gallery"
                if name in getattr(drawing, "GALLERY", ()) and gallery.is_dir():
                    save(figure, gallery / f"{paper.name}-{name}.png", dpi=SMALL)


def figures_of(
    paper: Experiment, preset: str, drawing: ModuleType, fresh: bool = False
) -> tuple[dict[str, Figure], xr.DataTree]:
    """The figures of a preset, and the data that they show; what is missing is run."""
    data = paper.run(preset, store=store_of(paper.name, preset), progress=True, fresh=fresh)
    with style(), told(Path(str(drawing.__file__)), f"draw({preset}): "):
        return drawing.draw(data), data


def drawing_of(paper: Experiment) -> Path:
    """The drawing file: `figures/NAME.py` in the working folder or the checkout, or beside the folder of the experiment."""
    beside = paper.path.resolve().parent.parent / "figures" / f"{paper.name}.py" if paper.path else None
    if beside and beside.is_file():
        return beside
    try:
        return find(paper.name, "figures")
    except InvalidArgument:
        raise InvalidArgument("figure", paper.name, f"there is no figures/{paper.name}.py that draws it") from None

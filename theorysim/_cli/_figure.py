"""`theorysim figure`."""

from __future__ import annotations

from pathlib import Path

from .._errors import InvalidArgument
from .._experiment import load, module
from .._find import find, names
from ..plotting import save, style
from ._run import store_of

#: dots per inch of the small pictures of the README
SMALL = 110


def draw(chosen: list[str], presets: list[str], out: Path) -> None:
    if out.is_file():
        raise InvalidArgument("out", str(out), "is a file; figures go into a folder")
    papers = [load(name) for name in chosen or names()]
    for preset in presets if chosen else []:
        for paper in papers:
            paper.preset(preset)
    for paper in papers:
        for preset in presets:
            if preset not in paper.presets:
                continue  # asked for all experiments: each draws the sizes that it has
            data = paper.run(preset, store=store_of(paper.name, preset), progress=True)
            path = _drawing(paper.name, paper.path)
            drawing = module(path)
            with style():
                figures = drawing.draw(data)
            for name, figure in figures.items():
                for ending in ("pdf", "png"):
                    save(figure, out / f"{paper.name}-{preset}-{name}.{ending}")
                print(out / f"{paper.name}-{preset}-{name}.png")
                gallery = path.parent / "gallery"
                if name in getattr(drawing, "GALLERY", ()) and gallery.is_dir():
                    save(figure, gallery / f"{paper.name}-{name}.png", dpi=SMALL)


def _drawing(name: str, paper: Path | None) -> Path:
    """The drawing file: `figures/NAME.py` in the working folder or the checkout, or beside the folder of the experiment."""
    beside = paper.resolve().parent.parent / "figures" / f"{name}.py" if paper else None
    if beside and beside.is_file():
        return beside
    try:
        return find(name, "figures")
    except InvalidArgument:
        raise InvalidArgument("figure", name, f"there is no figures/{name}.py that draws it") from None

"""`theorysim report`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from .._errors import InvalidArgument, Refused
from .._experiment import module
from .._sweep import open as open_store
from ._decide import decide
from ._figure import drawing_of, figures_of
from ._page import Drawn, Source, page
from ._panels import pictures
from ._run import papers, store_of


def report(chosen: list[str], preset: str | None, out: Path, fresh: bool) -> int:
    if out.is_dir() or any(place.is_file() for place in out.parents):
        raise InvalidArgument("out", str(out), "is a folder, or below a file; a report is a file")
    found = papers(chosen, [] if preset is None else [preset])
    for name in (paper.name for paper in found):
        if sum(paper.name == name for paper in found) > 1:
            raise InvalidArgument("experiment", name, "is given twice; a report has one section for each")
    drawings = {
        paper.name: module(drawing_of(paper)) for paper in found if paper.claims and (preset is None or preset in paper.presets)
    }
    rows, _ = decide(chosen, preset, fresh)
    drawn, sources = [], []
    for (name, size), paper in {(row.paper.name, row.preset): row.paper for row in rows}.items():
        figures, _ = figures_of(paper, size, drawings[name])
        drawn += [Drawn(name, size, key, pictures(figure)) for key, figure in figures.items()]
        # the store says when and on what its results were made
        for study, node in open_store(store_of(name, size)).children.items():
            if study in paper.presets[size]:
                seeds, cells = node.sizes["seed"], np.asarray(node["status"]).size
                attrs = {str(key): value for key, value in node.attrs.items()}
                sources.append(Source(name, size, str(study), cells // seeds, seeds, attrs))
    text = page(rows, drawn, sources, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{out}: {error.strerror or error}") from None
    print(out)
    return 0 if all(row.as_expected for row in rows) else 1

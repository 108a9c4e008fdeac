"""`theorysim run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._errors import InvalidArgument
from .._experiment import Experiment, load
from .._find import find, names, outline
from .._sweep.params import fields_of
from .._sweep.values import parse


def store_of(name: str, preset: str) -> Path:
    """Where a preset's results are kept."""
    return Path("results") / name / f"{preset}.zarr"


def papers(chosen: list[str], presets: list[str]) -> list[Experiment]:
    """The experiments asked for, or all. Each that is named must have one of these presets, and some paper must have each."""
    found = [load(name) for name in chosen or names()]
    for paper in found if chosen and presets else []:
        if not set(presets) & set(paper.presets):
            paper.preset(presets[0])
    known = {preset for paper in found for preset in paper.presets}
    known |= {preset for name in names() for preset in outline(find(name)).presets} if chosen else set()
    for preset in presets:
        if preset not in known:
            raise InvalidArgument("preset", preset, f"unknown; there are {', '.join(sorted(known))}")
    return found


def whole(name: str, text: str) -> int:
    """A whole number given on the command line."""
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(name, text, "must be a whole number") from None


def changes(paper: Experiment, texts: list[str]) -> dict[str, Any]:
    """`FIELD=VALUES` texts as values, checked against the fields of the experiment."""
    known, read = fields_of(paper.params), {}
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign:
            raise InvalidArgument("set", text, "must be FIELD=VALUES")
        if name not in known:
            raise InvalidArgument("field", name, f"unknown; {paper.name} has {', '.join(known)}")
        read[name] = parse(known[name], values)
    return read


def run(
    name: str,
    preset: str,
    study: str | None,
    texts: list[str],
    seeds: str | None,
    seed: str,
    store: Path | None,
    executor: str,
    fresh: bool,
    x64: bool,
) -> None:
    paper = load(name)
    paper.preset(preset)
    place = store or store_of(paper.name, preset)
    paper.run(
        preset,
        study,
        set=changes(paper, texts),
        seeds=None if seeds is None else whole("seeds", seeds),
        seed=whole("seed", seed),
        store=place,
        executor=executor,
        fresh=fresh,
        x64=x64,
        progress=True,
    )
    print(place)

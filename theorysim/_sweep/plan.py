"""The cells of a sweep, in the order in which they are stored.

A sweep is split into parts, one for each combination of swept static fields: one part, one program, one Zarr group. Within a
part the cells are flat, the seed slowest, so that more seeds append.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from .._errors import InvalidArgument
from .params import Field, checked, fields_of
from .values import grid_values

#: a static field compiles a program for each of its values
MOST_PROGRAMS = 64


@dataclass(frozen=True)
class Part:
    """Cells that share a program: `params` with the static values in place, and the grid of swept traced fields.

    If `zipped`, the axes are columns of a list of points instead.
    """

    label: str
    static: dict[str, Any]
    params: Any
    axes: dict[str, list[Any]]
    seeds: int
    zipped: bool = False

    @property
    def grid(self) -> dict[str, np.ndarray]:
        """The flat values of each swept traced field over one seed's cells."""
        if self.zipped:
            return {name: np.asarray(values) for name, values in self.axes.items()}
        mesh = np.meshgrid(*(np.asarray(v) for v in self.axes.values()), indexing="ij")
        return {name: values.ravel() for name, values in zip(self.axes, mesh, strict=True)}

    @property
    def per_seed(self) -> int:
        """Cells of one seed."""
        if self.zipped:
            return len(next(iter(self.axes.values())))
        return int(np.prod([len(v) for v in self.axes.values()], dtype=int))

    @property
    def cells(self) -> int:
        return self.per_seed * self.seeds


@dataclass(frozen=True)
class Plan:
    """All parts of a sweep; `over` has the swept fields in the order of the Dataset's dimensions."""

    params: Any
    fields: dict[str, Field]
    over: dict[str, list[Any]]
    seeds: int
    parts: list[Part]

    @property
    def cells(self) -> int:
        return sum(part.cells for part in self.parts)


def plan(params: Any, over: Mapping[str, Any], seeds: int) -> Plan:
    """Check a sweep at the door and lay out its cells."""
    if isinstance(seeds, bool) or not isinstance(seeds, int | np.integer) or seeds < 1:
        raise InvalidArgument("seeds", seeds, "must be a whole number >= 1")
    params = checked(params)
    if "frame" in over:
        # a grid over both kinds would need dim to be static and traced at once
        raise InvalidArgument("frame", over["frame"], "cannot be swept; sweep each kind by itself")
    known = fields_of(params)
    for name in over:
        if name not in known:
            raise InvalidArgument("field", name, f"unknown; the fields are {', '.join(known)}")
    grid = {name: grid_values(known[name], values) for name, values in over.items()}
    static = {name: values for name, values in grid.items() if not known[name].traced}
    programs = int(np.prod([len(v) for v in static.values()], dtype=int))
    if programs > MOST_PROGRAMS:
        worst = max(static, key=lambda name: len(static[name]))
        rule = f"its {len(static[worst])} values would compile {programs} programs; sweep at most {MOST_PROGRAMS}, or"
        raise InvalidArgument(worst, "(static)", f"{rule} annotate it ts.Traced if it gives no shape")
    axes = {name: values for name, values in grid.items() if known[name].traced}
    parts = []
    for values in itertools.product(*static.values()):
        chosen = dict(zip(static, values, strict=True))
        label = ",".join(f"{name}={quote(str(value), safe='(), +')}" for name, value in chosen.items())
        parts.append(Part(label, chosen, dataclasses.replace(params, **chosen), axes, int(seeds)))
    return Plan(params, known, grid, int(seeds), parts)

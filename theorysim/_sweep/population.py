"""Many points, compiled once: the population of an optimiser as the cells of one program."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .devices import devices
from .layout import Layout
from .params import checked, fields_of
from .plan import Part
from .program import compile_rows
from .trace import Trial, prepare

if TYPE_CHECKING:
    import xarray as xr


class Population:
    """A trial at `size` points of some traced fields, `seeds` seeds each: `population(points)` runs them.

    All points of one call share their seeds, so differences between points are differences of the points.
    """

    def __init__(self, trial: Trial, params: Any, names: Sequence[str], size: int, seeds: int, x64: bool = False):
        cores = devices()  # before anything is traced: then it would be too late to ask for them
        self.params, self.names, self.seeds = checked(params), tuple(names), seeds
        known = fields_of(self.params)
        axes = {name: [known[name].check(getattr(self.params, name))] * size for name in names}
        self.program = prepare(trial, Part("", {}, self.params, axes, seeds, zipped=True), x64, None)
        self.layout = Layout(self.program.part, self.program.batch)
        rows = seeds * self.layout.per_seed
        self.compiled = compile_rows(self.program, cores, -(-rows // len(cores)) * len(cores), 0)
        self.rows = np.arange(rows)

    def __call__(self, points: Mapping[str, np.ndarray], first_seed: int = 0) -> xr.Dataset:
        """A Dataset over `point` and `seed`; the fields are coordinates along `point`."""
        import xarray as xr

        part = self.program.part
        grid = {name: np.asarray(points[name], self.program.swept[name].dtype) for name in self.names}
        padded = np.concatenate([self.rows, np.full(self.compiled.rows - len(self.rows), self.rows[-1])])
        seed, values = self.layout.inputs(padded, grid)
        out = self.compiled.run(seed + np.uint32(first_seed), values)
        cells, real = self.layout.cells(self.rows)
        order = np.argsort(cells[real])
        data = {}
        for name, output in self.program.template.items():
            flat = out[name][: len(self.rows)][real][order].reshape(self.seeds, part.per_seed, *output.shape)
            data[name] = (("point", "seed", *output.dims), np.moveaxis(flat, 1, 0))
        coords = {name: (name, list(values)) for output in self.program.template.values() for name, values in output.coords}
        coords |= {name: ("point", np.asarray(points[name], float)) for name in self.names}
        attrs = {"params": json.dumps(dataclasses.asdict(self.params))}
        return xr.Dataset(data, {**coords, "seed": first_seed + np.arange(self.seeds)}, attrs)

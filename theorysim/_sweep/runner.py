"""Running the cells of one part that are not in the store yet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .layout import Layout
from .memory import require
from .plan import Part
from .program import Compiled, compile_rows
from .progress import Reporter
from .store import Store, StoredPart
from .template import Output
from .trace import Program

#: seconds of work that a crash may cost, and bytes of a chunk of one variable
CHUNK_SECONDS, CHUNK_BYTES = 10.0, 2**25

OK, NONFINITE = 1, 2


class Columns:
    """All outputs of a part in memory, `status` among them."""

    def __init__(self, part: Part, template: dict[str, Output]):
        self.partial = {name for name, output in template.items() if output.partial}
        self.data = {
            name: np.full((part.cells, *o.shape), np.nan if o.dtype.kind == "f" else 0, o.dtype) for name, o in template.items()
        }
        self.data["status"] = np.zeros(part.cells, np.int8)

    def put(self, cells: np.ndarray, values: dict[str, np.ndarray]) -> int:
        """Fill cells in; returns how many are not finite (in a partial output NaN is no fault)."""
        bad = np.zeros(len(cells), bool)
        for name, value in values.items():
            self.data[name][cells] = value
            if value.dtype.kind == "f":
                fault = np.isinf(value) if name in self.partial else ~np.isfinite(value)
                bad |= fault.reshape(len(cells), -1).any(axis=1)
        self.data["status"][cells] = np.where(bad, NONFINITE, OK)
        return int(bad.sum())

    def chunk(self, start: int, stop: int) -> dict[str, np.ndarray]:
        return {name: value[start:stop] for name, value in self.data.items()}


def coordinates(part: Part) -> dict[str, np.ndarray]:
    """The seed and the swept values of every cell."""
    grid = {name: np.tile(values, part.seeds) for name, values in part.grid.items()}
    still = {
        name: np.full(part.cells, str(value) if isinstance(value, tuple) else value) for name, value in part.static.items()
    }
    return {"seed": np.repeat(np.arange(part.seeds), part.per_seed), **still, **grid}


def run_part(
    program: Program,
    devices: list[Any],
    root: int,
    reporter: Reporter,
    stored: StoredPart | None,
    make: Callable[[int], StoredPart] | None,
) -> Columns:
    """Run what is missing of a part.

    `stored` is the part's group if the store has it; otherwise `make(chunk)` makes it once the first rows have shown
    how many cells are some seconds of work; both are None without a store.
    """
    part = program.part
    columns, layout = Columns(part, program.template), Layout(part, program.batch)
    chunks = _chunks(part, stored.chunk) if stored else [(0, part.cells)]
    missing = _load(stored, chunks, columns, reporter) if stored else {0}
    todo = np.unique(np.concatenate([layout.rows(*chunks[i]) for i in missing] or [np.zeros(0, int)]))
    if not len(todo):
        return columns
    compiled = compile_rows(program, devices, _rows_at_once(len(todo), program.batch, len(devices)), root)
    reporter.compiled(compiled.seconds)
    require("one step of the sweep", compiled.memory, "use a smaller batch, fewer devices")
    grid = _typed_grid(program)
    for first in range(0, len(todo), compiled.rows):
        rows = todo[first : first + compiled.rows]
        _run_rows(compiled, layout, rows, grid, columns, reporter)
        if make and stored is None:
            stored = make(_chunk_cells(program, len(rows), reporter))
            chunks = _chunks(part, stored.chunk)
            missing = set(range(len(chunks)))
        if stored:
            missing = _save(stored, chunks, missing, columns)
    return columns


def _typed_grid(program: Program) -> dict[str, np.ndarray]:
    return {name: values.astype(program.swept[name].dtype) for name, values in program.part.grid.items()}


def _rows_at_once(rows: int, batch: int, devices: int) -> int:
    """Rows of one call: a few per device, so that progress is seen, and the same for all but tiny sweeps."""
    return devices * min(2 * batch, -(-rows // devices))


def _chunk_cells(program: Program, rows: int, reporter: Reporter) -> int:
    """Cells that take some seconds, judged by the first rows, but no more bytes than a chunk should have."""
    rate = rows * program.batch / max(reporter.run_seconds, 1e-3)
    widest = max(math.prod(o.shape) * o.dtype.itemsize for o in program.template.values())
    cells = min(rate * CHUNK_SECONDS, CHUNK_BYTES / max(widest, 1), program.part.cells)
    return max(1, int(cells))


def _chunks(part: Part, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, part.cells)) for start in range(0, part.cells, size)]


def _load(stored: StoredPart, chunks: list[tuple[int, int]], columns: Columns, reporter: Reporter) -> set[int]:
    """Read the sound chunks of the store; returns the others."""
    missing = set(range(len(chunks)))
    for index, line in stored.listed().items():
        if index in missing and stored.sound(index, line):
            start, stop = chunks[index]
            have = stored.read(index)
            count = min(line["cells"], stop - start)
            for name, value in columns.data.items():
                value[start : start + count] = have[name][:count]
            if line["cells"] >= stop - start:
                missing.discard(index)
                reporter.advance(count, int((have["status"][:count] == NONFINITE).sum()), stored=True)
    return missing


def _run_rows(
    compiled: Compiled,
    layout: Layout,
    rows: np.ndarray,
    grid: dict[str, np.ndarray],
    columns: Columns,
    reporter: Reporter,
) -> None:
    padded = np.concatenate([rows, np.full(compiled.rows - len(rows), rows[-1])])
    out = compiled.run(*layout.inputs(padded, grid))
    cells, real = layout.cells(rows)
    count = len(rows)
    # a batch on the border of two chunks may hold cells that the store has: they are not counted twice
    new = int((columns.data["status"][cells[real]] == 0).sum())
    nonfinite = columns.put(cells[real], {name: value[:count][real] for name, value in out.items()})
    reporter.advance(new, nonfinite)


def _save(stored: StoredPart, chunks: list[tuple[int, int]], missing: set[int], columns: Columns) -> set[int]:
    """Write the chunks that are complete now; returns those that are not."""
    status = columns.data["status"]
    complete = {i for i in missing if status[slice(*chunks[i])].all()}
    for index in sorted(complete):
        stored.write(index, columns.chunk(*chunks[index]))
    return missing - complete


def open_part(store: Store, group: str, program: Program, described: dict[str, Any]) -> StoredPart | None:
    """The group of a part as the store has it, grown to the seeds asked for; None if it has to be made."""
    stored = store.part(group)
    if stored is None:
        return None
    seeds = max(int(stored.attrs["seeds"]), program.part.seeds)
    if seeds > int(stored.attrs["seeds"]):
        stored.grow(program.part.cells, coordinates(program.part), seeds=seeds, written=described["written"])
    return stored

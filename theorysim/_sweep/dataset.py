"""From flat cells to a Dataset whose dimensions are the swept fields, then seed, then time."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import Refused
from .store import Store, StoredPart

if TYPE_CHECKING:
    import xarray as xr


def describe(over: dict[str, list[Any]], label: str, template: dict[str, Any]) -> dict[str, Any]:
    """What a group must say so that its Dataset can be built again: grid, part and axes, as JSON."""
    coords = {name: values for output in template.values() for name, values in output.coords}
    return {
        "over": json.dumps(over),
        "part": label,
        "dims": json.dumps({name: list(output.dims) for name, output in template.items()}),
        "coords": json.dumps(coords),
    }


def dataset(
    over: dict[str, list[Any]],
    seeds: int,
    parts: list[tuple[dict[str, Any], dict[str, np.ndarray]]],
    dims: dict[str, list[str]],
    coords: dict[str, Any],
    attrs: dict[str, Any],
) -> xr.Dataset:
    """Unstack the columns of all parts (each with its static values) onto the full grid."""
    import xarray as xr

    names, sizes = list(over), [len(values) for values in over.values()]
    static = set(parts[0][0])
    traced = [name for name in names if name not in static]
    variables = {}
    for output, first in parts[0][1].items():
        full = np.full((*sizes, seeds, *first.shape[1:]), np.nan if first.dtype.kind == "f" else 0, first.dtype)
        for chosen, columns in parts:
            # cells: (seed, traced ..) -> (traced .., seed)
            block = columns[output].reshape(seeds, *(len(over[name]) for name in traced), *first.shape[1:])
            where = tuple(over[name].index(chosen[name]) if name in static else slice(None) for name in names)
            full[where] = np.moveaxis(block, 0, len(traced))
        variables[output] = ((*names, "seed", *dims.get(output, ())), full)
    # a tuple is no label that xarray has; in JSON it was a list
    shown = {name: [str(tuple(v)) if isinstance(v, list | tuple) else v for v in values] for name, values in over.items()}
    labels = {name: (name, values) for name, values in shown.items()}
    labels |= {name: (name, list(values)) for name, values in coords.items()}
    return xr.Dataset(variables, {**labels, "seed": np.arange(seeds)}, attrs)


def open(path: str | os.PathLike[str]) -> xr.DataTree:
    """Open a store: every study as a Dataset whose dimensions are the swept fields, then `seed`, then `time`.

    Each finished chunk is verified against the digest under which it was written. Cells that have not run are NaN and have
    `status` 0; 1 is ok, 2 non-finite.

    **Arguments:** `path`: the folder of a store, as given to `sweep` or written by `theorysim run`.

    **Returns:** a `DataTree` with one child for each study.

    **Raises:** `InvalidArgument` if there is no store, `Refused` if a chunk is damaged.

    >>> import tempfile, jax, theorysim as ts
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Params:
    ...     scale: float = 1.0
    >>> def trial(p, key):
    ...     return {"draw": p.scale * jax.random.normal(key)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = ts.sweep(trial, Params(), over={"scale": [1, 2]}, seeds=3, store=folder + "/draws.zarr")
    ...     dict(ts.open(folder + "/draws.zarr")["sweep"].sizes)
    {'scale': 2, 'seed': 3}
    """
    import xarray as xr

    store = Store(path, write=False)
    tree = {f"/{study}": _study(store, groups) for study, groups in store.studies().items()}
    return xr.DataTree.from_dict(tree, name=store.path.stem)


def _study(store: Store, groups: list[str]) -> xr.Dataset:
    stored = [part for name in groups if (part := store.part(name))]
    attrs = stored[-1].attrs
    over, seeds = json.loads(attrs["over"]), min(int(part.attrs["seeds"]) for part in stored)
    parts = [(json.loads(part.attrs["static"]), _columns(part, over, seeds)) for part in stored]
    shown = {key: attrs[key] for key in attrs if key not in ("over", "dims", "coords", "static", "part", "outputs")}
    return dataset(over, seeds, parts, json.loads(attrs["dims"]), json.loads(attrs["coords"]), shown)


def _columns(part: StoredPart, over: dict[str, list[Any]], seeds: int) -> dict[str, np.ndarray]:
    """The cells of the first seeds. Only a chunk that the manifest lists is read: another may be half written."""
    static = json.loads(part.attrs["static"])
    cells = seeds * math.prod(len(values) for name, values in over.items() if name not in static)
    columns = {
        name: np.full((cells, *array.shape[1:]), np.nan if array.dtype.kind == "f" else 0, array.dtype)
        for name, array in part.arrays.items()
    }
    for index, line in part.listed().items():
        if not part.sound(index, line):
            raise Refused(f"store {part.store.path}: chunk {index} of {part.name} is damaged; run the command again to redo it")
        start = index * part.chunk
        for name, values in part.read(index).items() if start < cells else ():
            here = values[: cells - start]
            columns[name][start : start + len(here)] = here
    return columns

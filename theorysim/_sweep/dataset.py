"""From flat cells to a Dataset whose dimensions are the swept fields, then seed, then time."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import Refused
from .store import Store

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
    labels = {name: (name, list(values)) for name, values in over.items()}
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
    studies: dict[str, list[Any]] = {}
    for line in store.manifest.read():
        if line.get("made") and line["group"] in store.root:
            studies.setdefault(line["group"].split("/")[0], []).append(line["group"])
    tree = {}
    for study, groups in studies.items():
        tree[study] = _study(store, list(dict.fromkeys(groups)))
    return xr.DataTree.from_dict({f"/{name}": data for name, data in tree.items()}, name=store.path.stem)


def _study(store: Store, groups: list[str]) -> xr.Dataset:
    parts, attrs = [], {}
    for name in groups:
        stored = store.part(name)
        if stored is None:
            continue
        attrs = stored.attrs
        for index, line in stored.listed().items():
            if not stored.sound(index, line):
                raise Refused(f"store {store.path}: chunk {index} of {name} is damaged; run the command again to redo it")
        columns = {key: np.asarray(array[:]) for key, array in stored.arrays.items()}
        parts.append((json.loads(attrs["static"]), columns, int(attrs["seeds"])))
    over, seeds = json.loads(attrs["over"]), min(seeds for _, _, seeds in parts)
    cut = [(static, {k: v[: seeds * (len(v) // have)] for k, v in columns.items()}) for static, columns, have in parts]
    shown = {key: attrs[key] for key in attrs if key not in ("over", "dims", "coords", "static", "part", "outputs")}
    return dataset(over, seeds, cut, json.loads(attrs["dims"]), json.loads(attrs["coords"]), shown)

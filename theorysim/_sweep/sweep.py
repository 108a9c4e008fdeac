"""The one verb for many trials."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import InvalidArgument, Refused
from .dataset import dataset, describe
from .devices import devices as all_devices
from .memory import require
from .plan import Part, Plan, plan
from .progress import Reporter
from .provenance import provenance
from .runner import coordinates, open_part, run_part
from .store import Store, StoredPart
from .trace import Program, Trial, prepare

if TYPE_CHECKING:
    import xarray as xr

EXECUTORS = ("local",)


class OtherSweep(Refused):
    """The store holds another sweep under this name."""


def sweep(
    trial: Trial,
    params: Any,
    over: Mapping[str, Any] | None = None,
    *,
    seeds: int = 1,
    store: str | os.PathLike[str] | None = None,
    executor: str = "local",
    progress: bool = False,
    x64: bool = False,
    seed: int = 0,
    batch: int | None = None,
    fresh: bool = False,
    group: str = "sweep",
) -> xr.Dataset:
    """Run a trial at every point of a grid, for several seeds.

    The key of a trial depends on the root seed and on its seed's index alone, so all cells of one seed share random
    numbers: intervals resample seeds, never cells. Results are equal to the bit for a given batch, whatever the order, the
    chunks, the devices or the number of runs it took.

    **Arguments:**

    - `trial`: pure `trial(params, key) -> dict` of arrays, or of `named` ones.
    - `params`: a dataclass instance, the base point.
    - `over`: swept fields and their values; the dimensions of the result, in this order.
    - `seeds`: how many seeds, >= 1.
    - `store`: folder of a Zarr store. What it holds already is not run again; without it all stays in memory.
    - `executor`: `"local"`.
    - `progress`: whether to report to the standard error.
    - `x64`: float64 instead of float32; the draws differ.
    - `seed`: the root seed.
    - `batch`: cells that run side by side; chosen from the program if not given.
    - `fresh`: start anew whatever the store holds.
    - `group`: the name of the study in the store.

    **Returns:** a Dataset with dimensions `*over, seed`, then those of the outputs. `status` is 1 for a cell that is
    finite, 2 for one that is not.

    **Raises:** `InvalidArgument` for anything out of range; `Refused` if the trial cannot be traced, if memory does
    not suffice, or if the store holds another sweep.

    >>> from dataclasses import dataclass
    >>> import jax
    >>> @dataclass(frozen=True)
    ... class Params:
    ...     scale: float = 1.0
    >>> data = sweep(lambda p, key: {"draw": p.scale * jax.random.normal(key)}, Params(), over={"scale": [1, 2]}, seeds=3)
    >>> bool((data.draw.sel(scale=2) == 2 * data.draw.sel(scale=1)).all())
    True
    """
    if executor not in EXECUTORS:
        raise InvalidArgument("executor", executor, f"must be {' or '.join(EXECUTORS)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise InvalidArgument("seed", seed, "must be a whole number in [0, 2^32)")
    if batch is not None and (not isinstance(batch, int) or batch < 1):
        raise InvalidArgument("batch", batch, "must be a whole number >= 1")
    if not group or group.startswith(".") or set(group) & set("/\\"):
        raise InvalidArgument("group", group, "must be the name of a folder")
    planned = plan(params, over or {}, seeds)
    cores = all_devices()
    programs = [prepare(trial, part, x64, batch) for part in planned.parts]
    _check_results(planned, programs)
    opened = Store(store, write=True) if store is not None else None
    try:
        return _run(planned, programs, seed, batch, fresh, group, opened, cores, progress)
    finally:
        if opened:
            opened.close()


def _check_results(planned: Plan, programs: list[Program]) -> None:
    """All parts must give the same outputs, and memory must hold them: known before anything runs or is written."""
    for program in programs:
        if program.template != programs[0].template:
            here, there = program.part.label, planned.parts[0].label
            raise Refused(f"{here}: the outputs have other shapes, types or coordinates than at {there}; sweep apart")
    size = sum(program.bytes for program in programs)
    require(f"the results of {planned.cells} cells", size, "observe fewer times, sweep fewer cells")


def _run(
    planned: Plan,
    programs: list[Program],
    seed: int,
    batch: int | None,
    fresh: bool,
    group: str,
    store: Store | None,
    cores: list[Any],
    progress: bool,
) -> xr.Dataset:
    done, attrs = [], {}
    if store and fresh:
        store.drop(group)
    if store:
        _check_parts(store, group, planned)
    with Reporter(group, planned.cells, progress) as reporter:
        reporter.traced(sum(program.seconds for program in programs))
        for program in programs:
            part, name = program.part, _name(group, program.part)
            before = store.part(name) if store else None
            if before and batch is None:
                program = replace(program, batch=int(before.attrs["batch"]))
            attrs = _attributes(planned, part, program, seed, cores)
            stored = _reopen(store, name, program, attrs) if store else None

            def make(chunk: int, name: str = name, program: Program = program, attrs: Any = attrs) -> StoredPart:
                assert store is not None
                return store.make(name, program.template, coordinates(program.part), chunk, attrs)

            columns = run_part(program, cores, seed, reporter, stored, make if store else None)
            done.append((part.static, columns.data))
            _warn_of_precision(reporter, columns.data, program.x64)
            attrs |= {"compile_seconds": reporter.compile_seconds, "run_seconds": reporter.run_seconds}
            if reporter.ran and store and (kept := store.part(name)):
                kept.group.attrs.update({key: attrs[key] for key in ("compile_seconds", "run_seconds")})
    described = {key: attrs.pop(key) for key in ("over", "dims", "coords", "static", "part")}
    dims, coords = json.loads(described["dims"]), json.loads(described["coords"])
    return dataset(planned.over, planned.seeds, done, dims, coords, attrs)


def _name(group: str, part: Part) -> str:
    """The group of a part in the store."""
    return f"{group}/{part.label}" if part.label else group


def _check_parts(store: Store, group: str, planned: Plan) -> None:
    """Parts that are there must be among the asked ones: a study holds one grid."""
    asked = {_name(group, part) for part in planned.parts}
    for name in store.studies().get(group, []):
        if name not in asked:
            raise OtherSweep(
                f"{group} in {store.path} was made with other settings: the grid differs (it holds {name}); "
                "--fresh starts anew, or give another store"
            )


def _attributes(planned: Plan, part: Part, program: Program, seed: int, cores: list[Any]) -> dict[str, Any]:
    return {
        **provenance(part.params, program.x64, cores),
        **describe(planned.over, part.label, program.template),
        "static": json.dumps(part.static),
        "seeds": planned.seeds,
        "root_seed": seed,
        "batch": program.batch,
        "key": program.key,
    }


#: what must agree for stored cells to be the asked ones, and how to say it
_MUST_AGREE = {
    "over": "the grid", "params": "a parameter", "root_seed": "the root seed", "dtype": "the precision",
    "batch": "the batch", "prng": "the random number generator", "key": "the program (code or versions)",
}  # fmt: skip


def _reopen(store: Store, name: str, program: Program, attrs: dict[str, Any]) -> StoredPart | None:
    stored = store.part(name)
    if stored is None:
        return None
    for key, words in _MUST_AGREE.items():
        if stored.attrs[key] != attrs[key]:
            was, now = (f"{a[key]}" if len(f"{a[key]}") <= 60 else f"{a[key]:.57}..." for a in (stored.attrs, attrs))
            if key == "params":
                old, new = json.loads(stored.attrs[key]), json.loads(attrs[key])
                was, now = ({k: v for k, v in a.items() if old.get(k) != new.get(k)} for a in (old, new))
            if key == "key" and stored.attrs["versions"] != attrs["versions"]:
                was, now = stored.attrs["versions"], attrs["versions"]
            raise OtherSweep(f"{name} in {store.path} was made with other settings: {words} differs ({was} there, {now} now); "
                          "--fresh starts anew, or give another store")  # fmt: skip
    return open_part(store, name, program, attrs)


def _warn_of_precision(reporter: Reporter, data: dict[str, Any], x64: bool) -> None:
    """float32 has no gradient left once a loss is under 1e-7; a reader must know."""
    loss = data.get("train_loss")
    if x64 or loss is None or not reporter.shown:
        return
    below = float((loss < 1e-6).mean())
    if below:
        reporter.console.print(f"{reporter.label}: train_loss is under 1e-6 in {below:.1%} of float32 records; see --x64")

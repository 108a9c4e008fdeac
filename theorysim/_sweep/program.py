"""One compiled program for all cells that share static fields.

Cells come in batches of `b` that share a seed. Random numbers depend on the seed alone, so what is drawn before a swept
number enters is drawn once a batch. Batches run one after the other inside the program, and batches are sharded over devices.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._errors import InvalidArgument, Refused
from .._named import as_named
from .devices import precision
from .params import fields_of
from .plan import Part

Trial = Callable[[Any, Any], dict[str, Any]]

RESERVED = ("seed", "time", "cell", "status")
_TRACER_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


@dataclass(frozen=True)
class Output:
    """One output of a trial: the names of its axes, its shape, type, and coordinates."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    coords: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Program:
    """A trial of one part, ready to be lowered: `one(values, seed, still, root)` runs a cell.

    The traced fields that are not swept are in `still`: arguments too, so that another value needs no other program.
    """

    part: Part
    x64: bool
    one: Callable[..., dict[str, Any]]
    swept: dict[str, Any]
    still: dict[str, Any]
    template: dict[str, Output]
    batch: int
    key: str
    seconds: float


def _cell(trial: Trial, part: Part, x64: bool) -> tuple[Callable, dict[str, Any], dict[str, Any]]:
    """The function of one cell, and the abstract values of its swept and of its other traced fields."""
    known = fields_of(part.params)
    types = {float: jnp.float64 if x64 else jnp.float32, int: jnp.int64 if x64 else jnp.int32, bool: jnp.bool_}
    traced = {name: types[item.kind] for name, item in known.items() if item.traced}
    swept = {name: jax.ShapeDtypeStruct((), traced[name]) for name in part.axes}
    still = {name: np.asarray(getattr(part.params, name), kind) for name, kind in traced.items() if name not in swept}

    def one(values: dict[str, Any], seed: Any, still: dict[str, Any], root: Any) -> dict[str, Any]:
        # typed keys of a pinned kind: draws do not follow a user's global setting
        key = jax.random.fold_in(jax.random.key(root, impl="threefry2x32"), seed)
        return {name: as_named(out) for name, out in trial(dataclasses.replace(part.params, **still, **values), key).items()}

    return one, swept, still


def _template(out: Any, part: Part) -> dict[str, Output]:
    """Names, axes and types of a trial's outputs, or an error that names the one that will not do."""
    template = {}
    for name, value in out.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED or name in fields_of(part.params):
            raise InvalidArgument("output", name, f"must be a name other than a field's and {', '.join(RESERVED)}")
        for dim in value.dims:
            if dim in ("seed", "cell", "status") or dim in part.axes:
                raise InvalidArgument(f"axis of {name}", dim, "is taken; give the axis another name")
        template[name] = Output(value.dims, value.value.shape, np.dtype(value.value.dtype), value.coords)
    if not template:
        raise InvalidArgument("trial", "{}", "must return at least one output")
    return template


def _abstract(trial: Trial, part: Part, x64: bool) -> tuple[Callable, dict, dict, Any]:
    one, swept, still = _cell(trial, part, x64)
    seed = jax.ShapeDtypeStruct((), jnp.uint32)
    return one, swept, still, jax.eval_shape(one, swept, seed, still, seed)


def _blame(trial: Trial, part: Part, x64: bool, error: Exception) -> Refused:
    """Which traced field made a shape or a branch: the one whose trial traces once it is static."""
    for name, item in fields_of(part.params).items():
        if not item.traced:
            continue

        def pinned(params: Any, key: Any, name: str = name) -> dict[str, Any]:
            return trial(dataclasses.replace(params, **{name: getattr(part.params, name)}), key)

        try:
            _abstract(pinned, part, x64)
        except Exception:
            continue
        return Refused(
            f"field {name} is traced (so that it can be swept), but the trial needs its value for a shape or a branch: "
            f"annotate it ts.Static[{item.kind.__name__}], or use jnp.where"
        )
    return Refused(f"the trial needs the value of a traced number: {str(error).strip().splitlines()[0]}")


def _largest_matmul(jaxpr: Any) -> float:
    """Floating-point operations of the largest matrix product in a program."""

    def walk(jaxpr: Any) -> Iterator[float]:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "dot_general":
                (contracted, _), _ = eqn.params["dimension_numbers"]
                inner = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
                yield 2.0 * inner * math.prod(eqn.outvars[0].aval.shape)
            for value in eqn.params.values():
                for sub in value if isinstance(value, list | tuple) else [value]:
                    sub = getattr(sub, "jaxpr", sub)
                    if hasattr(sub, "eqns"):
                        yield from walk(sub)

    return max(walk(jaxpr), default=0.0)


def choose_batch(largest: float, per_seed: int) -> int:
    """Cells in a batch: 8 for tiny cells, 1 once a matrix product exceeds a MFLOP, and never more than there are."""
    best = 8 if largest <= 1e6 else 1
    return max(b for b in (1, 4, 8) if b <= max(1, min(best, per_seed)))


def prepare(trial: Trial, part: Part, x64: bool, batch: int | None) -> Program:
    """Trace a trial once: its outputs, its key for resuming, and the batch that suits it."""
    start = time.perf_counter()
    with precision(x64):
        try:
            one, swept, still, out = _abstract(trial, part, x64)
        except _TRACER_ERRORS as error:
            raise _blame(trial, part, x64, error) from error
        template = _template(out, part)
        seed = jax.ShapeDtypeStruct((), jnp.uint32)
        traced = jax.jit(one).trace(swept, seed, still, seed)
        batch = batch or choose_batch(_largest_matmul(traced.jaxpr), part.per_seed)
        text = traced.lower().as_text()
    settings = f"x64={x64} prng=threefry2x32/{jax.config.read('jax_threefry_partitionable')} b={batch} {[*swept]} {[*still]}\n"
    key = hashlib.sha256((settings + text).encode()).hexdigest()
    return Program(part, x64, one, swept, still, template, batch, key, time.perf_counter() - start)


@dataclass(frozen=True)
class Compiled:
    """A program for `rows` batches at a time: `run(seeds, values, root)`."""

    call: Callable[..., dict[str, Any]]
    sharding: NamedSharding
    still: dict[str, Any]
    root: int
    rows: int
    seconds: float
    memory: int
    x64: bool

    def run(self, seeds: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs of shape `(rows, b, ..)` for seeds `(rows,)` and swept values `(rows, b)`."""
        with precision(self.x64):
            placed = jax.device_put((seeds, values), self.sharding)
            out = self.call(*placed, self.still, np.uint32(self.root))
            return {name: np.asarray(value) for name, value in out.items()}


#: executables of this process, by program, devices and rows: studies that differ in numbers alone share one
_compiled: dict[tuple[str, int, int], tuple[Any, NamedSharding]] = {}


def compile_rows(program: Program, devices: list[Any], rows: int, root: int) -> Compiled:
    """Compile a program for `rows` batches, a multiple of the devices, and time the compilation."""
    start = time.perf_counter()
    with precision(program.x64):
        name = (program.key, len(devices), rows)
        if name not in _compiled:
            _compiled[name] = _compile(program, devices, rows)
        executable, sharding = _compiled[name]
    usage = executable.memory_analysis()
    memory = 0 if usage is None else (usage.temp_size_in_bytes + usage.output_size_in_bytes) * len(devices)
    seconds = time.perf_counter() - start
    return Compiled(executable, sharding, program.still, root, rows, seconds, memory, program.x64)


def _compile(program: Program, devices: list[Any], rows: int) -> tuple[Any, NamedSharding]:
    mesh = Mesh(np.asarray(devices), ("cell",))
    each, whole, b = PartitionSpec("cell"), PartitionSpec(), program.batch

    def shard(seeds: Any, values: dict[str, Any], still: Any, root: Any) -> dict[str, Any]:
        def batch(row: Any) -> dict[str, Any]:
            seed, cells = row
            if b == 1:
                out = program.one({name: v[0] for name, v in cells.items()}, seed, still, root)
                return jax.tree.map(lambda v: v[None], out)
            return jax.vmap(program.one, (0, None, None, None), axis_size=b)(cells, seed, still, root)

        return {name: out.value for name, out in lax.map(batch, (seeds, values)).items()}

    places = (each, each, whole, whole)
    run = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=places, out_specs=each, check_vma=False))
    sharding = NamedSharding(mesh, each)
    seeds = jax.ShapeDtypeStruct((rows,), jnp.uint32, sharding=sharding)
    values = {n: jax.ShapeDtypeStruct((rows, b), s.dtype, sharding=sharding) for n, s in program.swept.items()}
    return run.lower(seeds, values, program.still, jax.ShapeDtypeStruct((), jnp.uint32)).compile(), sharding

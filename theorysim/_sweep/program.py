"""One executable for all cells that share static fields.

Cells come in batches of `b` that share a seed. Random numbers depend on the seed alone, so what is drawn before a swept
number enters is drawn once a batch. Batches run one after the other inside the program, and batches are sharded over devices.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .devices import precision
from .trace import Program


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

"""A trial traced once: its outputs, the digest by which it resumes, the batch that suits it, and whose fault an error is."""

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

from .._errors import InvalidArgument, Refused
from .devices import precision, setting
from .params import fields_of
from .plan import Part
from .template import Output, outputs, template_of

Trial = Callable[[Any, Any], dict[str, Any]]

_TRACER_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


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
    digest: str
    seconds: float

    @property
    def key(self) -> str:
        """What must agree for results to be the same: the program, the names of its arguments, and how it is run."""
        prng = f"threefry2x32/{setting('jax_threefry_partitionable')}"
        settings = f"x64={self.x64} prng={prng} b={self.batch} {[*self.swept]} {[*self.still]}\n"
        return hashlib.sha256((settings + self.digest).encode()).hexdigest()

    @property
    def bytes(self) -> int:
        """Bytes of all results."""
        return self.part.cells * sum(math.prod(o.shape) * o.dtype.itemsize for o in self.template.values())


def _cell(trial: Trial, part: Part, x64: bool) -> tuple[Callable, dict[str, Any], dict[str, Any]]:
    """The function of one cell, and the abstract values of its swept and of its other traced fields."""
    known = fields_of(part.params)
    types = {float: jnp.float64 if x64 else jnp.float32, int: jnp.int64 if x64 else jnp.int32, bool: jnp.bool_}
    traced = {name: types[item.kind] for name, item in known.items() if item.traced}
    for name, kind in traced.items():
        _check_fits(name, part.axes.get(name, [getattr(part.params, name)]), kind)
    swept = {name: jax.ShapeDtypeStruct((), traced[name]) for name in part.axes}
    still = {name: np.asarray(getattr(part.params, name), kind) for name, kind in traced.items() if name not in swept}

    def one(values: dict[str, Any], seed: Any, still: dict[str, Any], root: Any) -> dict[str, Any]:
        # typed keys of a pinned kind: draws do not follow a user's global setting
        key = jax.random.fold_in(jax.random.key(root, impl="threefry2x32"), seed)
        return outputs(trial(dataclasses.replace(part.params, **still, **values), key))

    return one, swept, still


def _check_fits(name: str, values: list[Any], kind: Any) -> None:
    """Refuse a number that would wrap around, or become infinite, in the precision of the sweep."""
    if kind is not jnp.bool_:
        floating = jnp.issubdtype(kind, jnp.floating)
        limit = float(jnp.finfo(kind).max) if floating else int(jnp.iinfo(kind).max)
        for value in values:
            if abs(value) > limit:
                raise InvalidArgument(name, value, f"must fit {kind.dtype}, the precision of the sweep")


def _abstract(trial: Trial, part: Part, x64: bool) -> tuple[Callable, dict, dict, Any]:
    one, swept, still = _cell(trial, part, x64)
    seed = jax.ShapeDtypeStruct((), jnp.uint32)
    return one, swept, still, jax.eval_shape(one, swept, seed, still, seed)


def _blame(trial: Trial, part: Part, x64: bool, error: Exception) -> Exception:
    """Which traced field made a shape or a branch: the one whose trial traces once it is static."""
    for name, item in fields_of(part.params).items():
        value = getattr(part.params, name)
        pins = {f"ts.Static[{item.kind.__name__}]": value}
        if item.kind is float and value == int(value):
            pins["int"] = int(value)  # a length, which no float can be
        for remedy, pin in pins.items() if item.traced else ():

            def pinned(params: Any, key: Any, name: str = name, pin: Any = pin) -> dict[str, Any]:
                return trial(dataclasses.replace(params, **{name: pin}), key)

            try:
                _abstract(pinned, part, x64)
            except Exception:
                continue
            return Refused(
                f"field {name} is traced (so that it can be swept), but the trial needs its value for a shape or a branch: "
                f"annotate it {remedy}, or use jnp.where"
            )
    if not isinstance(error, _TRACER_ERRORS):
        return error  # a mistake that has nothing to do with tracing
    return Refused(f"the trial needs the value of a traced number: {str(error).strip().splitlines()[0]}")


def _inside(eqn: Any) -> Iterator[Any]:
    """The jaxprs that an equation runs."""
    for value in eqn.params.values():
        for sub in value if isinstance(value, list | tuple) else [value]:
            sub = getattr(sub, "jaxpr", sub)
            if hasattr(sub, "eqns"):
                yield sub


def _largest_matmul(jaxpr: Any, *, batched: bool = False) -> float:
    """Floating-point operations of the largest matrix product in a program; `batched`: of those that are many small ones."""

    def walk(jaxpr: Any) -> Iterator[float]:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "dot_general":
                (contracted, _), (batch, _) = eqn.params["dimension_numbers"]
                inner = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
                if batch or not batched:
                    yield 2.0 * inner * math.prod(eqn.outvars[0].aval.shape)
            for sub in _inside(eqn):
                yield from walk(sub)

    return max(walk(jaxpr), default=0.0)


def _largest_in_step(jaxpr: Any) -> int:
    """Entries of the largest array that is made in an innermost loop: what a step must hold near the core."""

    def walk(jaxpr: Any) -> tuple[int, int, bool]:
        """The largest array made here, that of innermost loops, and whether there is a loop."""
        here, steps, loops = 0, 0, False
        for eqn in jaxpr.eqns:
            here = max(here, *(math.prod(getattr(out.aval, "shape", ())) for out in eqn.outvars), 0)
            for sub in _inside(eqn):
                size, inner, looped = walk(sub)
                if eqn.primitive.name in ("while", "scan") and not looped:
                    inner, looped = size, True
                here, steps, loops = max(here, size), max(steps, inner), loops or looped
        return here, steps, loops

    return walk(jaxpr)[1]


#: float32 entries of which a core's cache holds the few arrays of a step
_NEAR = 2**16


#: operations of a matrix product that keeps a core busy by itself
_FAT = 1e6


def choose_batch(largest: float, per_seed: int, entries: int = 1, shared: bool = False) -> int:
    """Cells in a batch: 16 for tiny cells, fewer where the arrays of a step would leave the core's cache, 1 once a matrix
    product exceeds a MFLOP, and never more than there are.

    But 16 if the cells of a seed have one factor of each such product in common (`shared`): theirs is then one larger product,
    measured 1.3 to 1.7 times faster than one after the other for n = 200 to 700.
    """
    best = min(16, _NEAR // max(entries, 1)) if largest <= _FAT else 16 if shared else 1
    return max(b for b in (1, 4, 8, 16) if b <= max(1, min(best, per_seed)))


def _share(one: Callable, swept: dict, seed: Any, still: dict) -> bool:
    """Whether no large product has both factors depend on a swept number: then cells side by side have it in common."""
    several = {name: jax.ShapeDtypeStruct((2,), leaf.dtype) for name, leaf in swept.items()}
    together = jax.jit(jax.vmap(one, (0, None, None, None))).trace(several, seed, still, seed).jaxpr
    return _largest_matmul(together, batched=True) <= _FAT


def prepare(trial: Trial, part: Part, x64: bool, batch: int | None) -> Program:
    """Trace a trial once: its outputs, its key for resuming, and the batch that suits it.

    It is traced anew for each sweep: what a trial calls may have changed since, in a notebook, and a trace kept for it
    would give results of the old code.
    """
    start = time.perf_counter()
    with precision(x64):
        try:
            one, swept, still, out = _abstract(trial, part, x64)
        except (TypeError, *_TRACER_ERRORS) as error:
            blamed = _blame(trial, part, x64, error)
            if blamed is error:
                raise
            raise blamed from error
        template = template_of(out, part)
        seed = jax.ShapeDtypeStruct((), jnp.uint32)
        traced = jax.jit(one).trace(swept, seed, still, seed)
        digest = hashlib.sha256(traced.lower().as_text().encode()).hexdigest()
        jaxpr = traced.jaxpr
        if not batch:
            largest = _largest_matmul(jaxpr)
            shared = largest > _FAT and part.per_seed > 1 and bool(swept) and _share(one, swept, seed, still)
            batch = choose_batch(largest, part.per_seed, _largest_in_step(jaxpr), shared)
    return Program(part, x64, one, swept, still, template, batch, digest, time.perf_counter() - start)

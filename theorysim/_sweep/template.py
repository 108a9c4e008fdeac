"""What a trial returns: names, axes and types, known before anything is compiled."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._errors import InvalidArgument
from .._named import Named, as_named
from .params import fields_of
from .plan import Part

RESERVED = ("seed", "time", "cell", "status")
_STORABLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")


@dataclass(frozen=True)
class Output:
    """One output of a trial: its axes' names, shape, type, coordinates, and whether NaN means "not defined" in it."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    coords: tuple[tuple[str, tuple[float, ...]], ...]
    partial: bool = False


def outputs(out: Any) -> dict[str, Named]:
    """What a trial returns, as named arrays."""
    if not isinstance(out, dict):
        raise InvalidArgument("trial", f"returns {type(out).__name__}", "must return a dict of arrays")
    found = {}
    for name, value in out.items():
        try:
            array = jnp.asarray(value.value if isinstance(value, Named) else value)
        except (TypeError, ValueError):
            raise InvalidArgument(f"output {name}", type(value).__name__, "must be an array of numbers") from None
        found[name] = dataclasses.replace(value, value=array) if isinstance(value, Named) else as_named(array)
    return found


def template_of(out: Any, part: Part) -> dict[str, Output]:
    """Names, axes and types of a trial's outputs, or an error that names the one that will not do."""
    template: dict[str, Output] = {}
    for name, value in out.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED or name in fields_of(part.params):
            raise InvalidArgument("output", name, f"must be a name other than a field's and {', '.join(RESERVED)}")
        if str(value.value.dtype) not in _STORABLE:
            raise InvalidArgument(f"output {name}", str(value.value.dtype), f"must be of type {', '.join(_STORABLE)}")
        template[name] = Output(value.dims, value.value.shape, np.dtype(value.value.dtype), value.coords, value.partial)
    if not template:
        raise InvalidArgument("trial", "{}", "must return at least one output")
    _check_axes(template, part)
    return template


def _check_axes(template: dict[str, Output], part: Part) -> None:
    """An axis is a dimension of the Dataset: of one name, one length and one set of coordinates in all outputs."""
    taken = {"seed", "cell", "status", *part.axes, *part.static, *template}
    lengths: dict[str, int] = {}
    marks: dict[str, tuple[float, ...]] = {}
    for name, output in template.items():
        for dim, size in zip(output.dims, output.shape, strict=True):
            if dim in taken or output.dims.count(dim) > 1:
                raise InvalidArgument(f"axis of {name}", dim, "is taken; give the axis another name")
            if lengths.setdefault(dim, size) != size:
                rule = f"its length is {size}, but {lengths[dim]} in another output; name the axes apart with ts.named"
                raise InvalidArgument(f"axis of {name}", dim, rule)
        for dim, values in output.coords:
            if marks.setdefault(dim, values) != values:
                raise InvalidArgument(f"axis of {name}", dim, "has other coordinates in another output; name the axes apart")

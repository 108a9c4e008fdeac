"""Axis names for what a trial returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._errors import InvalidArgument


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Named:
    """An array whose axes have names, and coordinates where it has them; made by `named`."""

    value: Any
    dims: tuple[str, ...] = field(metadata={"static": True})
    coords: tuple[tuple[str, tuple[float, ...]], ...] = field(default=(), metadata={"static": True})
    partial: bool = field(default=False, metadata={"static": True})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.value, dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)


def named(value: Any, *dims: str, partial: bool = False, **coords: Any) -> Named:
    """Give the axes of an array their names, so that they are dimensions of the sweep's Dataset.

    **Arguments:**

    - `value`: an array.
    - `dims`: one name for each axis.
    - `partial`: whether NaN stands for "not defined here" (an empty group, say) and not for a run that diverged.
    - `coords`: for some of the names, the coordinate values along that axis (concrete numbers).

    **Returns:** a `Named` array, a pytree with one leaf.

    **Raises:** `InvalidArgument` if names and axes differ in number, or a coordinate in length.

    >>> import jax.numpy as jnp
    >>> named(jnp.zeros((3, 2)), "sample", "filter").dims
    ('sample', 'filter')
    """
    shape = jnp.shape(value)
    if len(dims) != len(shape):
        raise InvalidArgument("named", dims, f"an array of shape {shape} needs {len(shape)} axis names")
    fixed = []
    for name, values in coords.items():
        values = tuple(np.asarray(values).tolist())
        if name not in dims or len(values) != shape[dims.index(name)]:
            raise InvalidArgument("named", name, f"its {len(values)} coordinates do not fit the shape {shape}")
        fixed.append((name, values))
    return Named(value, dims, tuple(fixed), partial)


def as_named(value: Any) -> Named:
    """`value` itself if it has names; a plain scalar gets none; other arrays get `axis_0`, `axis_1`, .."""
    if isinstance(value, Named):
        return value
    return Named(value, tuple(f"axis_{i}" for i in range(jnp.ndim(value))))

"""The data of one draw, and parts and unions of draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Batch(NamedTuple):
    """Samples of a law.

    - `patches`: one array for each patch, of shape `(n, d_k)`. A patch may drop trailing zero
      coordinates; noise in an infinite frame is an `exact.Diagonal` that stands for the array.
    - `sign`: the true class, +1 or -1.
    - `label`: the observed class: the true one, or its opposite where it was flipped.
    - `group`: which feature, cluster, environment or task the sample has, where the law has several.

    >>> import jax.numpy as jnp
    >>> flipped = Batch((jnp.ones((2, 1)),), sign=jnp.array([1.0, -1.0]), label=jnp.ones(2))
    >>> (flipped.sign != flipped.label).tolist()
    [False, True]
    """

    patches: tuple[Float[Array, "n _"], ...]
    sign: Float[Array, " n"]
    label: Float[Array, " n"]
    group: Int[Array, " n"] | None = None


def pick(batch: Batch, chosen: Any) -> Batch:
    """The samples at some places.

    **Arguments:** `batch`; `chosen`: indices (of a static number) or a slice.

    **Returns:** a `Batch`.

    >>> import jax.numpy as jnp
    >>> batch = Batch((jnp.eye(3),), jnp.ones(3), jnp.array([1.0, -1.0, 1.0]))
    >>> pick(batch, jnp.array([1, 2])).label.tolist()
    [-1.0, 1.0]
    """
    group = None if batch.group is None else batch.group[chosen]
    return Batch(tuple(patch[chosen] for patch in batch.patches), batch.sign[chosen], batch.label[chosen], group)


def join(*batches: Batch) -> Batch:
    """All samples of several batches of one law, such as new ones and replayed ones.

    **Arguments:** `batches`: with as many patches each; a patch that is narrower in one batch is filled up with zeros.

    **Returns:** a `Batch`; its `group` is that of the parts, if all have one.

    >>> import jax.numpy as jnp
    >>> one, two = (Batch((jnp.ones((n, n)),), jnp.ones(n), jnp.ones(n)) for n in (1, 2))
    >>> join(one, two).patches[0].tolist()
    [[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    """

    def stack(parts: tuple[Array, ...]) -> Array:
        width = max(part.shape[1] for part in parts)
        return jnp.concatenate([jnp.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])

    groups = [batch.group for batch in batches if batch.group is not None]
    return Batch(
        tuple(stack(parts) for parts in zip(*(batch.patches for batch in batches), strict=True)),
        jnp.concatenate([batch.sign for batch in batches]),
        jnp.concatenate([batch.label for batch in batches]),
        jnp.concatenate(groups) if len(groups) == len(batches) else None,
    )

"""Entropic optimal transport between two finite sets."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float

from .._errors import InvalidArgument


def sinkhorn(
    cost: Float[Array, "r c"],
    strength: Any,
    steps: int,
    rows: Float[Array, " _"] | None = None,
    columns: Float[Array, " _"] | None = None,
) -> Float[Array, "r c"]:
    r"""The plan that carries one distribution to another at the least regularised cost, by Sinkhorn's iteration.

    $$ \min_{Q\ge0}\ \sum_{ij}Q_{ij}C_{ij}+\epsilon\sum_{ij}Q_{ij}(\log Q_{ij}-1)\quad\text{with}\quad
       \sum_jQ_{ij}=a_i,\ \sum_iQ_{ij}=b_j, $$

    computed on logarithms, so that no $e^{-C/\epsilon}$ underflows. The sums of columns are exact, those of rows converge.

    **Arguments:**

    - `cost`: $C$, shape `(r, c)`.
    - `strength`: $\epsilon>0$ of the entropy; may be traced.
    - `steps`: of the iteration, >= 1. Static. How many are needed grows with the spread of $C/\epsilon$.
    - `rows`, `columns`: the marginals $a$ and $b$, each with sum 1; uniform by default.

    **Returns:** $Q$, shape `(r, c)`.

    **Raises:** `InvalidArgument` for a `strength` or number of steps out of range, or marginals of another shape.

    Source: Cuturi (2013), "Sinkhorn distances: lightspeed computation of optimal transport".

    >>> import jax.numpy as jnp
    >>> sinkhorn(jnp.array([[0.0, 1.0], [1.0, 0.0]]), 0.05, 10).round(3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    if not isinstance(strength, Tracer) and not strength > 0:
        raise InvalidArgument("strength", strength, "must be a number > 0")
    if not isinstance(steps, int) or steps < 1:
        raise InvalidArgument("steps", steps, "must be a whole number >= 1")
    logs = []
    for name, given, count in (("rows", rows, cost.shape[0]), ("columns", columns, cost.shape[1])):
        if given is not None and given.shape != (count,):
            raise InvalidArgument(name, given.shape, f"must be one number for each of {count}")
        logs.append(jnp.full(count, -jnp.log(count), cost.dtype) if given is None else jnp.log(given).astype(cost.dtype))
    kernel = -cost / jnp.asarray(strength, cost.dtype)

    def step(_: Any, potential: Array) -> Array:
        """The potential of the columns, from that of the columns before."""
        other = logs[0] - jax.nn.logsumexp(kernel + potential, axis=1)
        return logs[1] - jax.nn.logsumexp(kernel + other[:, None], axis=0)

    potential = lax.fori_loop(0, steps - 1, step, jnp.zeros_like(logs[1]))
    other = logs[0] - jax.nn.logsumexp(kernel + potential, axis=1)
    last = logs[1] - jax.nn.logsumexp(kernel + other[:, None], axis=0)
    return jnp.exp(kernel + other[:, None] + last)

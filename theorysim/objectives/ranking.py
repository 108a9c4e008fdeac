"""The loss of a ranking."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def plackett_luce(scores: Float[Array, "*b n"], rewards: Float[Array, "*b n"], given: Any = True) -> Float[Array, "*b"]:
    r"""The negative logarithm of the Plackett-Luce probability of the order that rewards give.

    $$ L=-\sum_i\Big[s_{(i)}-\log\sum_{j\ge i}e^{s_{(j)}}\Big],\qquad r_{(1)}\ge r_{(2)}\ge\dots $$

    **Arguments:** `scores`: $s$, shape `(.., n)`; `rewards`: $r$, of the same shape; `given`: which items take part, an array
    that broadcasts to that shape, or all.

    **Returns:** shape `(..)`; for two items it is the Bradley-Terry loss $\log(1+e^{s_{(2)}-s_{(1)}})$.

    Source: Plackett (1975); Luce (1959).

    >>> import jax.numpy as jnp
    >>> round(float(plackett_luce(jnp.array([0.0, 1.0]), jnp.array([0.3, 0.9]))), 4)  # log(1 + 1/e)
    0.3133
    """
    given = jnp.broadcast_to(jnp.asarray(given), rewards.shape)
    order = jnp.argsort(jnp.where(given, -rewards, jnp.inf), axis=-1)
    given, sorted_ = (jnp.take_along_axis(v, order, axis=-1) for v in (given, jnp.broadcast_to(scores, rewards.shape)))
    # the logarithm of the sum over this item and all behind it
    behind = lax.cumlogsumexp(jnp.where(given, sorted_, -1e30), axis=sorted_.ndim - 1, reverse=True)
    return -jnp.sum(jnp.where(given, sorted_ - behind, 0), axis=-1)

"""Statistics over a group of samples, such as those whose label was flipped; NaN where the group is empty."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def mean_over(values: Float[Array, "*n"], group: Bool[Array, "*n"]) -> Float[Array, ""]:
    r"""The mean over a group, $\sum_{i\in S} v_i/|S|$.

    **Arguments:** `values`: of any shape; `group`: who belongs to it, of the same shape.

    **Returns:** a scalar, NaN for an empty group.

    >>> import jax.numpy as jnp
    >>> float(mean_over(jnp.array([1.0, 2.0, 6.0]), jnp.array([True, False, True])))
    3.5
    """
    count = jnp.sum(group)
    return jnp.where(count > 0, jnp.sum(jnp.where(group, values, 0)) / jnp.maximum(count, 1), jnp.nan)


def max_over(values: Float[Array, "*k n"], group: Bool[Array, " n"]) -> Float[Array, ""]:
    r"""The maximum over a group along the last axis, and over all other axes.

    **Arguments:** `values`: samples on the last axis; `group`: who belongs to it.

    **Returns:** a scalar, NaN for an empty group.

    >>> import jax.numpy as jnp
    >>> float(max_over(jnp.array([[1.0, 9.0], [2.0, 9.0]]), jnp.array([True, False])))
    2.0
    """
    return jnp.where(jnp.any(group), jnp.max(jnp.where(group, values, -jnp.inf)), jnp.nan)


def auroc(score: Float[Array, " n"], positive: Bool[Array, " n"]) -> Float[Array, ""]:
    r"""The area under the curve of a score as a detector, $P(s_+>s_-)+\tfrac12P(s_+=s_-)$ over all pairs.

    **Arguments:** `score`: shape `(n,)`; `positive`: what is to be detected.

    **Returns:** a scalar in [0, 1], NaN if all samples are of one kind.

    >>> import jax.numpy as jnp
    >>> float(auroc(jnp.array([0.1, 0.4, 0.8]), jnp.array([False, False, True])))
    1.0
    """
    pairs = positive[:, None] & ~positive[None, :]
    above = jnp.sign(score[:, None] - score[None, :])
    count = jnp.sum(pairs)
    return jnp.where(count > 0, jnp.sum(jnp.where(pairs, (1 + above) / 2, 0)) / jnp.maximum(count, 1), jnp.nan)

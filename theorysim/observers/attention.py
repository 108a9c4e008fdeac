"""Where attention goes, and whether queries and keys pull the same way."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def attention_mass(weights: Float[Array, "*b k k"], seeing: Any, seen: Any) -> Float[Array, ""]:
    r"""The weight that tokens of one kind give to all tokens of another, on the mean.

    $$ E_{i\in A}\sum_{j\in B}P_{ij}. $$

    **Arguments:** `weights`: $P$, rows that sum to 1, shape `(.., k, k)`; `seeing`, `seen`: which tokens are of the kinds $A$
    and $B$: indices, slices or boolean arrays of shape `(k,)`.

    **Returns:** a number in [0, 1].

    Source: as in figures of Jiang et al. (2024), arXiv 2409.19345, and Li et al. (2025), arXiv 2410.04870.

    >>> import jax.numpy as jnp
    >>> weights = jnp.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    >>> float(attention_mass(weights, 0, 0)), float(attention_mass(weights, slice(1, None), [0, 1]))
    (1.0, 0.625)
    """
    a, b = (np.atleast_1d(np.arange(weights.shape[-1])[kind]) for kind in (seeing, seen))
    return jnp.mean(jnp.sum(weights[..., a, :][..., b], axis=-1))


def sign_agreement(first: Float[Array, "*s"], second: Float[Array, "*s"]) -> Float[Array, ""]:
    r"""How often two quantities have the same sign.

    $$ P(ab>0). $$

    **Arguments:** `first`, `second`: of one shape, such as the products of queries and of keys with each sample's noise.

    **Returns:** the share of entries; 1/2 for independent signs.

    Source: Li et al. (2025), arXiv 2410.04870, stage II.

    >>> import jax.numpy as jnp
    >>> float(sign_agreement(jnp.array([1.0, -2.0, 3.0, 4.0]), jnp.array([5.0, -6.0, 7.0, -8.0])))
    0.75
    """
    return jnp.mean(first * second > 0)

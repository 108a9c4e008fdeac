"""The data of one draw."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float


class Batch(NamedTuple):
    """Samples of a law.

    - `patches`: one array for each patch, of shape `(n, d_k)`. A patch may drop trailing zero coordinates.
    - `sign`: the true class, +1 or -1.
    - `label`: the observed class: the true one, or its opposite where it was flipped.

    >>> import jax.numpy as jnp
    >>> flipped = Batch((jnp.ones((2, 1)),), sign=jnp.array([1.0, -1.0]), label=jnp.ones(2))
    >>> (flipped.sign != flipped.label).tolist()
    [False, True]
    """

    patches: tuple[Float[Array, "n _"], ...]
    sign: Float[Array, " n"]
    label: Float[Array, " n"]

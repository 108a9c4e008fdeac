"""The data of one draw."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float


class Batch(NamedTuple):
    """Samples of a law.

    - `patches`: one array for each patch, of shape `(n, d_k)`. A patch may drop trailing zero coordinates.
    - `sign`: the true class, +1 or -1.
    - `label`: the observed class: the true one, or its opposite where it was flipped.
    """

    patches: tuple[Float[Array, "n _"], ...]
    sign: Float[Array, " n"]
    label: Float[Array, " n"]

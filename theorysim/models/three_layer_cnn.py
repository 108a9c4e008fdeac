"""A convolutional network with two trained layers and a frozen one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from ..exact import Diagonal, own_basis


class ThreeLayerCNN(nnx.Module):
    r"""Shared filters on every patch, a dense ReLU layer on each patch's responses, and a frozen third layer $\pm1/m$.

    $$ f(x) = \frac1m\sum_k\sum_{s=1}^{2m} a_s\,\sigma\big(\langle v_s,\ \sigma(W x^{(k)})\rangle\big),\qquad
       a_s=\pm1,\quad \sigma(z)=\max(0,z). $$

    The input enters through $Wx^{(k)}$ alone, so a reduced frame carries it, whatever happens above.

    **Arguments:**

    - `filters`: $W$, shape `(h, d)`, trained.
    - `second`: the rows $v_s$, shape `(2 m, h)`, trained; the first $m$ have $a_s=+1$, the others $-1$.

    **Raises:** `InvalidArgument` for an odd number of rows $v_s$, or rows that do not fit the filters.

    Source: a reading of "three-layer ReLU network, the last layer fixed" in Huang et al. (2025), arXiv 2510.17526, figure 4;
    how the patches are joined is not said there.

    >>> import jax.numpy as jnp
    >>> model = ThreeLayerCNN(jnp.eye(2), second=jnp.array([[1.0, 1.0], [0.0, 1.0]]))
    >>> model((jnp.array([[3.0]]), jnp.array([[0.0, 1.0]]))).tolist()
    [3.0]
    """

    def __init__(self, filters: Float[Array, "h d"], *, second: Float[Array, "k _"]):
        if second.shape[0] % 2:
            raise InvalidArgument("second", second.shape, "needs as many rows for the class +1 as for -1")
        if second.shape[1] != filters.shape[0]:
            raise InvalidArgument("second", second.shape, f"needs a column for each of the {filters.shape[0]} filters")
        half = second.shape[0] // 2
        self.filters = nnx.Param(filters)
        self.second = nnx.Param(second)
        self.third = nnx.Variable(jnp.repeat(jnp.array([1.0, -1.0], filters.dtype), half) / half)

    def __call__(self, patches: tuple[Float[Array, "n _"] | Diagonal, ...]) -> Float[Array, " n"]:
        """The output $f$ on each sample; patches may be narrower than the filters."""
        filters, second = self.filters[...], self.second[...]
        total: Any = 0
        for patch in patches:
            total = total + jax.nn.relu(second @ jax.nn.relu(filters[:, : patch.shape[1]] @ patch.T))
        return self.third[...] @ total

    def in_own_basis(self, fixed: int) -> ThreeLayerCNN:
        """The same network in `fixed + h` coordinates, for fresh points: see `exact.own_basis`."""
        return ThreeLayerCNN(own_basis(self.filters[...], fixed), second=self.second[...])

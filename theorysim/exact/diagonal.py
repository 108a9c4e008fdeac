"""Orthogonal vectors along coordinate axes, as an operator that costs O(n) where a matrix would cost O(n^2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Diagonal:
    r"""Rows $r_i=\ell_i\,e_{f+i}$, $i=1..n$: a block of an infinite frame, used in place of a matrix.

    It stands where a matrix of shape `(n, f + n)` would: on the right of a product with dense rows, transposed or not, and
    under multiplication by numbers.

    **Arguments:**

    - `lengths`: $\ell$, shape `(n,)`.
    - `first`: $f$, the number of coordinates before those of the rows. Static.

    >>> import jax.numpy as jnp
    >>> rows = Diagonal(jnp.array([2.0, 3.0]), first=1)
    >>> (jnp.array([[5.0, 1.0, 10.0]]) @ rows.T).tolist(), (jnp.ones((1, 2)) @ rows).tolist()
    ([[2.0, 30.0]], [[0.0, 2.0, 3.0]])
    """

    lengths: Float[Array, " n"]
    first: int = field(metadata={"static": True})

    @property
    def shape(self) -> tuple[int, int]:
        n = self.lengths.shape[0]
        return n, self.first + n

    @property
    def dtype(self) -> Any:
        return self.lengths.dtype

    @property
    def T(self) -> _Columns:  # noqa: N802  (the name that arrays have)
        """The same vectors as columns."""
        return _Columns(self)

    def __rmul__(self, number: Any) -> Diagonal:
        return replace(self, lengths=number * self.lengths)

    def __rmatmul__(self, left: Float[Array, "k n"]) -> Float[Array, "k c"]:
        return jnp.pad(left * self.lengths, ((0, 0), (self.first, 0)))

    def coefficients(self, rows: Float[Array, "k c"]) -> Float[Array, "k n"]:
        """The coefficients of these vectors in other rows: $\\langle w,r_i\\rangle/\\|r_i\\|^2$."""
        return rows[:, self.first : self.shape[1]] / self.lengths

    def dense(self) -> Float[Array, "n c"]:
        """The matrix that this stands for."""
        return jnp.eye(self.lengths.shape[0], dtype=self.dtype) @ self


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Columns:
    rows: Diagonal

    @property
    def shape(self) -> tuple[int, int]:
        n, c = self.rows.shape
        return c, n

    def __rmatmul__(self, left: Float[Array, "k c"]) -> Float[Array, "k n"]:
        return left[:, self.rows.first :] * self.rows.lengths

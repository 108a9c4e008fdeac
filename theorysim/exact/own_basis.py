"""Vectors in coordinates of their own span: test responses from the Gram matrix of the filters."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._one_by_one import upper


def own_basis(vectors: Float[Array, "k d"], fixed: int) -> Float[Array, "k c"]:
    r"""Rewrite vectors in an orthonormal basis of the fixed directions and of their own span.

    With $V = [V_f, V_\perp]$ and $V_\perp^\top = QR$, the result is $[V_f, R^\top]$: its Gram matrix is that of $V$, and
    a fresh Gaussian point of $R^d$, seen through these vectors, is a standard Gaussian point in the new coordinates. So
    a test on fresh points needs no more than `fixed + k` coordinates, whatever the frame.

    **Arguments:**

    - `vectors`: rows in the coordinates of a frame, reduced or ambient; they may be dependent.
    - `fixed`: dimension of the law's fixed span.

    **Returns:** an array of shape `(k, fixed + min(k, d - fixed))`.

    >>> import jax
    >>> filters = jax.random.normal(jax.random.key(0), (4, 100))
    >>> small = own_basis(filters, fixed=1)
    >>> small.shape, bool(abs(small @ small.T - filters @ filters.T).max() < 1e-4)
    ((4, 5), True)
    """
    # QR, not Cholesky of the Gram matrix: trained filters may be nearly parallel, and the Gram squares that.
    r = upper(vectors[:, fixed:].T)
    signs = jnp.where(jnp.diagonal(r) < 0, -1, 1).astype(r.dtype)
    return jnp.concatenate([vectors[:, :fixed], (signs[:, None] * r).T], axis=1)

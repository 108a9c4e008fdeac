"""Ridge regression on products of two vectors of features."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._one_by_one import solve_positive


def bilinear_ridge(
    left: Float[Array, "n d"], right: Float[Array, "n e"], label: Float[Array, " n"], penalty: Any
) -> Float[Array, "d e"]:
    r"""The matrix of least penalised square loss: where a one-layer linear attention ends that is trained to convergence.

    $$ \Gamma=\arg\min\sum_{i=1}^n(y_i-u_i^\top\Gamma v_i)^2+\lambda\|\Gamma\|_F^2. $$

    Solved in the $d\,e$ entries or, where samples are fewer, in their $n$ coefficients: there the Gram matrix is the entrywise
    product of those of $u$ and of $v$, and no features are formed.

    **Arguments:** `left`, `right`: $u$ and $v$, shapes `(n, d)` and `(n, e)`; `label`: $y$; `penalty`: $\lambda>0$, small
    for the solution of least norm.

    **Returns:** $\Gamma$, shape `(d, e)`.

    Regime: float64 where $\lambda$ is below $10^{-6}$ of the features' squares. It costs $\min(n,de)^3/3+n\min(n,de)^2$.

    Source: Hoerl and Kennard (1970); as used by Lu et al. (2024).

    >>> import jax.numpy as jnp
    >>> u = jnp.array([[1.0, 0.0], [0.0, 1.0]])
    >>> bilinear_ridge(u, jnp.array([[2.0], [1.0]]), jnp.array([4.0, 3.0]), 1e-6).round(3).tolist()
    [[2.0], [3.0]]
    """
    (n, d), e = left.shape, right.shape[1]
    if n < d * e:
        gram = (left @ left.T) * (right @ right.T)
        weight = solve_positive(gram + penalty * jnp.eye(n, dtype=gram.dtype), label)
        return (left * weight[:, None]).T @ right
    features = (left[:, :, None] * right[:, None]).reshape(n, d * e)
    gram = features.T @ features
    return solve_positive(gram + penalty * jnp.eye(d * e, dtype=gram.dtype), features.T @ label).reshape(d, e)

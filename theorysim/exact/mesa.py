"""The population loss of autoregressive linear attention on its diagonal manifold."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class StartMoments(NamedTuple):
    """Moments of a start $x_1$ whose coordinates all have the same law, in pairs too.

    - `second`, `fourth`, `sixth`: $Ex_{1j}^2$, $k_1=Ex_{1j}^4$, $k_2=Ex_{1j}^6$.
    - `cross`: $k_3=\\sum_{r\\ne j}Ex_{1j}^2x_{1r}^4$.

    >>> import jax.numpy as jnp
    >>> [float(k) for k in start_moments(jnp.array([[1.0, 2.0], [2.0, 1.0]]))]
    [2.5, 8.5, 32.5, 10.0]
    """

    second: Any
    fourth: Any
    sixth: Any
    cross: Any


def start_moments(starts: Float[Array, "b d"]) -> StartMoments:
    """The moments of drawn starts, averaged over sequences and coordinates.

    **Arguments:** `starts`: $x_1$, shape `(b, d)`.

    **Returns:** `StartMoments`.

    >>> import jax.numpy as jnp
    >>> start_moments(jnp.array([[1.0, 2.0]])).second.item()
    2.5
    """
    squares = starts**2
    fourth = squares**2
    cross = jnp.sum(squares, axis=1) * jnp.sum(fourth, axis=1) - jnp.sum(squares * fourth, axis=1)
    return StartMoments(jnp.mean(squares), jnp.mean(fourth), jnp.mean(squares * fourth), jnp.mean(cross) / starts.shape[1])


def mesa_loss(a: Any, b: Any, moments: StartMoments, length: int, dim: int) -> Float[Array, ""]:
    r"""The autoregressive loss of `models.AutoregressiveAttention` with diagonal blocks, on `laws.Rotations`.

    $W^{KQ}$ has $\operatorname{diag}a$ in the block that meets $x_{t-1}$ from the left and $x_t$ from the right, $W^{PV}$ has
    $\operatorname{diag}b$ where it meets $x_t$, and all else is 0. Then

    $$ L=\tfrac12\sum_{t=2}^{T-1}E\|\hat y_t-x_{t+1}\|^2
        =\tfrac{T-2}2\sum_j\Big[Ex_{1j}^2-2a_jb_jk_1+b_j^2\big(a_j^2k_2+\bar H\tfrac{k_3}{d-1}\sum_{r\ne j}a_r^2\big)\Big], $$

    with $\bar H=\frac1{T-2}\sum_{t=2}^{T-1}\frac1{t-1}$. For $a=a_0\mathbf 1$, $b=b_0\mathbf 1$ it is
    $\frac{d(T-2)}2[Ex_{1j}^2-2a_0b_0k_1+(a_0b_0)^2K]$ with $K=k_2+k_3\bar H$.

    **Arguments:**

    - `a`, `b`: the diagonals, shape `(d,)`, or numbers for multiples of the unit vector.
    - `moments`: `StartMoments` of the start.
    - `length`: $T\ge3$, `dim`: $d\ge1$, whole numbers.

    **Returns:** a scalar; it is differentiable in `a`, `b` and the moments.

    Regime: $\theta_j$ uniform and independent, any start whose coordinates have these moments; the manifold is kept by
    gradients only if the moments of odd order of the start vanish (assumption 4.1), or if all other entries are clipped.

    Source: derived; the critical value $ab=k_1/K$ is that of Zheng et al. (2024), theorem 4.1.

    >>> float(mesa_loss(0.5, 1.0, StartMoments(1.0, 3.0, 15.0, 0.0), length=4, dim=1))  # T - 2 = 2 predictions
    1.75
    """
    a, b = (jnp.broadcast_to(jnp.asarray(v), (dim,)) for v in (a, b))
    harmonic = jnp.mean(1 / jnp.arange(1, length - 1, dtype=a.dtype))
    others = (jnp.sum(a**2) - a**2) / max(dim - 1, 1)
    each = moments.second - 2 * a * b * moments.fourth
    each = each + b**2 * (a**2 * moments.sixth + harmonic * moments.cross * others)
    return (length - 2) / 2 * jnp.sum(each)

"""The loss of a quadratic denoiser, averaged over the noise that is added."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def denoising_loss(
    filters: Float[Array, "m e"], patches: tuple[Float[Array, "n _"], ...], alpha: Any, beta: Any, dim: Any
) -> Float[Array, ""]:
    r"""The mean square error of a quadratic denoiser that is to tell the noise in $x_t=\alpha x_0+\beta\epsilon$.

    $$ f_p(x)=\tfrac1{\sqrt m}\sum_r\langle w_r,x^{(p)}\rangle^2w_r. $$

    With $u_r=\alpha\langle w_r,x_0\rangle$ and $K=WW^\top$, for each patch,

    $$ E\|f\|^2=\tfrac1m\sum_{r,s}K_{rs}\big[u_r^2u_s^2+\beta^2(u_r^2K_{ss}+u_s^2K_{rr}+4u_ru_sK_{rs})
       +\beta^4(K_{rr}K_{ss}+2K_{rs}^2)\big], $$
    $$ E\langle f,\epsilon\rangle=\tfrac{2\beta}{\sqrt m}\sum_ru_rK_{rr},\qquad
       L=\tfrac1{2n}\sum_{i,p}\big(E\|f\|^2-2E\langle f,\epsilon\rangle+d\big). $$

    **Arguments:**

    - `filters`: $W$, shape `(m, e)`, in coordinates of a frame or all $d$ of them.
    - `patches`: clean patches, each of shape `(n, e)` or narrower.
    - `alpha`, `beta`: $\alpha$ and $\beta$ of the noise level, $e^{-t}$ and $\sqrt{1-e^{-2t}}$.
    - `dim`: $d$, the dimension of the added noise.

    **Returns:** a scalar, smaller than $d$ for two patches only if the denoiser is better than 0. Nothing is drawn.

    Regime: exact. It depends on $R^d$ through inner products alone, so a reduced frame carries it.

    Source: derived (moments of a Gaussian vector) for the model of Han et al. (2025), arXiv 2412.01021.

    >>> import jax.numpy as jnp
    >>> patch = jnp.array([[2.0, 0.0]])
    >>> float(denoising_loss(jnp.zeros((3, 2)), (patch, patch), 0.8, 0.6, 7))
    7.0
    """
    k = filters @ filters.T
    m, own = filters.shape[0], jnp.diagonal(k)
    cross = k * (own[:, None] * own + 2 * k**2)
    total: Any = 0
    for patch in patches:
        u = alpha * filters[:, : patch.shape[1]] @ patch.T
        square = u**2
        once = 2 * (k @ own) @ square + 4 * jnp.sum(u * (k**2 @ u), axis=0)
        norm = jnp.sum(square * (k @ square), axis=0) + beta**2 * once + beta**4 * jnp.sum(cross)
        total = total + norm / m - 4 * beta * (own @ u) / jnp.sqrt(m) + dim
    return jnp.mean(total) / 2

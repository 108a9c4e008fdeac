"""The population loss of one selective state-space layer with a constant step size."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def mamba_loss(
    write: Float[Array, "h e"],
    read: Float[Array, "h e"],
    context: Any,
    *,
    write_bias: Any = 0.0,
    read_bias: Any = 0.0,
    covariance: Any = 1.0,
    task: Any = 1.0,
    noise: Any = 0.0,
    retained: Any = 0.5,
) -> Float[Array, ""]:
    r"""The loss of `models.S6` on prompts of linear regression, read from the channel of the labels at the query.

    With tokens $u_i=(x_i,y_i)$, the query $(x_q,0)$, $A=-I$ and a constant step size $\Delta$, $\alpha=e^{-\Delta}$, it says

    $$ \hat y=\big\langle W_C(x_q,0)+b_C,\ \textstyle\sum_{i<N}\omega_i\,y_{N-i}\,(W_Bu_{N-i}+b_B)\big\rangle,\qquad
       \omega_i=(1-\alpha)\alpha^{i+1}. $$

    Write $W_B=[B\ b]$, $C$ for the first $d$ columns of $W_C$, $C_+=[C\ b_C]$, $\Lambda_+=\operatorname{diag}(\Lambda,1)$,
    $s=\sum\omega_i$, $q=\sum\omega_i^2$, $\tau=\operatorname{tr}\Omega\Lambda+\rho$. Then

    $$ L=\tfrac12E(\hat y-\langle w,x_q\rangle)^2=\tfrac12\operatorname{tr}\Lambda_+C_+^\top U\,C_+
         -s\operatorname{tr}\Lambda C^\top B\Lambda\Omega+\tfrac12\operatorname{tr}\Lambda\Omega, $$
    $$ U=B\big((s^2+q)\Lambda\Omega\Lambda+q\tau\Lambda\big)B^\top
         +(s^2+2q)\big(\tau^2+2\operatorname{tr}(\Omega\Lambda)^2\big)bb^\top+q\tau\,b_Bb_B^\top. $$

    **Arguments:**

    - `write`, `read`: $W_B$ and $W_C$, shape `(h, d + 1)`. The last column of $W_C$ meets the query's label, 0.
    - `context`: $N\ge1$, any number, traced or not.
    - `write_bias`, `read_bias`: $b_B$ and $b_C$, shape `(h,)`, or 0.
    - `covariance`, `task`: $\Lambda$ of the inputs and $\Omega$ of the tasks, shape `(d, d)`, or a number times $I$.
    - `noise`: $\rho\ge0$, the variance of the labels of examples; that of the query's label, a constant, is left out.
    - `retained`: $\alpha^N$ in (0, 1), what is left of the first example; 1/2 for $\Delta=\ln2/N$.

    **Returns:** a scalar; it is differentiable in all arguments.

    Regime: Gaussian inputs, tasks and label noise.

    Source: Jiang et al. (2025), arXiv 2509.23779, section 4, for $\Lambda=\Omega=I$, $\rho=0$ and no biases; the
    constants and the rest derived.

    >>> import jax.numpy as jnp
    >>> nothing = jnp.zeros((7, 5))
    >>> float(mamba_loss(nothing, nothing, 50))  # d / 2 for a layer that says 0
    2.0
    """
    d = write.shape[1] - 1
    covariance, task = (_matrix(c, d, write) for c in (covariance, task))
    s, q = forgetting_sums(context, retained)
    seen = covariance @ task @ covariance
    labels = jnp.trace(task @ covariance) + noise
    spread = jnp.trace(task @ covariance @ task @ covariance)
    fourth = (s**2 + 2 * q) * (labels**2 + 2 * spread)  # of the labels' squares: their variance depends on the task
    write_bias, read_bias = (jnp.broadcast_to(bias, write[:, 0].shape) for bias in (write_bias, read_bias))
    reads = jnp.concatenate([read[:, :d], read_bias[:, None]], axis=1)
    inputs, label, constant = (reads.T @ part for part in (write[:, :d], write[:, d], write_bias))
    second = inputs @ ((s**2 + q) * seen + q * labels * covariance) @ inputs.T
    second = second + fourth * jnp.outer(label, label) + q * labels * jnp.outer(constant, constant)
    said = jnp.trace(covariance @ second[:d, :d]) + second[d, d]
    return said / 2 - s * jnp.trace(covariance @ inputs[:d] @ covariance @ task) + jnp.trace(covariance @ task) / 2


def forgetting_sums(context: Any, retained: Any = 0.5) -> tuple[Array, Array]:
    r"""The sums of the weights $\omega_i=(1-\alpha)\alpha^{i+1}$, $i<N$, and of their squares, where $\alpha^N$ is given.

    $$ s=\alpha(1-\alpha^N),\qquad q=\frac{1-\alpha}{1+\alpha}\,\alpha^2(1-\alpha^{2N}). $$

    **Arguments:** `context`: $N\ge1$; `retained`: $\alpha^N$ in (0, 1).

    **Returns:** $s$ and $q$, exact to rounding for $N$ up to $10^6$ in float32 too.

    Source: Jiang et al. (2025) for $s$; derived for $q$.

    >>> s, q = forgetting_sums(1e6)
    >>> round(float(s), 4), round(1e6 * float(q), 4)
    (0.5, 0.2599)
    """
    step = -jnp.log(jnp.asarray(retained)) / context
    alpha, fresh = jnp.exp(-step), -jnp.expm1(-step)
    return alpha * (1 - retained), fresh / (1 + alpha) * alpha**2 * (1 - retained**2)


def _matrix(covariance: Any, d: int, like: Array) -> Float[Array, "d d"]:
    covariance = jnp.asarray(covariance, like.dtype)
    return covariance if covariance.ndim == 2 else covariance * jnp.eye(d, dtype=like.dtype)

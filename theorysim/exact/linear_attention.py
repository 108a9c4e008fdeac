"""The population loss of one layer of linear attention."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def linear_attention_loss(
    gamma: Float[Array, "d d"],
    covariance: Any,
    context: Any,
    *,
    task: Any = 1.0,
    noise: Any = 0.0,
    excess: Any = 0.0,
    query: Any = None,
) -> Float[Array, ""]:
    r"""The loss of $\hat y=x_q^\top A\,\frac1N\sum_iy_ix_i$, averaged over tasks, prompts and queries.

    $$ L(A)=\tfrac12E(\hat y-\langle w,x_q\rangle)^2=\tfrac12\operatorname{tr}\Lambda_q(AMA^\top-2A\Lambda\Omega+\Omega), $$
    $$ M=(1+\tfrac1N)\Lambda\Omega\Lambda+\tfrac1N\big(\operatorname{tr}(\Omega\Lambda)+\rho\big)\Lambda
         +\tfrac{\kappa}N\operatorname{diag}\Omega. $$

    **Arguments:**

    - `gamma`: $A$, shape `(d, d)`.
    - `covariance`: $\Lambda$ of the examples' inputs, shape `(d, d)`, or a number times $I$.
    - `context`: $N\ge1$, any number, traced or not.
    - `task`: $\Omega$, the covariance of the tasks, shape `(d, d)`, or a number times $I$.
    - `noise`: $\rho\ge0$, the variance of the labels of examples; that of the query's label, a constant, is left out.
    - `excess`: $\kappa=E x_j^4-3(E x_j^2)^2$, for inputs with independent coordinates that are not Gaussian.
    - `query`: $\Lambda_q$ of the query, shape `(d, d)`, or a number times $I$; by default that of the examples.

    **Returns:** a scalar; it is differentiable in all arguments.

    Regime: Gaussian inputs, or ($\kappa\ne0$) independent coordinates of one law with a diagonal $\Lambda$; $w$ of mean zero.

    Source: Zhang, Frei, Bartlett (2024), section 4 (Gaussian, $\Omega=I$); derived for the others.

    >>> import jax.numpy as jnp
    >>> n, d = 20, 5
    >>> best = n / (n + d + 1) * jnp.eye(d)
    >>> bool(jnp.isclose(2 * linear_attention_loss(best, jnp.eye(d), n), d * (d + 1) / (n + d + 1)))
    True
    """
    covariance, task, query = (_matrix(c, gamma) for c in (covariance, task, covariance if query is None else query))
    seen = covariance @ task @ covariance
    spread = (jnp.trace(task @ covariance) + noise) * covariance + excess * jnp.diag(jnp.diag(task))
    second = seen + (seen + spread) / context
    return jnp.trace(query @ (gamma @ second @ gamma.T - 2 * gamma @ covariance @ task + task)) / 2


def _matrix(covariance: Any, like: Array) -> Float[Array, "d d"]:
    covariance = jnp.asarray(covariance, like.dtype)
    return covariance if covariance.ndim == 2 else covariance * jnp.eye(like.shape[0], dtype=like.dtype)

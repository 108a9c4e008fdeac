"""What can be known from a context: predictions of the Bayes-optimal and the classical learners, at every position."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def ridge(x: Any, y: Any, penalty: Any) -> Float[Array, "b k"]:
    r"""Ridge regression on all points before each point; the Bayes mean for a Gaussian task.

    $$ \hat y_{j}=\langle\hat w_{j},x_{j}\rangle,\ \ \hat w_j=\big(\sum_{i<j}x_ix_i^\top+\lambda I\big)^{-1}\sum_{i<j}y_ix_i. $$

    **Arguments:** `x`, `y`: prompts of `k` points, as in `laws.Prompts`; `penalty`: $\lambda>0$. With $w\sim N(0,\tau I)$ and
    labels of noise variance $\rho$ it is Bayes-optimal at $\lambda=\rho/\tau$.

    **Returns:** predictions, shape `(b, k)`; the first is 0, the last that of the query. The last label is not used.

    Regime: one pass of recursive least squares; $\lambda$ not below $10^{-5}$ of $\sum x_i^2$ in float32.

    Source: Hoerl and Kennard (1970).

    >>> import jax.numpy as jnp
    >>> ridge(jnp.ones((1, 3, 1)), jnp.array([[2.0, 2.0, 0.0]]), 1.0).tolist()
    [[0.0, 1.0, 1.3333333730697632]]
    """

    def see(carry: Any, point: Any) -> Any:
        w, inverse = carry
        at, label = point
        step = jnp.einsum("bij,bj->bi", inverse, at)
        said = jnp.sum(w * at, axis=-1)
        gain = step / (1 + jnp.sum(at * step, axis=-1, keepdims=True))
        return (w + gain * (label - said)[:, None], inverse - gain[:, :, None] * step[:, None]), said

    return _online(see, x, y, jnp.eye(x.shape[-1], dtype=x.dtype) / penalty)


def least_squares(x: Any, y: Any) -> Float[Array, "b k"]:
    r"""The least-squares solution of least norm on all points before each point.

    $$ \hat w_j=X_{<j}^{+}\,y_{<j}. $$

    **Arguments:** `x`, `y`: as `ridge`.

    **Returns:** predictions, shape `(b, k)`.

    Regime: inputs in general position, or exactly dependent ones: a part of a new input outside the span of those before it
    that is smaller than $10^{-4}$ of its length counts as rounding.

    Source: Greville (1960).

    >>> import jax.numpy as jnp
    >>> x, y = jnp.array([[[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]), jnp.array([[6.0, 4.0, 0.0]])
    >>> least_squares(x, y).tolist()
    [[0.0, 0.0, 7.0]]
    """
    d = x.shape[-1]

    def see(carry: Any, point: Any) -> Any:
        w, (outside, inverse) = carry
        at, label = point
        said = jnp.sum(w * at, axis=-1)
        new = jnp.einsum("bij,bj->bi", outside, at)
        new = jnp.einsum("bij,bj->bi", outside, new)  # twice is enough against rounding
        step = jnp.einsum("bij,bj->bi", inverse, at)
        beyond, length = jnp.sum(new * new, axis=-1, keepdims=True), jnp.sum(at * at, axis=-1, keepdims=True)
        fresh = beyond > 1e-8 * length
        dot = jnp.sum(at * step, axis=-1, keepdims=True)
        gain = jnp.where(fresh, new / jnp.where(fresh, beyond, 1), step / (1 + dot))
        # Greville: a new direction leaves the span's complement, and its gain is that of interpolation
        cross = gain[:, :, None] * step[:, None]
        both = (1 + dot)[:, :, None] * gain[:, :, None] * gain[:, None]
        inverse = jnp.where(fresh[..., None], inverse - cross - cross.swapaxes(1, 2) + both, inverse - cross)
        outside = jnp.where(fresh[..., None], outside - gain[:, :, None] * new[:, None], outside)
        return (w + gain * (label - said)[:, None], (outside, inverse)), said

    eye = jnp.eye(d, dtype=x.dtype)
    return _online(see, x, y, (eye, jnp.zeros_like(eye)))


def discrete_mmse(x: Any, y: Any, tasks: Float[Array, "m d"], noise: Any) -> Float[Array, "b k"]:
    r"""The Bayes mean where the task is one of a finite list, each as likely.

    $$ \hat w_j=\sum_m p_mw_m,\qquad p_m\propto\exp\Big(-\frac1{2\rho}\sum_{i<j}(y_i-\langle w_m,x_i\rangle)^2\Big). $$

    **Arguments:** `x`, `y`: as `ridge`; `tasks`: shape `(m, d)`; `noise`: $\rho>0$.

    **Returns:** predictions, shape `(b, k)`.

    Source: Raventos, Paul, Chen, Ganguli (2023).

    >>> import jax.numpy as jnp
    >>> x, y = jnp.ones((1, 3, 1)), jnp.array([[1.0, 1.0, 0.0]])
    >>> discrete_mmse(x, y, jnp.array([[1.0], [-1.0]]), 0.1).round(3).tolist()
    [[0.0, 1.0, 1.0]]
    """
    values = jnp.einsum("bkd,md->bkm", x, tasks)
    off = (values - y[..., None]) ** 2
    before = jnp.cumsum(off, axis=1) - off
    return jnp.sum(jax.nn.softmax(-before / (2 * noise), axis=-1) * values, axis=-1)


def one_step(x: Any, y: Any, step: Any) -> Float[Array, "b k"]:
    r"""One step of gradient descent from zero on the mean square loss of all points before each point.

    $$ \hat y_j=\frac{\eta}{j-1}\sum_{i<j}y_i\langle x_i,x_j\rangle. $$

    **Arguments:** `x`, `y`: as `ridge`; `step`: $\eta$; `best_step` gives the one of least loss at the query.

    **Returns:** predictions, shape `(b, k)`; the first is 0.

    Source: von Oswald et al. (2023), proposition 1.

    >>> import jax.numpy as jnp
    >>> one_step(jnp.ones((1, 3, 1)), jnp.array([[2.0, 4.0, 0.0]]), 0.5).tolist()
    [[0.0, 1.0, 1.5]]
    """
    sums = jnp.cumsum(x * y[..., None], axis=1) - x * y[..., None]
    count = jnp.maximum(jnp.arange(x.shape[1]), 1).astype(x.dtype)
    return step * jnp.sum(sums * x, axis=-1) / count


def best_step(dim: Any, context: Any, *, variance: Any = 1.0, kurtosis: Any = 3.0, noise: Any = 0.0, task: Any = 1.0) -> Any:
    r"""The step of least loss for one step of gradient descent from zero.

    $$ \eta^*=\frac{v}{v^2(1-\frac1N)+\frac1N(kv^2+(d-1)v^2+v\rho/\tau)},\qquad v=Ex_j^2,\ kv^2=Ex_j^4. $$

    **Arguments:** `dim`: $d$; `context`: $N$; `variance`: $v$ of a coordinate; `kurtosis`: $k$, 3 for Gaussian inputs and 1.8
    for uniform ones; `noise`: $\rho$; `task`: the variance $\tau$ of the task's coordinates.

    **Returns:** $\eta^*$; the loss $\frac12E(\hat y-\langle w,x\rangle)^2$ is then $\frac12\tau vd\,(1-\eta^*v)$.

    Source: derived; for uniform inputs at $d=N=10$ it is the 6.06 of von Oswald et al. (2023).

    >>> round(float(best_step(10, 10, variance=1 / 12, kurtosis=1.8)), 2)
    6.06
    """
    spread = kurtosis * variance**2 + (dim - 1) * variance**2 + variance * noise / task
    return variance / (variance**2 * (1 - 1 / context) + spread / context)


def _online(see: Any, x: Any, y: Any, memory: Any) -> Array:
    """Run a learner through the points; what it says at each, before it sees the label."""
    b = x.shape[0]
    start = jnp.zeros_like(x[:, 0]), jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (b, *leaf.shape)), memory)
    _, said = lax.scan(see, start, (x.swapaxes(0, 1), y.T))
    return said.T

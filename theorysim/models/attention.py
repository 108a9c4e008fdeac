"""Attention as regression of values on keys: the weights with which each token reads the values of others."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .._errors import InvalidArgument


def gaussian(query: Any, key: Any, bandwidth: Any) -> Float[Array, "*b i j"]:
    r"""Logits of a Gaussian kernel, $-\|q_i-k_j\|^2/(2b^2)$.

    On keys of unit length these are the scaled products $\langle q_i,k_j\rangle/b^2$ but for a number that is the same for all
    keys, so softmax attention is Nadaraya-Watson regression there.

    **Arguments:** `query`: shape `(.., i, d)`; `key`: shape `(.., j, d)`; `bandwidth`: $b>0$.

    **Returns:** shape `(.., i, j)`.

    >>> import jax.numpy as jnp
    >>> gaussian(jnp.array([[0.0]]), jnp.array([[0.0], [2.0]]), 1.0).tolist()
    [[-0.0, -2.0]]
    """
    apart = query[..., :, None, :] - key[..., None, :, :]
    return -jnp.sum(apart**2, axis=-1) / (2 * jnp.square(bandwidth))


def softmax(logits: Any, mask: Any = True) -> Float[Array, "*b i j"]:
    r"""Softmax over the tokens seen: the weights of a local constant fit.

    $$ p_{ij}=\frac{M_{ij}\,e^{l_{ij}}}{\sum_{j'}M_{ij'}\,e^{l_{ij'}}}. $$

    **Arguments:** `logits`: shape `(.., i, j)`; `mask`: true where $i$ sees $j$, see `models.masks`.

    **Returns:** shape `(.., i, j)`; the row of a token that sees nobody is 0.

    >>> import jax.numpy as jnp
    >>> softmax(jnp.zeros((2, 2)), jnp.array([[False, False], [True, True]])).tolist()
    [[0.0, 0.0], [0.5, 0.5]]
    """
    logits = jnp.asarray(logits)
    seen = jnp.broadcast_to(jnp.asarray(mask, bool), logits.shape)
    highest = jnp.max(logits, axis=-1, keepdims=True, where=seen, initial=-jnp.inf)
    weight = jnp.where(seen, jnp.exp(jnp.where(seen, logits - jnp.where(jnp.isfinite(highest), highest, 0), 0)), 0)
    total = jnp.sum(weight, axis=-1, keepdims=True)
    return weight / jnp.where(total > 0, total, 1)


def linear(query: Any, key: Any, mask: Any = True) -> Float[Array, "*b i j"]:
    r"""Linear attention, $s_{ij}=M_{ij}\langle q_i,k_j\rangle$: one step of gradient descent on the regression.

    **Arguments:** `query`: shape `(.., i, d)`; `key`: shape `(.., j, d)`; `mask`: as `softmax`.

    **Returns:** shape `(.., i, j)`; rows do not sum to 1.

    >>> import jax.numpy as jnp
    >>> linear(jnp.array([[2.0]]), jnp.array([[3.0], [5.0]]), jnp.array([[True, False]])).tolist()
    [[6.0, 0.0]]
    """
    return jnp.where(mask, query @ jnp.swapaxes(key, -1, -2), 0)


def mesa(query: Any, key: Any, ridge: Any, mask: Any = True, *, steps: int | None = None) -> Float[Array, "*b i j"]:
    r"""The Mesa layer: ridge regression without intercept on all tokens seen, read off at the query.

    $$ s_{ij}=M_{ij}\,q_i^\top\Big(\sum_{j'}M_{ij'}k_{j'}k_{j'}^\top+\Lambda I\Big)^{-1}k_j. $$

    **Arguments:** `query`, `key`, `mask`: as `linear`; `ridge`: $\Lambda\ge0$; `steps`: of conjugate gradients, 2 d by default.

    **Returns:** shape `(.., i, j)`.

    Source: von Oswald et al. (2023), arXiv 2309.05858.

    >>> import jax.numpy as jnp
    >>> mesa(jnp.array([[1.0]]), jnp.array([[1.0], [2.0]]), 0.0).round(3).tolist()
    [[0.2, 0.4]]
    """
    seen = jnp.broadcast_to(jnp.asarray(mask, key.dtype), (*query.shape[:-1], key.shape[-2]))
    at = conjugate_gradients(_second_moments(seen, key), query, ridge, steps=steps)
    return seen * (at @ jnp.swapaxes(key, -1, -2))


def local_linear(weights: Any, query: Any, key: Any, ridge: Any, *, steps: int | None = None) -> Float[Array, "*b i j"]:
    r"""Local linear attention: the weights of a local linear fit, made from those of a local constant one.

    Of $\min_{b,W}\sum_jp_{ij}\|v_j-b-W(k_j-q_i)\|^2+\lambda\|W\|_F^2$ the output is $b$. With the mean
    $\bar k_i=\sum_jp_{ij}k_j$ and the covariance $\Sigma_i$ of the keys under $p_i$ it is $\sum_js_{ij}v_j$,

    $$ s_{ij}=p_{ij}\big(1-\langle k_j-\bar k_i,\,x_i\rangle\big),\qquad (\Sigma_i+\lambda I)\,x_i=\bar k_i-q_i: $$

    the output of softmax attention minus the covariance of values and keys times $x_i$.

    **Arguments:**

    - `weights`: $p$, shape `(.., i, j)`, rows that sum to 1, or to 0 for a token that sees nobody; from `softmax`.
    - `query`: shape `(.., i, d)`; `key`: shape `(.., j, d)`.
    - `ridge`: $\lambda\ge0$, broadcast against `(.., i, 1)`, relative to the total weight: for kernel weights $w$ that sum to
      $\omega$ and a penalty $\lambda_w$ it is $\lambda_w/\omega$.
    - `steps`: of conjugate gradients, 2 d by default.

    **Returns:** shape `(.., i, j)`; rows sum to 1 and may be negative. At $\lambda=0$ affine values are reproduced wherever
    keys span the space around the query.

    Regime: $\lambda>0$, or keys that span the space around the query: of fewer than d + 1 keys an affine map is not
    determined, and at $\lambda=0$ the result means nothing. In float32 the spread of the keys under the weights should be above
    $10^{-3}$ of their size, for $\Sigma$ is a difference; narrower kernels need float64, or keys measured from the query.

    Source: "Local linear attention" (ICLR 2026), arXiv 2510.01450; Fan and Gijbels (1996), section 2.3.

    >>> import jax.numpy as jnp
    >>> key = jnp.array([[0.0], [1.0], [2.0]])
    >>> weights = local_linear(softmax(jnp.zeros((1, 3))), jnp.array([[0.0]]), key, 0.0)
    >>> weights.round(3).tolist(), (weights @ (3 * key + 1)).round(3).tolist()
    ([[0.833, 0.333, -0.167]], [[1.0]])
    """
    mean = weights @ key
    centre = mean[..., :, None] * mean[..., None, :]
    at = conjugate_gradients(_second_moments(weights, key) - centre, mean - query, ridge, steps=steps)
    off = at @ jnp.swapaxes(key, -1, -2) - jnp.sum(at * mean, axis=-1, keepdims=True)
    return weights * (1 - off)


def conjugate_gradients(matrix: Any, right: Any, ridge: Any = 0.0, *, steps: int | None = None) -> Float[Array, "*b d"]:
    r"""Solve $(A+\lambda I)x=r$ for many symmetric positive semi-definite matrices side by side.

    **Arguments:** `matrix`: $A$, shape `(.., d, d)`; `right`: $r$, shape `(.., d)`, in the range of $A$ where $\lambda=0$;
    `ridge`: $\lambda\ge0$, broadcast against `(.., 1)`; `steps` >= 1, by default 2 d: d suffice but for rounding.

    **Returns:** shape `(.., d)`: the solution of least norm. A system whose residual is rounding stands still.

    **Raises:** `InvalidArgument` for `steps` below 1.

    Source: Hestenes and Stiefel (1952).

    >>> import jax.numpy as jnp
    >>> conjugate_gradients(jnp.diag(jnp.array([2.0, 0.0])), jnp.array([4.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    count = 2 * right.shape[-1] if steps is None else steps
    if count < 1:
        raise InvalidArgument("steps", count, "must be a whole number >= 1")
    size = jnp.sum(right**2, axis=-1, keepdims=True)
    least = size * jnp.finfo(right.dtype).eps ** 2

    def step(_: Any, carry: Any) -> Any:
        x, residual, direction, size = carry
        image = jnp.sum(matrix * direction[..., None, :], axis=-1) + ridge * direction
        curvature = jnp.sum(direction * image, axis=-1, keepdims=True)
        moving = (size > least) & (curvature > 0)
        length = jnp.where(moving, size / jnp.where(moving, curvature, 1), 0)
        x, residual = x + length * direction, residual - length * image
        smaller = jnp.where(moving, jnp.sum(residual**2, axis=-1, keepdims=True), size)
        direction = residual + smaller / jnp.where(moving, size, 1) * direction
        return x, residual, direction, smaller

    return lax.fori_loop(0, count, step, (jnp.zeros_like(right), right, right, size))[0]


def _second_moments(weights: Any, key: Any) -> Float[Array, "*b i d d"]:
    """The moments of the keys under each row of weights, by one product."""
    d = key.shape[-1]
    outer = (key[..., :, None] * key[..., None, :]).reshape(*key.shape[:-1], d * d)
    return (weights @ outer).reshape(*weights.shape[:-1], d, d)

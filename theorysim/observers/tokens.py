"""How far the tokens of a layer are from being all the same."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int


def collapse_distance(tokens: Any) -> Float[Array, "*b"]:
    r"""The distance of tokens from their mean, $\mu(X)=\|X-\frac1N\mathbf 1\mathbf 1^\top X\|_F$.

    **Arguments:** `tokens`: $X$, rows, shape `(.., N, d)`.

    **Returns:** shape `(..)`; 0 where all tokens are the same.

    Source: Dong, Cordonnier, Loukas (2021); Wu et al. (2024), arXiv 2405.18781.

    >>> import jax.numpy as jnp
    >>> float(collapse_distance(jnp.array([[3.0, 4.0], [-3.0, -4.0]])) / jnp.sqrt(2.0))
    5.0
    """
    centred = tokens - jnp.mean(tokens, axis=-2, keepdims=True)
    return jnp.sqrt(jnp.sum(centred**2, axis=(-2, -1)))


def diameter(tokens: Any) -> Float[Array, "*b"]:
    r"""The largest distance of two tokens, $\max_{i,j}\|x_i-x_j\|$; no average of tokens increases it.

    **Arguments:** `tokens`: as `collapse_distance`.

    **Returns:** shape `(..)`; $\mu\le\sqrt{N/2}$ times it.

    >>> import jax.numpy as jnp
    >>> float(diameter(jnp.array([[0.0], [1.0], [5.0]])))
    5.0
    """
    apart = tokens[..., :, None, :] - tokens[..., None, :, :]
    return jnp.sqrt(jnp.max(jnp.sum(apart**2, axis=-1), axis=(-2, -1)))


def mean_cosine(tokens: Any) -> Float[Array, "*b"]:
    r"""The mean $|\cos|$ of the angle between two different tokens.

    **Arguments:** `tokens`: as `collapse_distance`, at least two.

    **Returns:** shape `(..)`, in [0, 1]; 1 where all are parallel.

    Source: Wu et al. (2024), figure 4.

    >>> import jax.numpy as jnp
    >>> float(mean_cosine(jnp.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]))) * 3
    1.0
    """
    unit = tokens / jnp.linalg.norm(tokens, axis=-1, keepdims=True)
    cosine = jnp.abs(unit @ jnp.swapaxes(unit, -1, -2))
    count = tokens.shape[-2]
    return (jnp.sum(cosine, axis=(-2, -1)) - jnp.trace(cosine, axis1=-2, axis2=-1)) / (count * (count - 1))


def effective_rank(tokens: Any) -> Float[Array, "*b"]:
    r"""How many directions the tokens use, from their singular values: $(\sum_k\sigma_k^2)^2/\sum_k\sigma_k^4$.

    **Arguments:** `tokens`: as `collapse_distance`, not all zero.

    **Returns:** shape `(..)`, in [1, min(N, d)]; no singular value is computed.

    >>> import jax.numpy as jnp
    >>> float(effective_rank(jnp.eye(3))), float(effective_rank(jnp.ones((4, 3))))
    (3.0, 1.0)
    """
    gram = tokens @ jnp.swapaxes(tokens, -1, -2)
    return jnp.trace(gram, axis1=-2, axis2=-1) ** 2 / jnp.sum(gram**2, axis=(-2, -1))


def numerical_rank(tokens: Any, tolerance: float = 1e-5) -> Int[Array, "*b"]:
    r"""The rank of the tokens up to a tolerance, by Gram-Schmidt with the longest remaining token first.

    **Arguments:** `tokens`: as `collapse_distance`; `tolerance`: a token whose part outside the span of those before it is
    shorter than this share of the longest token counts as inside.

    **Returns:** whole numbers of shape `(..)`.

    >>> import jax.numpy as jnp
    >>> int(numerical_rank(jnp.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.0]])))
    2
    """
    longest = jnp.max(jnp.linalg.norm(tokens, axis=-1), axis=-1)

    def remove(_: Any, carry: Any) -> Any:
        rest, rank = carry
        length = jnp.linalg.norm(rest, axis=-1)
        k = jnp.argmax(length, axis=-1)[..., None, None]
        chosen = jnp.take_along_axis(rest, k, axis=-2)
        size = jnp.linalg.norm(chosen, axis=-1, keepdims=True)
        outside = size[..., 0, 0] > tolerance * longest
        unit = jnp.where(outside[..., None, None], chosen / jnp.where(size > 0, size, 1), 0)
        rest = rest - jnp.sum(rest * unit, axis=-1, keepdims=True) * unit
        return rest, rank + outside

    start = tokens, jnp.zeros(tokens.shape[:-2], jnp.int32)
    return lax.fori_loop(0, min(tokens.shape[-2:]), remove, start)[1]

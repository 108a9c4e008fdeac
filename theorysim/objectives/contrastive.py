"""Contrastive losses of paired features."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax, nn
from jaxtyping import Array, Float


def similarity(query: tuple[Float[Array, "n m"], ...], key: tuple[Float[Array, "k m"], ...]) -> Float[Array, "n k"]:
    r"""How alike the features of two lists of samples are, patch by patch; no gradient goes through the keys.

    $$ \mathrm{Sim}(x,x')=\sum_p\langle h(x^{(p)}),\mathrm{sg}\,h'(x'^{(p)})\rangle. $$

    **Arguments:** `query`, `key`: features of each patch, shapes `(n, m)` and `(k, m)`.

    **Returns:** shape `(n, k)`.

    Source: Huang et al. (2024), arXiv 2411.02837, without the factor $1/m$.

    >>> import jax, jax.numpy as jnp
    >>> h = (jnp.array([[1.0, 2.0]]),)
    >>> similarity(h, h).tolist(), jax.grad(lambda k: similarity(h, (k,)).sum())(h[0]).tolist()
    ([[5.0]], [[0.0, 0.0]])
    """
    total: Any = 0
    for q, k in zip(query, key, strict=True):
        total = total + q @ lax.stop_gradient(k).T
    return total


def info_nce(positive: Float[Array, " n"], others: Float[Array, "n n"], label: Any, temperature: Any) -> Float[Array, ""]:
    r"""InfoNCE whose negatives are the samples of the opposite label.

    $$ L=-\frac1n\sum_i\log\frac{e^{s_i/\tau}}{e^{s_i/\tau}+\sum_{j:\,y_j\ne y_i}e^{s_{ij}/\tau}}. $$

    **Arguments:** `positive`: $s_i$, of a sample with its pair; `others`: $s_{ij}$, of all samples with each other; `label`:
    $y$, shape `(n,)`; `temperature`: $\tau>0$.

    **Returns:** the mean loss; with all similarities equal it is the mean of $\log(1+M_i)$ for $M_i$ negatives.

    Source: van den Oord, Li, Vinyals (2018); opposite labels as in Huang et al. (2024), arXiv 2411.02837.

    >>> import jax.numpy as jnp
    >>> round(float(info_nce(jnp.zeros(2), jnp.zeros((2, 2)), jnp.array([1.0, -1.0]), 0.5)), 4)  # log 2
    0.6931
    """
    other = jnp.where(label[:, None] != label, others / temperature, -jnp.inf)
    every = jnp.concatenate([positive[:, None] / temperature, other], axis=1)
    return jnp.mean(nn.logsumexp(every, axis=1) - every[:, 0])

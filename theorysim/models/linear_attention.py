"""Linear attention, on tokens or on their moments."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from .._errors import InvalidArgument


class LinearAttention(nnx.Module):
    r"""Layers of attention without softmax, with a residual stream; tokens are rows.

    $$ z_i \leftarrow z_i + \frac1N\sum_{j:\,M_{ij}}\langle z_iQ,\,z_j\rangle\,z_jP,\qquad
       Q=Q_qQ_k^\top\ \text{ where queries and keys are apart.} $$

    In papers that write tokens as columns, $P$ is $(W^{PV})^\top$ and $Q$ is $(W^{KQ})^\top$.

    **Arguments:**

    - `value`: $P$ of each layer, shape `(l, D, D)`.
    - `key_query`: $Q$ of each layer, shape `(l, D, D)`; or a pair $(Q_q,Q_k)$ of shapes `(l, D, r)`, each trained.
    - `mask`: who sees whom, shape `(k, k)`, see `models.masks`; by default all see all examples and nobody the last token.

    **Raises:** `InvalidArgument` for shapes that do not fit.

    Source: von Oswald et al. (2023); Zhang, Frei, Bartlett (2024); Ahn et al. (2023).

    >>> import jax.numpy as jnp
    >>> last = jnp.zeros((1, 2, 2)).at[0, 1, 1].set(1.0)
    >>> model = LinearAttention(last, jnp.zeros((1, 2, 2)).at[0, 0, 0].set(1.0))
    >>> model(jnp.array([[[1.0, 3.0], [2.0, 6.0], [1.0, 0.0]]])).tolist()
    [7.5]
    """

    def __init__(self, value: Float[Array, "l D D"], key_query: Any, *, mask: Any = None):
        apart = isinstance(key_query, tuple)
        size = value.shape[-1]
        for part in key_query if apart else (key_query,):
            if part.ndim != 3 or part.shape[:2] != (value.shape[0], size) or (not apart and part.shape[2] != size):
                raise InvalidArgument("key_query", part.shape, f"must fit values of the shape {value.shape}")
        self.value = nnx.Param(value)
        if apart:
            self.query, self.key = (nnx.Param(part) for part in key_query)
        else:
            self.merged = nnx.Param(key_query)
        self.apart = apart
        self.mask = nnx.data(mask)

    @property
    def key_query(self) -> Float[Array, "l D D"]:
        """$Q$ of each layer."""
        return jnp.einsum("lir,ljr->lij", self.query[...], self.key[...]) if self.apart else self.merged[...]

    def tokens(self, tokens: Float[Array, "b k D"], context: Any = None) -> Float[Array, "b k D"]:
        """All tokens after the last layer; `context` is the $N$ of the formula, by default the number of examples."""
        k = tokens.shape[1]
        context = k - 1 if context is None else context
        everyone = self.mask is None
        for value, key_query in zip(self.value[...], self.key_query, strict=True):
            if everyone:  # the sums over examples are shared: linear in the context's length
                examples = tokens[:, :-1]
                seen = jnp.einsum("bki,bkj->bij", examples, examples)
                moved = jnp.einsum("bki,bij->bkj", tokens @ key_query, seen)
            else:
                scores = jnp.einsum("bki,bji->bkj", tokens @ key_query, tokens)
                moved = jnp.einsum("bkj,bji->bki", jnp.where(self.mask, scores, 0), tokens)
            tokens = tokens + moved @ value / context
        return tokens

    def __call__(self, tokens: Float[Array, "b k D"], context: Any = None) -> Float[Array, " b"]:
        """The last coordinate of the last token: the prediction where labels stand there."""
        return self.tokens(tokens, context)[:, -1, -1]

    def of_moments(
        self, moments: Float[Array, "b D D"], query: Float[Array, "b D"], context: Any, *, own: bool = False
    ) -> Float[Array, " b"]:
        r"""The prediction from the moments $S=\sum_jz_jz_j^\top$ of the examples alone.

        $$ T=I+\tfrac1NQSP,\qquad S\leftarrow T^\top ST,\qquad z\leftarrow zT. $$

        **Arguments:** `moments`: $S$; `query`: the last token; `context`: $N$, traced or not; `own`: whether the last token is
        a key too, for all.

        **Returns:** shape `(b,)`, the same as `model(tokens)`, at a cost free of $N$.

        Regime: all tokens see all examples. Not for a causal mask, and for the last token only.
        """
        eye = jnp.eye(query.shape[-1], dtype=query.dtype)
        for value, key_query in zip(self.value[...], self.key_query, strict=True):
            seen = moments + query[:, :, None] * query[:, None] if own else moments
            step = eye + key_query @ seen @ value / context
            moments = jnp.einsum("bji,bjk,bkl->bil", step, moments, step)
            query = jnp.einsum("bi,bij->bj", query, step)
        return query[:, -1]

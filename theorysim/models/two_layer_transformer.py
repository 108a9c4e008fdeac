"""Two layers of a transformer whose queries, keys and values are all trained."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from .._errors import InvalidArgument


class TwoLayerTransformer(nnx.Module):
    r"""Softmax attention over the tokens of a sample, then a frozen second layer $\pm1$ on the values.

    $$ f(X)=\sum_l\langle\bar v,\,Xs_l\rangle,\qquad s_l=\mathrm{softmax}\big(X^\top W_K^\top W_Qx^{(l)}\big),\qquad
       \bar v=\frac1m\sum_r(v_{+,r}-v_{-,r}). $$

    **Arguments:**

    - `query`, `key`: $W_Q$ and $W_K$, shape `(h, d)`.
    - `value`: $v_{+,1..m}$ and then $v_{-,1..m}$, shape `(2 m, d)`.

    **Raises:** `InvalidArgument` for shapes that do not fit, or an odd number of values.

    Source: Li, Huang et al. (2025), arXiv 2410.04870.

    >>> import jax.numpy as jnp
    >>> model = TwoLayerTransformer(jnp.zeros((1, 2)), jnp.zeros((1, 2)), jnp.array([[1.0, 0.0], [0.0, 0.0]]))
    >>> model(jnp.array([[[2.0, 0.0], [0.0, 5.0]]])).tolist()
    [2.0]
    """

    def __init__(self, query: Float[Array, "h d"], key: Float[Array, "h d"], value: Float[Array, "k d"]):
        if key.shape != query.shape or value.shape[1] != query.shape[1]:
            raise InvalidArgument("key", key.shape, f"must fit queries of the shape {query.shape} and values {value.shape}")
        if value.shape[0] % 2:
            raise InvalidArgument("value", value.shape, "needs as many rows for the class +1 as for -1")
        self.query, self.key, self.value = nnx.Param(query), nnx.Param(key), nnx.Param(value)

    @property
    def mean_value(self) -> Float[Array, " d"]:
        r"""$\bar v$, the mean value of the class $+1$ less that of $-1$."""
        m = self.value.shape[0] // 2
        return jnp.mean(self.value[...][:m], axis=0) - jnp.mean(self.value[...][m:], axis=0)

    def attention(self, tokens: Float[Array, "n k d"]) -> Float[Array, "n k k"]:
        """The weights $s_l$ in rows: row $l$ says on which tokens the query of token $l$ looks."""
        scores = jnp.einsum("nlh,nkh->nlk", tokens @ self.query[...].T, tokens @ self.key[...].T)
        return jax.nn.softmax(scores, axis=-1)

    def __call__(self, tokens: Float[Array, "n k d"]) -> Float[Array, " n"]:
        """The output $f$ on each sample."""
        return jnp.einsum("nlk,nk->n", self.attention(tokens), tokens @ self.mean_value)

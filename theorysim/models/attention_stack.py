"""Attention alone in layers, then a network on the last token."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from .attention import softmax


class AttentionStack(nnx.Module):
    r"""Single-head attention layers without networks between them, and a ReLU network of three layers on the last token.

    $$ X\leftarrow rX+\operatorname{softmax}_M\Big(\tfrac1{\sqrt d}XW_Q(XW_K)^\top+B\Big)XW_V,\qquad
       \mathrm{out}=W_3\,\sigma(W_2\,\sigma(W_1x_k)),\quad\sigma(z)=\max(0,z). $$

    Who sees whom, the bias of the scores and the residual are data, so that a sweep over them needs one program.

    **Arguments:**

    - `key`: the stream of the first parameters, $N(0,1)/\sqrt{\text{inputs}}$ for each matrix.
    - `width`: $d$, the dimension of a token; `outputs`: of what is read out.
    - `depth`: attention layers, >= 1; `hidden`: width of the network.
    - `mask`: $M$, shape `(k, k)`, see `models.masks`.
    - `bias`: $B$, a number or shape `(k, k)`; $-(i-j)m$ decays with the distance.
    - `residual`: $r$, 1 or 0, or between.
    - `positions`: added to the tokens at first, shape `(k, d)`, or 0 for none.

    **Raises:** `InvalidArgument` for a depth below 1.

    Source: Wu et al. (2025), arXiv 2502.01951, section 5, in outline.

    >>> import jax, jax.numpy as jnp, theorysim as ts
    >>> model = AttentionStack(jax.random.key(0), 4, 3, depth=2, hidden=8, mask=ts.models.masks.causal(5))
    >>> model(jnp.ones((6, 5, 4))).shape
    (6, 3)
    """

    def __init__(
        self,
        key: Array,
        width: int,
        outputs: int,
        *,
        depth: int,
        hidden: int,
        mask: Any,
        bias: Any = 0.0,
        residual: Any = 0.0,
        positions: Any = 0.0,
    ):
        if depth < 1:
            raise InvalidArgument("depth", depth, "must be a whole number >= 1")
        keys = streams(key, "query", "key", "value", "first", "second", "third")

        def matrix(key: Array, *shape: int) -> nnx.Param:
            return nnx.Param(jax.random.normal(key, shape) / math.sqrt(shape[-2]))

        self.query, self.key, self.value = (matrix(k, depth, width, width) for k in keys[:3])
        self.first, self.second = matrix(keys.first, width, hidden), matrix(keys.second, hidden, hidden)
        self.third = matrix(keys.third, hidden, outputs)
        self.mask, self.bias = nnx.data(jnp.asarray(mask)), nnx.data(jnp.asarray(bias))
        self.residual, self.positions = nnx.data(jnp.asarray(residual)), nnx.data(jnp.asarray(positions))

    def __call__(self, tokens: Float[Array, "b k d"]) -> Float[Array, "b o"]:
        """What is read out at the last token."""

        def layer(x: Array, weights: tuple[Array, Array, Array]) -> tuple[Array, None]:
            query, key, value = weights
            scores = (x @ query) @ jnp.swapaxes(x @ key, 1, 2) / math.sqrt(x.shape[-1]) + self.bias
            return self.residual * x + softmax(scores, self.mask) @ x @ value, None

        stacked = self.query[...], self.key[...], self.value[...]
        last = lax.scan(layer, tokens + self.positions, stacked)[0][:, -1]
        return jax.nn.relu(jax.nn.relu(last @ self.first[...]) @ self.second[...]) @ self.third[...]

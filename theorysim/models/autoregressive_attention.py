"""One layer of causal linear attention that predicts the next state of a sequence, in real or complex numbers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array

from .._errors import InvalidArgument


class AutoregressiveAttention(nnx.Module):
    r"""Causal linear attention without a residual stream; with $e_t$ as a column,

    $$ \hat y_t=W^{PV}\,M_t\,W^{KQ}e_t,\qquad M_t=\frac1{\rho_t}\sum_{i\le t}e_ie_i^*,\qquad\rho_t=t-1\ \ (\rho_1=1). $$

    Complex weights are kept as their real and imaginary parts, so that gradients are gradients: the derivative that jax gives
    of a complex parameter would have to be conjugated before each step.

    **Arguments:**

    - `value`: $W^{PV}$, shape `(o, D)`, real or complex.
    - `key_query`: $W^{KQ}$, shape `(D, D)`, of the same kind.

    **Raises:** `InvalidArgument` for shapes that do not fit, or one real and one complex matrix.

    Source: Zheng et al. (2024), arXiv 2405.16845.

    >>> import jax.numpy as jnp
    >>> model = AutoregressiveAttention(jnp.eye(2)[:1], jnp.eye(2)[::-1])
    >>> model(jnp.array([[[1.0, 0.0], [2.0, 1.0], [4.0, 2.0]]]))[0, :, 0].tolist()
    [0.0, 9.0, 41.0]
    """

    def __init__(self, value: Any, key_query: Any):
        value, key_query = jnp.asarray(value), jnp.asarray(key_query)
        if value.ndim != 2 or key_query.shape != (value.shape[1],) * 2:
            raise InvalidArgument("key_query", key_query.shape, f"must fit a value of the shape {value.shape}")
        if value.dtype != key_query.dtype:
            raise InvalidArgument("key_query", key_query.dtype, f"must be of the type of value, {value.dtype}")
        self.complex = bool(jnp.iscomplexobj(value))
        self.parts = nnx.List([nnx.Param(part) for part in _parts(value)])
        self.key_query_parts = nnx.List([nnx.Param(part) for part in _parts(key_query)])

    @property
    def value(self) -> Any:
        """$W^{PV}$."""
        return _whole(self.parts)

    @property
    def key_query(self) -> Any:
        """$W^{KQ}$."""
        return _whole(self.key_query_parts)

    @staticmethod
    def moments(tokens: Any) -> Any:
        """The moments $M_t$ of the tokens up to each one, of shape `(D, D, b, k)`; they are free of the weights."""
        products = jnp.einsum("bki,bkj->ijbk", tokens, tokens.conj())
        return jnp.cumsum(products, axis=-1) / jnp.maximum(jnp.arange(tokens.shape[1]), 1)

    def __call__(self, tokens: Any, moments: Any = None) -> Any:
        """What is predicted after each token, shape `(b, k, o)`; `moments`: those of the tokens, if they are at hand."""
        moments = self.moments(tokens) if moments is None else moments
        asked = jnp.einsum("ij,bkj->ibk", self.key_query, tokens)
        # the samples are last, so that a few long vectors are multiplied instead of many small matrices
        return jnp.einsum("oi,ibk->bko", self.value, jnp.sum(moments * asked, axis=1))

    def at_end(self, tokens: Any) -> Any:
        """What is predicted after the last token alone, shape `(b, o)`, without the memory that all moments take."""
        scores = jnp.einsum("bki,ij,bj->bk", tokens.conj(), self.key_query, tokens[:, -1]) / max(tokens.shape[1] - 1, 1)
        return jnp.einsum("oi,bki,bk->bo", self.value, tokens, scores)


def _parts(matrix: Array) -> list[Array]:
    return [matrix.real, matrix.imag] if jnp.iscomplexobj(matrix) else [matrix]


def _whole(parts: Any) -> Any:
    return parts[0][...] if len(parts) == 1 else jax.lax.complex(parts[0][...], parts[1][...])

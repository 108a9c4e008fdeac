"""Depth as time: a map from layer to layer is a rule like any other, whose state is the tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument, Refused
from .._streams import streams
from ..exact._one_by_one import qr
from ..models import attention
from ._rule import Dynamics


def haar(drawn: Any) -> Float[Array, "d d"]:
    r"""The orthogonal factor of a Gaussian matrix, of Haar's law.

    $$ G=QR,\quad\operatorname{diag}R>0. $$

    **Arguments:** `drawn`: $G$, shape `(d, d)`, independent standard Gaussian entries.

    **Returns:** $Q$, shape `(d, d)`.

    Source: Mezzadri (2007); without the signs of the diagonal the law would not be Haar's.

    >>> import jax.numpy as jnp
    >>> haar(jnp.array([[0.0, 2.0], [-3.0, 0.0]])).round(6).tolist()
    [[0.0, 1.0], [-1.0, 0.0]]
    """
    q, r = qr(drawn)
    return q * jnp.where(jnp.diagonal(r) < 0, -1, 1)


_VALUES = {"identity": lambda g: jnp.eye(len(g), dtype=g.dtype), "orthogonal": haar, "gaussian": lambda g: g}


class Stream(NamedTuple):
    r"""The state of a stack of layers.

    - `tokens`: $X^t$, rows, shape `(.., k, d)`.
    - `context`: $P=A^{t-1}\cdots A^0$, shape `(.., k, k)`: how much each token draws on each token of the input.

    >>> import jax.numpy as jnp
    >>> Stream(jnp.ones((2, 3)), jnp.eye(2)).context.shape
    (2, 2)
    """

    tokens: Any
    context: Any


def layers(layer: Callable[[Any, Any], tuple[Any, Any]]) -> Dynamics:
    r"""Pass tokens through layers; a step is a layer, a time is a depth.

    $$ (X^{t+1},A^t)=F_t(X^t),\qquad P^{t+1}=A^tP^t,\qquad P^0=I. $$

    **Arguments:** `layer`: `layer(tokens, key) -> (tokens, weights)`, pure; `weights`: $A$, shape `(.., k, k)`, by which the
    tokens are mixed, such as those of `attention_layer`. Each layer has a key of its own; one that ignores it has the same
    weights at all depths.

    **Returns:** a `Dynamics` whose state is a `Stream`; start a simulation at `rule.init(tokens)`. It is refused in a reduced
    frame.

    >>> import jax, jax.numpy as jnp, theorysim as ts
    >>> halves = jnp.full((2, 2), 0.5)
    >>> rule = layers(lambda tokens, key: (halves @ tokens, halves))
    >>> start = rule.init(jnp.array([[0.0], [4.0]]))
    >>> run = ts.simulate(rule, start, key=jax.random.key(0), times=[0, 1], observe=lambda s: {"first": s.tokens[0, 0]})
    >>> run.records["first"].value.tolist(), run.state.context.tolist()
    ([0.0, 2.0], [[0.5, 0.5], [0.5, 0.5]])
    """

    def init(tokens: Any) -> Stream:
        k = tokens.shape[-2]
        return Stream(tokens, jnp.broadcast_to(jnp.eye(k, dtype=tokens.dtype), (*tokens.shape[:-1], k)))

    def step(state: Stream, key: Any) -> Stream:
        tokens, weights = layer(state.tokens, key)
        return Stream(tokens, weights @ state.context)

    def commutes() -> None:
        raise Refused("reduced frame: a map from layer to layer moves tokens, not filters; use frame=ambient")

    return Dynamics(init, step, commutes)


def attention_layer(
    mask: Any,
    weights: Callable[[Any, int, Any], tuple[Any, Any, Any]],
    *,
    bias: Any = 0.0,
    normalised: Any = False,
) -> Callable[[Any, Any], tuple[Any, Any]]:
    r"""A layer of softmax attention on a directed graph, without residual, for `layers`.

    $$ X'=D\,A\,X\,W_V,\qquad A=\operatorname{softmax}_M\Big(\tfrac1{\sqrt d}XW_Q(XW_K)^\top+B\Big), $$

    with $D$ scaling each row to unit length if `normalised`, else $D=I$.

    **Arguments:**

    - `mask`: $M$, shape `(k, k)`, true where $j\to i$ is an edge, see `models.masks`; data, so that it may be swept.
    - `weights`: `weights(key, d, dtype) -> ` $(W_Q,W_K,W_V)$, each `(d, d)`; see `random_weights` and `fixed_weights`.
    - `bias`: $B$, a number or shape `(k, k)`; $-(i-j)m$ is the decay mask.
    - `normalised`: whether rows are normalised, or a number 0 or 1, which may be traced.

    **Returns:** `layer(tokens, key) -> (tokens, A)`; tokens have the shape `(.., k, d)`.

    Source: Wu et al. (2024), arXiv 2405.18781, and Wu et al. (2025), arXiv 2502.01951.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> layer = attention_layer(ts.models.masks.causal(2), fixed_weights(0.0, 0.0, 1.0), normalised=True)
    >>> tokens, weights = layer(jnp.array([[3.0, 0.0], [0.0, 3.0]]), None)
    >>> tokens.round(3).tolist(), weights.tolist()
    ([[1.0, 0.0], [0.707, 0.707]], [[1.0, 0.0], [0.5, 0.5]])
    """

    def layer(tokens: Any, key: Any) -> tuple[Float[Array, "*b k d"], Float[Array, "*b k k"]]:
        d = tokens.shape[-1]
        query, key_, value = weights(key, d, tokens.dtype)
        logits = (tokens @ query) @ jnp.swapaxes(tokens @ key_, -1, -2) / jnp.sqrt(jnp.asarray(d, tokens.dtype))
        mixing = attention.softmax(logits + bias, mask)
        moved = mixing @ tokens @ value
        length = jnp.linalg.norm(moved, axis=-1, keepdims=True)
        return moved / jnp.where(normalised, length, 1), mixing

    return layer


def fixed_weights(query: Any, key: Any, value: Any) -> Callable[[Any, int, Any], tuple[Any, Any, Any]]:
    """The same matrices in every layer, for `attention_layer`.

    **Arguments:** `query`, `key`, `value`: $W_Q,W_K,W_V$, each `(d, d)`, or a number times the identity; 0 for query or key
    gives uniform attention.

    **Returns:** `weights(key, d, dtype)`.

    >>> import jax.numpy as jnp
    >>> [w.tolist() for w in fixed_weights(0.0, 0.0, [[1.0, 2.0], [0.0, 1.0]])(None, 2, jnp.float32)][1:]
    [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [0.0, 1.0]]]
    """

    def matrix(w: Any, d: int, dtype: Any) -> Array:
        w = jnp.asarray(w, dtype)
        return w if w.ndim == 2 else w * jnp.eye(d, dtype=dtype)

    return lambda _, d, dtype: (matrix(query, d, dtype), matrix(key, d, dtype), matrix(value, d, dtype))


def random_weights(gain: Any = 1.0, value: Any = "orthogonal") -> Callable[[Any, int, Any], tuple[Any, Any, Any]]:
    r"""New random matrices in every layer, for `attention_layer`.

    Entries of $W_Q$ and $W_K$ are $N(0,1)/\sqrt d$, and logits are multiplied by the gain.

    **Arguments:**

    - `gain`: $g\ge0$, traced or not: 0 gives uniform attention. A temperature is its inverse.
    - `value`: $W_V$ is `"orthogonal"` (Haar), `"gaussian"` (entries $N(0,1)/\sqrt d$) or the `"identity"`; or what a
      function makes of the Gaussian matrix.

    **Returns:** `weights(key, d, dtype)`.

    Orthogonal $W_V$ and the identity give one law to the context and to all products of tokens: rotating a layer's tokens
    rotates $W_Q$ and $W_K$ of the next, whose law it does not change.

    **Raises:** `InvalidArgument` for another word.

    >>> import jax, jax.numpy as jnp
    >>> *_, value = random_weights()(jax.random.key(0), 3, jnp.float32)
    >>> bool(jnp.allclose(value @ value.T, jnp.eye(3), atol=1e-6))
    True
    """
    if not callable(value) and value not in _VALUES:
        raise InvalidArgument("value", value, f"must be {', '.join(_VALUES)}, or a function")
    made: Any = value if callable(value) else _VALUES[value]

    def weights(key: Any, d: int, dtype: Any) -> tuple[Array, Array, Array]:
        keys = jnp.stack(streams(key, "query", "key", "value"))
        query, key_, drawn = jax.vmap(lambda k: jax.random.normal(k, (d, d), dtype))(keys) / jnp.sqrt(jnp.asarray(d, dtype))
        return gain * query, key_, made(drawn)

    return weights

"""A small decoder-style transformer."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams

_KINDS = ("softmax", "linear")


class Decoder(nnx.Module):
    r"""Pre-norm layers of multi-head attention and a GELU network, on real tokens.

    $$ h\leftarrow h+W_O\,\mathrm{attn}(\mathrm{LN}(h)),\qquad h\leftarrow h+W_2\,\mathrm{gelu}(W_1\mathrm{LN}(h)),\qquad
       \mathrm{out}=W\,\mathrm{LN}(h). $$

    Which tokens see which is data, not code: the mask is an array. The layers are stacked and run in one loop, so that depth
    costs no compile time.

    **Arguments:**

    - `key`: the stream of the first parameters, $N(0,1)/\sqrt{\text{inputs}}$ for each matrix, $W_O$ and $W_2$ divided by
      $\sqrt{2\,\text{depth}}$.
    - `inputs`, `outputs`: dimensions of a token and of what is read out at each.
    - `width`, `depth`, `heads`: of the stream, in layers, and in a layer; `heads` divides `width`.
    - `mask`: shape `(k, k)`, see `models.masks`; a shorter prompt uses its upper left part.
    - `positions`: indices of learned positions, `k` whole numbers (not traced); by default there are none.
    - `attention`: `"softmax"`, or `"linear"`: scores divided by the number of tokens seen. Static.
    - `hidden`: width of the GELU network, 4 times `width` by default; 0 for none. Static.
    - `normalised`: whether there is LayerNorm. Static.

    **Raises:** `InvalidArgument` for heads that do not divide the width, or another word.

    Source: Radford et al. (2019), in outline.

    >>> import jax, jax.numpy as jnp, theorysim as ts
    >>> model = Decoder(jax.random.key(0), 3, 1, width=8, depth=2, heads=2, mask=ts.models.masks.causal(5))
    >>> model(jnp.ones((4, 5, 3))).shape
    (4, 5, 1)
    """

    def __init__(
        self,
        key: Array,
        inputs: int,
        outputs: int,
        *,
        width: int,
        depth: int,
        heads: int,
        mask: Any,
        positions: Any = None,
        attention: str = "softmax",
        hidden: int | None = None,
        normalised: bool = True,
    ):
        if heads < 1 or width % heads:
            raise InvalidArgument("heads", heads, f"must divide the width, {width}")
        if attention not in _KINDS:
            raise InvalidArgument("attention", attention, f"must be {' or '.join(_KINDS)}")
        hidden = 4 * width if hidden is None else hidden
        keys = streams(key, "read_in", "read_out", "positions", "query", "key", "value", "out", "up", "down")

        def matrix(key: Array, rows: int, columns: int, scale: float = 1.0, layers: tuple[int, ...] = (depth,)) -> nnx.Param:
            return nnx.Param(jax.random.normal(key, (*layers, rows, columns)) * scale / math.sqrt(rows))

        small = 1 / math.sqrt(2 * depth)
        self.read_in, self.read_out = matrix(keys.read_in, inputs, width, 1, ()), matrix(keys.read_out, width, outputs, 1, ())
        self.query, self.key, self.value = (matrix(k, width, width) for k in (keys.query, keys.key, keys.value))
        self.out = matrix(keys.out, width, width, small)
        if hidden:
            self.up, self.down = matrix(keys.up, width, hidden), matrix(keys.down, hidden, width, small)
        self.mask, self.places = nnx.data(jnp.asarray(mask)), nnx.data(None if positions is None else jnp.asarray(positions))
        if positions is not None:
            self.positions = nnx.Param(0.02 * jax.random.normal(keys.positions, (int(np.max(positions)) + 1, width)))
        self.heads, self.hidden, self.attention, self.normalised = heads, hidden, attention, normalised

    def stream(self, tokens: Float[Array, "b k i"], mask: Any = None) -> Float[Array, "b k w"]:
        """The residual stream after the last layer."""
        k = tokens.shape[1]
        mask = self.mask[:k, :k] if mask is None else mask
        h = tokens @ self.read_in[...]
        if self.places is not None:
            h = h + self.positions[...][self.places[:k]]
        stacked = {"query": self.query[...], "key": self.key[...], "value": self.value[...], "out": self.out[...]}
        if self.hidden:
            stacked |= {"up": self.up[...], "down": self.down[...]}

        def layer(h: Array, weights: dict[str, Array]) -> tuple[Array, None]:
            h = h + self._attend(self._norm(h), weights, mask)
            if self.hidden:
                h = h + jax.nn.gelu(self._norm(h) @ weights["up"]) @ weights["down"]
            return h, None

        return lax.scan(layer, h, stacked)[0]

    def __call__(self, tokens: Float[Array, "b k i"], mask: Any = None) -> Float[Array, "b k o"]:
        """What is read out at each token; `mask`, of shape `(k, k)`, takes the place of the model's own."""
        return self._norm(self.stream(tokens, mask)) @ self.read_out[...]

    def _norm(self, h: Array) -> Array:
        if not self.normalised:
            return h
        centred = h - jnp.mean(h, axis=-1, keepdims=True)
        return centred * lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)

    def _attend(self, h: Array, weights: dict[str, Array], mask: Array) -> Array:
        b, k, width = h.shape
        query, key, value = (
            jnp.reshape(h @ weights[name], (b, k, self.heads, -1)).swapaxes(1, 2) for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(width // self.heads)
        if self.attention == "softmax":
            scores = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        else:
            scores = jnp.where(mask, scores, 0) / jnp.sum(mask, axis=-1, keepdims=True)
        return jnp.reshape((scores @ value).swapaxes(1, 2), (b, k, width)) @ weights["out"]

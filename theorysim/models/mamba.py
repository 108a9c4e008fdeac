"""Mamba: blocks of a gated, selective state-space layer."""

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
from .ssm import S6


def _matrix(key: Array, rows: int, columns: int) -> Array:
    return jax.random.normal(key, (rows, columns)) / math.sqrt(rows)


def _normed(h: Array, scale: Array) -> Array:
    """RMSNorm."""
    return scale * h * lax.rsqrt(jnp.mean(h**2, axis=-1, keepdims=True) + 1e-5)


class MambaBlock(nnx.Module):
    r"""A Mamba block on a residual stream.

    $$ (u,v)=W_{in}\,\mathrm{norm}(h),\qquad u\leftarrow\mathrm{silu}(\mathrm{conv}(u)),\qquad
       h\leftarrow h+W_{out}\big(\mathrm{S6}(u)\odot\mathrm{silu}(v)\big), $$

    with RMSNorm, a causal convolution of each channel over the last `taps` tokens, and an `S6` with a skip, a step size of low
    rank, $A=-\operatorname{diag}(1..H)$ and Euler steps.

    **Arguments:**

    - `key`: the stream of the first parameters.
    - `width`: of the stream.
    - `expand`: channels of the state-space layer over `width`, $E=2$ by default.
    - `states`: $H$ of each channel; `rank`: of the step size; `taps`: of the convolution.

    **Raises:** `InvalidArgument` for sizes below 1.

    Source: Gu, Dao (2023). First step sizes are log-uniform on [.001, .1], as in its code.

    >>> import jax, jax.numpy as jnp
    >>> MambaBlock(jax.random.key(0), 8, states=4)(jnp.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    def __init__(self, key: Array, width: int, *, expand: int = 2, states: int = 16, rank: int = 1, taps: int = 4):
        for name, value in {"width": width, "expand": expand, "states": states, "rank": rank, "taps": taps}.items():
            if not isinstance(value, int) or value < 1:
                raise InvalidArgument(name, value, "must be a whole number >= 1")
        keys = streams(key, "into", "taps", "write", "read", "narrow", "widen", "steps", "out")
        wide = expand * width
        self.norm, self.into = nnx.Param(jnp.ones(width)), nnx.Param(_matrix(keys.into, width, 2 * wide))
        self.taps = nnx.Param(_matrix(keys.taps, taps, wide))
        self.taps_bias = nnx.Param(jnp.zeros(wide))
        first = jnp.exp(jax.random.uniform(keys.steps, (wide,), minval=math.log(1e-3), maxval=math.log(0.1)))
        self.layer = S6(
            _matrix(keys.write, wide, states).T,
            _matrix(keys.read, wide, states).T,
            rate=jnp.broadcast_to(jnp.arange(1.0, states + 1), (wide, states)),
            step=(_matrix(keys.narrow, wide, rank), _matrix(keys.widen, rank, wide)),
            step_bias=jnp.log(jnp.expm1(first)),
            skip=jnp.ones(wide),
            hold="euler",
        )
        self.out = nnx.Param(_matrix(keys.out, wide, width))

    def __call__(self, stream: Float[Array, "b k w"], *, scan: str = "sequential") -> Float[Array, "b k w"]:
        """The stream after the block; `scan` as in `models.ssm.recurrence`."""
        u, gate = jnp.split(_normed(stream, self.norm[...]) @ self.into[...], 2, axis=-1)
        u = jax.nn.silu(self._convolved(u))
        return stream + (self.layer(u, scan=scan) * jax.nn.silu(gate)) @ self.out[...]

    def _convolved(self, u: Array) -> Array:
        """Each channel over the last tokens; the tap of the token itself is the last one."""
        taps, k = self.taps[...], u.shape[1]
        padded = jnp.pad(u, ((0, 0), (len(taps) - 1, 0), (0, 0)))
        return sum((taps[j] * padded[:, j : j + k] for j in range(len(taps))), self.taps_bias[...])


class Mamba(nnx.Module):
    r"""Mamba blocks between a linear map of the tokens and one of the normalised stream.

    **Arguments:**

    - `key`: the stream of the first parameters.
    - `inputs`, `outputs`: dimensions of a token and of what is read out at each.
    - `width`, `depth`: of the stream, in blocks.
    - `block`: for `MambaBlock`: `expand`, `states`, `rank`, `taps`.

    **Raises:** `InvalidArgument` for sizes below 1.

    Source: Gu, Dao (2023).

    >>> import jax, jax.numpy as jnp
    >>> Mamba(jax.random.key(0), 3, 1, width=8, depth=2)(jnp.ones((2, 5, 3))).shape
    (2, 5, 1)
    """

    def __init__(self, key: Array, inputs: int, outputs: int, *, width: int, depth: int, **block: Any):
        if not isinstance(depth, int) or depth < 1:
            raise InvalidArgument("depth", depth, "must be a whole number >= 1")
        keys = streams(key, "read_in", "blocks", "read_out")
        self.read_in = nnx.Param(_matrix(keys.read_in, inputs, width))
        self.blocks = nnx.List([MambaBlock(k, width, **block) for k in jax.random.split(keys.blocks, depth)])
        self.norm = nnx.Param(jnp.ones(width))
        self.read_out = nnx.Param(_matrix(keys.read_out, width, outputs))

    def __call__(self, tokens: Float[Array, "b k i"], *, scan: str = "sequential") -> Float[Array, "b k o"]:
        """What is read out at each token; `scan` as in `models.ssm.recurrence`."""
        stream = tokens @ self.read_in[...]
        for block in self.blocks:
            stream = block(stream, scan=scan)
        return _normed(stream, self.norm[...]) @ self.read_out[...]

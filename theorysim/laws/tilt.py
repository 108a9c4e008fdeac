"""Signals that scatter around a common direction."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._batch import Batch


def tilt(batch: Batch, towards: Float[Array, "n d"], angle: Any) -> Batch:
    r"""Turn the signal of each sample towards a direction of its own.

    $$ y\mu \mapsto y\,(\cos\varphi_i\,\mu+\sin\varphi_i\,\|\mu\|\,u_i),\qquad u_i = \frac{v_i}{\|v_i\|}, $$

    with $v_i$ the vector's part off the fixed span. With Gaussian vectors the planes of the turns are random.

    **Arguments:**

    - `batch`: its first patch is the signal's and has the width of the fixed span.
    - `towards`: one vector for each sample, such as a block of the frame (in a reduced frame it must be one).
    - `angle`: $\varphi_i$ in radians, a number or one for each sample.

    **Returns:** a `Batch` whose signal patch is as wide as `towards`.

    >>> import jax.numpy as jnp
    >>> batch = Batch((jnp.array([[2.0]]), jnp.zeros((1, 3))), jnp.ones(1), jnp.ones(1))
    >>> tilt(batch, jnp.array([[5.0, 0.0, 3.0]]), jnp.pi / 2).patches[0].round(6).tolist()
    [[0.0, 0.0, 2.0]]
    """
    signal, *others = batch.patches
    fixed, dim = signal.shape[1], towards.shape[1]
    off = towards.at[:, :fixed].set(0)
    # a signal against its class's direction turns with the same sign as its class
    length = batch.sign[:, None] * jnp.linalg.norm(signal, axis=1, keepdims=True)
    across = length * off / jnp.linalg.norm(off, axis=1, keepdims=True)
    angle = jnp.reshape(jnp.asarray(angle, signal.dtype), (-1, 1))
    turned = jnp.cos(angle) * jnp.pad(signal, ((0, 0), (0, dim - fixed))) + jnp.sin(angle) * across
    return batch._replace(patches=(turned, *others))

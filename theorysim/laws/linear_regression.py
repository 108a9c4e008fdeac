"""Gaussian inputs and the values of a linear function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ._batch import Batch


@dataclass(frozen=True)
class LinearRegression:
    r"""One Gaussian patch, and a real label that is linear in it.

    $$ x\sim N(0,I_d),\qquad y=\langle\theta^*,x\rangle+\sigma\epsilon,\qquad
       \theta^*=\|\theta^*\|e_1,\quad\epsilon\sim N(0,1). $$

    The noise is drawn once, with the sample; noise that is drawn anew at each step is `objectives.additive_noise`.

    **Arguments:**

    - `target`: $\|\theta^*\|\ge0$.
    - `noise`: $\sigma\ge0$, of the observed labels.

    **Raises:** `InvalidArgument` for a number (not a traced one) out of range.

    >>> import jax
    >>> law = LinearRegression(target=2.0)
    >>> batch = law(jax.random.key(0), jax.random.normal(jax.random.key(1), (5, 8)))
    >>> bool((batch.label == 2 * batch.patches[0][:, 0]).all())
    True
    """

    target: Any = 1.0
    noise: Any = 0.0

    #: the span of the target
    fixed = 1

    def __post_init__(self):
        for name in ("target", "noise"):
            value = getattr(self, name)
            if isinstance(value, float | int) and not 0 <= value < jnp.inf:
                raise InvalidArgument(name, value, "must be in [0, inf)")

    def __call__(self, key: Array, vectors: Float[Array, "n d"]) -> Batch:
        """Take i.i.d. Gaussian vectors of a frame as inputs, and give them their labels.

        **Arguments:** `key`: the stream of the noise; `vectors`: standard Gaussian rows, of which coordinate 0 is along
        $\\theta^*$.

        **Returns:** a `Batch` of `n` samples; `label` is the observed $y$, `sign` the sign of $\\langle\\theta^*,x\\rangle$.
        """
        keys = streams(key, "noise")
        value = jnp.asarray(self.target, vectors.dtype) * vectors[:, 0]
        label = value
        if not isinstance(self.noise, float | int) or self.noise:  # nothing is drawn that is not needed
            label = value + jnp.asarray(self.noise, vectors.dtype) * jax.random.normal(keys.noise, value.shape, value.dtype)
        return Batch((vectors,), jnp.where(vectors[:, 0] < 0, -1, 1).astype(vectors.dtype), label)

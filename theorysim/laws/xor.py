"""Clusters that no line separates: XOR signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ..exact import Diagonal
from ._batch import Batch
from ._noise import noise_patch


@dataclass(frozen=True)
class XOR:
    r"""The signal patch is $\pm u$ for one class and $\pm v$ for the other; the other patch is Gaussian noise.

    $$ x=[\,s\,u,\ \xi\,]\ (y=+1),\qquad x=[\,s\,v,\ \xi\,]\ (y=-1),\qquad s\sim\mathrm{Rad},\quad
       u=a+b,\ v=a-b,\ a\perp b, $$

    with $\|u\|=\|v\|=\|\mu\|$ and $\cos\theta=\langle u,v\rangle/\|\mu\|^2$, so that
    $\|a\|^2=\|\mu\|^2(1+\cos\theta)/2$ and $\|b\|^2=\|\mu\|^2(1-\cos\theta)/2$. With several signals each sample carries one of
    them, in a plane of its own.

    **Arguments:**

    - `signal`: $\|\mu\|\ge0$, or one for each of several features.
    - `cosine`: $\cos\theta$, in [-1, 1].
    - `noise`: $\sigma_p\ge0$.
    - `flip`: probability of a wrong label, in [0, 1/2].
    - `shares`: of the features, with sum 1; all equal by default.
    - `projected`: whether the noise is orthogonal to all $a$ and $b$. Static.

    **Raises:** `InvalidArgument` for a number (not a traced one) out of range, or another number of shares than of features.

    Source: Meng, Zou, Cao (2024), arXiv 2310.01975.

    >>> import jax
    >>> batch = XOR(signal=2.0)(jax.random.key(0), jax.random.normal(jax.random.key(1), (4, 8)))
    >>> [patch.shape for patch in batch.patches], [round(float(r @ r), 3) for r in batch.patches[0]]
    ([(4, 2), (4, 8)], [4.0, 4.0, 4.0, 4.0])
    """

    signal: Any
    cosine: Any = 0.0
    noise: Any = 1.0
    flip: Any = 0.0
    shares: Any = None
    projected: bool = True

    def __post_init__(self):
        for name, low, high in (("signal", 0, jnp.inf), ("cosine", -1, 1), ("noise", 0, jnp.inf), ("flip", 0, 0.5)):
            value = getattr(self, name)
            if isinstance(value, float | int) and not low <= value <= high:
                raise InvalidArgument(name, value, f"must be in [{low}, {high}]")
        if self.shares is not None and len(self.shares) != self.fixed // 2:
            raise InvalidArgument(
                "shares", f"({len(self.shares)} values)", f"must be one for each of {self.fixed // 2} features"
            )

    @property
    def _signals(self) -> Array:
        return jnp.atleast_1d(jnp.asarray(self.signal, jnp.result_type(float)))

    @property
    def fixed(self) -> int:
        """Dimension of the span of all $a$ and $b$."""
        return 2 * (len(self.signal) if isinstance(self.signal, list | tuple) else np.size(self.signal))

    def __call__(self, key: Array, vectors: Float[Array, "n d"] | Diagonal) -> Batch:
        """Draw classes, clusters, features and flips, and turn i.i.d. Gaussian vectors of a frame into patches.

        **Arguments:** `key`: the stream of all that is not Gaussian; `vectors`: standard Gaussian rows, of which the
        coordinates $2\\ell$ and $2\\ell+1$ are those of $a_\\ell$ and $b_\\ell$.

        **Returns:** a `Batch` of `n` samples, whose `group` is the feature $\\ell$; the signal patch has width `fixed`.
        """
        n, dtype = vectors.shape[0], vectors.dtype
        keys = streams(key, "sign", "flip", "feature", "side")
        sign, side = (jax.random.rademacher(k, (n,), dtype) for k in (keys.sign, keys.side))
        norms = self._signals.astype(dtype)
        count = norms.size
        shares = jnp.full(count, 1 / count, dtype) if self.shares is None else jnp.asarray(self.shares, dtype)
        group = jnp.sum(jax.random.uniform(keys.feature, (n, 1), dtype) >= jnp.cumsum(shares)[:-1], axis=1)
        cosine = jnp.asarray(self.cosine, dtype)
        a, b = jnp.sqrt((1 + cosine) / 2) * norms, jnp.sqrt((1 - cosine) / 2) * norms
        vector = (side * jnp.stack([a[group], sign * b[group]]))[..., None]
        here = group[:, None] == jnp.arange(count)
        signal = jnp.stack([here * vector[0], here * vector[1]], axis=-1).reshape(n, 2 * count)
        flipped = jax.random.uniform(keys.flip, (n,), dtype) < self.flip
        patches = (signal, noise_patch(vectors, self.noise, self.fixed if self.projected else 0))
        return Batch(patches, sign, jnp.where(flipped, -sign, sign), group)

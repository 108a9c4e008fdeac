"""Several signals, of which each sample carries one."""

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
class Features:
    r"""One patch carries one of several signals, the other is Gaussian noise.

    $$ x = [\,y\mu_\ell,\ \xi\,],\quad y\sim\mathrm{Rad},\quad P(\ell)=p_\ell,\quad \xi\sim N(0,\sigma_p^2 H), $$

    with $H=I$, or the projection off the span of all $\mu_\ell$ if `projected`. Easy and hard features, clients of different
    signals, and tasks at an angle are all of this kind.

    **Arguments:**

    - `signals`: $\mu_\ell$ as rows, shape `(L, f)`, in the coordinates of the fixed span; or shape `(L,)`: the norms of
      orthogonal signals.
    - `shares`: $p_\ell\ge0$, shape `(L,)`, with sum 1; all equal by default.
    - `noise`: $\sigma_p\ge0$.
    - `flip`: probability of a wrong label, in [0, 1/2].
    - `projected`: whether the noise is orthogonal to all signals. Static.

    **Raises:** `InvalidArgument` for another shape, or a number (not a traced one) out of range.

    Source: Cao, Chen, Belkin, Gu (2022), arXiv 2202.06526, for a single signal.

    >>> import jax
    >>> law = Features(signals=[10.0, 4.0], shares=[0.8, 0.2])
    >>> batch = law(jax.random.key(0), jax.random.normal(jax.random.key(1), (5, 8)))
    >>> law.fixed, [patch.shape for patch in batch.patches], batch.group.shape
    (2, [(5, 2), (5, 8)], (5,))
    """

    signals: Any
    shares: Any = None
    noise: Any = 1.0
    flip: Any = 0.0
    projected: bool = False

    def __post_init__(self):
        shape = self._shape
        if len(shape) not in (1, 2) or 0 in shape:
            raise InvalidArgument("signals", f"(shape {shape})", "must be norms (L,) or vectors (L, f)")
        if self.shares is not None and len(self.shares) != shape[0]:
            raise InvalidArgument("shares", f"({len(self.shares)} values)", f"must be one for each of {shape[0]} signals")
        for name, low, high in (("noise", 0, jnp.inf), ("flip", 0, 0.5)):
            value = getattr(self, name)
            if isinstance(value, float | int) and not low <= value <= high:
                raise InvalidArgument(name, value, f"must be in [{low}, {high}]")

    @property
    def _shape(self) -> tuple[Any, ...]:
        if isinstance(self.signals, list | tuple):
            first = self.signals[0] if self.signals else 0.0
            # the numbers of a row may be traced
            return (len(self.signals), *((len(first),) if isinstance(first, list | tuple) else np.shape(first)))
        return np.shape(self.signals)

    @property
    def directions(self) -> Float[Array, "L f"]:
        """The signals as rows."""
        signals = jnp.asarray(self.signals, jnp.result_type(float))
        return jnp.diag(signals) if signals.ndim == 1 else signals

    @property
    def fixed(self) -> int:
        """Dimension of the span that the signals are given in."""
        return self._shape[-1]

    def __call__(self, key: Array, vectors: Float[Array, "n d"] | Diagonal) -> Batch:
        """Draw signs, features and flips, and turn i.i.d. Gaussian vectors of a frame into patches.

        **Arguments:** `key`: the stream of signs, features and flips; `vectors`: standard Gaussian rows, of which the first
        `fixed` coordinates are those of the signals.

        **Returns:** a `Batch` of `n` samples, whose `group` is $\\ell$; the signal patch has width `fixed`.
        """
        n, dtype = vectors.shape[0], vectors.dtype
        keys = streams(key, "sign", "flip", "feature")
        directions = self.directions.astype(dtype)
        count = directions.shape[0]
        shares = jnp.full(count, 1 / count, dtype) if self.shares is None else jnp.asarray(self.shares, dtype)
        sign = jax.random.rademacher(keys.sign, (n,), dtype)
        beyond = jax.random.uniform(keys.feature, (n, 1), dtype) >= jnp.cumsum(shares)[:-1]
        group = jnp.sum(beyond, axis=1)
        flipped = jax.random.uniform(keys.flip, (n,), dtype) < self.flip
        patches = (sign[:, None] * directions[group], noise_patch(vectors, self.noise, self.fixed if self.projected else 0))
        return Batch(patches, sign, jnp.where(flipped, -sign, sign), group)

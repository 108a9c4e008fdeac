"""A signal patch and a noise patch, with flipped labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ..exact import Diagonal
from ._batch import Batch
from ._noise import noise_patch


@dataclass(frozen=True)
class SignalNoise:
    r"""One patch carries the class, the other is Gaussian noise.

    $$ x = [\,y\mu,\ \xi\,],\quad y\sim\mathrm{Rad},\quad \xi\sim N(0,\sigma_p^2 H),\quad \mu=\|\mu\|e_1, $$

    with $H=I$, or $H = I-\mu\mu^\top/\|\mu\|^2$ if `projected`. The observed label is $-y$ with probability `flip`.

    **Arguments:**

    - `signal`: $\|\mu\|\ge0$.
    - `noise`: $\sigma_p\ge0$.
    - `flip`: probability of a wrong label, in [0, 1/2], whatever the class; or instead of it
    - `flip_plus`, `flip_minus`: the probabilities for $y=+1$ and for $y=-1$.
    - `projected`: whether the noise is orthogonal to the signal. Static.

    **Raises:** `InvalidArgument` for a number (not a traced one) out of range, or `flip` beside the one-sided ones.

    Source: Cao, Chen, Belkin, Gu (2022), arXiv 2202.06526 (projected); Kou, Chen, Chen, Gu (2023), arXiv 2303.04145
    (not projected, flips); one-sided flips as in Huang et al. (2025), arXiv 2505.18909.

    >>> import jax
    >>> law = SignalNoise(signal=2.0, flip=0.1)
    >>> batch = law(jax.random.key(0), jax.random.normal(jax.random.key(1), (5, 8)))
    >>> [patch.shape for patch in batch.patches]
    [(5, 1), (5, 8)]
    """

    signal: Any
    noise: Any = 1.0
    flip: Any = 0.0
    flip_plus: Any = None
    flip_minus: Any = None
    projected: bool = False

    #: dimension of the span of the law's fixed directions
    fixed = 1

    def __post_init__(self):
        one_sided = self.flip_plus is not None or self.flip_minus is not None
        if one_sided and not (isinstance(self.flip, float | int) and self.flip == 0):
            raise InvalidArgument("flip", self.flip, "give it, or flip_plus and flip_minus, not both")
        for name, low, high in (
            ("signal", 0, jnp.inf), ("noise", 0, jnp.inf),
            ("flip", 0, 0.5), ("flip_plus", 0, 0.5), ("flip_minus", 0, 0.5),
        ):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, float | int) and not low <= value <= high:
                raise InvalidArgument(name, value, f"must be in [{low}, {high}]")

    def __call__(self, key: Array, vectors: Float[Array, "n d"] | Diagonal) -> Batch:
        """Draw signs and flips, and turn i.i.d. Gaussian vectors of a frame into patches.

        **Arguments:**

        - `key`: the stream of signs and flips.
        - `vectors`: standard Gaussian rows, a block of a frame or fresh points; coordinate 0 is along $\\mu$.

        **Returns:** a `Batch` of `n` samples; the signal patch has width `fixed`.
        """
        n, dtype = vectors.shape[0], vectors.dtype
        keys = streams(key, "sign", "flip")
        sign = jax.random.rademacher(keys.sign, (n,), dtype)
        # the flip of both classes is 0 where a one-sided one is given
        plus, minus = (self.flip if rate is None else rate for rate in (self.flip_plus, self.flip_minus))
        flipped = jax.random.uniform(keys.flip, (n,), dtype) < jnp.where(sign > 0, plus, minus)
        noise = noise_patch(vectors, self.noise, int(self.projected))
        patches = (sign[:, None] * jnp.asarray(self.signal, dtype), noise)
        return Batch(patches, sign, jnp.where(flipped, -sign, sign))

"""Two bits that agree with the class: one as often in every environment, one not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ._batch import Batch
from ._noise import noise_patch


@dataclass(frozen=True)
class TwoBit:
    r"""An invariant and a spurious feature in one patch, Gaussian noise in the other; one rate of the spurious one a domain.

    $$ x = [\,y\,\mathrm{Rad}(\alpha)\,a_1v_1 + y\,\mathrm{Rad}(\beta_e)\,a_2v_2,\ \xi\,],\quad y\sim\mathrm{Rad},\quad
       \xi\sim N(0,\sigma_p^2(I-v_1v_1^\top-v_2v_2^\top)), $$

    where $\mathrm{Rad}(\delta)$ is $-1$ with probability $\delta$, else $+1$, and $v_1=e_1$ is invariant, $v_2=e_2$ spurious.
    The environments $e=1,\dots,E$ have equal numbers of samples, up to one.

    **Arguments:**

    - `invariant_flip`: $\alpha$, in [0, 1].
    - `spurious_flips`: $\beta_1,\dots,\beta_E$, each in [0, 1].
    - `noise`: $\sigma_p\ge0$.
    - `strengths`: $a_1,a_2\ge0$; 0 takes a feature out.

    **Raises:** `InvalidArgument` for no environment, or a number (not a traced one) out of range.

    Source: Kamath, Tangella, Sutherland, Srebro (2021), arXiv 2101.01134 (two-bit environments); Chen et al. (2023),
    arXiv 2304.11327, as recalled (with a patch of noise).

    >>> import jax
    >>> law = TwoBit(0.25, [0.1, 0.2])
    >>> batch = law(jax.random.key(0), jax.random.normal(jax.random.key(1), (4, 8)))
    >>> [patch.shape for patch in batch.patches], batch.group.tolist()
    ([(4, 2), (4, 8)], [0, 0, 1, 1])
    """

    invariant_flip: Any
    spurious_flips: Any
    noise: Any = 1.0
    strengths: Any = (1.0, 1.0)

    #: dimension of the span of the two features
    fixed = 2

    def __post_init__(self):
        several = isinstance(self.spurious_flips, list | tuple) or len(np.shape(self.spurious_flips)) == 1
        if not several or not len(self.spurious_flips):
            raise InvalidArgument("spurious_flips", self.spurious_flips, "must be one for each of at least one environment")
        if len(self.strengths) != 2:
            raise InvalidArgument("strengths", self.strengths, "must be two: of the invariant and of the spurious feature")
        given = [("invariant_flip", self.invariant_flip, 1), ("noise", self.noise, jnp.inf)]
        given += [("spurious_flips", flip, 1) for flip in self.spurious_flips]
        given += [("strengths", strength, jnp.inf) for strength in self.strengths]
        for name, value, high in given:
            if isinstance(value, float | int) and not 0 <= value <= high:
                raise InvalidArgument(name, value, f"must be in [0, {high}]")

    @property
    def environments(self) -> int:
        """How many environments there are, E."""
        return len(self.spurious_flips)

    def __call__(self, key: Array, vectors: Float[Array, "n d"]) -> Batch:
        """Draw classes and both bits, and turn i.i.d. Gaussian vectors of a frame into patches.

        **Arguments:** `key`: the stream of classes and bits; `vectors`: standard Gaussian rows, of which the coordinates 0
        and 1 are those of $v_1$ and $v_2$.

        **Returns:** a `Batch` of `n` samples, whose `group` is the environment; the patch of features has width 2.
        """
        n, dtype = vectors.shape[0], vectors.dtype
        keys = streams(key, "sign", "invariant", "spurious")
        sign = jax.random.rademacher(keys.sign, (n,), dtype)
        group = jnp.arange(n) * self.environments // n
        flips = jnp.stack([jnp.asarray(flip, dtype) for flip in self.spurious_flips])[group]
        rates = ((keys.invariant, self.invariant_flip), (keys.spurious, flips))
        bits = [jnp.where(jax.random.uniform(k, (n,), dtype) < rate, -1, 1) for k, rate in rates]
        features = [sign * bit * jnp.asarray(size, dtype) for bit, size in zip(bits, self.strengths, strict=True)]
        return Batch((jnp.stack(features, axis=1), noise_patch(vectors, self.noise, self.fixed)), sign, sign, group)

"""Stochastic objectives: a few samples, drawn anew at each step, perhaps with noise on their labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ..laws import Batch, pick
from .margins import Objective

Perturb = Callable[[Any, Batch], Batch]


@dataclass(frozen=True)
class OnSample:
    """A stochastic objective; made by `on_sample`.

    - `draw(key)`: the samples of one step, with their perturbed labels.
    - called with `(model, key)`: the objective on these.

    >>> import jax, jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> from theorysim.objectives import regression
    >>> OnSample(regression, Batch((jnp.eye(3),), jnp.ones(3), jnp.ones(3)), 2, None).draw(jax.random.key(0)).label.shape
    (2,)
    """

    make: Callable[[Batch], Objective]
    batch: Batch
    size: int
    perturb: Perturb | None

    def draw(self, key: Array) -> Batch:
        """The samples that a step with this key sees."""
        keys = streams(key, "choice", "perturb")
        count = jnp.uint32(self.batch.label.shape[0])
        # a remainder is off the uniform law by n 2^-32, and costs a third of what `randint` costs, at each step
        chosen = jax.random.bits(keys.choice, (self.size,), jnp.uint32) % count
        drawn = pick(self.batch, chosen.astype(jnp.int32))
        return drawn if self.perturb is None else self.perturb(keys.perturb, drawn)

    def __call__(self, model: Any, key: Array) -> Float[Array, ""]:
        return self.make(self.draw(key))(model, key)


def on_sample(make: Callable[[Batch], Objective], batch: Batch, size: int = 1, perturb: Perturb | None = None) -> OnSample:
    r"""An objective on a few samples, drawn with replacement by its key; gradient descent on it is SGD.

    $$ L_t(W)=L\big(W;\ \{(x_i,\,y_i+\epsilon)\}_{i\in B_t}\big),\qquad B_t\sim\mathrm{Unif}\{1..n\}^{b}. $$

    A rule that evaluates it more than once in a step, such as SAM, does so with one key: on the same samples.

    **Arguments:**

    - `make`: an objective of a batch, such as `regression`.
    - `batch`: the `n` training samples.
    - `size`: $b\ge1$. Static.
    - `perturb`: `perturb(key, batch) -> batch`, applied to the samples drawn, such as `additive_noise(sigma)`.

    **Returns:** an `OnSample`, which is an objective and tells by `draw(key)` which samples a step sees.

    **Raises:** `InvalidArgument` for a size below 1.

    >>> import jax, jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> from theorysim.objectives import regression
    >>> batch = Batch((jnp.ones((4, 1)),), jnp.ones(4), jnp.zeros(4))
    >>> loss = on_sample(regression, batch, perturb=additive_noise(2.0))
    >>> float(loss(lambda patches: jnp.zeros(1), jax.random.key(0)))
    2.0
    """
    if not isinstance(size, int) or size < 1:
        raise InvalidArgument("size", size, "must be a whole number >= 1")
    return OnSample(make, batch, size, perturb)


def additive_noise(scale: Any) -> Perturb:
    r"""Label noise of one size and a random sign, $y\to y+\sigma s$ with $s\sim\mathrm{Rad}$.

    **Arguments:** `scale`: $\sigma\ge0$.

    **Returns:** `perturb(key, batch) -> batch`.

    >>> import jax, jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> noisy = additive_noise(0.5)(jax.random.key(0), Batch((jnp.ones((3, 1)),), jnp.ones(3), jnp.zeros(3)))
    >>> abs(noisy.label).tolist()
    [0.5, 0.5, 0.5]
    """

    def perturb(key: Array, batch: Batch) -> Batch:
        noise = jax.random.rademacher(key, batch.label.shape, batch.label.dtype)
        return batch._replace(label=batch.label + jnp.asarray(scale, batch.label.dtype) * noise)

    return perturb

"""Label noise that is drawn afresh at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from ..laws import Batch
from .margins import Objective

#: `noise(key, label) -> factors`: one factor for each label, drawn from the key
Noise = Callable[[Array, Float[Array, " n"]], Float[Array, " n"]]


def with_label_noise(loss: Callable[[Float[Array, " n"]], Float[Array, " n"]], batch: Batch, noise: Noise) -> Objective:
    r"""The mean loss with every label multiplied by a random factor, new ones for each key.

    $$ L(W;\text{key}) = \frac1n\sum_i\ell\big(e_i\,y_if(x_i)\big),\qquad e_1,\dots,e_n\ \text{i.i.d. from the key}. $$

    `dynamics.gradient_descent` on it is label-noise gradient descent: each of its steps has a key of its own, hence fresh
    factors. Flips that are drawn once and for all belong to the law instead.

    **Arguments:**

    - `loss`: the losses of margins, elementwise, such as `logistic_loss`.
    - `batch`: `n` samples with labels.
    - `noise`: the law of the factors: `flips(p)`, `gaussian(mean, std)`, `uniform(low, high)`, or one's own
      `noise(key, label)`.

    **Returns:** `objective(model, key) -> scalar`.

    **Raises:** `InvalidArgument` without a key; to look at the loss without its noise, use `of_margins(loss, batch)`.

    Source: Huang et al. (2025), arXiv 2510.17526, section 3.

    >>> import jax, jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> from theorysim.objectives import hinge_loss
    >>> batch = Batch((jnp.ones((1000, 1)),), jnp.ones(1000), jnp.ones(1000))
    >>> objective = with_label_noise(hinge_loss, batch, flips(0.1))
    >>> flipped = [float(objective(lambda patches: jnp.ones(1000), jax.random.key(step))) / 2 for step in range(3)]
    >>> len(set(flipped)), all(0.05 < share < 0.15 for share in flipped)
    (3, True)
    """

    def objective(model: Any, key: Any) -> Float[Array, ""]:
        if key is None:
            raise InvalidArgument("key", None, "label noise is drawn from the key of the step")
        return jnp.mean(loss(noise(key, batch.label) * batch.label * model(batch.patches)))

    return objective


def flips(p: Any) -> Noise:
    r"""Labels flipped with probability $p$: $e=-1$ with probability $p$, else $+1$.

    **Arguments:** `p` in [0, 1], may be traced. With $p=0$ the objective is the one without noise, to the bit.

    >>> import jax, jax.numpy as jnp
    >>> sorted(set(flips(0.5)(jax.random.key(0), jnp.ones(50)).tolist()))
    [-1.0, 1.0]
    """
    if isinstance(p, float | int) and not 0 <= p <= 1:
        raise InvalidArgument("p", p, "must be in [0, 1]")

    def draw(key: Array, label: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.where(jax.random.uniform(key, label.shape, label.dtype) < p, -1, 1).astype(label.dtype)

    return draw


def gaussian(mean: Any, std: Any) -> Noise:
    r"""Labels times a Gaussian, $e\sim N(\text{mean},\text{std}^2)$.

    **Arguments:** `mean`; `std` >= 0; may be traced.

    >>> import jax, jax.numpy as jnp
    >>> gaussian(1.0, 0.0)(jax.random.key(0), jnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    if isinstance(std, float | int) and not std >= 0:
        raise InvalidArgument("std", std, "must be >= 0")

    def draw(key: Array, label: Float[Array, " n"]) -> Float[Array, " n"]:
        return (mean + std * jax.random.normal(key, label.shape, label.dtype)).astype(label.dtype)

    return draw


def uniform(low: Any, high: Any) -> Noise:
    r"""Labels times a uniform number, $e\sim U[\text{low},\text{high}]$.

    **Arguments:** `low` <= `high`; may be traced.

    >>> import jax, jax.numpy as jnp
    >>> drawn = uniform(-1.0, 2.0)(jax.random.key(0), jnp.ones(500))
    >>> bool(drawn.min() < -0.9) and bool(drawn.max() > 1.9) and bool(abs(drawn).max() <= 2)
    True
    """
    if isinstance(low, float | int) and isinstance(high, float | int) and not low <= high:
        raise InvalidArgument("low", low, f"must be at most high = {high:g}")

    def draw(key: Array, label: Float[Array, " n"]) -> Float[Array, " n"]:
        return (low + (high - low) * jax.random.uniform(key, label.shape, label.dtype)).astype(label.dtype)

    return draw

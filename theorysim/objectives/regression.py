"""The square loss of real labels."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..laws import Batch
from .margins import Objective


def regression(batch: Batch) -> Objective:
    r"""The mean square loss $\frac1{2n}\sum_i(f(x_i)-y_i)^2$ of real labels $y_i$.

    **Arguments:** `batch`: `n` samples with labels.

    **Returns:** `objective(model, key) -> scalar`.

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), 3 * jnp.ones(1))
    >>> float(regression(batch)(lambda patches: jnp.ones(1), None))
    2.0
    """

    def objective(model: Any, key: Any) -> Float[Array, ""]:
        del key
        return jnp.mean((model(batch.patches) - batch.label) ** 2) / 2

    return objective

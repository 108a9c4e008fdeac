"""What is minimised: mean losses of the margin $y f(x)$, with the observed label $y$."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .laws import Batch

Objective = Callable[[Any, Any], Array]


def _mean_loss(loss: Callable[[Array], Array], batch: Batch) -> Objective:
    def objective(model: Any, key: Any) -> Float[Array, ""]:
        del key
        return jnp.mean(loss(batch.label * model(batch.patches)))

    return objective


def logistic(batch: Batch) -> Objective:
    r"""The mean logistic loss $\frac1n\sum_i\log(1+e^{-y_if(x_i)})$, which is cross-entropy for two classes.

    **Arguments:** `batch`: `n` samples with labels.

    **Returns:** `objective(model, key) -> scalar`.

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), jnp.ones(1))
    >>> print(round(float(logistic(batch)(lambda patches: jnp.zeros(1), None)), 4))
    0.6931
    """
    return _mean_loss(lambda margin: jax.nn.softplus(-margin), batch)


def hinge(batch: Batch) -> Objective:
    r"""The mean hinge loss $\frac1n\sum_i\max(0,1-y_if(x_i))$.

    **Arguments:** `batch`: `n` samples with labels.

    **Returns:** `objective(model, key) -> scalar`.

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), jnp.ones(1))
    >>> float(hinge(batch)(lambda patches: -jnp.ones(1), None))
    2.0
    """
    return _mean_loss(lambda margin: jax.nn.relu(1 - margin), batch)


def square(batch: Batch) -> Objective:
    r"""The mean square loss $\frac1{2n}\sum_i(f(x_i)-y_i)^2$, which is $\frac1{2n}\sum_i(1-y_if(x_i))^2$ as $y_i=\pm1$.

    **Arguments:** `batch`: `n` samples with labels.

    **Returns:** `objective(model, key) -> scalar`.

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), jnp.ones(1))
    >>> float(square(batch)(lambda patches: -jnp.ones(1), None))
    2.0
    """
    return _mean_loss(lambda margin: (1 - margin) ** 2 / 2, batch)

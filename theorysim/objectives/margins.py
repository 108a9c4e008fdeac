"""What is minimised: mean losses of the margin $y f(x)$, with the observed label $y$."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..laws import Batch

Objective = Callable[[Any, Any], Array]


def of_margins(
    loss: Callable[[Float[Array, " n"]], Float[Array, " n"]], batch: Batch, weights: Float[Array, " n"] | None = None
) -> Objective:
    r"""The mean of a loss of the margins, $\frac1n\sum_i\ell(y_if(x_i))$, or its mean with weights.

    **Arguments:** `loss`: the losses of margins, elementwise; `batch`: `n` samples with labels; `weights`: of the samples,
    $\ge0$ and not all 0, for $\sum_iw_i\ell(y_if(x_i))/\sum_iw_i$. Weights of 0 and 1 make the number of samples traced.

    **Returns:** `objective(model, key) -> scalar`.

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), jnp.ones(1))
    >>> float(of_margins(lambda margin: jnp.exp(-margin), batch)(lambda patches: jnp.zeros(1), None))
    1.0
    """

    def objective(model: Any, key: Any) -> Float[Array, ""]:
        del key
        losses = loss(batch.label * model(batch.patches))
        return jnp.mean(losses) if weights is None else jnp.sum(weights * losses) / jnp.sum(weights)

    return objective


def logistic_loss(margin: Float[Array, " n"]) -> Float[Array, " n"]:
    r"""The logistic loss of margins, $\log(1+e^{-z})$, elementwise.

    >>> import jax.numpy as jnp
    >>> print(round(float(logistic_loss(jnp.zeros(1))[0]), 4))
    0.6931
    """
    return jax.nn.softplus(-margin)


def hinge_loss(margin: Float[Array, " n"]) -> Float[Array, " n"]:
    r"""The hinge loss of margins, $\max(0,1-z)$, elementwise.

    >>> import jax.numpy as jnp
    >>> hinge_loss(jnp.array([-1.0, 3.0])).tolist()
    [2.0, 0.0]
    """
    return jax.nn.relu(1 - margin)


def square_loss(margin: Float[Array, " n"]) -> Float[Array, " n"]:
    r"""The square loss of margins, $\frac12(1-z)^2$, elementwise; with labels $\pm1$ it is $\frac12(f-y)^2$.

    >>> import jax.numpy as jnp
    >>> square_loss(jnp.array([-1.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    return (1 - margin) ** 2 / 2


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
    return of_margins(logistic_loss, batch)


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
    return of_margins(hinge_loss, batch)


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
    return of_margins(square_loss, batch)

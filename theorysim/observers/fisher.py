"""How much single coordinates of a model matter for the samples of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from ..laws import Batch
from ..objectives import Objective


def diagonal_fisher(make: Callable[[Batch], Objective], batch: Batch) -> Callable[[Any], Any]:
    r"""The diagonal of the empirical Fisher information: the sum over samples of squared gradients.

    $$ F_a(\theta) = \sum_{i=1}^n\Big(\frac{\partial\ell_i}{\partial\theta_a}(\theta)\Big)^2. $$

    Labels are the observed ones. It is a sum, as in the code of several papers: the mean is $F/n$.

    **Arguments:** `make`: makes the objective $\ell_i$ from a batch, here of one sample, such as `objectives.logistic`;
    `batch`: $n$ samples.

    **Returns:** `model -> pytree` like the parameters of the model.

    Source: Kirkpatrick et al. (2017), arXiv 1612.00796, for its use as an importance: see `dynamics.elastic`.

    >>> import jax, jax.numpy as jnp, theorysim as ts
    >>> batch = ts.laws.Batch((jnp.array([[2.0], [-4.0]]),), jnp.ones(2), jnp.ones(2))
    >>> model = ts.models.TwoLayerCNN(jnp.zeros((2, 1)), activation="identity")
    >>> diagonal_fisher(ts.objectives.logistic, batch)(model)["filters"][...].tolist()
    [[5.0], [5.0]]
    """

    def fisher(model: Any) -> Any:
        graph, params, rest = nnx.split(model, nnx.Param, ...)

        def gradient(sample: Batch) -> Any:
            alone = make(jax.tree.map(lambda value: value[None], sample))
            return jax.grad(lambda params: alone(nnx.merge(graph, params, rest), None))(params)

        return jax.tree.map(lambda each: jnp.sum(each**2, axis=0), jax.vmap(gradient)(batch))

    return fisher

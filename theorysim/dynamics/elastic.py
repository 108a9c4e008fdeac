"""Descent that is held to an earlier solution, each coordinate by its importance."""

from __future__ import annotations

from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from .._errors import Refused
from ..objectives import Objective
from ._rule import Dynamics
from .gradient_descent import gradient_descent


def _refuse() -> NoReturn:
    raise Refused("reduced frame: elastic weights are diagonal in the coordinates, which a rotation mixes; use frame=ambient")


def elastic(
    objective: Objective, transformation: optax.GradientTransformation, anchor: nnx.Module, importance: Any, strength: Any
) -> Dynamics:
    r"""Gradient descent with a quadratic pull towards an anchor, as in elastic weight consolidation (EWC).

    $$ L(\theta)+\frac\lambda2\sum_a F_a(\theta_a-\hat\theta_a)^2. $$

    Plain descent with a step $\eta$ is stable in the direction $a$ only if $\eta\lambda F_a<2$.

    **Arguments:**

    - `objective`: $L$, `objective(model, key) -> scalar`.
    - `transformation`: from optax; its numbers may be traced.
    - `anchor`: the model at $\hat\theta$, such as the solution of an earlier task.
    - `importance`: $F\ge0$, a pytree like the parameters of the model, such as that of `observers.diagonal_fisher`.
    - `strength`: $\lambda\ge0$, may be traced; at 0 the run is that of `gradient_descent`.

    **Returns:** a `Dynamics` whose state is a `Training`. It does not commute with rotations: `simulate` refuses it in a
    reduced frame.

    Source: Kirkpatrick et al. (2017), arXiv 1612.00796.

    >>> import jax, jax.numpy as jnp, optax, theorysim as ts
    >>> anchor = ts.models.TwoLayerCNN(jnp.eye(2))
    >>> stiff = jax.tree.map(jnp.ones_like, nnx.state(anchor, nnx.Param))
    >>> rule = elastic(lambda model, key: jnp.float32(0), optax.sgd(0.1), anchor, stiff, strength=5.0)
    >>> float(rule.step(rule.init(ts.models.TwoLayerCNN(3 * jnp.eye(2))), None).model.filters[0, 0])
    2.0
    """
    held = nnx.state(anchor, nnx.Param)

    def pulled(model: Any, key: Any) -> Any:
        parts = jax.tree.map(lambda f, a, b: jnp.sum(f * (a - b) ** 2), importance, nnx.state(model, nnx.Param), held)
        return objective(model, key) + strength / 2 * sum(jax.tree.leaves(parts))

    return gradient_descent(pulled, transformation)._replace(commutes=_refuse)

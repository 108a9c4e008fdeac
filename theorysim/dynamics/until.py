"""A rule that comes to rest."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..objectives import Objective
from ._rule import Dynamics, Training


def until(rule: Dynamics, objective: Objective, level: Any) -> Dynamics:
    r"""Follow a rule while an objective is above a level, then stay.

    $$ \theta_{t+1}=u(\theta_t)\ \text{ if } L(\theta_t)>\ell,\ \text{ else }\ \theta_t. $$

    Runs of different settings can so be compared where they fit equally well, in one compiled loop of fixed length.

    **Arguments:** `rule`: one whose state is a `Training`; `objective`: what is looked at, with the step's key; `level`:
    $\ell$.

    **Returns:** a `Dynamics`; it commutes with rotations if `rule` does and the objective is invariant.

    >>> import jax.numpy as jnp, optax, theorysim as ts
    >>> square = lambda model, key: jnp.sum(model.filters[...] ** 2)
    >>> rule = until(ts.dynamics.gradient_descent(square, optax.sgd(0.25)), square, 0.3)
    >>> state = rule.init(ts.models.TwoLayerCNN(jnp.ones((2, 1))))
    >>> for _ in range(5):
    ...     state = rule.step(state, None)
    >>> float(square(state.model, None))
    0.125
    """

    def step(state: Training, key: Any) -> Training:
        moved, goes_on = rule.step(state, key), objective(state.model, key) > level
        return jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), moved, state)

    return Dynamics(rule.init, step, rule.commutes)

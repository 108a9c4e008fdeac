"""Sharpness-aware minimisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from ..objectives import Objective
from ._commutation import require_commutation
from ._rule import Dynamics, Training


def sam(objective: Objective, transformation: optax.GradientTransformation, rho: Any) -> Dynamics:
    r"""Follow the gradient taken at a point uphill, as an optax transformation shapes it.

    $$ W_{t+1} = W_t+u_t\big(\nabla L(W_t+\rho\,g_t/\|g_t\|)\big),\qquad g_t=\nabla L(W_t), $$

    with $\|g\|$ over all parameters together. Both gradients are of one key: a stochastic objective sees the same samples. At a
    point where $g_t=0$ there is no direction uphill, and the gradient is taken there.

    **Arguments:**

    - `objective`: `objective(model, key) -> scalar`.
    - `transformation`: from optax; its numbers may be traced.
    - `rho`: $\rho\ge0$, may be traced; at 0 it is `gradient_descent`.

    **Returns:** a `Dynamics` whose state is a `Training`. It commutes with rotations if the transformation does, for the norm
    of the gradient does not change.

    Source: Foret, Kleiner, Mobahi, Neyshabur (2021), arXiv 2010.01412.

    >>> import jax, jax.numpy as jnp, optax, theorysim as ts
    >>> batch = ts.laws.SignalNoise(signal=3.0)(jax.random.key(0), jnp.zeros((4, 2)))
    >>> rule = sam(ts.objectives.logistic(batch), optax.sgd(0.5), rho=0.05)
    >>> state = rule.init(ts.models.TwoLayerCNN(0.1 * jnp.eye(2)))
    >>> float(rule.step(state, None).model.filters[0, 0]) > 0.1
    True
    """

    def init(model: nnx.Module) -> Training:
        return Training.begin(model, transformation.init)

    def step(state: Training, key: Any) -> Training:
        gradient = jax.grad(lambda params: objective(state.model_at(params), key))
        here = gradient(state.params)
        norm = optax.tree.norm(here)
        size = jnp.where(norm > 0, rho / jnp.where(norm > 0, norm, 1), 0)
        uphill = jax.tree.map(lambda w, g: w + size.astype(g.dtype) * g, state.params, here)
        update, memory = transformation.update(gradient(uphill), state.memory, state.params)
        return replace(state, params=optax.apply_updates(state.params, update), memory=memory)

    return Dynamics(init, step, lambda: require_commutation(transformation))

"""Full-batch gradient descent, through any optax transformation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import optax
from flax import nnx

from ..objectives import Objective
from ._commutation import require_commutation
from ._rule import Dynamics, Training


def gradient_descent(objective: Objective, transformation: optax.GradientTransformation) -> Dynamics:
    r"""Follow the gradient of an objective, as an optax transformation shapes it.

    $$ W_{t+1} = W_t + u_t(\nabla L(W_t)),\qquad u_t(g) = -\eta g\ \text{ for }\ \texttt{optax.sgd}. $$

    **Arguments:**

    - `objective`: `objective(model, key) -> scalar`.
    - `transformation`: from optax; its numbers may be traced.

    **Returns:** a `Dynamics` whose state is a `Training`. Whether it commutes with rotations is probed: see
    `simulate`.

    >>> import jax, jax.numpy as jnp, optax, theorysim as ts
    >>> batch = ts.laws.SignalNoise(signal=3.0)(jax.random.key(0), jnp.zeros((4, 2)))
    >>> rule = gradient_descent(ts.objectives.logistic(batch), optax.sgd(0.5))
    >>> state = rule.init(ts.models.TwoLayerCNN(0.1 * jnp.eye(2)))
    >>> float(rule.step(state, None).model.filters[0, 0]) > 0.1
    True
    """

    def init(model: nnx.Module) -> Training:
        return Training.begin(model, transformation.init)

    def step(state: Training, key: Any) -> Training:
        gradient = jax.grad(lambda params: objective(state.model_at(params), key))(state.params)
        update, memory = transformation.update(gradient, state.memory, state.params)
        return replace(state, params=optax.apply_updates(state.params, update), memory=memory)

    return Dynamics(init, step, lambda: require_commutation(transformation))

"""Leaves that are not trained but follow a law of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flax import nnx

from .._streams import streams
from ._rule import Dynamics, Training


def driven(rule: Dynamics, drive: Callable[[Any, Any], Any]) -> Dynamics:
    r"""Train the parameters by a rule while leaves that are not trained are moved by hand.

    $$ \theta_{t+1}=u(\theta_t;\,a_t),\qquad a_{t+1}\sim P(\cdot\mid a_t). $$

    **Arguments:**

    - `rule`: one whose state is a `Training`, such as `gradient_descent`.
    - `drive`: `drive(model, key) -> model`: moves leaves that are no `nnx.Param`; what it does to parameters is not kept.

    **Returns:** a `Dynamics`; both moves of a step start from the same state. It commutes with rotations if `rule` does,
    provided that the drive does not look at them.

    >>> import jax, jax.numpy as jnp, optax, theorysim as ts
    >>> def flip(model, key):
    ...     model.second[...] = -model.second[...]
    ...     return model
    >>> model = ts.models.TwoLayerLinear(jnp.eye(2), jnp.ones(2), trained="first")
    >>> rule = driven(ts.dynamics.gradient_descent(lambda model, key: jnp.sum(model.filters[...]), optax.sgd(0.5)), flip)
    >>> moved = rule.step(rule.init(model), jax.random.key(0)).model
    >>> moved.filters[...].tolist(), moved.second[...].tolist()
    ([[0.5, -0.5], [-0.5, 0.5]], [-1.0, -1.0])
    """

    def step(state: Training, key: Any) -> Training:
        keys = streams(key, "step", "drive")
        _, _, rest = nnx.split(drive(state.model, keys.drive), nnx.Param, ...)
        return replace(rule.step(state, keys.step), rest=rest)

    return Dynamics(rule.init, step, rule.commutes)

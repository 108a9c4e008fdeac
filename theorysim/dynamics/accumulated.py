"""Sums along a run, over its steps and not only over the times at which it is observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from ._rule import Dynamics


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Accumulated:
    """The state of a rule and the sums over its steps; made by `accumulated`.

    - `state`: that of the rule.
    - `total`: the sums so far.

    >>> Accumulated(state=3.0, total={"steps": 1}).total["steps"]
    1
    """

    state: Any
    total: Any

    @property
    def model(self) -> Any:
        """The model as it stands."""
        return self.state.model


def accumulated(rule: Dynamics, measure: Callable[[Any, Any, Any], dict[str, Any]]) -> Dynamics:
    r"""A rule that also adds up a measure of each of its steps, $S_T=\sum_{t<T}m(s_t,s_{t+1},k_t)$.

    **Arguments:**

    - `rule`: what moves the state.
    - `measure`: `measure(before, after, key) -> dict` of arrays, from the states around a step and its key.

    **Returns:** a `Dynamics` whose state has `.model` and `.total`, the sums by name. The run itself is that of `rule`.

    >>> import jax.numpy as jnp
    >>> halving = Dynamics(init=lambda model: model, step=lambda state, key: state / 2, commutes=lambda: None)
    >>> rule = accumulated(halving, lambda before, after, key: {"way": abs(after - before)})
    >>> state = rule.init(jnp.float32(8.0))
    >>> for _ in range(3):
    ...     state = rule.step(state, None)
    >>> float(state.state), float(state.total["way"])
    (1.0, 7.0)
    """

    def init(model: Any) -> Accumulated:
        state = rule.init(model)
        key = jax.random.key(0)  # only for the shapes
        shapes = jax.eval_shape(lambda s: measure(s, rule.step(s, key), key), state)
        return Accumulated(state, jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes))

    def step(state: Accumulated, key: Any) -> Accumulated:
        after = rule.step(state.state, key)
        return Accumulated(after, jax.tree.map(jnp.add, state.total, measure(state.state, after, key)))

    return Dynamics(init, step, rule.commutes)

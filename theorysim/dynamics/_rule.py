"""The contract of a rule, and the state of those that train a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
from flax import nnx


class Dynamics(NamedTuple):
    """A rule that moves a state.

    - `init(model) -> state`.
    - `step(state, key) -> state`, one step; pure.
    - `commutes() -> None`: raises `Refused` with the reason if rotating the start does not rotate the run, since a
      reduced frame would then be wrong.

    >>> halving = Dynamics(init=lambda model: model, step=lambda state, key: state / 2, commutes=lambda: None)
    >>> halving.step(8.0, None)
    4.0
    """

    init: Callable[[Any], Any]
    step: Callable[[Any, Any], Any]
    commutes: Callable[[], None]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Training:
    """The state of a rule that trains a model.

    - `params`: the `nnx.Param` leaves, which move.
    - `rest`: all other leaves, which never do.
    - `memory`: what the rule remembers between steps, such as momentum.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> state = Training.begin(ts.models.TwoLayerCNN(jnp.eye(2)), memory=lambda params: None)
    >>> [leaf.shape for leaf in jax.tree.leaves(state.params)], [leaf.shape for leaf in jax.tree.leaves(state.rest)]
    ([(2, 2)], [(2,)])
    """

    params: Any
    rest: Any
    memory: Any
    graph: Any = field(metadata={"static": True})

    @staticmethod
    def begin(model: nnx.Module, memory: Callable[[Any], Any]) -> Training:
        graph, params, rest = nnx.split(model, nnx.Param, ...)
        return Training(params, rest, memory(params), graph)

    def model_at(self, params: Any) -> Any:
        """The model with these parameters."""
        return nnx.merge(self.graph, params, self.rest)

    @property
    def model(self) -> Any:
        """The model as it stands."""
        return self.model_at(self.params)

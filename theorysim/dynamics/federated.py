"""Federated training: clients train on their own data, then receive averages of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from .._errors import InvalidArgument
from ..laws import Batch
from ..objectives import Objective
from ._commutation import require_commutation
from ._rule import Dynamics, Training
from .gradient_descent import gradient_descent


def federated(
    make: Callable[[Batch], Objective],
    batches: Batch,
    transformation: optax.GradientTransformation,
    *,
    local_steps: Any,
    weights: Float[Array, "K K"],
) -> Dynamics:
    r"""Let each client train on its own batch, then give each its own average of all clients; one step is one such round.

    $$ W_{k,0}=W_k,\qquad W_{k,e+1}=W_{k,e}+u(\nabla L_k(W_{k,e})),\qquad W_k\leftarrow\sum_{k'}a_{kk'}W_{k',E}. $$

    $a=1/K$ is FedAvg, the identity is local training without communication, and rows that favour similar clients give
    personalised models. With `E = 1`, gradient descent and batches of one size, FedAvg is gradient descent on the pooled data.

    **Arguments:**

    - `make`: the objective $L_k$ of a client's batch, such as `objectives.logistic`.
    - `batches`: one `Batch` whose arrays have a leading axis of `K` clients: patches `(K, n, d)`, labels `(K, n)`.
    - `transformation`: from optax, each client's own; its memory is kept at the client and never averaged.
    - `local_steps`: $E\ge0$, a whole number, static or traced.
    - `weights`: $a_{kk'}$, shape `(K, K)`, each row with sum 1; may be traced.

    **Returns:** a `Dynamics` whose state is a `Training`: its `params` and `memory` have the leading axis of clients, all
    of which begin at the model given. See `each_client` for looking at it. It commutes with rotations where the
    transformation does.

    **Raises:** `InvalidArgument` for weights of another shape, or (where they are not traced) with a row of another sum;
    for a negative `local_steps`.

    Source: McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), algorithm 1, with all clients and full batches.

    >>> import jax, jax.numpy as jnp, optax, theorysim as ts
    >>> law, keys = ts.laws.SignalNoise(signal=3.0), jax.random.split(jax.random.key(0), 3)
    >>> batches = jax.vmap(law)(keys, jnp.zeros((3, 4, 2)))
    >>> average = jnp.full((3, 3), 1 / 3)
    >>> rule = federated(ts.objectives.logistic, batches, optax.sgd(0.5), local_steps=5, weights=average)
    >>> state = rule.step(rule.init(ts.models.TwoLayerCNN(0.1 * jnp.eye(2))), jax.random.key(1))
    >>> each_client(state, lambda model: ts.objectives.logistic(jax.tree.map(lambda a: a[0], batches))(model, None)).shape
    (3,)
    """
    clients = batches.label.shape[0]
    if weights.shape != (clients, clients):
        raise InvalidArgument("weights", weights.shape, f"must have the shape {(clients, clients)}, that of the clients")
    if not isinstance(weights, Tracer) and not np.allclose(np.sum(np.asarray(weights, float), axis=1), 1, atol=1e-4):
        raise InvalidArgument("weights", np.asarray(weights).tolist(), "each row must have the sum 1")
    if not isinstance(local_steps, Tracer) and local_steps < 0:
        raise InvalidArgument("local_steps", local_steps, "must be a whole number >= 0")

    def init(model: nnx.Module) -> Training:
        state = Training.begin(model, transformation.init)

        def copies(leaf: Any) -> Array:
            return jnp.broadcast_to(leaf, (clients, *jnp.shape(leaf)))

        return replace(state, params=jax.tree.map(copies, state.params), memory=jax.tree.map(copies, state.memory))

    def train(state: Training, batch: Batch, key: Any) -> tuple[Any, Any]:
        rule = gradient_descent(make(batch), transformation)

        def one(e: Any, moved: Training) -> Training:
            return rule.step(moved, jax.random.fold_in(key, e))

        # a float, as a traced field gives it, does not count a loop
        end = jax.lax.fori_loop(0, jnp.asarray(local_steps).astype(jnp.int32), one, state)
        return end.params, end.memory

    def step(state: Training, key: Any) -> Training:
        def at_client(params: Any, memory: Any, batch: Batch, key: Any) -> tuple[Any, Any]:
            return train(replace(state, params=params, memory=memory), batch, key)

        keys = jax.random.split(key, clients)
        params, memory = jax.vmap(at_client)(state.params, state.memory, batches, keys)
        received = jax.tree.map(lambda leaf: jnp.tensordot(weights.astype(leaf.dtype), leaf, 1), params)
        return replace(state, params=received, memory=memory)

    return Dynamics(init, step, lambda: require_commutation(transformation))


def each_client(state: Training, look: Callable[..., Any], *arguments: Any) -> Any:
    """Look at the model of each client.

    **Arguments:** `state`: of `federated`; `look`: `look(model, *arguments)` gives arrays; `arguments`: each with a leading
    axis of clients, such as their batches.

    **Returns:** what `look` gives, with a leading axis of clients.

    >>> import jax.numpy as jnp, optax, theorysim as ts
    >>> empty = ts.laws.Batch((jnp.zeros((3, 1, 2)),), jnp.ones((3, 1)), jnp.ones((3, 1)))
    >>> rule = federated(ts.objectives.logistic, empty, optax.sgd(0.5), local_steps=1, weights=jnp.eye(3))
    >>> state = rule.init(ts.models.TwoLayerCNN(jnp.eye(2)))
    >>> each_client(state, lambda model, batch: model(batch.patches), empty).shape
    (3, 1)
    """
    return jax.vmap(lambda params, *own: look(state.model_at(params), *own))(state.params, *arguments)


def weights_by_group(groups: Int[Array, " K"]) -> Float[Array, "K K"]:
    r"""Averages over the clients of one's own group, $a_{kk'}=1\{g_k=g_{k'}\}/\#\{k'':g_{k''}=g_k\}$.

    **Arguments:** `groups`: the group $g_k$ of each client, shape `(K,)`; may be traced. All equal: FedAvg. All different:
    local training.

    **Returns:** shape `(K, K)`, each row with sum 1.

    >>> import jax.numpy as jnp
    >>> weights_by_group(jnp.array([0, 1, 0])).tolist()
    [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    """
    same = jnp.asarray(groups[:, None] == groups[None, :], jnp.result_type(float))
    return same / jnp.sum(same, axis=1, keepdims=True)


def weights_by_similarity(features: Float[Array, "K f"], temperature: Any) -> Float[Array, "K K"]:
    r"""Averages that favour clients of similar features, $a_{kk'}\propto\exp(\cos(h_k,h_{k'})/\tau)$.

    **Arguments:** `features`: what each client tells of its data, $h_k\ne0$, as rows; `temperature`: $\tau>0$. A small one
    gives local training, a large one FedAvg.

    **Returns:** shape `(K, K)`, each row with sum 1.

    >>> import jax.numpy as jnp
    >>> near = weights_by_similarity(jnp.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), 0.1)
    >>> [[round(float(a), 3) for a in row] for row in near]
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    unit = features / jnp.linalg.norm(features, axis=1, keepdims=True)
    return jax.nn.softmax(unit @ unit.T / temperature, axis=1)

r"""Which samples of a pool to ask labels for: uncertainty, diversity, chance.

A query round trains a model on the labelled samples, asks for the labels of some samples of a pool, and trains anew on the
union (`laws.pick`, `laws.join`). Each strategy gives the samples in the order in which it asks for them, so the first `b` of a
longer query are the query of budget `b`, and weights of 0 and 1 in `objectives.of_margins` make the budget a traced number.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float, Int

from .._errors import InvalidArgument
from ..laws import Batch


def _checked(count: int, size: int) -> None:
    if not isinstance(count, int) or not 1 <= count <= size:
        raise InvalidArgument("count", count, f"must be a whole number in [1, {size}], the size of the pool")


def at_random(key: Array, size: int, count: int) -> Int[Array, " {count}"]:
    """Passive learning: samples of the pool without replacement, whatever they are.

    **Arguments:** `key`: the stream of the choice; `size`: that of the pool; `count`: how many, from 1 to `size`.

    **Returns:** their indices.

    **Raises:** `InvalidArgument` for a count out of range.

    >>> import jax
    >>> sorted(at_random(jax.random.key(0), 3, 3).tolist())
    [0, 1, 2]
    """
    _checked(count, size)
    return jax.random.permutation(key, size)[:count]


def uncertainty(model: Any, pool: Batch, count: int) -> Int[Array, " {count}"]:
    r"""Uncertainty sampling: the samples of smallest $|f(x)|$, the least first.

    **Arguments:** `model`: maps patches to outputs of shape `(n,)`; `pool`: `n` samples, whose labels are not looked at;
    `count`: how many, from 1 to `n`.

    **Returns:** their indices.

    **Raises:** `InvalidArgument` for a count out of range.

    >>> import jax.numpy as jnp
    >>> pool = Batch((jnp.array([[3.0], [-1.0], [2.0]]),), jnp.ones(3), jnp.ones(3))
    >>> uncertainty(lambda patches: patches[0][:, 0], pool, 2).tolist()
    [1, 2]
    """
    _checked(count, pool.sign.shape[0])
    return jnp.argsort(jnp.abs(model(pool.patches)))[:count]


def k_centre(labelled: Float[Array, "k f"], pool: Float[Array, "n f"], count: int) -> Int[Array, " {count}"]:
    r"""Diversity sampling: the greedy k-centre rule on cosine distances of features.

    $$ i_{b+1} = \arg\max_{i\notin Q_b}\ \min_{l\in L\cup Q_b}\Big(1-\frac{\langle h_i,h_l\rangle}{\|h_i\|\|h_l\|}\Big),
       \qquad Q_{b+1}=Q_b\cup\{i_{b+1}\}, $$

    with $L$ the labelled samples. Among equals the first is taken; a vector of zeros is at distance 1 from all.

    **Arguments:** `labelled`, `pool`: features $h$ as rows, such as a model's responses; `count`: how many, from 1 to `n`.

    **Returns:** their indices in the pool.

    **Raises:** `InvalidArgument` for a count out of range.

    Source: the greedy 2-approximation of the k-centre problem, Gonzalez (1985).

    >>> import jax.numpy as jnp
    >>> pool = jnp.array([[1.0, 0.1], [0.0, 2.0], [3.0, 3.0]])
    >>> k_centre(jnp.array([[1.0, 0.0]]), pool, 3).tolist()
    [1, 2, 0]
    """
    _checked(count, pool.shape[0])
    centres, points = (h / jnp.maximum(jnp.linalg.norm(h, axis=1, keepdims=True), 1e-30) for h in (labelled, pool))

    def ask(nearest: Array, _: Any) -> tuple[Array, Array]:
        far = jnp.argmax(nearest)
        return jnp.minimum(nearest, 1 - points @ points[far]).at[far].set(-jnp.inf), far

    return lax.scan(ask, jnp.min(1 - points @ centres.T, axis=1), None, length=count)[1]

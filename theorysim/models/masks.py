"""Attention masks as data: who sees whom, the arrays that a model is given."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool

from .._errors import InvalidArgument


def _length(name: str, value: int, least: int = 1) -> None:
    if not isinstance(value, int) or value < least:
        raise InvalidArgument(name, value, f"must be a whole number >= {least}")


def full(k: int) -> Bool[Array, "k k"]:
    """Every token sees every token.

    **Arguments:** `k` >= 1, the number of tokens.

    **Returns:** shape `(k, k)`; row $i$ says which tokens $i$ sees: the edges $j\\to i$ of a directed graph.

    **Raises:** `InvalidArgument` for a `k` below 1.

    >>> full(2).tolist()
    [[True, True], [True, True]]
    """
    _length("k", k)
    return jnp.ones((k, k), bool)


def causal(k: int) -> Bool[Array, "k k"]:
    """A token sees itself and those before it.

    **Arguments:** `k` >= 1, the number of tokens.

    **Returns:** shape `(k, k)`, as `full`.

    **Raises:** `InvalidArgument` for a `k` below 1.

    >>> causal(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return jnp.tril(full(k))


def window(k: int, width: Any, *, sides: int = 1) -> Bool[Array, "k k"]:
    r"""A token sees itself and those near it: $0\le i-j<w$, or $|i-j|<w$ on two sides.

    **Arguments:** `k` >= 1 tokens; `width`: $w\ge1$, a whole number, traced or not; `sides`: 1 (backwards) or 2.

    **Returns:** shape `(k, k)`, as `full`.

    **Raises:** `InvalidArgument` out of these ranges.

    >>> window(3, 2).astype(int).tolist(), window(3, 2, sides=2).astype(int).tolist()
    ([[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    """
    _length("k", k)
    if not isinstance(width, Tracer):
        _length("width", width)
    if sides not in (1, 2):
        raise InvalidArgument("sides", sides, "must be 1 or 2")
    back = jnp.arange(k)[:, None] - jnp.arange(k)
    return (back < width) & ((back >= 0) if sides == 1 else (back > -width))


def prefix(k: int, length: int) -> Bool[Array, "k k"]:
    """The first tokens see each other, all others see the past.

    **Arguments:** `k` >= 1 tokens; `length`: how many are in the prefix, 0 to `k`.

    **Returns:** shape `(k, k)`, as `full`.

    **Raises:** `InvalidArgument` out of these ranges.

    >>> prefix(3, 2).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [1, 1, 1]]
    """
    _length("length", length, 0)
    if length > k:
        raise InvalidArgument("length", length, f"must be at most k = {k}")
    return causal(k) | (jnp.arange(k) < length)


def lifted(mask: Any, sizes: tuple[int, ...]) -> Bool[Array, "t t"]:
    r"""From a mask over examples to one over their tokens: a token sees all tokens of the examples that its own sees.

    Of its own example it sees those up to itself, if the example sees itself.

    **Arguments:** `mask`: over `k` examples, shape `(k, k)`, traced or not; `sizes`: how many tokens each has, >= 1. Static.

    **Returns:** shape `(t, t)` for `t` tokens in all, as `full`.

    **Raises:** `InvalidArgument` for sizes that do not fit.

    >>> lifted(bag(1), (2, 1)).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    if len(sizes) != mask.shape[0] or min(sizes) < 1:
        raise InvalidArgument("sizes", sizes, f"must be {mask.shape[0]} whole numbers >= 1")
    owner = np.repeat(np.arange(len(sizes)), sizes)
    seen = jnp.asarray(mask)[owner][:, owner]
    return jnp.where(owner[:, None] == owner, jnp.tril(seen), seen)


def bag(n: int) -> Bool[Array, "k k"]:
    """Each of `n` examples sees itself alone, the query after them sees all: a bag of examples.

    **Arguments:** `n` >= 1 examples.

    **Returns:** shape `(n + 1, n + 1)`, as `full`.

    **Raises:** `InvalidArgument` for an `n` below 1.

    >>> bag(2).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [1, 1, 1]]
    """
    _length("n", n)
    return jnp.eye(n + 1, dtype=bool).at[n].set(True)


def invariant(n: int) -> Bool[Array, "k k"]:
    r"""The mask of invariant in-context learning, for the unrolled prompt $(z_1..z_n,\ z_1..z_n,\ x_{n+1})$.

    First copies see themselves; second copy $i$ sees itself and the first copies of all others; the query sees itself and all
    second copies. So the output is free of the order of the examples, no example sees its own label, and yet examples see
    each other.

    **Arguments:** `n` >= 1 examples.

    **Returns:** shape `(2n + 1, 2n + 1)`, as `full`; $n+n^2+(n+1)$ entries are true.

    **Raises:** `InvalidArgument` for an `n` below 1.

    Source: Fang, Y. Wang et al. (2025), arXiv 2505.04994, section 4.

    >>> invariant(2).astype(int).tolist()
    [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 1, 1, 1]]
    """
    _length("n", n)
    own, none = jnp.eye(n, dtype=bool), jnp.zeros((n, n), bool)
    column = jnp.zeros((n, 1), bool)
    last = jnp.concatenate([jnp.zeros(n, bool), jnp.ones(n + 1, bool)])
    return jnp.concatenate([jnp.block([[own, none, column], [~own, own, column]]), last[None]])

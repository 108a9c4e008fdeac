"""Items and their labels in a row, then an item whose label is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._errors import InvalidArgument
from .._streams import streams


class Dictionary(NamedTuple):
    """The classes of a law of items; made by `ItemLabels.dictionary`.

    - `means`: of the items of each class, shape `(c, d)`.
    - `labels`: embeddings of the labels, shape `(l, d)`.
    - `label_of`: the label of each class, shape `(c,)`.

    >>> import jax.numpy as jnp
    >>> Dictionary(jnp.eye(2), jnp.eye(2), jnp.array([1, 0])).label_of.tolist()
    [1, 0]
    """

    means: Float[Array, "c d"]
    labels: Float[Array, "l d"]
    label_of: Int[Array, " c"]


@dataclass(frozen=True)
class ItemLabels:
    r"""Sequences $(x_1,y_1,\dots,x_n,y_n,x_q)$ of two classes, one of which is asked for.

    $$ x=\frac{\mu_c+\sigma\,\epsilon}{\sqrt{1+\sigma^2}},\qquad \mu_c,\ \epsilon,\ u_l\sim N(0,I/d),\qquad y=u_{l(c)}, $$

    where half of the $n$ items are of each class, in random order, and the query is a new item of the class at a position that
    is chosen at random: each as likely, or only the first or the last one.

    **Arguments:**

    - `classes`, `labels`, `dim`, `pairs`: numbers of classes and labels, $d$ and $n$ (even). Static.
    - `noise`: $\sigma\ge0$.
    - `ends`: 1 if the query is of the class at the first or the last position, 0 if of any; traced or not.

    **Raises:** `InvalidArgument` for an odd number of pairs or fewer than two classes.

    Source: Chan et al. (2022) and Reddy (2024) for the task; Wu et al. (2025), arXiv 2502.01951, for its use here.

    >>> import jax
    >>> law = ItemLabels(classes=16, labels=4, dim=8, pairs=4)
    >>> tokens, label = law(jax.random.key(1), 5, law.dictionary(jax.random.key(0)))
    >>> tokens.shape, label.shape
    ((5, 9, 8), (5,))
    """

    classes: int
    labels: int
    dim: int
    pairs: int
    noise: Any = 0.75
    ends: Any = 0.0

    def __post_init__(self):
        if self.pairs < 2 or self.pairs % 2:
            raise InvalidArgument("pairs", self.pairs, "must be even: half of the items are of each class")
        if self.classes < 2:
            raise InvalidArgument("classes", self.classes, "must be at least 2")

    def dictionary(self, key: Array) -> Dictionary:
        """Draw the classes, their labels, and the labels' embeddings."""
        keys = streams(key, "means", "labels", "label_of")
        means, labels = (self._vectors(k, (c,)) for k, c in ((keys.means, self.classes), (keys.labels, self.labels)))
        return Dictionary(means, labels, jax.random.randint(keys.label_of, (self.classes,), 0, self.labels))

    def _vectors(self, key: Array, shape: tuple[int, ...]) -> Float[Array, "*s d"]:
        return jax.random.normal(key, (*shape, self.dim)) / jnp.sqrt(self.dim)

    def items(self, key: Array, means: Float[Array, "*s d"]) -> Float[Array, "*s d"]:
        """Draw an item around each mean."""
        return (means + self.noise * self._vectors(key, means.shape[:-1])) / jnp.sqrt(1 + jnp.asarray(self.noise) ** 2)

    def __call__(self, key: Array, count: int, known: Dictionary) -> tuple[Float[Array, "b k d"], Int[Array, " b"]]:
        """Draw sequences of known classes.

        **Arguments:** `key`; `count` >= 1; `known`: the classes.

        **Returns:** tokens, shape `(count, 2n + 1, d)`, and the label that is asked for, shape `(count,)`.
        """
        keys = streams(key, "first", "second", "order", "place", "items", "query")
        first = jax.random.randint(keys.first, (count,), 0, self.classes)
        apart = jax.random.randint(keys.second, (count,), 1, self.classes)
        two = jnp.stack([first, (first + apart) % self.classes], axis=1)
        order = jnp.argsort(jax.random.uniform(keys.order, (count, self.pairs)), axis=1) % 2
        classes = jnp.take_along_axis(two, order, axis=1)
        place = jax.random.randint(keys.place, (count,), 0, self.pairs)
        place = jnp.where(self.ends > 0, (place % 2) * (self.pairs - 1), place)
        asked = jnp.take_along_axis(classes, place[:, None], axis=1)[:, 0]
        x, query = self.items(keys.items, known.means[classes]), self.items(keys.query, known.means[asked])
        return self._sequence(x, known.labels[known.label_of[classes]], query), known.label_of[asked]

    def conflict(
        self, key: Array, count: int, known: Dictionary, first: Any, second: Any
    ) -> tuple[Float[Array, "b k d"], Int[Array, "b n"]]:
        """Draw sequences of new classes in which one item stands at two positions, with different labels, and is asked for.

        **Arguments:** `key`; `count`; `known`: whose labels are used; `first`, `second`: two positions, from 0.

        **Returns:** tokens, shape `(count, 2n + 1, d)`, and the label at each position, shape `(count, n)`, all different.

        **Raises:** `InvalidArgument` for fewer labels than pairs.
        """
        if self.labels < self.pairs:
            raise InvalidArgument("labels", self.labels, f"must be at least the {self.pairs} pairs, which have one each")
        keys = streams(key, "means", "labels", "items")
        label = jnp.argsort(jax.random.uniform(keys.labels, (count, self.labels)), axis=1)[:, : self.pairs]
        x = self.items(keys.items, self._vectors(keys.means, (count, self.pairs)))
        x = x.at[:, second].set(x[:, first])
        return self._sequence(x, known.labels[label], x[:, first]), label

    def _sequence(self, x: Array, y: Array, query: Array) -> Float[Array, "b k d"]:
        pairs = jnp.stack([x, y], axis=2).reshape(x.shape[0], -1, self.dim)
        return jnp.concatenate([pairs, query[:, None]], axis=1)

"""Words that carry concepts with a sign, and prompts whose demonstrations share one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._errors import InvalidArgument
from .._streams import streams


class ConceptPrompts(NamedTuple):
    """Demonstrations and a query that share a concept.

    - `words`: of the demonstrations and, last, of the query, shape `(b, J + 1, d)`.
    - `labels`: of the demonstrations, shape `(b, J, l)`.
    - `signs`: of each word on the shared concept, -1 or 1, shape `(b, J + 1)`.
    - `concept`: which is shared, shape `(b,)`.

    >>> import jax.numpy as jnp
    >>> drawn = ConceptPrompts(jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1)), jnp.array([[-1.0, 1.0]]), jnp.array([0]))
    >>> drawn.sequence.ravel().tolist(), drawn.matching.tolist()
    ([1.0, 0.0, 1.0], [[False]])
    """

    words: Any
    labels: Any
    signs: Any
    concept: Any

    @property
    def matching(self) -> Any:
        """Which demonstrations have the sign of the query, shape `(b, J)`."""
        return self.signs[:, :-1] == self.signs[:, -1:]

    @property
    def sequence(self) -> Any:
        """Words and labels in turn, the query last, shape `(b, 2J + 1, d)`, for labels of the words' dimension."""
        pairs = jnp.stack([self.words[:, :-1], self.labels], axis=2).reshape(len(self.words), -1, self.words.shape[2])
        return jnp.concatenate([pairs, self.words[:, -1:]], axis=1)


@dataclass(frozen=True)
class Concepts:
    r"""A dictionary of concepts $k$, each with a part that its words share and a part that has a sign.

    $$ x=a_k+e\,b_k\ \big(+\ a_j+e'\,b_j\big)+\sigma\epsilon,\qquad y=c_k+e\,d_k+\sigma\epsilon',\qquad e,e'=\pm1, $$

    where $k$ is that of the prompt, $e$ is drawn anew for each word, and another concept $j\ne k$, each as likely, is also in a
    word with some probability. The sign of the query on $k$ is asked for.

    **Arguments:**

    - `words`: $a_k$ and $b_k$, shape `(K, 2, d)`.
    - `labels`: $c_k$ and $d_k$, shape `(K, 2, l)`.
    - `others`: the probability of another concept in a demonstration's word, in $[0,1]$; with one concept there is none.
    - `query_others`: that in the query's word.
    - `noise`: $\sigma\ge0$ of every word and label.
    - `shares`: the probability of each concept to be that of a prompt, shape `(K,)`; equal by default.

    **Raises:** `InvalidArgument` for shapes that do not fit.

    Source: Bu et al. (2024), arXiv 2411.02199, and (2025), arXiv 2508.09820, for the words.

    >>> import jax, jax.numpy as jnp
    >>> two = jnp.eye(4).reshape(2, 2, 4)
    >>> drawn = Concepts(two, two)(jax.random.key(0), 5, demonstrations=3)
    >>> drawn.words.shape, drawn.sequence.shape, bool((abs(drawn.words).sum(axis=2) == 2).all())
    ((5, 4, 4), (5, 7, 4), True)
    """

    words: Any
    labels: Any
    others: Any = 0.0
    query_others: Any = 0.0
    noise: Any = 0.0
    shares: Any = None

    def __post_init__(self):
        shape = jnp.shape(self.words)
        if len(shape) != 3 or shape[1] != 2:
            raise InvalidArgument("words", shape, "must have the shape (K, 2, d)")
        if jnp.ndim(self.labels) != 3 or jnp.shape(self.labels)[:2] != shape[:2]:
            raise InvalidArgument("labels", jnp.shape(self.labels), f"must have the shape ({shape[0]}, 2, l), as the words")
        if self.shares is not None and jnp.shape(self.shares) != shape[:1]:
            raise InvalidArgument("shares", jnp.shape(self.shares), f"must be {shape[0]} numbers, one a concept")

    def __call__(self, key: Array, count: int, demonstrations: int) -> ConceptPrompts:
        """Draw `count` >= 1 `ConceptPrompts` of `demonstrations` $=J\\ge1$ pairs."""
        keys = streams(key, "concept", "draws", "noise")
        words, labels = jnp.asarray(self.words), jnp.asarray(self.labels)
        concepts, shape = len(words), (count, demonstrations + 1)
        shares = jnp.ones(concepts) if self.shares is None else jnp.asarray(self.shares)
        k = jax.random.categorical(keys.concept, jnp.log(shares), shape=(count,))
        # few large draws, for each is a program to compile
        signs, other_signs, present, which = jax.random.uniform(keys.draws, (4, *shape), words.dtype)
        sign, other_sign = (jnp.where(half < 0.5, 1, -1).astype(words.dtype) for half in (signs, other_signs))
        chance = jnp.full(shape[1], self.others, words.dtype).at[-1].set(self.query_others)
        there = (present < chance) & (concepts > 1)
        other = (k[:, None] + 1 + jnp.floor(which * (concepts - 1)).astype(int)) % concepts

        x = _signed(words[k][:, None], sign) + there[..., None] * _signed(words[other], other_sign)
        y = _signed(labels[k][:, None], sign[:, :-1])
        noise = self.noise * jax.random.normal(keys.noise, (x[0].size + y[0].size, count), words.dtype).T
        x = x + noise[:, : x[0].size].reshape(x.shape)
        y = y + noise[:, x[0].size :].reshape(y.shape)
        return ConceptPrompts(x, y, sign, k)


def _signed(parts: Any, sign: Any) -> Any:
    """The shared part plus the sign times the signed part."""
    return parts[..., 0, :] + sign[..., None] * parts[..., 1, :]

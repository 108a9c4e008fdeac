r""" "Provably transformers harness multi-concept word semantics for efficient in-context learning" (Bu et al., NeurIPS 2024).

Words are $a_k\pm b_k$ and labels $c_k\pm d_k$. A query attends to demonstrations by softmax of $x_l^\top W_K^\top W_Qx$, and a
small ReLU network reads the sign off the labels found. With few numbers, $A=a^\top W_K^\top W_Qa$ and $B=b^\top W_K^\top W_Qb$,
the attention is known: only the sign of a demonstration on the concepts of the query counts.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial
from typing import Any, NamedTuple

import numpy as np


class Reading(NamedTuple):
    """What a prompt gives on average, if some demonstration has the query's sign.

    - `matching`: attention on the demonstrations with the query's sign.
    - `error`: how often the sign of the labels found is wrong.

    >>> Reading(1.0, 0.0).error
    0.0
    """

    matching: Any
    error: Any


def parts(norm: Any, cosine: Any) -> tuple[Any, Any]:
    r"""The lengths of the shared and the signed part of two words of a concept.

    $$ \|a\|^2=\tfrac{1+\kappa}2\|u\|^2,\qquad\|b\|^2=\tfrac{1-\kappa}2\|u\|^2. $$

    **Arguments:** `norm`: $\|u\|>0$ of a word; `cosine`: $\kappa$ between the words $a\pm b$, in $(-1,1)$.

    **Returns:** $\|a\|$ and $\|b\|$.

    Source: derived here from the dictionary of Bu et al. (2024).

    >>> parts(2.0, 0.5)
    (1.7320508075688772, 1.0)
    """
    return norm * ((1 + cosine) / 2) ** 0.5, norm * ((1 - cosine) / 2) ** 0.5


def unmatched(demonstrations: Any) -> Any:
    r"""How often no demonstration has the query's sign: $2^{-J}$. A model that can only read labels is then wrong.

    **Arguments:** `demonstrations`: $J\ge1$.

    **Returns:** the probability, the least error of such a model over all prompts.

    Source: derived here.

    >>> unmatched(4)
    0.0625
    """
    return 0.5**demonstrations


def cross_entropy_floor(demonstrations: Any) -> Any:
    r"""The least cross-entropy of a model whose sign is that of the query iff a demonstration matches it.

    $$ -p\ln p-(1-p)\ln(1-p),\qquad p=2^{-J},\qquad\text{at } |f|=\ln\tfrac{1-p}p. $$

    It is why the cross-entropy stops where the 0-1 error goes on: a larger $|f|$ would cost more on prompts without a match.

    **Arguments:** `demonstrations`: $J\ge1$.

    **Returns:** the cross-entropy, in nats.

    Source: derived here.

    >>> round(float(cross_entropy_floor(4)), 4)
    0.2338
    """
    p = np.asarray(unmatched(demonstrations), float)
    return -p * np.log(p) - (1 - p) * np.log1p(-p)


def reading(
    semantic: Any, shared: Any, demonstrations: int, others: float = 0.0, query_others: float = 0.0, other: Any = None
) -> Reading:
    r"""Attention and 0-1 error from the products alone, by summing over all prompts.

    A demonstration of signs $\sigma$ on the prompt's concept and $\tau$ on the query's other one, both relative to the query,
    has the logit $\sigma B+[\text{both have the other}]\,(A'+\tau B')$ up to a constant; the answer is the sign of
    $\sum_lp_l\sigma_l$. Averages are over prompts in which some $\sigma_l=1$; ties count one half.

    **Arguments:**

    - `semantic`: $B$ of the prompt's concept; a number or an array.
    - `shared`: $A'$ of the other concept.
    - `demonstrations`: $J\ge1$.
    - `others`: the probability that a demonstration has the query's other concept: `others` of the law over $K-1$.
    - `query_others`: that the query has another one.
    - `other`: $B'$ of the other concept, by default $B$.

    **Returns:** a `Reading` of arrays.

    Regime: no noise, and $W_K^\top W_Q$ diagonal on the dictionary; a read-out that is odd in the labels' signed part.

    Source: derived here for the model of Bu et al. (2024).

    >>> found = reading(1.0, 0.0, 1)
    >>> float(found.matching), float(found.error)
    (1.0, 0.0)
    """
    own, apart = np.asarray(semantic, float)[..., None], np.asarray(semantic if other is None else other, float)[..., None]
    sigma = np.repeat([1.0, -1.0], 3)
    there, tau = np.tile([0.0, 1.0, 1.0], 2), np.tile([0.0, 1.0, -1.0], 2)
    chance = np.tile([1 - others, others / 2, others / 2], 2) / 2
    total = matching = error = 0.0
    for asked, of_query in ((0.0, 1 - query_others), (1.0, query_others)):
        logit = own * sigma + asked * there * (np.asarray(shared, float)[..., None] + tau * apart)
        weight = np.exp(logit - logit.max(axis=-1, keepdims=True))
        for drawn in combinations_with_replacement(range(6), demonstrations):
            count = np.bincount(drawn, minlength=6)
            if not count[sigma > 0].any() or not of_query:
                continue
            ways = factorial(demonstrations) / np.prod([factorial(n) for n in count])
            p = of_query * ways * np.prod(chance**count)
            each = count * weight
            found = (each * sigma).sum(axis=-1) / each.sum(axis=-1)
            total, matching = total + p, matching + p * (1 + found) / 2
            error = error + p * np.where(np.abs(found) < 1e-9, 0.5, found < 0)
    return Reading(matching / total, error / total)

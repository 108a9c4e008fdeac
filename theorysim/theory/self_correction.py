r"""A theoretical understanding of self-correction through in-context alignment (NeurIPS 2024, arXiv 2405.18634).

A prompt shows responses $y_i$ to an input $x$ with rewards $r_i$. Aligning $\hat y=Wx$ with them is ranking by
$s_i=-\|Wx-y_i\|^2$; a step of gradient descent on that loss is what attention computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax


def bradley_terry_step(w: Any, x: Any, better: Any, worse: Any, rate: Any) -> np.ndarray:
    r"""A step of gradient descent on the Bradley-Terry loss of two responses.

    $$ W^+=W+2\eta\,\sigma(s_2-s_1)\,(y_1-y_2)x^\top,\qquad s_i=-\|Wx-y_i\|^2. $$

    **Arguments:** `w`: $W$, shape `(e, d)`; `x`: shape `(d,)`; `better`, `worse`: $y_1$ and $y_2$, shape `(e,)`;
    `rate`: $\eta>0$.

    **Returns:** $W^+$.

    Source: theorem 3.2 (recalled); derived.

    >>> bradley_terry_step(np.zeros((1, 1)), np.ones(1), np.array([1.0]), np.array([-1.0]), 0.5).tolist()
    [[1.0]]
    """
    w, x, first, second = (np.asarray(v, float) for v in (w, x, better, worse))
    scores = [-np.sum((w @ x - y) ** 2) for y in (first, second)]
    return w + 2 * rate * expit(scores[1] - scores[0]) * np.outer(first - second, x)


def plackett_luce_step(w: Any, x: Any, responses: Any, rate: Any) -> np.ndarray:
    r"""A step of gradient descent on the Plackett-Luce loss of responses, best first.

    $$ W^+=W+2\eta\sum_{i<N}\Big(y_i-\sum_{j\ge i}p^{(i)}_jy_j\Big)x^\top,\qquad p^{(i)}=\mathrm{softmax}(s_i,\dots,s_N). $$

    Each term is a softmax head over the responses from the $i$-th on: $N-1$ blocks make a step.

    **Arguments:** `w`: $W$, shape `(e, d)`; `x`: shape `(d,)`; `responses`: $y_1,\dots,y_N$ in the order of their rewards,
    shape `(n, e)`; `rate`: $\eta>0$.

    **Returns:** $W^+$.

    Source: theorem 3.3 (recalled); derived.

    >>> y = np.array([[1.0], [-1.0]])
    >>> plackett_luce_step(np.zeros((1, 1)), np.ones(1), y, 0.5).tolist()
    [[1.0]]
    """
    w, x, y = (np.asarray(v, float) for v in (w, x, responses))
    scores = -np.sum((x @ w.T - y) ** 2, axis=1)
    push = sum(y[i] - softmax(scores[i:]) @ y[i:] for i in range(len(y) - 1))
    return w + 2 * rate * np.outer(push, x)


def selected(responses: Any, rewards: Any, sharpness: Any) -> np.ndarray:
    r"""What a softmax head on rewards reads: the best response as its sharpness grows, the worst as it falls.

    $$ \sum_iy_i\,\mathrm{softmax}_i(\beta r_i). $$

    **Arguments:** `responses`: shape `(n, e)`; `rewards`: $r$, shape `(n,)`; `sharpness`: $\beta$.

    **Returns:** shape `(e,)`.

    Source: the construction of theorem 3.2 (recalled).

    >>> selected([[1.0], [5.0]], [0.2, 0.9], 1e3).tolist(), selected([[1.0], [5.0]], [0.2, 0.9], -1e3).tolist()
    ([5.0], [1.0])
    """
    return softmax(sharpness * np.asarray(rewards, float)) @ np.asarray(responses, float)

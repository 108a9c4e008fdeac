r"""Prompts learned from noisy labels: cross-entropy against the mean absolute error, and purification by optimal transport.

Pan et al. (CVPR 2025), "NLPrompt: noise-label prompt learning for vision-language models", arXiv 2412.01256. Its theorem
is known here in outline only; formulas marked as derived are this project's. All functions take numbers or arrays and
broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ._bound import Bound

#: the flipped samples' share of the gradient at a stationary point: the signal's gradient is then 0, so both groups pull alike
STATIONARY_SHARE = 0.5


def error(beta: Any, phi: Any, noise: Any) -> Any:
    r"""The test error of a linear score, $\Phi(-\beta/(\sigma\|\phi\|))$.

    **Arguments:** `beta`: the coefficient of the task-relevant feature; `phi`: $\|\phi\|\ge0$ of the irrelevant ones; `noise`:
    $\sigma>0$.

    Regime: exact for an image feature $(y, x_1..x_L)$ with $x\sim N(0,\sigma^2I)$. Source: derived.

    >>> round(float(error(0.0, 1.0, 0.5)), 3), float(error(1.0, 0.0, 0.5))
    (0.5, 0.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return ndtr(-np.asarray(beta) / (noise * np.asarray(phi)))


def ce_weight(margin: Any) -> Any:
    r"""The weight of a sample in the gradient of cross-entropy, $2(1-s)$ with $s=1/(1+e^{-2z})$.

    **Arguments:** `margin`: $z$, the given label times the score.

    Source: Pan et al. (2025), in outline; the factor 2 is that of a softmax of $\pm z$.

    >>> float(ce_weight(0.0)), round(float(ce_weight(-10.0)), 4)
    (1.0, 2.0)
    """
    return 2 * expit(-2 * np.asarray(margin))


def mae_weight(margin: Any) -> Any:
    r"""The weight of a sample in the gradient of the mean absolute error, $4s(1-s)$: that of cross-entropy times $2s$.

    **Arguments:** `margin`: $z$, the given label times the score. Far on the wrong side, as flipped samples are once the
    signal is learned, $s\to0$ and the weight vanishes.

    Source: Pan et al. (2025), in outline.

    >>> float(mae_weight(0.0)), round(float(mae_weight(-10.0)), 4)
    (1.0, 0.0)
    """
    return 4 * expit(2 * np.asarray(margin)) * expit(-2 * np.asarray(margin))


def weight_ratio(beta: Any, weight: Any) -> Any:
    r"""The mean weight of flipped samples over that of clean ones while the score is $\beta y$: $w(-\beta)/w(\beta)$.

    **Arguments:** `beta`: the coefficient at the start; `weight`: `ce_weight` ($e^{2\beta}$) or `mae_weight` (1).

    Source: derived.

    >>> round(float(weight_ratio(0.05, ce_weight)), 3), float(weight_ratio(0.05, mae_weight))
    (1.105, 1.0)
    """
    return weight(-np.asarray(beta)) / weight(beta)


def first_step(n: Any, features: Any, flip: Any, noise: Any, lr: Any, beta: Any, weight: Any) -> tuple[Any, Any]:
    r"""Means of $\beta$ and of $\|\phi\|^2$ after one step from $\beta_0$ and $\phi=0$.

    $$ \mathrm E\beta_1=\beta_0+\eta[(1-p)w(\beta_0)-p\,w(-\beta_0)],\qquad
       \mathrm E\|\phi_1\|^2=\frac{\eta^2\sigma^2L}{n}[(1-p)w(\beta_0)^2+p\,w(-\beta_0)^2]. $$

    **Arguments:** `n`: samples; `features`: $L$; `flip`: $p$; `noise`: $\sigma$; `lr`: $\eta$; `beta`: $\beta_0$; `weight`:
    `ce_weight` or `mae_weight`.

    Source: derived.

    >>> [round(float(v), 4) for v in first_step(256, 64, 0.2, 0.5, 0.5, 0.0, mae_weight)]
    [0.3, 0.0156]
    """
    clean, flipped = weight(np.asarray(beta)), weight(-np.asarray(beta))
    square = (1 - flip) * clean**2 + flip * flipped**2
    return beta + lr * ((1 - flip) * clean - flip * flipped), (lr * noise) ** 2 * features / n * square


def precision(hit: Any, flip: Any, classes: Any) -> Any:
    r"""The share of truly clean samples among those whose pseudo-label is their given label.

    $$ \frac{a(1-r)}{a(1-r)+(1-a)\,r/(C-1)} $$

    **Arguments:** `hit`: $a$, how often the pseudo-label is the true class; `flip`: $r$; `classes`: $C\ge2$.

    Regime: given labels wrong with probability $r$, uniformly over the other classes and independently of the pseudo-labels.
    The recall of clean samples is then $a$. A pseudo-label that knows nothing, $a=1/C$, leaves the precision at $1-r$.
    Source: derived.

    >>> round(float(precision(0.1, 0.4, 10)), 6), float(precision(1.0, 0.4, 10))
    (0.6, 1.0)
    """
    kept = hit * (1 - flip)
    return kept / (kept + (1 - hit) * flip / (classes - 1))


LOWER = Bound(
    "lower_error",
    "test error of PromptMAE, less that of PromptCE, averaged over time, <= 0",
    "Pan et al. (2025), main theorem, in outline",
    left=lambda data: (data.error_mae - data.error_ce).mean("time"),
    right=lambda p: 0.0,
    sense="<=",
    regime=lambda p: {
        "flips: p >= 1/n": np.log10(np.maximum(p.flip * p.n, 1e-9)),
        "p <= .45": np.log10(0.45 / np.maximum(p.flip, 1e-9)),
        "n >= 2 L": np.log10(p.n / (2 * (p.dim - 1))),
    },
    delta=0.1,
)
BOUNDS = (LOWER,)

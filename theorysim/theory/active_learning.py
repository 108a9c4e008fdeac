r"""Neural active learning by prioritising perplexing samples: which feature is learned, and how many labels that takes.

Bu et al. (ICML 2024), arXiv 2406.03944. The paper's constants and numbers were not found; the formulas below follow from the
threshold of `benign_relu`, applied to the samples of one feature. All functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import benign_relu


def order(n: Any, signal: Any, dim: Any, noise: Any = 1.0) -> Any:
    r"""What decides whether a feature is learned: $n_\ell\|\mu_\ell\|^4/(\sigma_p^4d)$, of order one at the threshold.

    **Arguments:** `n`: labelled samples that carry the feature, $n_\ell$; `signal`: $\|\mu_\ell\|$; `dim`: $d$;
    `noise`: $\sigma_p$.

    Regime: the samples of other features are fitted through their own signal, so that they memorise little noise. Source:
    derived from Kou et al. (2023), theorem 4.2.

    >>> order(16, 10.0, 1000), order(4, 4.0, 1000)
    (160.0, 1.024)
    """
    return benign_relu.signal_to_noise(n, signal, dim, noise)


def growth(n: Any, signal: Any) -> Any:
    r"""How fast a feature grows beside others in one network: $n_\ell\|\mu_\ell\|^2$.

    Its response grows by $\frac{\eta}{nm}\sum_{i\in\ell}|\ell'_i|\,\|\mu_\ell\|^2$ a step, and the noise that it must beat is
    that of the whole network, the same for all features: where no feature is learned yet, this gives their order, not `order`.

    **Arguments:** `n`: $n_\ell$; `signal`: $\|\mu_\ell\|$.

    Source: derived here.

    >>> growth(16, 10.0), growth(4, 20.0)
    (1600.0, 1600.0)
    """
    return n * signal**2


def equal_strength(share: Any, power: float) -> Any:
    r"""The strength at which a rare feature is level with a common one, $\|\mu_2\|/\|\mu_1\|=((1-p)/p)^{1/k}$.

    **Arguments:** `share`: $p$ of the rare one, in (0, 1); `power`: $k=4$ by `order`, $k=2$ by `growth`.

    >>> equal_strength(0.5, 4), round(float(equal_strength(0.2, 4)), 3), float(equal_strength(0.2, 2))
    (1.0, 1.414, 2.0)
    """
    return ((1 - share) / share) ** (1 / power)


def passive_labels(needed: Any, share: Any) -> Any:
    r"""Labels that passive learning needs until $n_2^*$ of them are hard: $n_2^*/p$.

    **Arguments:** `needed`: $n_2^*$, of order $\sigma_p^4d/\|\mu_2\|^4$; `share`: $p$ of hard samples.

    Source: derived from `order`.

    >>> passive_labels(14.0, 0.1)
    140.0
    """
    return needed / share


def active_labels(needed: Any, share: Any, initial: Any) -> Any:
    r"""Labels in all if every query is of a hard sample: $n_0+\max(n_2^*-pn_0,0)$.

    **Arguments:** `needed`: $n_2^*$; `share`: $p$; `initial`: $n_0$ labels at random before the query.

    Regime: the pool holds enough hard samples. Source: derived from `order`.

    >>> float(active_labels(14.0, 0.1, 20))
    32.0
    """
    return initial + np.maximum(needed - share * initial, 0)

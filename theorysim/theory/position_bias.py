r""" "On the emergence of position bias in transformers" (Wu, Wang, Jegelka, Jadbabaie, ICML 2025, arXiv 2502.01951).

A stack of $T$ attention layers without residuals mixes the tokens by $P=A^{T-1}\cdots A^0$, row-stochastic: $P_{ij}$ is how
much token $i$ draws on token $j$ of the input. The mask, a directed graph, decides where its mass goes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln


def mass_bound(first: Any, least: Any, layers: Any) -> Any:
    r"""The mass on the tokens from a position on, under the causal mask, at most.

    $$ \sum_{l\ge j}P_{il}\le\big(1-(j-1)\,\varepsilon\big)^T\quad\text{if all }A_{ik}\ge\varepsilon\text{ on edges } k\le i. $$

    A layer gives the tokens before $j$ at least $(j-1)\varepsilon$ of each row, and they keep it: they see only each other.
    This is theorem 4.1 with its open constant, which is 1.

    **Arguments:** `first`: $j\ge1$, from 1; `least`: $\varepsilon$, in $(0,1/N]$; `layers`: $T\ge0$.

    **Returns:** the bound on $\sum_{l\ge j}P_{il}$, and so on $P_{ij}$, for every $i$.

    Source: Wu et al. (2025), theorem 4.1; the constant is derived here.

    >>> float(mass_bound(1, 0.1, 5)), round(float(mass_bound(2, 0.1, 2)), 3)
    (1.0, 0.81)
    """
    return (1 - (first - 1) * least) ** layers


def delay(tokens: int, window: int) -> float:
    r"""By how much a window slows the concentration on the first token, as the theorem has it.

    $$ 2\Big\lceil\frac{N-1}{w-1}\Big\rceil\quad\text{divides the exponent of theorem 4.1.} $$

    **Arguments:** `tokens`: $N\ge2$; `window`: $w\ge2$ tokens, the own one included.

    **Returns:** the factor. Measured here, a window delays and does not slow: its asymptotic rate is that of the causal mask.

    Source: Wu et al. (2025), theorem 4.2.

    >>> delay(16, 4)
    10.0
    """
    return 2.0 * math.ceil((tokens - 1) / (window - 1))


def decay_profile(distance: Any, layers: Any, decay: Any) -> Any:
    r"""The shape of the last row of $P$ under a decay mask of bias $-(i-j)m$, up to a factor.

    $$ P_{ij}\propto\binom{T-1+x}{x}e^{-mx},\qquad x=i-j. $$

    It is the $T$-fold convolution of $e^{-mx}$ with itself: content far away wins over decay by the number of ways to it.

    **Arguments:** `distance`: $x\ge0$; `layers`: $T\ge1$; `decay`: $m>0$.

    **Returns:** the profile, 1 at distance 0.

    Regime: uniform attention but for the mask, and $i$ far from the first token.

    Source: Wu et al. (2025), theorem 4.5.

    >>> decay_profile([0, 1, 2], 2, np.log(2.0)).round(6).tolist()
    [1.0, 1.0, 0.75]
    """
    x, t = np.asarray(distance, float), np.asarray(layers, float) - 1
    return np.exp(gammaln(t + x + 1) - gammaln(x + 1) - gammaln(t + 1) - decay * x)


def peak(layers: Any, decay: Any) -> Any:
    r"""The distance at which the last token draws most, under a decay mask.

    $$ x^*=\frac{T-1}{e^m-1},\quad \arg\max_xP=\lfloor x^*\rfloor\ \ (\text{and } x^*-1 \text{ too if } x^*\text{ is whole}). $$

    **Arguments:** `layers`: $T\ge1$; `decay`: $m>0$.

    **Returns:** $x^*$.

    Regime: as `decay_profile`, and $x^*$ well below the number of tokens.

    Source: Wu et al. (2025), after theorem 4.5; ties are derived here.

    >>> round(float(peak(8, 0.3)), 3)
    20.008
    """
    return (layers - 1) / np.expm1(decay)

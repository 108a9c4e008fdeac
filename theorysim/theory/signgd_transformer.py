r"""SignGD on a two-layer transformer (ICLR 2025, arXiv 2410.04870).

A sample has a signal token $y\mu$ and a token of sparse noise, $s$ coordinates from $N(0,\sigma_p^2)$. A step of SignGD moves
every coordinate by $\eta$, so that a product with noise grows by $\eta\|\xi\|_1$, however small the gradient is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import binom

#: E|z| of a standard normal number
MEAN_ABS = float(np.sqrt(2 / np.pi))


def overlap(n: int, sparsity: int, dim: int) -> float:
    r"""What share of its own push a sample keeps where supports overlap.

    $$ \kappa=E(1+B)^{-1/2},\qquad B\sim\mathrm{Bin}(n-1,s/d). $$

    On a coordinate that $B$ other samples share, the sign of a sum of $1+B$ Gaussian terms is followed.

    **Arguments:** `n`: samples; `sparsity`: $s$; `dim`: $d$.

    **Returns:** $\kappa$, 1 for disjoint supports.

    Source: derived.

    >>> round(overlap(20, 40, 2000), 3), overlap(1, 40, 2000)
    (0.899, 1.0)
    """
    b = np.arange(n)
    return float(np.sum(binom.pmf(b, n - 1, sparsity / dim) / np.sqrt(1 + b)))


def value_slope(lr: Any, sparsity: Any, noise: Any, kappa: Any = 1.0) -> Any:
    r"""By how much the mean value's product with a sample's noise grows a step.

    $$ 2\kappa\eta s\sigma_p\sqrt{2/\pi}. $$

    **Arguments:** `lr`: $\eta$; `sparsity`: $s$; `noise`: $\sigma_p$; `kappa`: $\kappa$.

    **Returns:** the slope; queries and keys grow by half of it at most.

    Source: derived; stage I of the paper.

    >>> round(float(value_slope(1e-4, 40, 2.0)), 4)
    0.0128
    """
    return 2 * kappa * lr * sparsity * noise * MEAN_ABS


def noise_attention(time: Any, width: Any, lr: Any, sparsity: Any, noise: Any, kappa: Any = 1.0) -> Any:
    r"""The weight that the noise token's query leaves to the signal.

    $$ s_{21}=\mathrm{sigmoid}\Big(-m_k\big(\kappa\eta ts\sigma_p\sqrt{2/\pi}\big)^2\Big). $$

    **Arguments:** `time`: steps $t$; `width`: $m_k$, neurons of queries and keys; `lr`, `sparsity`, `noise`, `kappa`: as
    `value_slope`.

    **Returns:** the weight; it is gone at $t\sim1/(\eta s\sigma_p\sqrt{m_k})$.

    Regime: queries and keys of a sample are aligned and grow alike; a sketch, good to a factor of 3.

    Source: derived; $T_{\mathrm{attn}}$ of the paper.

    >>> round(float(noise_attention(50, 50, 1e-4, 40, 2.0, 0.9)), 3)
    0.016
    """
    return expit(-width * (value_slope(lr, sparsity, noise, kappa) / 2 * time) ** 2)

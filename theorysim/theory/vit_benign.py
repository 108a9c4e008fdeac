r"""Benign overfitting of a vision transformer (NeurIPS 2024, arXiv 2409.19345).

A sample has $M$ tokens, one of which is a signal $\mu_\pm$ and the rest are Gaussian noise. One layer of softmax attention
and a linear value are trained by gradient descent on $N$ samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def strength(n: Any, signal: Any, noise: Any, dim: Any) -> Any:
    r"""What decides whether overfitting is benign.

    $$ N\,\mathrm{SNR}^2=\frac{N\|\mu\|^2}{\sigma_p^2d}. $$

    **Arguments:** `n`: $N$; `signal`: $\|\mu\|$; `noise`: $\sigma_p$; `dim`: $d$.

    **Returns:** $N\,\mathrm{SNR}^2$; large is benign, small is harmful.

    Source: Jiang et al. (2024), theorems 4.1 and 4.2.

    >>> strength(20, 16.0, 1.0, 128)
    40.0
    """
    return n * signal**2 / (noise**2 * dim)


def boundary(n: Any, constant: Any) -> Any:
    r"""The signal-to-noise ratio at the boundary.

    $$ \mathrm{SNR}^*=\sqrt{c/N}. $$

    **Arguments:** `n`: $N$; `constant`: $c$, of order one here; the paper's figure has 1000 in its own scaling.

    **Returns:** $\mathrm{SNR}^*$.

    Source: Jiang et al. (2024), theorems 4.1 and 4.2.

    >>> float(boundary(40, 2.5))
    0.25
    """
    return np.sqrt(constant / np.asarray(n, float))

r"""On the feature learning in diffusion models (ICLR 2025, arXiv 2412.01021).

A denoiser $f(x)=\frac1{\sqrt m}\sum_r\langle w_r,x\rangle^2w_r$, shared by two patches, is trained at one noise level on
samples of two orthogonal signals and Gaussian noise; a classifier with the same activation on the same samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def strength(n: Any, signal: Any, noise: Any, dim: Any) -> Any:
    r"""What decides which feature is learned.

    $$ n\,\mathrm{SNR}^2=\frac{n\|\mu\|^2}{\sigma^2d}. $$

    **Arguments:** `n`: samples; `signal`: $\|\mu\|$; `noise`: $\sigma$; `dim`: $d$.

    **Returns:** $n\,\mathrm{SNR}^2$.

    Source: Han et al. (2025), theorems 3.1 and 3.2.

    >>> strength(30, 5.0, 1.0, 1000)
    0.75
    """
    return n * signal**2 / (noise**2 * dim)


def growth(n: Any, signal: Any, noise: Any, dim: Any, init: Any, *, width: Any, alpha: Any, beta: Any) -> tuple[Any, Any]:
    r"""How fast a denoiser's products with signal and noise grow at first, a unit of $\eta t$.

    $$ \frac{d\langle w_r,\mu_j\rangle}{d(\eta t)}=c\,\frac{\|\mu\|^2}2,\qquad
       \frac{d\langle w_r,\xi_i\rangle}{d(\eta t)}=c\,\frac{\sigma^2d}n,\qquad c=\frac{2\alpha\beta}{\sqrt m}\,\sigma_0^2d. $$

    **Arguments:** `n`, `signal`, `noise`, `dim`: as `strength`; `init`: $\sigma_0$, the filters' standard deviation; `width`:
    $m$; `alpha`, `beta`: of the noise level.

    **Returns:** the two rates: constant in time, and alike for all filters.

    Regime: while $\|w_r\|^2$ is that of the start, $\sigma_0^2d$, and half of the samples have each label.

    Source: derived from the loss in closed form; the linear growth of Han et al. (2025), theorem 3.2.

    >>> a, b = growth(30, 5.0, 1.0, 1000, 1e-3, width=20, alpha=0.8, beta=0.6)
    >>> round(float(a / b), 3)
    0.375
    """
    c = 2 * alpha * beta / np.sqrt(width) * init**2 * dim
    return c * signal**2 / 2, c * noise**2 * dim / n


def plateau(strength: Any) -> Any:
    r"""The ratio of signal to noise learning in the stage of linear growth.

    $$ \frac{|\langle w,\mu\rangle|}{|\langle w,\xi\rangle|}=\frac{n\,\mathrm{SNR}^2}2. $$

    **Arguments:** `strength`: $n\,\mathrm{SNR}^2$.

    **Returns:** the ratio of the two rates of `growth`. The paper states its order at stationarity, where it was not found.

    Source: derived.

    >>> plateau(6.75)
    3.375
    """
    return strength / 2

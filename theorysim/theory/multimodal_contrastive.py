r"""On the comparison between multi-modal and single-modal contrastive learning (NeurIPS 2024, arXiv 2411.02837).

An encoder $h_r(x)=\mathrm{ReLU}\langle w_r,x^{(1)}\rangle+\mathrm{ReLU}\langle w_r,x^{(2)}\rangle$ sees samples $[y\mu,\xi]$.
A second modality $[y\tilde\mu,\tilde\xi]$ has $\|\tilde\mu\|=C_\mu\|\mu\|$. Similarities are sums over filters, without $1/m$.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def noise_growth(lr: Any, noise: Any, dim: Any, n: Any, temperature: Any, factor: float = 0.96) -> Any:
    r"""By what share noise memorisation grows a step, at first.

    $$ 0.96\,\frac{\eta\sigma_\xi^2d}{n\tau}\ \text{ with one modality},\qquad
       \le1.06\,\frac{\eta\sigma_\xi^2d}{n\tau}\ \text{ with two}. $$

    **Arguments:** `lr`: $\eta$; `noise`: $\sigma_\xi$; `dim`: $d$; `n`: samples; `temperature`: $\tau$; `factor`: .96, or 1.06.

    **Returns:** the growth less 1.

    Source: Huang et al. (2024), lemmas on the first stage.

    >>> round(noise_growth(0.01, 1.0, 2000, 100, 0.5), 3)
    0.384
    """
    return factor * lr * noise**2 * dim / (n * temperature)


def signal_growth(lr: Any, signal: Any, gain: Any, temperature: Any) -> Any:
    r"""By what share signal learning grows a step, with two modalities.

    $$ 0.48\,\frac{C_\mu\eta\|\mu\|^2}{\tau}. $$

    **Arguments:** `lr`: $\eta$; `signal`: $\|\mu\|$; `gain`: $C_\mu$; `temperature`: $\tau$.

    **Returns:** the growth less 1.

    Source: Huang et al. (2024), lemmas on the first stage.

    >>> round(signal_growth(0.01, 5.0, 3.0, 0.5), 3)
    0.72
    """
    return 0.48 * gain * lr * signal**2 / temperature


def threshold(signal: Any, noise: Any, dim: Any, n: Any) -> Any:
    r"""The gain of the second modality from which the signal's growth outruns the noise's.

    $$ C_\mu=\frac{1.06\,\sigma_\xi^2d}{0.48\,n\|\mu\|^2}=\frac{2.2}{n\,\mathrm{SNR}^2}. $$

    **Arguments:** `signal`: $\|\mu\|$; `noise`: $\sigma_\xi$; `dim`: $d$; `n`: samples.

    **Returns:** $C_\mu$; the theorem asks for 2.66.

    Source: derived from the two rates.

    >>> round(threshold(5.0, 1.0, 2000, 100), 2)
    1.77
    """
    return 1.06 * noise**2 * dim / (0.48 * n * signal**2)


def first_loss(label: Any, modalities: int = 1) -> float:
    r"""The loss of encoders that are almost 0.

    $$ \frac1n\sum_i\log(1+M_i),\qquad M_i\ \text{the number of samples of the opposite label}, $$

    once for each direction.

    **Arguments:** `label`: shape `(n,)`; `modalities`: 1, or 2 for the two directions of a pair.

    **Returns:** the loss.

    Source: derived.

    >>> round(first_loss([1, 1, -1, -1], 2), 4)  # 2 log 3
    2.1972
    """
    label = np.asarray(label)
    negatives = (label[:, None] != label).sum(axis=1)
    return modalities * float(np.log(1 + negatives).mean())

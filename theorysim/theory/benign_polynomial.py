r"""Benign overfitting with a polynomial ReLU: the threshold, and the race that sets its constant.

Cao, Chen, Belkin, Gu (NeurIPS 2022), arXiv 2202.06526, with activation $\max(0,z)^q$, $q>2$. Conditions and rates are recalled,
not read in the paper; the race is derived here. All functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from ._bound import Bound


def signal_ratio(n: Any, snr: Any, power: Any) -> Any:
    r"""The quantity that decides: $n\,\mathrm{SNR}^q$, with $\mathrm{SNR}=\|\mu\|/(\sigma_p\sqrt d)$.

    **Arguments:** `n`: samples; `snr`: SNR > 0; `power`: $q>2$.

    Regime: $d$ above a power of $n$, small $\sigma_0$. Source: Cao et al. (2022), theorems 4.3 and 4.4.

    >>> signal_ratio(8, 0.5, 3)
    1.0
    """
    return n * snr**power


def critical_snr(n: Any, power: Any, constant: Any = 1.0) -> Any:
    r"""The signal-to-noise ratio at which overfitting turns benign, $\mathrm{SNR}^*=(c/n)^{1/q}$.

    **Arguments:** `n`: samples; `power`: $q>2$; `constant`: $c>0$, open in the theorem; see `race_constant`.

    Regime and source: as `signal_ratio`. Its exponent in $n$ is $-1/q$; that of $\|\mu\|^*$ in $d$ is 1/2.

    >>> critical_snr(64, 3)
    0.25
    """
    return (constant / n) ** (1 / power)


def race_constant(signal: Any, noise: Any, power: Any, n: Any) -> Any:
    r"""The value of $n\,\mathrm{SNR}^q$ at which a class of a run just learns its signal; no free parameter.

    $$ c^*=\frac{n}{g^{q-2}\sum_{i:\,y_i=j}v_i^{-(q-2)}},\qquad
       g=\max_r\frac{\langle w_{j,r}(0),j\mu\rangle}{\sigma_0\|\mu\|},\quad
       v_i=\max_r\frac{\langle w_{j,r}(0),\xi_i\rangle}{\sigma_0\sigma_p\sqrt d}. $$

    Early on, a response $z$ of the luckiest filter obeys $\dot z=a z^{q-1}$, which is infinite at the time
    $z(0)^{-(q-2)}/((q-2)a)$. Sample $i$ is fitted by its noise at such a time, and pushes the signal until then. The signal
    arrives if the pushes of the class add up to its own time.

    **Arguments:** `signal`: $g>0$; `noise`: $v_i>0$ of the class on the last axis; `power`: $q>2$; `n`: all samples.

    Regime: $d\to\infty$, $\kappa=\sigma_0\sigma_p\sqrt d\to0$, small steps. Source: derived here.

    >>> import numpy as np
    >>> float(race_constant(2.0, np.full(5, 2.0), 3, 10))
    2.0
    """
    return n / (signal ** (power - 2) * (noise ** (2 - power)).sum(-1))


@cache
def race_median(n: int, width: int, power: int, draws: int = 20_000) -> float:
    r"""The median of `race_constant` over first filters and classes, by a direct draw of the maxima of $m$ normals.

    **Arguments:** `n`: samples; `width`: $m$; `power`: $q>2$; `draws`: runs of which the median is taken, from a fixed seed;
    20 000 leave an error of about 0.3 %.

    Regime and source: as `race_constant`. For many samples it tends to a constant, a little below 2.

    >>> 1.8 < race_median(160, 20, 3, draws=2000) < 2.0
    True
    """
    rng = np.random.default_rng(0)

    def luckiest(*shape: int) -> Any:
        return np.maximum(ndtri(rng.uniform(size=shape) ** (1 / width)), 1e-9)

    signal, noise, size = luckiest(draws), luckiest(draws, n), rng.binomial(n, 0.5, draws)
    own = np.where(np.arange(n) < size[:, None], noise, np.inf)
    with np.errstate(divide="ignore"):
        return float(np.median(race_constant(signal, own, power, n)))


def learning_time(lr: Any, width: Any, init: Any, signal: Any, power: Any, lucky: Any = 1.0) -> Any:
    r"""Steps until the signal is learned, $\frac{4m}{q(q-2)\eta}\,(\sigma_0g)^{-(q-2)}\|\mu\|^{-q}$.

    **Arguments:** `lr`: $\eta$; `width`: $m$; `init`: $\sigma_0$; `signal`: $\|\mu\|$; `power`: $q>2$; `lucky`: $g$, as in
    `race_constant`.

    Regime: benign, small $\sigma_0$ and $\eta$; a class holds half of the samples. Source: Cao et al. (2022), theorem 4.3, for
    the powers; the factor is derived here.

    >>> round(learning_time(0.5, 10, 0.01, 10.0, 3), 4)
    2.6667
    """
    return 4 * width / (power * (power - 2) * lr) * (init * lucky) ** (2 - power) * signal ** (-power)


def benign_loss(train_loss: Any, n: Any) -> Any:
    r"""Upper bound of the test loss above the threshold, $6\epsilon+e^{-n^2}$, once the training loss is at most $\epsilon$.

    **Arguments:** `train_loss`: $\epsilon$; `n`: samples.

    Regime: $n\,\mathrm{SNR}^q=\tilde\Omega(1)$. Source: Cao et al. (2022), theorem 4.3, as recalled.

    >>> round(float(benign_loss(0.01, 20)), 6)
    0.06
    """
    return 6 * train_loss + np.exp(-1.0 * n**2)


def harmful_loss() -> float:
    r"""Lower bound of the test loss below the threshold: 0.1.

    Regime: $n^{-1}\mathrm{SNR}^{-q}=\tilde\Omega(1)$. Source: Cao et al. (2022), theorem 4.4, as recalled.

    >>> harmful_loss()
    0.1
    """
    return 0.1


def _ratio(p: Any) -> Any:
    return signal_ratio(p.n, p.signal / (p.noise * np.sqrt(p.dim)), p.power) + p.ratio


def _decades(value: Any) -> Any:
    return np.log10(np.maximum(value, 1e-300))


BENIGN = Bound(
    "benign",
    r"where $n\,\mathrm{SNR}^q\geq10$ the test loss is at most $6\epsilon+e^{-n^2}$ in 9 of 10 runs ($\epsilon$: train loss)",
    "Cao et al. (2022), theorem 4.3 (recalled); the 10 is assumed",
    left=lambda data: data.test_loss - 6 * data.train_loss,
    right=lambda p: benign_loss(0.0, p.n),
    sense="<=",
    regime=lambda p: {"n SNR^q >= 10": _decades(_ratio(p) / 10)},
    delta=0.1,
    resolution=lambda p: 1 / p.tests,
)
HARMFUL = Bound(
    "harmful",
    r"where $n\,\mathrm{SNR}^q\leq1/3$ the test loss is at least .1",
    "Cao et al. (2022), theorem 4.4 (recalled); the 1/3 is assumed",
    left=lambda data: data.test_loss,
    right=lambda p: harmful_loss(),
    sense=">=",
    regime=lambda p: {"n SNR^q <= 1/3": -_decades(3 * _ratio(p))},
)
BOUNDS = (BENIGN, HARMFUL)

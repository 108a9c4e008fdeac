r"""Benign overfitting in two-layer ReLU CNNs for XOR data: threshold, bounds, and what the angle costs.

Meng, Zou, Cao (ICML 2024), arXiv 2310.01975. The theorem's constants are not given: where one is needed it is an argument. All
functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import benign_relu
from ._bound import Bound, fields

#: the classic regime of the paper ends here, the asymptotically challenging one begins (recalled)
CLASSIC = 0.5


def signal_to_noise(n: Any, signal: Any, dim: Any, cosine: Any = 0.0, noise: Any = 1.0) -> Any:
    r"""The quantity that decides: $n\|\mu\|^4(1-\cos\theta)^2/(\sigma_p^4d)$.

    The two classes differ by $2b$ alone, and a filter that is active on $u$ and on $v$ moves along $u-v=2b$, with
    $\|b\|^2=\|\mu\|^2(1-\cos\theta)/2$: this takes the place of $\|\mu\|^2$ as $\cos\theta\to1$.

    **Arguments:** `n`: samples; `signal`: $\|\mu\|$; `dim`: $d$; `cosine`: $\cos\theta$ in [-1, 1]; `noise`: $\sigma_p>0$.

    Regime: $d\gg n^2$; for $\cos\theta<1/2$ the theorem has no angle in it, for the factor is of order one. Source: Meng et al.
    (2024), theorems 3.2 and 3.3 (the power of $1-\cos\theta$ is recalled, and derived as above).

    >>> signal_to_noise(80, 5.0, 50000.0), signal_to_noise(80, 5.0, 50000.0, cosine=0.5)
    (1.0, 0.25)
    """
    return benign_relu.signal_to_noise(n, signal, dim, noise) * (1 - cosine) ** 2


def signal_of_ratio(ratio: Any, n: Any, dim: Any, noise: Any = 1.0) -> Any:
    r"""The signal strength at which $n\|\mu\|^4/(\sigma_p^4d)$ has a given value, $\|\mu\|=\sigma_p(xd/n)^{1/4}$.

    **Arguments:** `ratio`: $x\ge0$; `n`: samples; `dim`: $d$; `noise`: $\sigma_p$.

    >>> signal_of_ratio(1.0, 80, 50000.0)
    5.0
    """
    return noise * (ratio * dim / n) ** 0.25


def critical_signal(n: Any, dim: Any, constant: Any, cosine: Any = 0.0, noise: Any = 1.0) -> Any:
    r"""The signal at which overfitting turns benign, $\|\mu\|^*=\sigma_p(C\,d/n)^{1/4}(1-\cos\theta)^{-1/2}$.

    **Arguments:** `n`: samples; `dim`: $d$; `constant`: $C>0$, which the theorem leaves open; `cosine`: $\cos\theta<1$;
    `noise`: $\sigma_p$.

    Regime and source: as `signal_to_noise`.

    >>> critical_signal(80, 50000.0, 1.0), critical_signal(80, 50000.0, 1.0, cosine=0.75)
    (5.0, 10.0)
    """
    return signal_of_ratio(constant, n, dim, noise) * (1.0 - cosine) ** -0.5


def benign_error(flip: Any, ratio: Any, constant: Any) -> Any:
    r"""Upper bound of the test error on noisy labels above the threshold: $p+\exp(-x/C)$, $x$ as `signal_to_noise`.

    **Arguments:** `flip`: $p$; `ratio`: $x$; `constant`: $C$, not given by the theorem.

    Source: Meng et al. (2024), theorem 3.2.

    >>> round(float(benign_error(0.1, 1e9, 1.0)), 3)
    0.1
    """
    return benign_relu.benign_error(flip, ratio, constant)


def harmful_error(flip: Any, constant: Any) -> Any:
    r"""Lower bound of the test error on noisy labels below the threshold: $p+C$.

    **Arguments:** `flip`: $p$; `constant`: $C>0$, not given by the theorem.

    Source: Meng et al. (2024), theorem 3.2.

    >>> round(harmful_error(0.1, 0.1), 3)
    0.2
    """
    return flip + constant


def linear_error() -> float:
    """The test error of every linear classifier without a bias: 1/2, for $x$ and $-x$ are equally likely in each class.

    Derived here; the reason why the paper looks at these data.

    >>> linear_error()
    0.5
    """
    return 0.5


def balanced_samples(cosine: Any) -> Any:
    r"""The number of samples that an angle needs, $\left(\frac{1+\cos\theta}{1-\cos\theta}\right)^2=\|a\|^4/\|b\|^4$.

    A filter that is active on $u$ and $v$ also moves along $a$, by the imbalance of the two clusters, of order $\sqrt n$, where
    it moves along $b$ by $n$: $\sqrt n\,\|a\|^2\ll n\,\|b\|^2$ is needed, or the error stays on a plateau however strong the
    signal.

    **Arguments:** `cosine`: $\cos\theta$ in [-1, 1).

    Derived here, up to a constant; the paper's condition on $n$ was not found.

    >>> balanced_samples(0.0), round(balanced_samples(0.8))
    (1.0, 81)
    """
    return ((1 + cosine) / (1.0 - cosine)) ** 2


def _signal(p: Any) -> Any:
    return p.signal + signal_of_ratio(p.ratio, p.n, p.dim, p.noise)


def _ratio(p: Any) -> Any:
    return signal_to_noise(p.n, _signal(p), p.dim, p.cosine, p.noise)


def _inside(p: Any) -> dict[str, Any]:
    """The theorem's conditions with constants and logarithms set to 1, in decades inside."""
    return {
        "p <= 1/4": np.log10(0.25 / np.maximum(p.flip, 1e-9)),
        "d >= n^2": np.log10(p.dim / p.n**2),
        "n >= (1 + cos)^2/(1 - cos)^2": np.log10(p.n / np.maximum(balanced_samples(np.minimum(p.cosine, 1 - 1e-9)), 1e-9)),
    }


def _above(p: Any) -> dict[str, Any]:
    return _inside(p) | {"n |mu|^4 (1-cos)^2 >= sigma_p^4 d": np.log10(np.maximum(_ratio(p), 1e-300))}


def _below(p: Any) -> dict[str, Any]:
    return _inside(p) | {"n |mu|^4 (1-cos)^2 <= sigma_p^4 d": -np.log10(np.maximum(_ratio(p), 1e-300))}


def _error(data: Any) -> Any:
    """The error on noisy labels, the flips of the test points averaged out: p + (1 - 2 p) times the clean error."""
    flip = fields(data).flip
    return flip + (1 - 2 * flip) * data.test_error


BENIGN = Bound(
    "benign",
    r"error $\leq p+\exp(-n\|\mu\|^4(1-\cos\theta)^2/(C\sigma_p^4d))$",
    "Meng et al. (2024), theorem 3.2, recalled",
    left=_error,
    right=lambda p, C: benign_error(p.flip, _ratio(p), C),
    sense="<=",
    regime=_above,
    constants={"C": 1},
    resolution=lambda p: 1 / p.tests,
)
HARMFUL = Bound(
    "harmful",
    r"error $\geq p+C$ with $C=.1$ (assumed)",
    "Meng et al. (2024), theorem 3.2, recalled",
    left=_error,
    right=lambda p: harmful_error(p.flip, 0.1),
    sense=">=",
    regime=_below,
)
BOUNDS = (BENIGN, HARMFUL)

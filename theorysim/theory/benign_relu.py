r"""Benign overfitting in two-layer ReLU CNNs: the sharp threshold and the two bounds.

Kou, Chen, Chen, Gu (ICML 2023), arXiv 2303.04145. The theorem's constants are not given: where one is needed it is an argument.
All functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._bound import Bound, fields


def signal_to_noise(n: Any, signal: Any, dim: Any, noise: Any = 1.0) -> Any:
    r"""The quantity that decides: $n\|\mu\|^4/(\sigma_p^4d)$.

    **Arguments:** `n`: samples; `signal`: $\|\mu\|$; `dim`: $d$; `noise`: $\sigma_p>0$.

    Regime: $d\gg n^2$, $d\gg n\|\mu\|^2/\sigma_p^2$. Source: Kou et al. (2023), theorem 4.2.

    >>> signal_to_noise(20, 5.0, 12500)
    1.0
    """
    return n * signal**4 / (noise**4 * dim)


def critical_signal(n: Any, dim: Any, constant: float, noise: Any = 1.0) -> Any:
    r"""The signal at which overfitting turns from harmful to benign, $\|\mu\|^*=\sigma_p\,(C\,d/n)^{1/4}$.

    **Arguments:** `n`: samples; `dim`: $d$; `constant`: $C>0$, which the theorem leaves open; `noise`: $\sigma_p$.

    Regime and source: as `signal_to_noise`. At fixed $n$ its exponent in $d$ is 1/4.

    >>> round(critical_signal(20, 320.0, 1.0), 6)
    2.0
    """
    return noise * (constant * dim / n) ** 0.25


def benign_error(flip: Any, ratio: Any, constant: float) -> Any:
    r"""Upper bound of the test error on noisy labels above the threshold: $p+\exp(-n\|\mu\|^4/(C\sigma_p^4d))$.

    **Arguments:** `flip`: $p$; `ratio`: `signal_to_noise(..)`; `constant`: $C$, not given by the theorem.

    Regime: $n\|\mu\|^4\ge C_1\sigma_p^4d$. Source: Kou et al. (2023), theorem 4.2.

    >>> round(float(benign_error(0.1, 1e9, 1.0)), 3)
    0.1
    """
    return flip + np.exp(-ratio / constant)


def harmful_error(flip: Any) -> Any:
    r"""Lower bound of the test error on noisy labels below the threshold: $p+0.1$.

    **Arguments:** `flip`: $p$.

    Regime: $n\|\mu\|^4\le C_3\sigma_p^4d$. Source: Kou et al. (2023), theorem 4.3.

    >>> harmful_error(0.1)
    0.2
    """
    return flip + 0.1


def _inside(p: Any) -> dict[str, Any]:
    """Condition 4.1 with its constants and logarithms set to 1, in decades inside."""
    signal = p.signal + p.strength * p.dim**0.25
    return {
        "p <= 1/4": np.log10(0.25 / np.maximum(p.flip, 1e-9)),
        "d >= n^2": np.log10(p.dim / p.n**2),
        "d >= n |mu|^2/sigma_p^2": np.log10(p.dim * p.noise**2 / np.maximum(p.n * signal**2, 1e-300)),
    }


def _ratio(p: Any) -> Any:
    return signal_to_noise(p.n, p.signal + p.strength * p.dim**0.25, p.dim, p.noise)


def _above(p: Any) -> dict[str, Any]:
    return _inside(p) | {"n |mu|^4 >= sigma_p^4 d": np.log10(np.maximum(_ratio(p), 1e-300))}


def _below(p: Any) -> dict[str, Any]:
    return _inside(p) | {"n |mu|^4 <= sigma_p^4 d": -np.log10(np.maximum(_ratio(p), 1e-300))}


def _error(data: Any) -> Any:
    """The error on noisy labels, the flips of the test points averaged out: p + (1 - 2 p) times the clean error."""
    flip = fields(data).flip
    return flip + (1 - 2 * flip) * data.test_error


BENIGN = Bound(
    "benign",
    r"error $\leq p+\exp(-n\|\mu\|^4/(C\sigma_p^4d))$",
    "Kou et al. (2023), theorem 4.2",
    left=_error,
    right=lambda p, C: benign_error(p.flip, _ratio(p), C),
    sense="<=",
    regime=_above,
    constants={"C": 1},
    resolution=lambda p: 1 / p.tests,
)
HARMFUL = Bound(
    "harmful",
    r"error $\geq p+0.1$",
    "Kou et al. (2023), theorem 4.3",
    left=_error,
    right=lambda p: harmful_error(p.flip),
    sense=">=",
    regime=_below,
)
BOUNDS = (BENIGN, HARMFUL)

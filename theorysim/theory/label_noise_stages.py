r"""Label noise in feature learning: two stages.

Huang et al. (ICML 2025), arXiv 2505.18909. Constants that the theorems leave open are arguments. All functions take numbers or
arrays and broadcast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._bound import Bound, fields
from .benign_relu import benign_error, signal_to_noise

#: the loss of an output of 0: the threshold between clean and flipped samples at the end of stage one (proposition 4.3)
LOG2 = math.log(2)


def signal_ratio(n: Any, signal: Any, dim: Any, noise: Any = 1.0) -> Any:
    r"""$n\,\mathrm{SNR}^2=n\|\mu\|^2/(\sigma_\xi^2d)$, of order one in this paper.

    **Arguments:** `n`: samples; `signal`: $\|\mu\|$; `dim`: $d$; `noise`: $\sigma_\xi>0$.

    Source: Huang et al. (2025), section 4.

    >>> signal_ratio(200, 6.0, 400)
    18.0
    """
    return n * signal**2 / (noise**2 * dim)


def first_stage(n: Any, width: Any, dim: Any, lr: Any, constant: float, noise: Any = 1.0) -> Any:
    r"""The end of stage one, $T_1=C\,nm/(\eta\sigma_\xi^2d)$ steps.

    **Arguments:** `n`: samples; `width`: $m$; `dim`: $d$; `lr`: $\eta$; `constant`: $C$; `noise`: $\sigma_\xi$.

    Source: Huang et al. (2025), theorem 4.1.

    >>> round(first_stage(200, 20, 400, 0.1, 0.05), 6)
    5.0
    """
    return constant * n * width / (lr * noise**2 * dim)


def late_error(flip_plus: Any, flip_minus: Any) -> Any:
    r"""Lower bound of the test error once the training loss has converged, $\frac12\min(\tau_+,\tau_-)$.

    **Arguments:** `flip_plus`, `flip_minus`: $\tau_+$, $\tau_-$.

    Regime: asymptotic; at $d=2n$ the error is still below it. Source: Huang et al. (2025), theorem 4.2.

    >>> float(late_error(0.3, 0.2))
    0.1
    """
    return 0.5 * np.minimum(flip_plus, flip_minus)


def early_error(n: Any, dim: Any, constant: float) -> Any:
    r"""Upper bound of the test error at $T_1$, $\exp(-d/(Cn))$.

    **Arguments:** `n`: samples; `dim`: $d$; `constant`: $C>0$, not given.

    Source: Huang et al. (2025), proposition 4.3.

    >>> round(float(early_error(100, 100, 1.0)), 4)
    0.3679
    """
    return np.exp(-dim / (constant * n))


def clean_error(n: Any, signal: Any, dim: Any, constant: float, noise: Any = 1.0) -> Any:
    r"""Upper bound of the test error without label noise, $\exp(-n\|\mu\|^4/(C\sigma_\xi^4d))$.

    **Arguments:** `n`: samples; `signal`: $\|\mu\|$; `dim`: $d$; `constant`: $C>0$, not given; `noise`: $\sigma_\xi$.

    The bound of `benign_relu` at $p=0$. Source: Huang et al. (2025), theorem 4.4.

    >>> round(float(clean_error(1, 1.0, 1.0, 1.0)), 4)
    0.3679
    """
    return benign_error(0.0, signal_to_noise(n, signal, dim, noise), constant)


def _flipped(p: Any) -> dict[str, Any]:
    """Conditions of theorems 4.1 and 4.2: some flipped samples in each class, a signal of the order of the noise."""
    ratio = signal_ratio(p.n, p.signal, p.dim, p.noise)
    return {
        "flipped samples: tau >= 1/n": np.log10(np.maximum(p.n * np.minimum(p.flip_plus, p.flip_minus), 1e-3)),
        "n SNR^2 >= 1": np.log10(np.maximum(ratio, 1e-300)),
        "n SNR^2 <= 100": 2 - np.log10(np.maximum(ratio, 1e-300)),
    }


def at_first_stage(data: Any) -> Any:
    """The records at $T_1$, with the constant .05 of this project (the theorem leaves it open).

    **Arguments:** `data`: a Dataset with a dimension `time`, its fields `n, width, dim, lr, noise` not swept.

    **Returns:** the records nearest to $T_1$.

    >>> import xarray as xr
    >>> params = '{"n": 200, "width": 20, "dim": 400, "lr": 0.1, "noise": 1.0}'
    >>> int(at_first_stage(xr.Dataset(coords={"time": [0, 5, 10]}, attrs={"params": params})).time)
    5
    """
    p = fields(data)
    return data.sel(time=first_stage(p.n, p.width, p.dim, p.lr, 0.05, p.noise), method="nearest")


LATE = Bound(
    "late_error",
    r"at the end error $\geq\frac{1}{2}\min(\tau_+,\tau_-)$",
    "Huang et al. (2025), theorem 4.2",
    left=lambda data: data.test_error.isel(time=-1),
    right=lambda p: late_error(p.flip_plus, p.flip_minus),
    sense=">=",
    regime=_flipped,
)
EARLY = Bound(
    "early_error",
    r"at $T_1$ error $\leq\exp(-d/(Cn))$",
    "Huang et al. (2025), proposition 4.3",
    left=lambda data: at_first_stage(data).test_error,
    right=lambda p, C: early_error(p.n, p.dim, C),
    sense="<=",
    regime=_flipped,
    constants={"C": 1},
    resolution=lambda p: 1 / p.tests,
)
CLEAN = Bound(
    "clean_error",
    r"without flips, at the end, error $\leq\exp(-n\|\mu\|^4/(C\sigma_\xi^4d))$",
    "Huang et al. (2025), theorem 4.4",
    left=lambda data: data.test_error.isel(time=-1),
    right=lambda p, C: clean_error(p.n, p.signal, p.dim, C, p.noise),
    sense="<=",
    regime=lambda p: {"no flips: tau = 0": -1.0 * np.maximum(p.flip_plus, p.flip_minus)},
    constants={"C": 1},
    resolution=lambda p: 1 / p.tests,
)
BOUNDS = (LATE, EARLY, CLEAN)

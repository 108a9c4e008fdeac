r"""Label-noise gradient descent at low signal-to-noise ratio: times, growth, boundary.

Huang et al. (NeurIPS 2025), arXiv 2510.17526, with $q=2$: the squared ReLU. Constants that the theorems leave open are
arguments, or 1 where that is said. `drift` and what follows from it are derived here, not in the paper. All functions take
numbers or arrays and broadcast. Throughout $n$ samples, $m$ filters a class, $d$ the dimension, $\eta$ the step size,
$\sigma_0$ the size of the first filters, $p$ the flip probability.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._bound import Bound


def memorising_time(n: Any, width: Any, dim: Any, lr: Any, init: Any, noise: Any = 1.0) -> Any:
    r"""The time in which the noise is fitted, $nm\log(1/(\sigma_0\sigma_p\sqrt d))/(\eta\sigma_p^2d)$, constants set to 1.

    **Arguments:** `n`; `width`: $m$; `dim`: $d$; `lr`: $\eta$; `init`: $\sigma_0<1/(\sigma_p\sqrt d)$; `noise`: $\sigma_p$.

    Source: Huang et al. (2025), theorems 3.2 and 3.3, first term.

    >>> round(float(memorising_time(20, 10, 1e4, 0.01, 1e-4)), 2)
    9.21
    """
    length = noise * np.sqrt(dim)
    return n * width * np.log(1 / (init * length)) / (lr * length**2)


def label_noise_time(n: Any, width: Any, signal: Any, dim: Any, lr: Any, init: Any, noise: Any = 1.0) -> Any:
    r"""The time at which label-noise descent generalises, as stated:
    $nm\log(1/(\sigma_0\sigma_p\sqrt d))/(\eta\sigma_p^2d)+m\log(6/(\sigma_0\|\mu\|))/(\eta\|\mu\|^2)$.

    **Arguments:** as `memorising_time`, and `signal`: $\|\mu\|>0$.

    Regime: `GENERALISES.regime`. Its second term does not depend on $n$ and falls as $1/\eta$; compare `drift`.
    Source: Huang et al. (2025), theorem 3.3.

    >>> stated = label_noise_time(20, 10, 1.0, 1e4, 0.01, 1e-4)
    >>> round(float(stated - memorising_time(20, 10, 1e4, 0.01, 1e-4))) == round(1000 * np.log(6e4))
    True
    """
    return memorising_time(n, width, dim, lr, init, noise) + width * np.log(6 / (init * signal)) / (lr * signal**2)


def signal_rate(width: Any, signal: Any, lr: Any) -> Any:
    r"""Upper bound of the growth rate per step of the largest response to the signal, $2\eta\|\mu\|^2/m$.

    **Arguments:** `width`: $m$; `signal`: $\|\mu\|$; `lr`: $\eta$.

    Holds for every draw and every flip, as $|\ell'|\le1$. Source: Huang et al. (2025), stage 1 of both proofs: the signal grows
    at most like $\exp(2\eta\|\mu\|^2t/m)$.

    >>> signal_rate(20, 2.0, 0.5)
    0.2
    """
    return 2 * lr * signal**2 / width


def gd_error() -> float:
    r"""Lower bound of the test error of gradient descent once the training loss is small, 0.24.

    Regime: `MEMORISES.regime`. Source: Huang et al. (2025), theorem 3.2.

    >>> gd_error()
    0.24
    """
    return 0.24


def label_noise_error(n: Any, dim: Any, constant: float) -> Any:
    r"""Upper bound of the test error of label-noise descent at its time, $2\exp(-C\,d/n^2)$.

    **Arguments:** `n`; `dim`: $d$; `constant`: $C>0$, not given.

    Regime: `GENERALISES.regime`. Source: Huang et al. (2025), theorem 3.3.

    >>> float(label_noise_error(10, 0.0, 1.0))
    2.0
    """
    return 2 * np.exp(-constant * dim / n**2)


def boundary_slope(width: Any, kappa: Any, snr: Any) -> Any:
    r"""The local slope of gradient descent's boundary, $\frac{d\log\mathrm{SNR}^*}{d\log n}
    =-\Big(2+\frac1{\log(\sqrt{m/2}/\kappa)+\log(1/\mathrm{SNR}^*)}\Big)^{-1}$.

    With $q=2$ both signal and noise grow exponentially, so the boundary $n\,\mathrm{SNR}^2\sim1$ keeps logarithms: it is never
    of slope $-1/2$.

    **Arguments:** `width`: $m$; `kappa`: $\sigma_0\sigma_p\sqrt d<\sqrt{m/2}$; `snr`: $\mathrm{SNR}^*$, where the slope is.

    Regime: $d\to\infty$. Source: derived in this project; its limit $-1/2$ is the threshold that Huang et al. (2025) state.

    >>> round(float(boundary_slope(20, 0.1, 0.1)), 3), round(float(boundary_slope(20, 1e-300, 0.1)), 3)
    (-0.46, -0.5)
    """
    return -1 / (2 + 1 / (np.log(np.sqrt(width / 2) / kappa) + np.log(1 / snr)))


def stationary_margin(flip: Any) -> Any:
    r"""Where the margins of training samples settle under fresh flips, $\iota^*=\log\frac{1-p}p$: the mean gradient is 0 there.

    **Arguments:** `flip`: $p$ in (0, 1/2).

    The margin of a sample is $\iota_i=\frac1m\sum_r\bar\rho_{y_i,r,i}^2$ while noise alone is learned. Derived for small steps.

    >>> round(float(stationary_margin(0.1)), 3)
    2.197
    """
    return np.log((1 - flip) / flip)


def drift(n: Any, width: Any, signal: Any, dim: Any, lr: Any, flip: Any, noise: Any = 1.0) -> Any:
    r"""The growth rate per step of the response to the signal while margins are stationary,
    $$ \Lambda = \frac{\eta^2\|\mu\|^2\sigma_p^2d\;p(1-p)}{n\,m^2}. $$

    With $q=2$ a coefficient grows by the factor $1+cg_i$ a step, $g_i=-e_i\ell'(e_if_i)$, $c=2\eta\sigma_p^2d/(nm)$. That
    its logarithm is stationary needs $E\log(1+cg_i)=0$, so $E g_i=\frac c2Eg_i^2=\frac c2\,p(1-p)$ at `stationary_margin`;
    the signal grows by $\frac{\eta\|\mu\|^2}m E g_i$. It is of second order in $\eta$: gradient flow on the mean loss
    learns no signal.

    **Arguments:** as `memorising_time`, and `signal`: $\|\mu\|$; `flip`: $p$.

    Regime: $c\lesssim1$, $n\,\mathrm{SNR}^2\lesssim1$. Derived in this project; no constant is fitted.

    >>> round(1e4 * float(drift(200, 20, 2.0, 2000, 0.5, 0.1, 0.5)), 3)
    5.625
    """
    return lr**2 * signal**2 * noise**2 * dim * flip * (1 - flip) / (n * width**2)


def learning_time(response: Any, target: Any, rate: Any) -> Any:
    r"""The time in which a response grows from one size to another at a rate, $\log(\text{target}/\text{response})/\Lambda$.

    **Arguments:** `response` > 0: its first size; `target`: its last; `rate`: $\Lambda$ of `drift`.

    >>> round(float(learning_time(0.1, 1.0, 0.01)), 1)
    230.3
    """
    return np.log(target / response) / rate


def _signal(p: Any) -> Any:
    """The signal's strength, given in three units."""
    length = p.noise * np.sqrt(p.dim)
    return p.signal + p.snr * length + p.strength * length / np.sqrt(p.n)


def _steps(p: Any) -> tuple[Any, Any]:
    """The step size and the size of the first filters, both absolute."""
    length = p.noise * np.sqrt(p.dim)
    return (p.lr, p.init) if p.scaling == "absolute" else (p.lr * p.n * p.width / length**2, p.init / length)


def _assumption(p: Any) -> dict[str, Any]:
    """The assumption of both theorems, constants and logarithms set to 1, in decades inside."""
    signal, (lr, init) = np.maximum(_signal(p), 1e-300), _steps(p)
    length = p.noise * np.sqrt(p.dim)
    return {
        "q = 2": 0.0 if p.power == 2 and p.layers == 2 else -1.0,
        "d >= n^2": np.log10(p.dim / p.n**2),
        "d >= n |mu|^2/sigma_p^2": np.log10(p.dim * p.noise**2 / (p.n * signal**2)),
        "SNR <= n^(-1/2)": np.log10(length / (signal * np.sqrt(p.n))),
        "eta <= 1/(sigma_p^2 d)": -np.log10(lr * length**2),
        "sigma_0 >= n/(sigma_p d^(3/4))": np.log10(init * p.noise * p.dim**0.75 / p.n),
        "sigma_0 <= 1/(|mu| d^(5/8))": -np.log10(init * signal * p.dim**0.625),
        "sigma_0 <= 1/(sigma_p d^(1/2))": -np.log10(init * length),
    }


def _descent(p: Any) -> dict[str, Any]:
    return _assumption(p) | {"no label noise: p = 0": 0.0 - np.sign(p.flip)}


def _noisy(p: Any) -> dict[str, Any]:
    return _assumption(p) | {"p >= 1/sqrt(m n)": np.log10(np.maximum(p.flip, 1e-300) * np.sqrt(p.n * p.width))}


def at_end(data: Any) -> Any:
    """The last records, of data with a time axis or without.

    >>> import xarray as xr
    >>> int(at_end(xr.Dataset(coords={"time": [0, 5, 10]})).time)
    10
    """
    return data.isel(time=-1) if "time" in data.dims else data


MEMORISES = Bound(
    "memorises",
    "gradient descent at the end: error $\\geq.24$",
    "Huang et al. (2025), theorem 3.2",
    left=lambda data: at_end(data).test_error,
    right=lambda p: gd_error(),
    sense=">=",
    regime=_descent,
)
GENERALISES = Bound(
    "generalises",
    r"label-noise descent at the end: error $\leq2\exp(-C\,d/n^2)$",
    "Huang et al. (2025), theorem 3.3",
    left=lambda data: at_end(data).test_error,
    right=lambda p, C: label_noise_error(p.n, p.dim, C),
    sense="<=",
    regime=_noisy,
    constants={"C": -1},
    resolution=lambda p: 1 / p.tests,
)


def _growth(data: Any) -> Any:
    """The largest growth rate since the start, over all times."""
    later = data.sel(time=slice(1, None))
    return (np.log(later.signal_response / data.signal_response.sel(time=0)) / later.time).max("time")


def _factors(p: Any) -> dict[str, Any]:
    return {"q = 2": 0.0 if p.power == 2 and p.layers == 2 else -1.0, "|e| <= 1": -1.0 * (abs(p.shift) + p.gauss + p.spread)}


GROWTH = Bound(
    "signal_growth",
    r"the largest response to the signal grows at most like $\exp(2\eta\|\mu\|^2t/m)$",
    "Huang et al. (2025), stage 1",
    left=_growth,
    right=lambda p: signal_rate(p.width, _signal(p), _steps(p)[0]),
    sense="<=",
    regime=_factors,
)
BOUNDS = (MEMORISES, GENERALISES, GROWTH)

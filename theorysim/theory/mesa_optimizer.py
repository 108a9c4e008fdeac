r"""Autoregressively trained linear attention: when it does one step of gradient descent, and what that recovers.

Zheng et al. (NeurIPS 2024), arXiv 2405.16845. Sequences $x_{t+1}=\operatorname{diag}(e^{i\theta})x_t$ from a real start;
$a$ and $b$ are the diagonals of the two trained blocks, $k_1=Ex_{1j}^4$, $k_2=Ex_{1j}^6$, $k_3=\sum_{r\ne j}Ex_{1j}^2x_{1r}^4$.
Functions of numbers broadcast.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from ._bound import Bound


class Moments(NamedTuple):
    """$Ex_{1j}^2$, $k_1$, $k_2$, $k_3$ of a start, as in `exact.StartMoments`.

    >>> round(float(moments(5).sixth), 6)
    15.0
    """

    second: Any
    fourth: Any
    sixth: Any
    cross: Any


def moments(dim: Any, scale: Any = 1.0, power: Any = 1.0, sparse: Any = 0.0) -> Moments:
    r"""The moments of a start of `laws.Rotations`.

    $$ E|x_{1j}|^p=\sigma^p\frac{E|g|^{p\gamma}}{(E|g|^{2\gamma})^{p/2}},\qquad E|g|^u=2^{u/2}\Gamma(\tfrac{u+1}2)/\sqrt\pi, $$
    $$ k_3=(d-1)\,Ex_{1j}^2\,k_1, $$

    and for a sparse start these over $d$, with $k_3=0$.

    **Arguments:** `dim`: $d$; `scale`, `power`, `sparse`: of the law.

    **Returns:** `Moments`. Gaussian: $3\sigma^4,15\sigma^6,3(d-1)\sigma^6$. Sparse: $c^4/d,c^6/d,0$.

    Source: Zheng et al. (2024), example 4.1, for Gaussian and sparse starts; derived for the others.

    >>> [round(float(k), 6) for k in moments(5)], [float(k) for k in moments(5, 2.0, 0.0, 1.0)]
    ([1.0, 3.0, 15.0, 12.0], [0.8, 3.2, 12.8, 0.0])
    """

    def log_absolute(u: Any) -> Any:
        return u / 2 * np.log(2) + gammaln((u + 1) / 2) - gammaln(0.5)

    power, sparse = np.asarray(power, float), np.asarray(sparse, float)
    each = [scale**p * np.exp(log_absolute(p * power) - p / 2 * log_absolute(2 * power)) for p in (2, 4, 6)]
    cross = (dim - 1) * each[0] * each[1]
    second, fourth, sixth = (np.where(sparse > 0, k / dim, k)[()] for k in each)
    return Moments(second, fourth, sixth, np.where(sparse > 0, 0.0, cross)[()])


def harmonic(length: int) -> float:
    r"""The mean of $1/\rho_t$ over the predictions, $\bar H=\frac1{T-2}\sum_{t=2}^{T-1}\frac1{t-1}$.

    **Arguments:** `length`: $T\ge3$.

    Source: derived here.

    >>> round(harmonic(100), 5)
    0.05273
    """
    return float(np.mean(1 / np.arange(1, length - 1)))


def limit(of: Any, length: int) -> Any:
    r"""Where gradient flow takes $ab$: $k_1/K$, $K=k_2+k_3\bar H$.

    **Arguments:** `of`: `Moments`, or `exact.StartMoments` of a sample; `length`: $T$.

    Regime: assumption 4.1 (moments of odd order vanish), or all but the diagonals clipped; $a_0b_0>0$.

    Source: Zheng et al. (2024), theorem 4.1.

    >>> [round(float(limit(moments(5, s), 100)), 3) for s in (0.5, 1.0, 2.0)]
    [0.768, 0.192, 0.048]
    >>> float(limit(moments(5, 2.0, 0.0, 1.0), 100)), round(float(limit(moments(5, 1.0, 0.0), 100)), 3)
    (0.25, 0.826)
    """
    return of.fourth / (of.sixth + of.cross * harmonic(length))


def far_limit(of: Any) -> Any:
    r"""The limit for long sequences, $ab\to k_1/k_2$: $1/(5\sigma^2)$ for a Gaussian start, $1/c^2$ for a sparse one.

    **Arguments:** `of`: `Moments`.

    Source: Zheng et al. (2024), theorem 4.1: the paper's dashed lines.

    >>> round(float(far_limit(moments(5))), 6), float(far_limit(moments(5, 2.0, 0.0, 1.0)))
    (0.2, 0.25)
    """
    return of.fourth / of.sixth


def path(first: Any, second: Any, times: Any, lr: Any, of: Any, length: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Gradient descent on the two diagonals: $a\leftarrow a-\eta(T-2)\,b\,(abK-k_1)$ and the same with $a,b$ exchanged.

    **Arguments:** `first`, `second`: $a_0,b_0$; `times`: increasing steps at which they are wanted; `lr`: $\eta$;
    `of`: `Moments`; `length`: $T$.

    **Returns:** $a$ and $b$, time on the first axis.

    Source: derived here.

    >>> a, b = path(0.5, 1.5, [0, 2000], 1e-4, moments(5), 100)
    >>> (a * b).round(3).tolist(), (a**2 - b**2).round(1).tolist()
    ([0.75, 0.192], [-2.0, -2.0])
    """
    big, seen = of.sixth + of.cross * harmonic(length), []
    a, b = np.asarray(first, float), np.asarray(second, float)
    wanted = {int(t) for t in times}
    for step in range(max(wanted) + 1):
        if step in wanted:
            seen.append((a + 0 * big, b + 0 * big))
        pull = lr * (length - 2) * (a * b * big - of.fourth)
        a, b = a - b * pull, b - a * pull
    return np.stack([a for a, _ in seen]), np.stack([b for _, b in seen])


def kurtosis(of: Any) -> Any:
    r"""The kurtosis of the start's coordinates where they are not 0, $k_1/(Ex_{1j}^2)^2$: 1 for signs, 3 for a Gaussian.

    **Arguments:** `of`: `Moments` of a dense start.

    >>> round(float(kurtosis(moments(5))), 6), float(kurtosis(moments(5, 1.0, 0.0)))
    (3.0, 1.0)
    """
    return of.fourth / of.second**2


def recovered(state: Any, of: Any) -> Any:
    r"""The part of the true next state that is predicted for long sequences, $x_{1j}^2k_1/k_2$; recovery iff it is 1.

    **Arguments:** `state`: $|x_{1j}|$; `of`: `Moments`.

    Regime: trained, $T\to\infty$. Source: Zheng et al. (2024), theorem 4.2.

    >>> float(recovered(2.0, moments(5, 2.0, 0.0, 1.0))), round(float(recovered(1.0, moments(5))), 6)
    (1.0, 0.2)
    """
    return state**2 * far_limit(of)


def last_error(product: Any, of: Any, length: Any) -> Any:
    r"""The error of the last prediction over what is predicted, $E|\hat y_j-x_{T,j}|^2/E|x_{T,j}|^2$.

    $$ 1+\frac{-2ab\,k_1+(ab)^2\,(k_2+k_3/(T-2))}{Ex_{1j}^2}. $$

    **Arguments:** `product`: $ab$; `of`: `Moments`; `length`: $T\ge3$.

    Source: derived here.

    >>> sparse = moments(5, 2.0, 0.0, 1.0)
    >>> [round(float(last_error(product, sparse, 100)), 6) for product in (1.0, 0.25)]
    [9.0, 0.0]
    """
    return 1 + (product**2 * (of.sixth + of.cross / (length - 2)) - 2 * product * of.fourth) / of.second


def least_error(of: Any) -> Any:
    r"""What is left of the error for long sequences, $1-\dfrac{k_1^2}{k_2\,Ex_{1j}^2}$: 0 iff all coordinates are 0 or $\pm c$.

    By Cauchy and Schwarz for $x_{1j}$ and $x_{1j}^3$, which are parallel exactly then.

    **Arguments:** `of`: `Moments`.

    Regime: trained, $T\to\infty$. Source: derived here; that it is 0 iff $x_{1j}^2k_1/k_2=1$: Zheng et al. (2024), theorem 4.2.

    >>> round(float(least_error(moments(5))), 6), float(least_error(moments(5, 2.0, 0.0, 1.0)))
    (0.4, 0.0)
    """
    return 1 - of.fourth**2 / (of.sixth * of.second)


def _assumption(p: Any) -> dict[str, Any]:
    """Assumption 4.1, or all entries clipped that it would keep at 0; and a start off the saddle at 0."""
    kept = 1 - p.aligned * (1 - p.clip)
    with np.errstate(divide="ignore"):
        return {"moments of odd order vanish, or all but the diagonals are clipped": np.log10(kept)}


LIMIT = Bound(
    "limit",
    r"gradient descent on the population loss takes $ab$ to $k_1/K$, within 1 %",
    "Zheng et al. (2024), theorem 4.1",
    left=lambda data: data["product"].isel(time=-1),
    right=lambda p: limit(moments(p.dim, p.scale, p.power, p.sparse), p.length),
    sense="=",
    regime=_assumption,
    tolerance=0.01,
)
BOUNDS = (LIMIT,)

r"""Label noise SGD on two-layer linear networks: shrinkage of the first layer, the exit from the lazy regime, alignment.

"On the learning dynamics of two-layer linear networks with label noise SGD" (AAAI 2026), arXiv 2603.10397. $f(x)=a^\top Wx$
with $m$ neurons, one sample a step, its label $y\pm\sigma$. Formulas that are not in the paper say so. All functions take
numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._bound import Bound, fields

PAPER = "arXiv 2603.10397 (AAAI 2026)"


def norm_change(lr: Any, residual: Any, second: Any, along: Any, square: Any) -> Any:
    r"""What one step of SGD adds to $\|w_i\|^2-a_i^2$, exactly: $\eta^2r^2(a_i^2\|x\|^2-\langle w_i,x\rangle^2)$.

    **Arguments:** `lr`: $\eta$; `residual`: $r=f(x)-y-\epsilon$; `second`: $a_i$; `along`: $\langle w_i,x\rangle$; `square`:
    $\|x\|^2$.

    The last term is $-(a_i(t+1)-a_i(t))^2$: the first layer shrinks by as much as the second one oscillates. Source: arXiv
    2603.10397. The matrix form, and that of SAM, is `observers.balance_change`.

    >>> round(norm_change(0.1, 2.0, 1.0, 3.0, 4.0), 6)
    -0.2
    """
    return lr**2 * residual**2 * (second**2 * square - along**2)


def square_residual(sigma: Any, lr: Any, width: Any, dim: Any) -> Any:
    r"""The stationary $E\,r^2$ of the lazy regime, $\sigma^2/(1-\eta(m+d)/2)$.

    **Arguments:** `sigma`: $\sigma$; `lr`: $\eta$; `width`: $m$; `dim`: $d$.

    A step moves the output on its own sample by the share $\eta K$ of the residual, $K=\|x\|^2\|a\|^2+\|Wx\|^2\approx m+d$;
    least mean squares with this kernel is stationary at this value. Regime: $\eta(m+d)<2$, all neurons near their start.
    Source: derived here.

    >>> round(square_residual(4.0, 1e-3, 1000, 20), 2)
    32.65
    """
    return sigma**2 / (1 - lr * (width + dim) / 2)


def shrink_rate(lr: Any, square: Any) -> Any:
    r"""The rate at which the first layer shrinks, $-\frac{d}{dt}\log\|w_i\|=\frac{\eta^2}2E\,r^2$.

    **Arguments:** `lr`: $\eta$; `square`: $E\,r^2$, measured or `square_residual(..)`.

    Regime: $a_i^2d\ll\|w_i\|^2$, isotropic inputs. Source: the mean of `norm_change` over $x$.

    >>> round(shrink_rate(1e-3, 32.0), 9)
    1.6e-05
    """
    return lr**2 * square / 2


def exit_bound(sigma: Any, lr: Any, width: Any) -> Any:
    r"""The time by which every neuron has left the lazy regime, $T_1=384\sqrt{\log m}/(\sigma^2\eta^2\sqrt m)$.

    **Arguments:** `sigma`: $\sigma\ge0$; `lr`: $\eta$; `width`: $m>1$.

    Regime: $m\ge\eta^{-1/2}$, $n\ge\eta^{-2}$, $\|\theta^*\|\le m^{-1/4}$, with probability $1-O(1/m)$. Source: arXiv
    2603.10397, theorem 2.

    >>> round(float(exit_bound(4.0, 1e-3, 1000)) / 1e6, 2)
    1.99
    """
    with np.errstate(divide="ignore"):  # never, without label noise
        return 384 * np.sqrt(np.log(width)) / (sigma**2 * lr**2 * np.sqrt(width))


def exit_time(sigma: Any, lr: Any, width: Any, dim: Any, weakest: Any) -> Any:
    r"""When the last neuron leaves the lazy regime, $2(1-\eta(m+d)/2)/(\sigma^2\eta^2\sqrt m\,\min_i\|w_i(0)\|)$.

    **Arguments:** `sigma`: $\sigma>0$; `lr`: $\eta$; `width`: $m$; `dim`: $d$; `weakest`: $\min_i\|w_i(0)\|$.

    The time at which the shrinkage of the shortest neuron is $1/\sqrt m$. Regime: $\eta\sigma^2\ll1$, or the second layer's
    fluctuations move the neurons as well. Source: derived here from `shrink_rate` and `square_residual`.

    >>> int(exit_time(4.0, 1e-3, 1000, 20, 0.5))
    3873
    """
    return 1 / (shrink_rate(lr, square_residual(sigma, lr, width, dim)) * np.sqrt(width) * weakest)


def oscillation_level(lr: Any) -> Any:
    r"""The level that the mean $\|w_i\|^2$ reaches while the second layer oscillates, $\sqrt\eta$.

    **Arguments:** `lr`: $\eta$. It is reached at some $t_0\le\eta^{-2}$. Source: arXiv 2603.10397, lemma 4.

    >>> float(oscillation_level(0.01))
    0.1
    """
    return np.sqrt(lr)


def oscillation_decay(lr: Any, time: Any) -> Any:
    r"""The mean $\|w_i\|^2$ under a second layer that follows the chain, relative to its start: $e^{-\eta^{3/2}t}$.

    **Arguments:** `lr`: $\eta$; `time`: $t$.

    $W$ contracts at the rate $\eta\,E\,a_i^2=\eta\sqrt\eta/2$. Regime: $t\gg1$, isotropic inputs. Source: derived here.

    >>> round(float(oscillation_decay(0.01, 1000)), 4)
    0.3679
    """
    return np.exp(-(lr**1.5) * time)


def alignment_time(lr: Any, target: Any) -> Any:
    r"""The time to align in phase II, $\log(1/\eta)/(\eta\|\theta^*\|)$ steps.

    **Arguments:** `lr`: $\eta$; `target`: $\|\theta^*\|>0$.

    Source: arXiv 2603.10397, lemma 5; our summary of it has $\log(1/\eta)/\|\theta^*\|$, this in units of $1/\eta$ steps.

    >>> int(alignment_time(1e-3, 1.0))
    6907
    """
    return np.log(1 / lr) / (lr * target)


def aligned_cosine(lr: Any) -> Any:
    r"""The cosine of the neurons with the target after `alignment_time`, $1-\sqrt\eta\log(1/\eta)$, its constant set to 1.

    **Arguments:** `lr`: $\eta$. Regime: all norms $\le\sqrt\eta$ at the start of phase II. Source: arXiv 2603.10397, lemma 5.

    >>> round(float(aligned_cosine(1e-3)), 3)
    0.782
    """
    return 1 - np.sqrt(lr) * np.log(1 / lr)


def convergence_time(lr: Any, target: Any) -> Any:
    r"""The further time to converge, $\log(1/\eta)/(\eta\|\theta^*\|^2)$.

    Then $\|W^\top a-\theta^*\|$ is of order $\eta\log(1/\eta)$.

    **Arguments:** `lr`: $\eta$; `target`: $\|\theta^*\|>0$. Source: arXiv 2603.10397, lemma 6.

    >>> int(convergence_time(1e-3, 2.0))
    1726
    """
    return np.log(1 / lr) / (lr * target**2)


def left_lazy(data: Any) -> Any:
    r"""The measured time at which every neuron is farther than $1/\sqrt m$ from its start.

    **Arguments:** `data`: a Dataset with `moved_min`, $\min_i\|w_i(t)-w_i(0)\|$, over `time`, and with the params' fields.

    **Returns:** without the dimension `time`: interpolated in logarithms; NaN where it was not reached.

    >>> import numpy as np, xarray as xr
    >>> data = xr.Dataset({"moved_min": ("time", [0.0, 0.25, 1.0])}, {"time": [0, 10, 40]}, {"params": '{"width": 4}'})
    >>> round(float(left_lazy(data)), 6)
    20.0
    """
    import xarray as xr

    scaled = (data.moved_min * np.sqrt(fields(data).width)).transpose(..., "time")
    time, values = np.asarray(data.time, float), np.asarray(scaled, float)
    out = values >= 1
    k = np.maximum(np.argmax(out, axis=-1), 1)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        high, low = (np.log(np.take_along_axis(values, i, -1))[..., 0] for i in (k, k - 1))
        after, before = np.log(time[k[..., 0]]), np.log(time[k[..., 0] - 1])
        found = np.exp(before + np.where(np.isfinite(low), -low / (high - low), 1) * (after - before))
    found = np.where(np.isfinite(found) & (found > 0), found, time[k[..., 0]])
    rest = [dim for dim in scaled.dims if dim != "time"]
    coords = {dim: scaled[dim] for dim in rest if dim in scaled.coords}
    return xr.DataArray(np.where(out.any(axis=-1), found, np.nan), coords, rest, name="exit")


def at(data: Any, time: Any) -> Any:
    """The records nearest to a time that may differ from cell to cell.

    **Arguments:** `data`: a Dataset with a dimension `time`; `time`: a number, or a DataArray over swept fields.

    **Returns:** the records without the dimension `time`.

    >>> import xarray as xr
    >>> int(at(xr.Dataset(coords={"time": [0, 5, 10]}), 6.0).time)
    5
    """
    import xarray as xr

    return data.sel(time=xr.DataArray(time), method="nearest")


def _conditions(p: Any) -> dict[str, Any]:
    """Those of theorem 2, in decades inside; eta <= C^-96 has an unknown C, and Gaussian inputs are bounded in effect only."""
    return {
        "m >= eta^-1/2": np.log10(p.width * np.sqrt(p.lr)),
        "n >= eta^-2": np.log10(p.n * p.lr**2),
        "|theta*| <= m^-1/4": -np.log10(p.target * p.width**0.25),
        "label noise": np.log10(np.maximum(p.sigma, 1e-9) / p.target),
    }


EXIT = Bound(
    "exit",
    r"every neuron leaves the lazy regime by $T_1=384\sqrt{\log m}/(\sigma^2\eta^2\sqrt{m})$",
    f"{PAPER}, theorem 2",
    left=left_lazy,
    right=lambda p: exit_bound(p.sigma, p.lr, p.width),
    regime=_conditions,
    delta=0.01,
)
OSCILLATION = Bound(
    "oscillation",
    r"with an oscillating second layer the mean $\|w_i\|^2$ falls to $\sqrt{\eta}$ at some $t_0\leq\eta^{-2}$",
    f"{PAPER}, lemma 4",
    left=lambda data: data.mean_square.where(data.time <= fields(data).lr ** -2.0 * (1 + 1e-5)).min("time"),
    right=lambda p: oscillation_level(p.lr),
)
ALIGNED = Bound(
    "aligned",
    r"phase II: after $\log(1/\eta)/(\eta\|\theta^*\|)$ steps the cosine is at least $1-\sqrt{\eta}\log(1/\eta)$",
    f"{PAPER}, lemma 5",
    left=lambda data: at(data, alignment_time(fields(data).lr, fields(data).target)).cosine,
    right=lambda p: aligned_cosine(p.lr),
    sense=">=",
    regime=lambda p: {"all norms <= sqrt(eta)": np.log10(np.sqrt(p.lr) / p.init)},
)
BOUNDS = (EXIT, OSCILLATION, ALIGNED)

r"""Invariant and spurious features under ERM and IRMv1: the linear two-layer network as a map of two numbers.

Chen et al. (NeurIPS 2023), arXiv 2304.11327; its theorems were not seen, so the formulas here are derived for its setting:
two-bit data, $\psi(z)=z$, logistic loss, noise small enough to be left out. Then $f=\langle u,x_1+x_2\rangle$ with
$u=2(\gamma^{inv},\gamma^{spu})$, the mean features of all filters, and a step moves every filter alike. Functions of
numbers broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._bound import Bound

#: whether the invariant and the spurious bit agree with the class, in the four patterns that samples have
PATTERNS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def correlation(flip: Any) -> Any:
    r"""The correlation of a bit with the class, $1-2\delta$.

    **Arguments:** `flip`: $\delta$, in [0, 1]: $\alpha$, or the mean of the $\beta_e$ over environments of equal size.

    ERM learns the feature of the larger correlation first. Source: Chen et al. (2023), abstract; the formula is a definition.

    >>> correlation(0.25)
    0.5
    """
    return 1 - 2 * flip


def growth(flip: Any, lr: Any, width: Any) -> Any:
    r"""How much a feature grows in each of the first steps of ERM, $\eta\,(1-2\delta)/(2m)$.

    From $-\ell'(0)=\frac12$ and $\partial f/\partial w_{j,r}=\frac jm(x_1+x_2)$.

    **Arguments:** `flip`: as `correlation`; `lr`: $\eta$; `width`: $m$.

    Regime: outputs near 0. Source: derived here.

    >>> growth(0.25, 0.5, 10)
    0.0125
    """
    return lr * correlation(flip) / (2 * width)


def calibrated(flip: Any) -> Any:
    r"""Where ERM takes a feature in the end, $\frac12\log\frac{1-\delta}\delta$: half the log-odds of its bit.

    **Arguments:** `flip`: as `correlation`, in (0, 1).

    Regime: infinitely many samples, environments of equal size; the two bits are then independent given the class. Also
    what IRMv1 has to find in the invariant feature alone. Source: derived here.

    >>> round(float(calibrated(0.25)), 4)
    0.5493
    """
    return 0.5 * np.log((1 - flip) / flip)


def shares(invariant_flip: float, spurious_flips: Sequence[float]) -> np.ndarray:
    r"""How often each environment has each of the four `PATTERNS`, in the limit of many samples.

    **Arguments:** `invariant_flip`: $\alpha$; `spurious_flips`: $\beta_1,\dots,\beta_E$.

    **Returns:** shape `(E, 4)`, rows of sum 1. A sample's own frequencies may stand in its place everywhere below.

    Source: the definition of `laws.TwoBit`.

    >>> shares(0.25, [0.1, 0.2]).round(3).tolist()
    [[0.675, 0.075, 0.225, 0.025], [0.6, 0.15, 0.2, 0.05]]
    """
    a, b = invariant_flip, np.asarray(spurious_flips, float)
    return np.stack([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b], axis=-1)


def _slopes(invariant: Any, spurious: Any) -> tuple[np.ndarray, np.ndarray]:
    """Margins of the four patterns, and the derivative of the logistic loss there."""
    margin = 2 * (np.asarray(invariant)[..., None] * PATTERNS[:, 0] + np.asarray(spurious)[..., None] * PATTERNS[:, 1])
    return margin, (np.tanh(margin / 2) - 1) / 2


def _each(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A matrix times vectors on the last axis; one matrix for all, or one each."""
    return vector @ matrix.T if matrix.ndim == 2 else np.einsum("...ij,...j->...i", matrix, vector)


def gradients(share: np.ndarray, invariant: Any, spurious: Any) -> np.ndarray:
    r"""The gradients of IRMv1, $C_e=\mathrm E_e\,\ell'(z)z$ with $z=2(\pm\gamma^{inv}\pm\gamma^{spu})$.

    **Arguments:** `share`: as from `shares`, with leading axes if each point has its own; `invariant`, `spurious`:
    $\gamma^{inv},\gamma^{spu}$.

    **Returns:** shape `(.., E)`.

    Source: derived here.

    >>> gradients(shares(0.25, [0.1, 0.2]), calibrated(0.25), 0.0).round(12).tolist()
    [0.0, 0.0]
    """
    margin, slope = _slopes(invariant, spurious)
    return _each(share, slope * margin)


def velocity(share: np.ndarray, invariant: Any, spurious: Any, strength: float = 0.0) -> np.ndarray:
    r"""How IRMv1 moves both features in a step, in units of $\eta/m$: $-\partial_u(\sum_ew_eL_e+\lambda\sum_ew_e^2C_e^2)$.

    **Arguments:** `share`, `invariant`, `spurious`: as `gradients`; `strength`: $\lambda$, at 0 it is ERM.

    **Returns:** shape `(.., 2)`: of $\gamma^{inv}$ and of $\gamma^{spu}$.

    Regime: $w_e=1/E$. Source: derived here.

    >>> velocity(shares(0.25, [0.1, 0.2]), 0.0, 0.0).round(3).tolist()
    [0.25, 0.35]
    """
    margin, slope = _slopes(invariant, spurious)
    count, pull = share.shape[-2], np.mean(share, axis=-2) * slope
    if strength:
        # the derivative of l'(z) z is l'(z) + z l''(z), and l'' = -l' (1 + l')
        bend = slope - margin * slope * (1 + slope)
        weight = _each(np.swapaxes(share, -1, -2), _each(share, slope * margin))
        pull = pull + 2 * strength / count**2 * weight * bend
    return -pull @ PATTERNS


def path(
    share: np.ndarray, start: Any, times: Sequence[int] | np.ndarray, lr: float, width: int, strength: float = 0.0
) -> np.ndarray:
    r"""The features along a run of IRMv1 (or of ERM): $\gamma_{t+1}=\gamma_t+\frac\eta m v(\gamma_t)$ with $v$ as `velocity`.

    **Arguments:** `share`, `strength`: as `velocity`; `start`: features at time 0, shape `(.., 2)`; `times`: increasing steps
    at which they are wanted; `lr`: $\eta$; `width`: $m$.

    **Returns:** shape `(T, .., 2)`.

    Source: derived here; exact but for the noise patch.

    >>> seen = path(shares(0.25, [0.1, 0.2]), [0.0, 0.0], [1, 1000], lr=0.5, width=10)
    >>> seen.round(4).tolist()
    [[0.0125, 0.0175], [0.5491, 0.8671]]
    """
    point, seen = np.asarray(start, float), []
    wanted = {int(time) for time in times}
    with np.errstate(over="ignore", invalid="ignore"):  # a step size too large ends in NaN, as it does in a run
        for step in range(max(wanted) + 1):
            if step in wanted:
                seen.append(point)
            point = point + lr / width * velocity(share, point[..., 0], point[..., 1], strength)
    return np.stack(seen)


def rest_gradient(strength: Any, environments: int = 2) -> Any:
    r"""Where IRMv1 from scratch comes to rest: at $C_e=-E/(2\lambda)$ in every environment, near the origin.

    There the objective is $\sum_ew_eC_e+\lambda\sum_ew_e^2C_e^2$ up to a constant, for $L_e\approx\log2+C_e$ and $w_e=1/E$.

    **Arguments:** `strength`: $\lambda>0$; `environments`: E.

    Regime: $\lambda\gg1$, environments of linearly independent correlations (at most two). Source: derived here.

    >>> rest_gradient(1e4)
    -0.0001
    """
    return -environments / (2 * strength)


def rest_invariant(strength: Any, invariant_flip: Any, environments: int = 2) -> Any:
    r"""All that IRMv1 learns from scratch: $\gamma^{inv}=E/(2\lambda(1-2\alpha))$ and $\gamma^{spu}=0$.

    **Arguments:** as `rest_gradient`; `invariant_flip`: $\alpha<1/2$.

    Regime: as `rest_gradient`, with infinitely many samples. Source: derived here.

    >>> rest_invariant(1e4, 0.25)
    0.0002
    """
    return -rest_gradient(strength, environments) / correlation(invariant_flip)


def slow_rate(strength: Any, lr: Any, width: Any, invariant_flip: float, spurious_flips: Sequence[float]) -> Any:
    r"""The rate a step at which IRMv1 forgets small features along its slow direction: $\frac{4\eta\lambda}{mE^2}\,s_{\min}^2$.

    $s_{\min}$ is the least singular value of the matrix with rows $-\frac12(1-2\alpha,1-2\beta_e)$, the gradients of
    $C_e$ at 0: it vanishes with the difference of the environments.

    **Arguments:** `strength`, `lr`, `width`: $\lambda,\eta,m$; `invariant_flip`, `spurious_flips`: $\alpha$ and $\beta_e$.

    Regime: small features. Source: derived here.

    >>> round(slow_rate(1e4, 1e-3, 10, 0.25, [0.1, 0.2]), 5)
    0.00167
    """
    rows = [[correlation(invariant_flip) / 2, correlation(flip) / 2] for flip in spurious_flips]
    return 4 * lr * strength / (width * len(rows) ** 2) * float(np.linalg.svd(np.array(rows), compute_uv=False)[-1]) ** 2


def ood_accuracy(invariant: Any, spurious: Any, invariant_flip: Any, test_flip: Any) -> Any:
    r"""The accuracy where the spurious bit disagrees with the class at another rate: the larger feature decides.

    $$ 1-\alpha\ \text{ if }\ \gamma^{inv}>|\gamma^{spu}|,\qquad 1-\beta_{test}\ \text{ if }\ \gamma^{spu}>|\gamma^{inv}|, $$

    and one minus that where the larger feature is negative; 1/2 of both on a tie.

    **Arguments:** `invariant`, `spurious`: the features; `invariant_flip`, `test_flip`: $\alpha,\beta_{test}$.

    Regime: features larger than the noise patch's part of the output. Source: derived here.

    >>> float(ood_accuracy(0.3, 0.2, 0.25, 0.9)), round(float(ood_accuracy(0.3, 0.4, 0.25, 0.9)), 6)
    (0.75, 0.1)
    """
    follows = [np.sign(a) * correlation(flip) for a, flip in ((invariant, invariant_flip), (spurious, test_flip))]
    lead = np.sign(np.abs(invariant) - np.abs(spurious))
    return 0.5 + ((1 + lead) * follows[0] + (1 - lead) * follows[1]) / 4


def _flips(p: Any) -> list[Any]:
    return [p.spurious_flip - p.spread, p.spurious_flip + p.spread]


def _at_rest(p: Any) -> dict[str, Any]:
    """Small features, a strong penalty, and time enough along the slow direction."""
    strength = np.maximum(p.strength, 1e-300)
    unit = slow_rate(1.0, 1.0, 1, float(p.invariant_flip), [float(flip) for flip in _flips(p)])
    return {
        "from scratch: no ERM and no FeAT before": -1.0 * np.maximum(p.pretraining, p.augmenting),
        "lambda >= 100": np.log10(strength / 100),
        "slow direction has relaxed": np.log10(np.maximum(unit * strength * p.rate / p.width * p.steps, 1e-300)),
    }


REST = Bound(
    "rest",
    r"from scratch, $|C_e|\leq E/\lambda$, twice where IRMv1 is at rest",
    "derived here; that $C_e$ vanishes while nothing is learned: Chen et al. (2023), as recalled",
    left=lambda data: abs(data.gradient.isel(time=-1)),
    right=lambda p: -2 * rest_gradient(np.maximum(p.strength, 1e-300)),
    sense="<=",
    regime=_at_rest,
)
BOUNDS = (REST,)

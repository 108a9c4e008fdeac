r"""Continual learning of two tasks at an angle: the benign and the harmful range, and where they meet.

"Understanding the forgetting of (replay-based) continual learning via feature learning: angle matters" (ICML 2025). Its
constants $C_1\le C_2$ are not given. The balance of the two responses is derived here, for small first filters and steps. All
functions take numbers or arrays and broadcast; angles are in degrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._bound import Bound

#: assumed: what the published setting shows; the theorem leaves both open
BENIGN_CONSTANT, HARMFUL_CONSTANT = 0.17, 0.87
_PAPER = "Angle matters (ICML 2025), as summarised"


def critical_angle(constant: Any) -> Any:
    r"""The angle at which $\cos\theta=-C$, in degrees.

    **Arguments:** `constant`: $C$ in [0, 1].

    Source: the theorem's conditions $\cos\theta\ge-C_1$ (benign) and $\cos\theta<-C_2$ (harmful).

    >>> round(float(critical_angle(0.5)), 6)
    120.0
    """
    return np.degrees(np.arccos(-np.asarray(constant, float)))


def replay_constant(constant: Any) -> Any:
    r"""With replay the benign range is $\cos\theta\ge-C$ with $C=(C_2+1)/2$.

    **Arguments:** `constant`: $C_2$ in [0, 1], of the harmful range without replay.

    Regime: a few stored samples with right labels. Source: Angle matters (ICML 2025), as summarised.

    >>> replay_constant(0.5)
    0.75
    """
    return (constant + 1) / 2


def kept(angle: Any) -> Any:
    r"""The share of its response to $\mu_1$ that a filter keeps when task 2 has pushed it off $-\mu_2$.

    $$ 1 \ \text{ for } \theta\le90^\circ,\qquad 1-\cos^2\theta=\sin^2\theta \ \text{ beyond}, $$

    since it moves along $\mu_2$ until $\langle w,-\mu_2\rangle=0$.

    **Arguments:** `angle`: $\theta$ in [0, 180].

    Regime: a filter along $\mu_1$; steps too small to overshoot. Source: derived here.

    >>> kept(60.0), round(float(kept(150.0)), 6)
    (array(1.), 0.25)
    """
    cosine = np.cos(np.radians(angle))
    return np.where(cosine >= 0, 1.0, 1 - cosine**2)


def answered(angle: Any) -> Any:
    r"""The response to $\mu_1$ of a filter of the other class that has learned $-\mu_2$, as a share of that to $-\mu_2$.

    $$ \max(0,-\cos\theta). $$

    **Arguments:** `angle`: $\theta$ in [0, 180].

    Source: derived here.

    >>> round(float(answered(120.0)), 6), float(answered(60.0))
    (0.5, 0.0)
    """
    return np.maximum(0, -np.cos(np.radians(angle)))


def balance_constant(ratio: Any = 1.0) -> Any:
    r"""The $C=-\cos\theta$ at which the kept and the answered response balance, so that forgetting crosses 1/2.

    $$ 1-C^2=\kappa\,C,\qquad C=\frac{\sqrt{\kappa^2+4}-\kappa}{2}; $$

    both tasks learned equally well ($\kappa=1$): $C=(\sqrt5-1)/2$, an angle of 128.2 degrees; with replay, by
    `replay_constant`, 144 degrees.

    **Arguments:** `ratio`: $\kappa\ge0$, the response of task 2's filters to its signal over that of task 1's.

    Regime: first filters and steps so small that nothing else responds. Source: derived here.

    >>> plain = balance_constant()
    >>> round(float(critical_angle(plain)), 2), round(float(critical_angle(replay_constant(plain))), 6)
    (128.17, 144.0)
    """
    return (np.sqrt(np.square(ratio) + 4) - ratio) / 2


def signal_strength(n: Any, signal: Any, dim: Any, power: Any, noise: Any = 1.0) -> Any:
    r"""$n\,\mathrm{SNR}^q$ with $\mathrm{SNR}=\|\mu\|/(\sigma\sqrt d)$: above order one each task is learned by its signal.

    **Arguments:** `n`: samples of a task; `signal`: $\|\mu\|$; `dim`: $d$; `power`: $q>2$; `noise`: $\sigma>0$.

    Source: Cao et al. (2022), theorem 4.3, for a single task.

    >>> round(signal_strength(100, 8.0, 100.0, 3), 6)
    51.2
    """
    return n * (signal / (noise * dim**0.5)) ** power


def _decades(value: Any) -> Any:
    return np.log10(np.maximum(value, 1e-12))


def _learned(p: Any) -> dict[str, Any]:
    ratio = signal_strength(p.n, p.signal, p.dim, p.power, p.noise)
    return {"n SNR^q >= 10": _decades(ratio) - 1, "no elastic weights": 1.0 - 2.0 * (p.strength > 0)}


def _range(p: Any, constant: float) -> dict[str, Any]:
    return {f"cos(theta) >= -{constant:.2f}": _decades((1 + np.cos(np.radians(p.angle))) / (1 - constant))}


def _no_replay(p: Any) -> dict[str, Any]:
    return {"no replay": 1.0 - 2.0 * (p.replayed > 0)}


def _replayed(p: Any) -> dict[str, Any]:
    share, right = _decades(p.replayed / (0.1 * p.n)), 1.0 - 2.0 * (p.flip > 0)
    return {"a tenth of the samples replayed": share, "stored labels right": right}


BENIGN = Bound(
    "benign",
    r"for $\cos\theta\geq-C_1$, $C_1=.17$ (assumed), forgetting $\leq.02$",
    _PAPER,
    left=lambda data: data.forgetting,
    right=lambda p: 0.02,
    sense="<=",
    regime=lambda p: _learned(p) | _no_replay(p) | _range(p, BENIGN_CONSTANT),
)
HARMFUL = Bound(
    "harmful",
    r"for $\cos\theta<-C_2$, $C_2=.87$ (assumed), forgetting $\geq.95$: predictions invert",
    _PAPER,
    left=lambda data: data.forgetting,
    right=lambda p: 0.95,
    sense=">=",
    regime=lambda p: (
        _learned(p)
        | _no_replay(p)
        | {"cos(theta) < -0.87": _decades(-np.cos(np.radians(p.angle))) - np.log10(HARMFUL_CONSTANT)}
    ),
)
REPLAY = Bound(
    "replay",
    r"with replay, for $\cos\theta\geq-(C_2+1)/2$, $C_2=.618$ (balance), forgetting $\leq1/4$",
    _PAPER + "; the constant derived here",
    left=lambda data: data.forgetting,
    right=lambda p: 0.25,
    sense="<=",
    regime=lambda p: _learned(p) | _replayed(p) | _range(p, float(replay_constant(balance_constant()))),
)
BOUNDS = (BENIGN, HARMFUL, REPLAY)

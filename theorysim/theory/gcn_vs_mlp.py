r"""GCN against MLP on a signal-noise stochastic block model: how far the graph enlarges the benign regime.

Huang, Cao, Wang, Cao, Suzuki, arXiv 2306.13926. Two enlargements are on record: $D^{q-2}$ in the latest version, $D^{(q-2)/2}$
in the first two. Constants that the theorems leave open are arguments. All functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import InvalidArgument
from ._bound import Bound

#: exponent of the expected degree in the enlargement, in units of q - 2
VERSIONS = {"latest": 1.0, "first": 0.5}
#: the test loss outside the benign regime is at least this, as recalled; inside it is at most 6 times the training loss
HARMFUL_LOSS, BENIGN_FACTOR = 0.1, 6.0


def degree(n: Any, within: Any, between: Any) -> Any:
    r"""The expected degree of a node, $D=n(p+s)/2$.

    **Arguments:** `n`: nodes; `within`, `between`: $p$ and $s$ in [0, 1].

    Up to the node itself, which is no neighbour of its own: $-p$. Source: arXiv 2306.13926, section 3.

    >>> degree(250, 0.5, 0.08)
    72.5
    """
    return n * (within + between) / 2


def homophily(within: Any, between: Any) -> Any:
    r"""How much neighbours agree, $h=(p-s)/(p+s)$: the mean of $y_iy_j$ over edges.

    **Arguments:** `within`, `between`: $p$ and $s$ in [0, 1], not both 0.

    Source: arXiv 2306.13926, section 4 (which asks that it is bounded away from 0).

    >>> homophily(0.75, 0.25)
    0.5
    """
    return (within - between) / (within + between)


def averaged_noise(dim: Any, degree: Any, noise: Any = 1.0) -> Any:
    r"""The norm of the noise after averaging over a node and its neighbours, $\|(\hat A\Xi)_i\|\approx\sigma_p\sqrt{d/(D+1)}$.

    **Arguments:** `dim`: $d$; `degree`: $D\ge0$; `noise`: $\sigma_p$.

    Regime: $D\gg1$; degrees that vary by $\sqrt D$ add a share $3/(8D)$. Source: arXiv 2306.13926, whose $\sigma_p\sqrt{d/D}$
    leaves out the node itself.

    >>> float(averaged_noise(400, 3))
    10.0
    """
    return noise * np.sqrt(dim / (degree + 1))


def enlargement(degree: Any, power: Any, version: str = "latest") -> Any:
    r"""The factor by which the graph enlarges $n\,\mathrm{SNR}^q$: $D^{q-2}$, or $D^{(q-2)/2}$ in the first versions.

    **Arguments:** `degree`: $D\ge1$; `power`: $q>2$; `version`: `"latest"` or `"first"`.

    **Raises:** `InvalidArgument` for another version.

    The first one has a reason in the dynamics: nodes of a class push each other's noise at the rate $\sigma_p^2d/n$, whatever
    $D$, but from responses that the average made smaller by $\sqrt D$, so by $D^{(q-2)/2}$ later.

    Source: arXiv 2306.13926, abstracts of the latest and of the first two versions.

    >>> enlargement(16.0, 4), enlargement(16.0, 4, "first")
    (256.0, 16.0)
    """
    if version not in VERSIONS:
        raise InvalidArgument("version", version, f"must be {' or '.join(VERSIONS)}")
    return degree ** (VERSIONS[version] * (power - 2))


def signal_ratio(n: Any, snr: Any, power: Any, degree: Any = 1.0, version: str = "latest") -> Any:
    r"""The quantity that decides: $n\,\mathrm{SNR}^q$ for the MLP, times the `enlargement` for the GCN.

    **Arguments:** `n`: nodes; `snr`: $\|\mu\|/(\sigma_p\sqrt d)$; `power`: $q>2$; `degree`: $D$, 1 for the MLP; `version`.

    Benign overfitting above a constant, harmful below one. Source: arXiv 2306.13926, theorems of section 4.

    >>> float(signal_ratio(250, 0.2, 3)), float(signal_ratio(250, 0.2, 3, 72.5))
    (2.0000000000000004, 145.00000000000003)
    """
    return n * snr**power * enlargement(degree, power, version)


def critical_snr(n: Any, power: Any, constant: float, degree: Any = 1.0, version: str = "latest") -> Any:
    r"""The SNR at which overfitting turns from harmful to benign, $\mathrm{SNR}^*=(C/(n\,D^{e(q-2)}))^{1/q}$, $e\in\{1,1/2\}$.

    **Arguments:** as `signal_ratio`, of which it is the inverse; `constant`: $C>0$, which the theorems leave open.

    Source: as `signal_ratio`.

    >>> round(float(critical_snr(250, 3, 2.0)), 6)
    0.2
    """
    return (constant / (n * enlargement(degree, power, version))) ** (1 / power)


def gain_exponent(power: Any, version: str = "latest") -> Any:
    r"""The exponent in $D$ of the gain $\mathrm{SNR}^*_{MLP}/\mathrm{SNR}^*_{GCN}$: $(q-2)/q$, or half of it.

    **Arguments:** `power`: $q>2$; `version`: `"latest"` or `"first"`.

    Source: from `critical_snr`.

    >>> gain_exponent(4), gain_exponent(4, "first")
    (0.5, 0.25)
    """
    if version not in VERSIONS:
        raise InvalidArgument("version", version, f"must be {' or '.join(VERSIONS)}")
    return VERSIONS[version] * (power - 2) / power


def _ratio(p: Any, version: str) -> Any:
    """The deciding quantity of a trial: average = 1 is the GCN, 0 the MLP."""
    graph = np.where(np.asarray(p.average) > 0, p.n * p.density, 1.0) + 0 * p.average
    return signal_ratio(p.n, p.signal / p.noise, p.power, graph, version)


def _conditions(p: Any) -> dict[str, Any]:
    return {
        "homophily >= 1/2": np.log10(np.maximum(p.homophily, 1e-9) / 0.5),
        "the graph's own classes": -1.0 * p.rewired,
    }


def _below(p: Any) -> dict[str, Any]:
    return _conditions(p) | {"n SNR^q D^(q-2) <= 1": -np.log10(np.maximum(_ratio(p, "latest"), 1e-300))}


def _above(p: Any) -> dict[str, Any]:
    return _conditions(p) | {"n SNR^q D^((q-2)/2) >= 10": np.log10(np.maximum(_ratio(p, "first"), 1e-300) / 10)}


HARMFUL = Bound(
    "harmful",
    r"below $n\,\mathrm{SNR}^q=1$ (MLP) and $n\,\mathrm{SNR}^qD^{q-2}=1$ (GCN) the test loss is at least 0.1",
    "arXiv 2306.13926, lower bounds of section 4; the constant .1 is recalled",
    left=lambda data: data.test_loss,
    right=lambda p: HARMFUL_LOSS,
    sense=">=",
    regime=_below,
)
BENIGN = Bound(
    "benign",
    r"above $n\,\mathrm{SNR}^q=10$ (MLP) and $n\,\mathrm{SNR}^qD^{(q-2)/2}=10$ (GCN) the test loss is at most $6\epsilon=.06$",
    "arXiv 2306.13926, upper bounds of section 4; the factor 6 is recalled, the constant 10 assumed",
    left=lambda data: data.test_loss,
    right=lambda p: BENIGN_FACTOR * 0.01,
    sense="<=",
    regime=_above,
)
BOUNDS = (HARMFUL, BENIGN)

r"""A global and a local prompt as a portfolio: the accuracy of a mixture and its best share.

Pan et al. (NeurIPS 2024), "Federated learning from vision-language foundation models: theoretical analysis and method"
(PromptFolio), arXiv 2409.19610. The paper's own formula was not seen; these are derived from its analogy with two assets.
The score of a client's test image is Gaussian under each prompt, with means $m_G,m_L$ and covariance
$\Sigma=\sigma^2[[\|N_G\|^2,N_G^\top N_L],[\cdot,\|N_L\|^2]]$, where $N$ are the irrelevant parts of the text features.
All functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from ._bound import Bound


def accuracy(share: Any, means: tuple[Any, Any], covariance: tuple[Any, Any, Any]) -> Any:
    r"""The test accuracy of the mixture $(1-\theta)h_G+\theta h_L$: $\Phi$ of the mean score over its standard deviation.

    $$ \Phi\!\left(\frac{(1-\theta)m_G+\theta m_L}
       {\sqrt{(1-\theta)^2\Sigma_{GG}+2\theta(1-\theta)\Sigma_{GL}+\theta^2\Sigma_{LL}}}\right) $$

    **Arguments:** `share`: $\theta$; `means`: $(m_G,m_L)$; `covariance`: $(\Sigma_{GG},\Sigma_{GL},\Sigma_{LL})$.

    Regime: exact for Gaussian irrelevant features. Source: derived; Pan et al. (2024) state that accuracy is such a function.

    >>> round(float(accuracy(0.5, (1.0, 1.0), (1.0, 0.0, 1.0))), 4)
    0.9214
    """
    mean, sd = score(share, means, covariance)
    return ndtr(np.divide(mean, sd))


def score(share: Any, means: tuple[Any, Any], covariance: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    r"""Mean and standard deviation of the score of a mixture: a point of the portfolio picture.

    **Arguments:** as `accuracy`.

    Source: Markowitz (1952), for returns in place of scores.

    >>> [round(float(v), 4) for v in score(0.5, (1.0, 2.0), (1.0, 0.0, 1.0))]
    [1.5, 0.7071]
    """
    (first, second), (own, cross, other) = means, covariance
    mean = (1 - share) * first + share * second
    return mean, ((1 - share) ** 2 * own + 2 * share * (1 - share) * cross + share**2 * other) ** 0.5


def best_share(means: tuple[Any, Any], covariance: tuple[Any, Any, Any]) -> Any:
    r"""The local prompt's share of largest accuracy, $\theta^*=v_2/(v_1+v_2)$ with $v=\Sigma^{-1}(m_G,m_L)^\top$.

    The ratio of mean to standard deviation is largest along $v$; outside [0, 1] the nearer end is the best mixture.

    **Arguments:** as `accuracy`.

    Regime: $v_1+v_2>0$, so that the best mixture has a positive mean. Source: derived.

    >>> float(best_share((1.0, 1.0), (1.0, 0.0, 4.0)))
    0.2
    """
    (first, second), (own, cross, other) = means, covariance
    glob, local = other * first - cross * second, own * second - cross * first
    return np.clip(local / (glob + local), 0, 1)


def best_share_uncorrelated(means: tuple[Any, Any], covariance: tuple[Any, Any, Any]) -> Any:
    r"""The best share if the two prompts' irrelevant parts were orthogonal, $\frac{m_L/s_L^2}{m_G/s_G^2+m_L/s_L^2}$.

    **Arguments:** as `accuracy`; $\Sigma_{GL}$ is ignored, though the global prompt contains each client's own.

    Source: derived.

    >>> float(best_share_uncorrelated((1.0, 1.0), (1.0, 0.5, 4.0)))
    0.2
    """
    (first, second), (own, _, other) = means, covariance
    return np.clip(second / other / (first / own + second / other), 0, 1)


def early_share(clients: Any, groups: Any, common: Any, own: Any, noise: Any, features: Any, n: Any) -> Any:
    r"""The best share while the prompts are still small, where each is the mean of its samples times their labels.

    With $a_G,a_L$ the amplitudes of the two signals, $q=\sigma^2L/n$ and $m_L=a_G^2+a_L^2$, $m_G=a_G^2+a_L^2/S$, and as the
    global prompt is the mean of the local ones, the best share of unnormalised ones is $\rho=(m_L/m_G-1)/(K-1)$. Features of
    length one have

    $$ \frac{\theta^*}{1-\theta^*}=\frac{\rho}{1-\rho}\,\sqrt{\frac{a_G^2+a_L^2+q}{a_G^2+a_L^2/S+q/K}}. $$

    It falls as $K$ grows and grows with $S$; with one group it is 0: the global prompt is best.

    **Arguments:** `clients`: $K\ge2$; `groups`: $S\ge1$ equal ones; `common`, `own`: $a_G$, $a_L$; `noise`: $\sigma$;
    `features`: $L$; `n`: samples of a client.

    Regime: small steps, $S$ divides $K$; norms and products of the irrelevant parts at their means. Source: derived here.

    >>> round(float(early_share(10, 5, 0.3, 0.3, 0.3, 400, 16)), 3), float(early_share(10, 1, 0.3, 0.3, 0.3, 400, 16))
    (0.178, 0.0)
    """
    memory = noise**2 * features / n
    local, glob = common**2 + own**2, common**2 + own**2 / groups
    raw = (local / glob - 1) / (clients - 1)
    # |h_G|^2: the groups' own signals add up to a_L^2 / S as well
    odds = raw / (1 - raw) * ((local + memory) / (glob + memory / clients)) ** 0.5
    return odds / (1 + odds)


def assets(data: Any) -> tuple[tuple[Any, Any], tuple[Any, Any, Any]]:
    r"""The means and the covariance of the two prompts' scores, as the functions here take them.

    **Arguments:** `data`: a Dataset with `mean_global`, `mean_local`, `var_global`, `covariance`, `var_local`.

    **Returns:** `means, covariance`.

    >>> import xarray as xr
    >>> names = ("mean_global", "mean_local", "var_global", "covariance", "var_local")
    >>> means, covariance = assets(xr.Dataset({name: ("client", [1.0]) for name in names}))
    >>> len(means), len(covariance)
    (2, 3)
    """
    return (data.mean_global, data.mean_local), (data.var_global, data.covariance, data.var_local)


def gain(data: Any) -> Any:
    r"""How much better the best mixture is than the better of both prompts, for each client, in test accuracy.

    **Arguments:** `data`: as `assets`.

    >>> import xarray as xr
    >>> values = {"mean_global": 1.0, "mean_local": 1.0, "var_global": 1.0, "covariance": 0.0, "var_local": 1.0}
    >>> round(float(gain(xr.Dataset(values))), 4)
    0.08
    """
    both = assets(data)
    ends = np.maximum(accuracy(0.0, *both), accuracy(1.0, *both))
    return accuracy(best_share(*both), *both) - ends


MIXED = Bound(
    "mixed_is_best",
    "each client's best mixture is at least as accurate as either prompt",
    "Pan et al. (2024), in outline",
    left=lambda data: gain(data).min("client"),
    right=lambda p: 0.0,
    sense=">=",
    resolution=lambda p: 1e-6,
)
BOUNDS = (MIXED,)

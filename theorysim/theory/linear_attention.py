r"""Linear attention learns linear regression in context: Zhang, Frei, Bartlett (JMLR 2024, arXiv 2306.09927); von Oswald et al.
(ICML 2023); Ahn, Cheng, Daneshmand, Sra (NeurIPS 2023, arXiv 2306.00297); Lu, Letey, Zavatone-Veth, Maiti, Pehlevan (2024,
arXiv 2405.11751).

A layer predicts $\hat y=x_q^\top A\,\frac1M\sum_iy_ix_i$ from $M$ examples, and was trained on $N$.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def preconditioner(covariance: Any, context: Any) -> np.ndarray:
    r"""The matrix whose inverse the trained layer applies.

    $$ \Gamma=(1+\tfrac1N)\Lambda+\tfrac{\operatorname{tr}\Lambda}NI,\qquad A^*=\Gamma^{-1}. $$

    **Arguments:** `covariance`: $\Lambda$, shape `(d, d)`; `context`: $N\ge1$, the length in training.

    **Returns:** $\Gamma$, shape `(d, d)`.

    Regime: Gaussian inputs, $w\sim N(0,I)$, no noise.

    Source: Zhang, Frei, Bartlett (2024), theorem 4.1.

    >>> preconditioner(np.eye(2), 4).tolist()
    [[1.75, 0.0], [0.0, 1.75]]
    """
    covariance = np.asarray(covariance, float)
    return (1 + 1 / context) * covariance + np.trace(covariance) / context * np.eye(len(covariance))


def limits(covariance: Any, context: Any) -> tuple[float, np.ndarray]:
    r"""Where gradient flow takes the two matrices of the layer.

    $$ W^{PV}\to\operatorname{tr}(\Gamma^{-2})^{1/4}\,ee^\top,\qquad
       W^{KQ}\to\operatorname{tr}(\Gamma^{-2})^{-1/4}\,\Gamma^{-1}. $$

    **Arguments:** as `preconditioner`.

    **Returns:** the corner of $W^{PV}$ and the block of $W^{KQ}$, shape `(d, d)`.

    Regime: from $W^{PV}=\sigma ee^\top$, $W^{KQ}=\sigma\Theta\Theta^\top$, $\|\Theta\Theta^\top\|_F=1$,
    $\Theta\Lambda\ne0$ and $\sigma^2\|\Gamma\|\sqrt d<2$: there the two norms stay equal.

    Source: Zhang, Frei, Bartlett (2024), theorem 4.1.

    >>> corner, block = limits(np.eye(2), 4)
    >>> bool(np.isclose(corner, np.linalg.norm(block)))
    True
    """
    inverse = np.linalg.inv(preconditioner(covariance, context))
    scale = float(np.trace(inverse @ inverse)) ** 0.25
    return scale, inverse / scale


def isotropic_error(dim: Any, context: Any, length: Any) -> Any:
    r"""The error of the trained layer on prompts of another length, for inputs of covariance $I$.

    $$ E(\hat y-y)^2=d\Big[(1-c)^2+\frac{c^2(d+1)}M\Big],\qquad c=\frac N{N+d+1}. $$

    **Arguments:** `dim`: $d$; `context`: $N$, the length in training; `length`: $M$, in test.

    **Returns:** the error; as $M\to\infty$ a bias $d(1-c)^2$ stays, since the layer learned to distrust short prompts.

    Source: derived; Zhang, Frei, Bartlett (2024), theorem 4.2 for the general covariance.

    >>> round(float(isotropic_error(5, 20, 20)), 3), round(float(isotropic_error(5, 20, 100)), 3)
    (1.154, 0.444)
    """
    c = context / (context + dim + 1)
    return dim * ((1 - c) ** 2 + c**2 * (dim + 1) / length)


def shifted_bias(dim: Any, context: Any, scale: Any) -> Any:
    r"""The relative error on endless prompts whose inputs have the covariance $sI$, after training on $I$.

    $$ \lim_{M\to\infty}\frac{E(\hat y-y)^2}{Ey^2}=(1-cs)^2. $$

    **Arguments:** `dim`: $d$; `context`: $N$; `scale`: $s>0$; 1 is no shift, where a bias stays too.

    **Returns:** the relative error.

    Source: derived, after Zhang, Frei, Bartlett (2024), section 5.

    >>> round(shifted_bias(5, 20, 1.0), 4), round(shifted_bias(5, 20, 2.0), 4)
    (0.0533, 0.2899)
    """
    return (1 - scale * context / (context + dim + 1)) ** 2


def best_scale(dim: Any, context: Any) -> Any:
    r"""The multiple of $-\Sigma^{-1}$ that one layer learns when tasks are drawn from $N(0,\Sigma^{-1})$.

    $$ Q=-\frac N{N+d+1}\,\Sigma^{-1}. $$

    **Arguments:** `dim`: $d$; `context`: $N$.

    **Returns:** $N/(N+d+1)$.

    Source: derived; Ahn et al. (2023), theorem 1, prints the optimum for $w\sim N(0,I)$.

    >>> round(best_scale(5, 20), 4)
    0.7692
    """
    return context / (context + dim + 1)


def _stieltjes(kappa: Any, x: Any) -> Any:
    r"""$\mathcal M_\kappa(x)$, of the Marchenko-Pastur law."""
    a = x + 1 - 1 / kappa
    return 2 / (a + np.sqrt(a**2 + 4 * x / kappa))


def ridgeless_error(tau: Any, alpha: Any, kappa: Any, noise: Any) -> Any:
    r"""The error on fresh tasks of the ridgeless solution, in the limit of large $d$.

    With $x^*=(1+\rho)/\alpha$, $m^*=\mathcal M_\kappa(x^*)$, $\mu^*=x^*\mathcal M_{\kappa/\tau}(x^*)$ and
    $k^*=1/(1-\kappa(m^*/(\kappa+m^*))^2)$:

    $$ \tau<1:\ \tfrac{\tau(1+x^*)}{1-\tau}\Big[1-\tau(1-\mu^*)^2-\tfrac{x^*-\rho}{x^*}\mu^*\Big]-2\tau(1-\mu^*)+1+\rho, $$
    $$ \tau>1:\ \big(k^*-\tfrac1{\tau-1}\big)(1+x^*)(x^*m^*)^2+\tfrac{3-2\tau}{\tau-1}m^*{x^*}^2
       +\big(\tfrac{1+\rho}{\tau-1}m^*+1\big)x^*+\tfrac\rho{\tau-1}m^*+\rho. $$

    **Arguments:** `tau`: contexts over $d^2$ (better $d(d+1)$ at finite $d$), positive and not 1; `alpha`: a context's length
    over $d$; `kappa`: training tasks over $d$; `noise`: $\rho\ge0$.

    **Returns:** the error, of the label's noise too; it diverges at $\tau=1$.

    Source: Lu et al. (2024), result 1, as in the authors' code.

    >>> [round(float(ridgeless_error(tau, 1.0, 0.5, 0.01)), 3) for tau in (0.5, 1.5, 2.0)]
    [1.261, 1.664, 1.234]
    """
    x = (1 + noise) / alpha
    m, mu = _stieltjes(kappa, x), x * _stieltjes(kappa / tau, x)
    k = 1 / (1 - kappa * (m / (kappa + m)) ** 2)
    tau = np.asarray(tau, float)
    few, many = np.minimum(tau, 1 - 1e-12), np.maximum(tau, 1 + 1e-12)  # each formula on its own side
    below = few * (1 + x) / (1 - few) * (1 - few * (1 - mu) ** 2 - (x - noise) / x * mu) - 2 * few * (1 - mu) + 1 + noise
    over = many - 1
    above = (k - 1 / over) * (1 + x) * (x * m) ** 2 + (3 - 2 * many) / over * m * x**2
    above = above + ((1 + noise) / over * m + 1) * x + noise / over * m + noise
    return np.where(tau < 1, below, above)


def bayes_error(alpha: Any, noise: Any) -> Any:
    r"""The least error on a fresh Gaussian task, in the limit of large $d$.

    $$ e=\rho+m,\qquad m=\Big(1+\frac\alpha{\rho+m}\Big)^{-1}. $$

    **Arguments:** `alpha`: a context's length over $d$, positive; `noise`: $\rho\ge0$, where inputs have the covariance $I/d$.

    **Returns:** the error of ridge regression at $\lambda=\rho$.

    Source: standard; the fixed point of the Marchenko-Pastur law.

    >>> float(bayes_error(0.5, 0.0)), round(float(bayes_error(10.0, 0.1)), 3)
    (0.5, 0.111)
    """
    half = (noise + alpha - 1) / 2
    return noise - half + np.sqrt(half**2 + noise)

r"""A selective state-space layer that learns linear regression in context: what it converges to, how fast, and its loss.

Jiang et al. (NeurIPS 2025), arXiv 2509.23779. $A=-I$ and a constant step size: $h_l=\alpha h_{l-1}+(1-\alpha)y_lB_l$ with
$\alpha^N=r$, $r=\frac12$ in the paper. The weights of a prompt are $\omega_i=(1-\alpha)\alpha^{i+1}$, $i$ counting back from
the newest example; $s=\sum\omega_i$ and $q=\sum\omega_i^2$. Functions of numbers broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._bound import Bound


def forgetting(context: Any, retained: Any = 0.5) -> Any:
    r"""How much of the memory a token leaves, $\alpha=r^{1/N}$.

    **Arguments:** `context`: $N\ge1$; `retained`: $r$ in (0, 1), what is left of the first example after $N$.

    Source: Jiang et al. (2025), section 3: $\alpha=\exp(-\ln2/N)$.

    >>> round(float(forgetting(50)), 4)
    0.9862
    """
    return np.exp(np.log(retained) / context)


def sums(length: Any, context: Any, retained: Any = 0.5) -> tuple[Any, Any]:
    r"""The sums of the newest $l$ weights and of their squares.

    $$ s_l=\alpha(1-\alpha^l),\qquad q_l=\frac{1-\alpha}{1+\alpha}\,\alpha^2(1-\alpha^{2l}). $$

    **Arguments:** `length`: $l\ge0$; `context`, `retained`: of `forgetting`.

    **Returns:** both; for $l=N$ they are $s$ and $q$.

    Source: $s=\beta_3$: Jiang et al. (2025), appendix; $q$ derived.

    >>> s, q = sums(50, 50)
    >>> round(float(s), 4), round(float(q), 5)
    (0.4931, 0.00506)
    """
    alpha, fresh = forgetting(context, retained), -np.expm1(np.log(retained) / context)
    return alpha * (1 - alpha**length), fresh / (1 + alpha) * alpha**2 * (1 - alpha ** (2 * length))


def betas(dim: Any, context: Any, retained: Any = 0.5, noise: Any = 0.0) -> tuple[Any, Any, Any]:
    r"""The constants of the loss, with $M=C^\top B$ and $g=C^\top b$.

    $$ L=\tfrac12\beta_1\|M\|_F^2-\beta_3\operatorname{tr}M+\tfrac d2+\tfrac12\beta_2\|g\|^2, $$

    $$ \beta_1=s^2+(d+1+\rho)q,\qquad\beta_2=(s^2+2q)\big((d+\rho)^2+2d\big),\qquad\beta_3=s. $$

    **Arguments:** `dim`: $d$; `context`, `retained`: as `forgetting`; `noise`: $\rho\ge0$, the variance of the labels.

    **Returns:** $\beta_1,\beta_2,\beta_3$.

    Source: Jiang et al. (2025), appendix, for their names; derived here.

    >>> [round(float(b), 4) for b in betas(4, 50)]
    [0.2684, 6.0786, 0.4931]
    """
    s, q = sums(context, context, retained)
    return s**2 + (dim + 1 + noise) * q, (s**2 + 2 * q) * ((dim + noise) ** 2 + 2 * dim), s


def best(dim: Any, context: Any, retained: Any = 0.5, noise: Any = 0.0) -> Any:
    r"""What $C^\top B$ converges to, as a multiple of the unit matrix: $\beta=\beta_3/\beta_1$.

    **Arguments:** as `betas`.

    Source: Jiang et al. (2025), theorem 4.1 (a).

    >>> [round(float(best(4, n)), 3) for n in (4, 8, 20, 50, 80)]
    [1.036, 1.322, 1.643, 1.837, 1.894]
    """
    first, _, third = betas(dim, context, retained, noise)
    return third / first


def least_loss(dim: Any, context: Any, retained: Any = 0.5, noise: Any = 0.0) -> Any:
    r"""The loss at the limit, $L^*=\tfrac d2(1-\beta_3^2/\beta_1)$.

    **Arguments:** as `betas`.

    Source: Jiang et al. (2025), section 5.

    >>> [round(float(least_loss(4, n)), 3) for n in (4, 8, 20, 50, 80)]
    [1.129, 0.787, 0.413, 0.188, 0.122]
    """
    s, q = sums(context, context, retained)
    spread = (dim + 1 + noise) * q  # not 1 - s^2 / beta_1, which cancels for long contexts
    return dim / 2 * spread / (s**2 + spread)


def excess(matrix: Any, label: Any, dim: Any, context: Any, retained: Any = 0.5) -> Any:
    r"""How far the loss is above $L^*$: $\tfrac12\beta_1\|M-\beta I\|_F^2+\tfrac12\beta_2\|g\|^2$.

    **Arguments:** `matrix`: $M$, shape `(.., d, d)`; `label`: $g$, shape `(.., d)`; others as `betas`.

    Regime: no label noise, biases of 0. Source: derived here.

    >>> bool(np.isclose(excess(np.zeros((4, 4)), np.zeros(4), 4, 50) + least_loss(4, 50), 2))
    True
    """
    first, second, _ = betas(dim, context, retained)
    off = matrix - best(dim, context, retained) * np.eye(dim)
    return (first * np.sum(off**2, axis=(-2, -1)) + second * np.sum(label**2, axis=-1)) / 2


def loss_bound(dim: Any, context: Any) -> Any:
    r"""The bound of the loss at the limit, $\dfrac{3d(d+1)}{2N}$.

    **Arguments:** `dim`: $d$; `context`: $N$.

    Source: Jiang et al. (2025), theorem 4.1 (c).

    >>> loss_bound(4, 50)
    0.6
    """
    return 3 * dim * (dim + 1) / (2 * context)


def price(retained: Any = 0.5) -> Any:
    r"""What forgetting costs for many examples: $NL^*\to\tfrac12d(d+1)\,p$ with $p=\dfrac{(1+r)\ln(1/r)}{2(1-r)}$.

    At $r=\frac12$, $p=\frac32\ln2=1.04$, so $NL^*\to\frac{3\ln2}4d(d+1)$; $p\to1$ for $r\to1$, the loss of linear attention.

    **Arguments:** `retained`: $r$ in (0, 1).

    Source: derived here.

    >>> round(float(price(0.5)), 4), round(float(price(0.999)), 4)
    (1.0397, 1.0)
    """
    return (1 + retained) * -np.log(retained) / (2 * (1 - retained))


def attention_loss(dim: Any, context: Any, noise: Any = 0.0) -> Any:
    r"""The least loss of one layer of linear attention, $\dfrac{d(d+1+\rho)}{2(N+d+1+\rho)}$.

    **Arguments:** `dim`: $d$; `context`: $N$; `noise`: $\rho$.

    Source: Zhang, Frei, Bartlett (2024) for $\rho=0$.

    >>> round(attention_loss(4, 50), 3)
    0.182
    """
    return dim * (dim + 1 + noise) / (2 * (context + dim + 1 + noise))


def alignment(length: Any, dim: Any, context: Any, retained: Any = 0.5) -> Any:
    r"""How well $\tilde h_l=C^\top h_l$ is aligned with the task at the limit.

    $$ \frac{E\langle w,\tilde h_l\rangle}{\sqrt{E\|w\|^2\,E\|\tilde h_l\|^2}}=\frac{s_l}{\sqrt{s_l^2+(d+1)q_l}}, $$

    with the `sums` $s_l,q_l$ over the $l$ examples seen.

    **Arguments:** `length`: $l\ge1$; others as `betas`.

    Regime: the ratio of means; the mean of the cosine is a little larger. Source: derived here.

    >>> [round(float(alignment(l, 4, 50)), 3) for l in (1, 10, 50)]
    [0.408, 0.816, 0.952]
    """
    s, q = sums(length, context, retained)
    return s / np.sqrt(s**2 + (dim + 1) * q)


def stated_rate(lr: Any, states: Any, dim: Any, context: Any) -> Any:
    r"""The least rate a step at which $L-L^*$ falls: $2\eta\beta_1\gamma$, $\gamma=d_h/2$.

    **Arguments:** `lr`: $\eta$; `states`: $d_h$; `dim`, `context`: as `betas`.

    Source: Jiang et al. (2025), appendix: $|\beta_3-\beta_1c_i^\top b_i|\le\delta_te^{-\eta\beta_1\gamma t}$; squared in $L$.

    >>> round(float(stated_rate(5e-4, 80, 4, 50)), 4)
    0.0107
    """
    return lr * states * betas(dim, context)[0]


def rate(gram_read: Any, gram_write: Any, lr: Any, dim: int, context: Any) -> Any:
    r"""The rate a step at which $L-L^*$ falls near the limit: the slowest mode of the linearised map.

    Near $M=\beta I$ the deviation $G=\beta_1M-\beta_3I$ moves by $-\eta\beta_1(C^\top C\,G+G\,B^\top B)$ and $g$ by
    $-\eta\beta_2C^\top C\,g$, so that the loss falls as $(1-\eta\mu)^{2t}$,

    $$ \mu=\min\big(\beta_1(\lambda_{\min}(C^\top C)+\lambda_{\min}(B^\top B)),\ \beta_2\lambda_{\min}(C^\top C)\big). $$

    **Arguments:** `gram_read`, `gram_write`: $C^\top C$ and $B^\top B$ at the end, shape `(.., d, d)`; others as `stated_rate`.

    **Returns:** $-2\log(1-\eta\mu)$.

    Source: derived here; with $C^\top C\approx B^\top B\approx d_hI$ it is four times the stated one.

    >>> round(float(rate(80 * np.eye(4), 80 * np.eye(4), 5e-4, 4, 50)), 4)
    0.0434
    """
    first, second, _ = betas(dim, context)
    least = [np.linalg.eigvalsh(np.asarray(gram, float))[..., 0] for gram in (gram_read, gram_write)]
    return -2 * np.log1p(-lr * np.minimum(first * (least[0] + least[1]), second * least[0]))


def static_loss(kernel_squares: Any, dim: Any, noise: Any = 0.0) -> Any:
    r"""The loss of a prediction that is linear in the labels, $\hat y=\sum_i\kappa_iy_i$.

    $$ L=\tfrac d2+\tfrac{d+\rho}2\sum_i\kappa_i^2\ \ge\ \tfrac d2. $$

    No layer that is linear in the tokens, such as `models.S4`, gets below $\frac d2$: $w$ has mean 0, so that $y_q$ is
    uncorrelated with all tokens, inputs and labels.

    **Arguments:** `kernel_squares`: $\sum_i\kappa_i^2$; `dim`: $d$; `noise`: $\rho$.

    Source: Jiang et al. (2025), section 4, that it cannot learn; the formula derived here.

    >>> static_loss(0.0, 4)
    2.0
    """
    return dim / 2 + (dim + noise) / 2 * kernel_squares


def _conditions(p: Any) -> dict[str, Any]:
    """Theorem 4.1 asks for a wide layer, a small step and enough examples; its constants are not legible: 1 is taken."""
    with np.errstate(divide="ignore"):
        return {
            "N >= d": np.log10(p.context / p.dim),
            "d_h >= d^2": np.log10(p.states / p.dim**2),
            "eta <= 1 / (d^2 d_h)": np.log10(1 / (p.lr * p.dim**2 * p.states)),
            "all columns start": np.log10(p.alive),
            "no label noise": np.where(np.asarray(p.noise) > 0, -1.0, 1.0) + 0 * p.noise,
        }


LOSS = Bound(
    "loss_bound",
    r"at the end $L\leq3d(d+1)/(2N)$",
    "Jiang et al. (2025), theorem 4.1 (c)",
    left=lambda data: data.loss.isel(time=-1),
    right=lambda p: loss_bound(p.dim, p.context),
    sense="<=",
    regime=_conditions,
)
BOUNDS = (LOSS,)

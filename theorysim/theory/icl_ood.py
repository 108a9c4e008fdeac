r"""Can in-context learning really generalise to out-of-distribution tasks? (ICLR 2025, arXiv 2410.09695)

Pretrained on a mixture of components, $\mu\sim N(\mu_\beta,s_\mu^2I)$, $w\sim N(w_\beta,s_w^2I)$, $x\sim N(\mu,I)$,
$y=\langle w,x\rangle+N(0,1)$, the best predictor weighs the components by how near their inputs are and how well they fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def input_term(x: Any, means: Any, delta: Any) -> np.ndarray:
    r"""How near a component's inputs are to the context's, as a logarithm.

    $$ -A_\mu(\beta)=-\frac1{2s_\mu^2}\Big[\|\mu_\beta\|^2
       -\frac{\|\mu_\beta+\delta\sum_{i\le k+1}x_i\|^2}{1+\delta(k+1)}\Big]. $$

    **Arguments:** `x`: inputs of the context and of the query, shape `(k + 1, d)`; `means`: $\mu_\beta$, shape `(b, d)`;
    `delta`: $\delta=s_\mu^2>0$.

    **Returns:** shape `(b,)`, up to a number that all components share.

    Source: the authors' code; it is the Gaussian evidence of the inputs.

    >>> input_term([[1.0]], [[1.0], [0.0]], 1.0).tolist()
    [0.5, 0.25]
    """
    x, means = np.asarray(x, float), np.asarray(means, float)
    pulled = means + delta * x.sum(axis=0)
    return -(np.sum(means**2, axis=1) - np.sum(pulled**2, axis=1) / (1 + delta * len(x))) / (2 * delta)


def error_term(x: Any, y: Any, tasks: Any, delta: Any) -> np.ndarray:
    r"""How well a component fits the context's labels, as a logarithm.

    $$ -A_w(\beta)=-\frac1{2s_w^2}\big[\|w_\beta\|^2-u_\beta^\top(I+\delta X^\top X)^{-1}u_\beta\big],\qquad
       u_\beta=w_\beta+\delta X^\top y. $$

    **Arguments:** `x`, `y`: the context, shapes `(k, d)` and `(k,)`; `tasks`: $w_\beta$, shape `(b, d)`;
    `delta`: $\delta=s_w^2>0$.

    **Returns:** shape `(b,)`, up to a number that all components share.

    Source: the authors' code; it is the Gaussian evidence of the labels.

    >>> error_term([[1.0]], [1.0], [[1.0], [0.0]], 1.0).tolist()
    [0.5, 0.25]
    """
    x, y, tasks = (np.asarray(v, float) for v in (x, y, tasks))
    u = tasks + delta * (x.T @ y)
    solved = np.linalg.solve(np.eye(x.shape[1]) + delta * x.T @ x, u.T).T
    return -(np.sum(tasks**2, axis=1) - np.sum(u * solved, axis=1)) / (2 * delta)


def weights(x: Any, y: Any, means: Any, tasks: Any, delta_mean: Any, delta_task: Any) -> np.ndarray:
    r"""The posterior weights of the components, equal before any data.

    $$ \tilde\pi_\beta\propto\exp(-A_\mu(\beta)-A_w(\beta)). $$

    **Arguments:** `x`: the context's inputs and the query, shape `(k + 1, d)`; `y`: labels, shape `(k,)`; `means`, `tasks`: of
    the components, shape `(b, d)`; `delta_mean`, `delta_task`: $s_\mu^2$ and $s_w^2$.

    **Returns:** shape `(b,)`, with the sum 1.

    Source: ICL-OOD (2025), the theorem on the low-test-error preference.

    >>> weights([[1.0], [1.0]], [2.0], [[0.0], [0.0]], [[2.0], [-2.0]], 1.0, 1.0).round(3).tolist()
    [0.982, 0.018]
    """
    log = input_term(x, means, delta_mean) + error_term(np.asarray(x)[:-1], y, tasks, delta_task)
    odds = np.exp(log - log.max())
    return odds / odds.sum()

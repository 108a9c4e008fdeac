r"""Long-short alignment for length generalisation (ICML 2025, arXiv 2506.11769), the synthetic part.

A model that was trained on lengths up to $l_0$ is tested on longer ones. Whether it generalises depends on how its outputs on
long and short inputs relate, not on the inputs.
"""

from __future__ import annotations

from typing import Any


def saturated_error(length: Any, limit: Any) -> Any:
    r"""The error in predicting the length of a model whose output has stopped growing.

    $$ (l-c)^2. $$

    **Arguments:** `length`: $l\ge1$; `limit`: $c$, the output for endless inputs; $l_0$ for one that has learned nothing beyond
    its training.

    **Returns:** the square error.

    Regime: one softmax read-out without positions has such a limit, since the weight of each token vanishes.

    Source: derived; theorem 3.1 states the order $(l-l_0)^2$.

    >>> saturated_error(50.0, 10.0)
    1600.0
    """
    return (length - limit) ** 2


def saturated_slope(length: Any, longest: Any, limit: Any) -> Any:
    r"""The local exponent of that error in $l-l_0$.

    $$ \frac{d\log(l-c)^2}{d\log(l-l_0)}=\frac{2(l-l_0)}{l-c}, $$

    2 for a constant $c=l_0$, above it for a model that extrapolates some way ($c>l_0$), and 2 again as $l\to\infty$.

    **Arguments:** `length`: $l>c$; `longest`: $l_0$; `limit`: $c$.

    **Returns:** the exponent.

    Source: derived.

    >>> saturated_slope(50.0, 10.0, 10.0), round(saturated_slope(50.0, 10.0, 25.0), 2)
    (2.0, 3.2)
    """
    return 2 * (length - longest) / (length - limit)


def misalignment(first: Any, second: Any) -> Any:
    r"""How far the outputs on two suffixes of an input lie apart.

    $$ E\tfrac12\big(g(x_{-l_1:})-g(x_{-l_2:})\big)^2,\qquad l_1,l_2\in[l_0/2,l_0]. $$

    The symmetric cross-entropy of two unit Gaussians with these means, less its value for equal ones, halved.

    **Arguments:** `first`, `second`: outputs, of one shape, arrays of numpy or of jax.

    **Returns:** the mean over all entries.

    Source: after section 4 (for classifiers); derived for regression.

    >>> import numpy as np
    >>> float(misalignment(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    return ((first - second) ** 2).mean() / 2

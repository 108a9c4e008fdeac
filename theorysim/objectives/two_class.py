r"""Losses of a two-class softmax of the scores $\pm f(x)$, as functions of the margin $z=yf(x)$.

The probability of the observed label is $s=e^z/(e^z+e^{-z})=1/(1+e^{-2z})$.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..laws import Batch
from .margins import Objective, of_margins


def softmax_loss(margin: Float[Array, " n"]) -> Float[Array, " n"]:
    r"""The cross-entropy of margins, $-\log s=\log(1+e^{-2z})$, elementwise: the logistic loss of $2z$.

    >>> import jax.numpy as jnp
    >>> print(round(float(softmax_loss(jnp.zeros(1))[0]), 4))
    0.6931
    """
    return jax.nn.softplus(-2 * margin)


def mae_loss(margin: Float[Array, " n"]) -> Float[Array, " n"]:
    r"""The mean absolute error of margins, $\sum_c|1\{c=y\}-s_c|=2(1-s)$, elementwise.

    Its slope is $-4s(1-s)$: next to nothing for a sample that is confidently on the wrong side. It is exact in both tails.

    >>> import jax.numpy as jnp
    >>> mae_loss(jnp.array([0.0, -30.0])).tolist()
    [1.0, 2.0]
    """
    # 2 sigmoid(-2 z) through its logarithm: the slope of a sigmoid loses its tail where 1 - s rounds to 0
    return 2 * jnp.exp(-jax.nn.softplus(2 * margin))


def softmax(batch: Batch) -> Objective:
    r"""The mean cross-entropy of a two-class softmax of $\pm f$, $\frac1n\sum_i\log(1+e^{-2y_if(x_i)})$.

    **Arguments:** `batch`: `n` samples with labels.

    **Returns:** `objective(model, key) -> scalar`.

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), jnp.ones(1))
    >>> print(round(float(softmax(batch)(lambda patches: jnp.zeros(1), None)), 4))
    0.6931
    """
    return of_margins(softmax_loss, batch)


def mae(batch: Batch) -> Objective:
    r"""The mean absolute error of a two-class softmax of $\pm f$, $\frac1n\sum_i 2(1-s_i)$ with $s_i=1/(1+e^{-2y_if(x_i)})$.

    **Arguments:** `batch`: `n` samples with labels.

    **Returns:** `objective(model, key) -> scalar`.

    Source: Ghosh, Kumar, Sastry (2017), "Robust loss functions under label noise for deep neural networks".

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((1, 1)),), jnp.ones(1), jnp.ones(1))
    >>> float(mae(batch)(lambda patches: jnp.zeros(1), None))
    1.0
    """
    return of_margins(mae_loss, batch)

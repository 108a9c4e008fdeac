"""The loss of predicting each next state of a sequence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from .margins import Objective


def autoregressive(sequences: Any, **given: Any) -> Objective:
    r"""The square loss of the next state, from the second token on.

    $$ L=\tfrac12\sum_{t=2}^{T-1}E\|\hat y_t-x_{t+1}\|^2, $$

    the mean over sequences; $\hat y_t$ is what the model says at token $t$.

    **Arguments:** `sequences`: `laws.Sequences`, of `tokens` and `states`, real or complex; `given`: further arguments of the
    model, such as moments of the tokens that are computed once.

    **Returns:** `objective(model, key)`, which uses no key.

    Source: Zheng et al. (2024), arXiv 2405.16845.

    >>> import jax, theorysim as ts
    >>> drawn = ts.laws.Rotations(dim=2, power=0.0)(jax.random.key(0), count=3, length=4)
    >>> round(float(autoregressive(drawn)(lambda tokens: 0 * tokens[..., :2], None)), 4)  # d (T - 2) / 2
    2.0
    """
    tokens, states = sequences.tokens, sequences.states

    def objective(model: Any, key: Any) -> Any:
        off = model(tokens, **given)[:, 1:-1] - states[:, 2:]
        return jnp.sum(jnp.real(off * jnp.conj(off))) / (2 * states.shape[0])

    return objective

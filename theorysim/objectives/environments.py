"""Objectives of data from several environments: penalties on what differs between them, and the wrong samples first."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._errors import InvalidArgument
from ..laws import Batch
from .margins import Objective, logistic_loss


def _inside(batch: Batch, environments: int) -> Float[Array, "E n"]:
    """Which samples belong to each environment, as 0 and 1."""
    if batch.group is None:
        raise InvalidArgument("group", None, "is needed: the environment of each sample")
    return (batch.group == jnp.arange(environments)[:, None]).astype(batch.label.dtype)


def _mean(inside: Float[Array, "E n"], values: Float[Array, " n"]) -> Float[Array, " E"]:
    """The mean over each environment; 0 for an empty one."""
    return inside @ values / jnp.maximum(jnp.sum(inside, axis=1), 1)


def irm_gradients(model: Any, batch: Batch, environments: int) -> Float[Array, " E"]:
    r"""How the risk of each environment grows with the scale of the output, the gradients of IRMv1.

    $$ C_e=\partial_s L_e(sf)\,|_{s=1}=\frac1{n_e}\sum_{i\in e}\ell'(y_if_i)\,y_if_i. $$

    **Arguments:** `model`; `batch`: `n` samples with labels, whose `group` is their environment 0, .., E - 1; `environments`:
    their number E.

    **Returns:** $C_e$ of the logistic loss, shape `(E,)`: negative where the environment asks for a larger output.

    Source: Arjovsky, Bottou, Gulrajani, Lopez-Paz (2019), arXiv 1907.02893, the dummy classifier of IRMv1.

    >>> import jax.numpy as jnp
    >>> batch = Batch((jnp.ones((2, 1)),), jnp.ones(2), jnp.array([1.0, -1.0]), jnp.array([0, 1]))
    >>> [round(float(c), 4) for c in irm_gradients(lambda patches: jnp.ones(2), batch, 2)]
    [-0.2689, 0.7311]
    """
    margin = batch.label * model(batch.patches)
    return _mean(_inside(batch, environments), _slope(margin))


def _slope(margin: Float[Array, " n"]) -> Float[Array, " n"]:
    """The derivative of the loss of each margin in its scale."""
    return jax.jvp(logistic_loss, (margin,), (margin,))[1]


def irm(batch: Batch, strength: Any, environments: int) -> Objective:
    r"""IRMv1 with the logistic loss: $\sum_ew_eL_e+\lambda\sum_ew_e^2C_e^2$, with $w_e=n_e/n$ and $C_e$ as `irm_gradients`.

    **Arguments:** `batch`: `n` samples with labels and their environment as `group`; `strength`: $\lambda\ge0$, may be traced;
    `environments`: their number E.

    **Returns:** `objective(model, key) -> scalar`; at $\lambda=0$ the mean logistic loss over all samples.

    **Raises:** `InvalidArgument` for a batch without groups.

    Source: Arjovsky et al. (2019), arXiv 1907.02893; with weights as in Chen et al. (2023), arXiv 2304.11327, as recalled.

    >>> import jax.numpy as jnp
    >>> batch = Batch((jnp.ones((2, 1)),), jnp.ones(2), jnp.array([1.0, -1.0]), jnp.array([0, 1]))
    >>> print(round(float(irm(batch, 4.0, 2)(lambda patches: jnp.ones(2), None)), 4))
    1.4201
    """
    inside = _inside(batch, environments)
    weights = jnp.mean(inside, axis=1)

    def objective(model: Any, key: Any) -> Float[Array, ""]:
        del key
        margin = batch.label * model(batch.patches)
        penalty = jnp.sum((weights * _mean(inside, _slope(margin))) ** 2)
        return jnp.mean(logistic_loss(margin)) + strength * penalty

    return objective


def vrex(batch: Batch, strength: Any, environments: int) -> Objective:
    r"""Risk extrapolation with the logistic loss: $\bar L+\lambda\,\frac1E\sum_e(L_e-\bar L)^2$, $\bar L=\frac1E\sum_eL_e$.

    **Arguments:** as `irm`.

    **Returns:** `objective(model, key) -> scalar`.

    **Raises:** `InvalidArgument` for a batch without groups.

    Source: Krueger et al. (2021), arXiv 2003.00688, V-REx.

    >>> import jax.numpy as jnp
    >>> batch = Batch((jnp.ones((2, 1)),), jnp.ones(2), jnp.array([1.0, -1.0]), jnp.array([0, 1]))
    >>> print(round(float(vrex(batch, 4.0, 2)(lambda patches: jnp.ones(2), None)), 4))
    1.8133
    """
    inside = _inside(batch, environments)

    def objective(model: Any, key: Any) -> Float[Array, ""]:
        del key
        risks = _mean(inside, logistic_loss(batch.label * model(batch.patches)))
        return jnp.mean(risks) + strength * jnp.var(risks)

    return objective


def feat(batch: Batch, augmented: Bool[Array, " n"], retention: Any, environments: int) -> Objective:
    r"""A round of feature-augmented training: learn what the augmented samples need, retain what the others show.

    $$ \max_e\ \frac1{|A_e|}\sum_{i\in A_e}\ell(y_if_i)\ +\ \rho\,\frac1{|R|}\sum_{i\in R}\ell(y_if_i), $$

    with the logistic loss, $A_e$ the augmented samples of environment $e$ and $R$ all others. An empty set counts 0.

    **Arguments:** `batch`, `environments`: as `irm`; `augmented`: which samples, such as those that the model of the
    round before has wrong; `retention`: $\rho\ge0$, may be traced.

    **Returns:** `objective(model, key) -> scalar`.

    **Raises:** `InvalidArgument` for a batch without groups.

    Source: Chen et al. (2023), arXiv 2304.11327, and their code (the maximum over environments, $\rho=1/100$).

    >>> import jax.numpy as jnp
    >>> batch = Batch((jnp.ones((2, 1)),), jnp.ones(2), jnp.array([1.0, -1.0]), jnp.array([0, 1]))
    >>> print(round(float(feat(batch, jnp.array([False, True]), 0.01, 2)(lambda patches: jnp.ones(2), None)), 4))
    1.3164
    """
    inside, retained = _inside(batch, environments) * augmented, 1.0 - augmented

    def objective(model: Any, key: Any) -> Float[Array, ""]:
        del key
        losses = logistic_loss(batch.label * model(batch.patches))
        return jnp.max(_mean(inside, losses)) + retention * _mean(retained[None], losses)[0]

    return objective

"""Norms of neurons: how far they moved, how they are aligned, and what a step does to the balance of the two layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..laws import Batch


def norms(model: Any) -> Float[Array, " m"]:
    r"""The norm of each neuron, $\|w_i\|$.

    **Arguments:** `model`: with `filters`.

    **Returns:** shape `(m,)`.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> norms(ts.models.TwoLayerLinear(jnp.array([[3.0, 4.0], [0.0, 1.0]]), jnp.ones(2))).tolist()
    [5.0, 1.0]
    """
    return jnp.linalg.norm(model.filters[...], axis=1)


def alignment(model: Any, direction: int = 0) -> Float[Array, " m"]:
    r"""The component of each neuron along a fixed direction, $\langle w_i,e\rangle$; over `norms` it is the cosine.

    **Arguments:** `model`: with `filters`; `direction`: which of the frame's fixed directions.

    **Returns:** shape `(m,)`.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> alignment(ts.models.TwoLayerLinear(jnp.array([[3.0, 4.0], [0.0, 1.0]]), jnp.ones(2))).tolist()
    [3.0, 0.0]
    """
    return model.filters[...][:, direction]


def moved(start: Any) -> Callable[[Any], Float[Array, " m"]]:
    r"""How far each neuron is from where it started, $\|w_i(t)-w_i(0)\|$.

    A network is in its lazy regime while this is at most $1/\sqrt m$ for all neurons.

    **Arguments:** `start`: the model at time 0.

    **Returns:** `model -> ` shape `(m,)`.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> start, now = (ts.models.TwoLayerLinear(jnp.array([[size, 0.0]]), jnp.ones(1)) for size in (1.0, 3.0))
    >>> moved(start)(now).tolist()
    [2.0]
    """
    before = start.filters[...]
    return lambda model: jnp.linalg.norm(model.filters[...] - before, axis=1)


def balance(model: Any) -> Float[Array, "m m"]:
    r"""What gradient flow conserves in a two-layer linear network: $D=WW^\top-aa^\top$.

    Its diagonal is $\|w_i\|^2-a_i^2$, one number for each neuron. In other coordinates of the neurons,
    $[W,a]=Q[W',a']$ (see `TwoLayerLinear.narrow`), it is $D=QD'Q^\top$.

    **Arguments:** `model`: a `TwoLayerLinear`.

    **Returns:** shape `(m, m)`.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> balance(ts.models.TwoLayerLinear(jnp.array([[3.0, 4.0]]), jnp.array([2.0]))).tolist()
    [[21.0]]
    """
    filters, second = model.filters[...], model.second[...]
    return filters @ filters.T - jnp.outer(second, second)


def balance_change(model: Any, batch: Batch, lr: Any, rho: Any = 0.0) -> Float[Array, "m m"]:
    r"""What one step of SGD, or of SAM, on the square loss adds to the `balance`, exactly.

    With the residuals $r_j=f(x_j)-y_j$ and $g=\frac1b\sum_jr_jx_j$ the gradients are $ag^\top$ and $Wg$. For SGD

    $$ \Delta D=\eta^2\big(\|g\|^2aa^\top-Wgg^\top W^\top\big); $$

    for SAM, with $W_2,a_2,g_2$ at the point uphill and $s=\rho/\|\nabla\|$,

    $$ \Delta D=\eta s\big(2\langle g,g_2\rangle aa^\top-Wg_2g^\top W^\top-Wgg_2^\top W^\top\big)
       +\eta^2\big(\|g_2\|^2a_2a_2^\top-W_2g_2g_2^\top W_2^\top\big). $$

    So label noise shrinks the first layer at the order $\eta^2$, SAM at the order $\eta\rho$.

    **Arguments:**

    - `model`: a `TwoLayerLinear` of which both layers are trained, before the step.
    - `batch`: the `b` samples of the step, as drawn; one patch.
    - `lr`: $\eta$; `rho`: $\rho$, 0 for SGD.

    **Returns:** shape `(m, m)`; on the diagonal the change of $\|w_i\|^2-a_i^2$, for one sample and SGD
    $\eta^2r^2(a_i^2\|x\|^2-\langle w_i,x\rangle^2)$.

    Source: "On the learning dynamics of two-layer linear networks with label noise SGD" (2026), arXiv 2603.10397, for SGD with
    one sample; derived here for SAM and for several samples.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> model = ts.models.TwoLayerLinear(jnp.array([[3.0, 4.0]]), jnp.array([2.0]))
    >>> sample = ts.laws.Batch((jnp.array([[1.0, 0.0]]),), jnp.ones(1), jnp.array([5.0]))
    >>> balance_change(model, sample, lr=1.0).tolist()
    [[-5.0]]
    """
    (x,) = batch.patches
    filters, second = model.filters[...], model.second[...]
    filters = filters[:, : x.shape[1]]

    def pull(w: Array, a: Array) -> tuple[Array, Array]:
        """The gradients are $a g^T$ and $W g$: this gives g and Wg."""
        g = (a @ (w @ x.T) - batch.label) @ x / x.shape[0]
        return g, w @ g

    g, along = pull(filters, second)
    square = jnp.sum(second**2) * jnp.sum(g**2) + jnp.sum(along**2)
    s = jnp.where(square > 0, rho / jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    up_filters, up_second = filters + s * jnp.outer(second, g), second + s * along
    up, up_along = pull(up_filters, up_second)
    mixed = jnp.outer(filters @ up, along)
    first = 2 * jnp.vdot(g, up) * jnp.outer(second, second) - mixed - mixed.T
    return lr * s * first + lr**2 * (jnp.vdot(up, up) * jnp.outer(up_second, up_second) - jnp.outer(up_along, up_along))

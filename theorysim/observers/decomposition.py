"""The signal-noise decomposition of the filters, recovered from the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..exact import Diagonal
from ..exact._one_by_one import qr, solve_upper
from ..laws import Batch


class Decomposition(NamedTuple):
    """Coefficients of the filters.

    - `gamma`: signal learned by each filter; with a leading axis for several signals.
    - `rho_bar`: noise memorised on the samples whose label is the filter's class (0 on the others).
    - `rho_underbar`: the coefficients on the other samples (0 on those).

    >>> found = Decomposition(jnp.array([0.5, 2.0]), jnp.array([[0.1], [0.0]]), jnp.array([[0.0], [-0.3]]))
    >>> print(found.signal_learning, found.noise_memorization)
    2.0 0.1
    """

    gamma: Float[Array, "*L k"]
    rho_bar: Float[Array, "k n"]
    rho_underbar: Float[Array, "k n"]

    @property
    def signal_learning(self) -> Float[Array, ""]:
        """The largest gamma."""
        return jnp.max(self.gamma)

    @property
    def noise_memorization(self) -> Float[Array, ""]:
        """The largest rho_bar."""
        return jnp.max(self.rho_bar)


def decomposition(
    frame: Any, batch: Batch, start: Any, signals: Float[Array, "L f"] | None = None
) -> Callable[[Any], Decomposition]:
    r"""Recover the signal-noise decomposition from the weights, exactly.

    $$ w_{j,r}(t) = w_{j,r}(0) + j\,\gamma_{j,r}(t)\,\frac{\mu}{\|\mu\|^2}
       + \sum_{i=1}^n \rho_{j,r,i}(t)\,\frac{\xi_i}{\|\xi_i\|^2}, $$

    $\bar\rho=\rho\,1\{y_i=j\}$, $\underline\rho=\rho\,1\{y_i=-j\}$ with the observed label. The noise may overlap the signal.

    **Arguments:**

    - `frame`: the frame of the run; its fixed span is that of $\mu$.
    - `batch`: the training samples: a signal patch and a noise patch.
    - `start`: the model at time 0.
    - `signals`: for several signals $\mu_\ell$, these as independent rows in the coordinates of the fixed span; the signal
      term is then $j\sum_\ell\gamma_{\ell,j,r}\,\mu_\ell/\|\mu_\ell\|^2$.

    **Returns:** `model -> Decomposition`. It is unique only for $d\ge$ `fixed` $+\,n$; below, all coefficients are NaN.

    Source: Cao, Chen, Belkin, Gu (2022), definition 5.1; Kou, Chen, Chen, Gu (2023), definition 4.1.

    >>> import jax, theorysim as ts
    >>> keys = ts.streams(jax.random.key(0), "space", "train")
    >>> law = ts.laws.SignalNoise(signal=2.0)
    >>> space = ts.exact.frame(keys.space, 50.0, fixed=1, train=3, filters=2)
    >>> batch, start = law(keys.train, space.train), ts.models.TwoLayerCNN(space.filters)
    >>> moved = ts.models.TwoLayerCNN(space.filters.at[0, 0].add(0.5))
    >>> [round(float(g), 4) for g in decomposition(space, batch, start)(moved).gamma]
    [1.0, 0.0]
    """
    signal, noise = batch.patches
    unique = frame.dim >= frame.fixed + noise.shape[0]
    split = _splitting(noise, frame.fixed, unique)
    square = noise.lengths**2 if isinstance(noise, Diagonal) else jnp.sum(noise**2, axis=1)
    before = start.filters[...]
    if signals is None:
        norm, span = jnp.max(jnp.abs(signal)), None
    else:
        dual = jnp.asarray(signals, before.dtype)
        norm, span = 1.0, qr((dual / jnp.sum(dual**2, axis=1, keepdims=True)).T)

    def recover(model: Any) -> Decomposition:
        coefficients, left = split(model.filters[...] - before)
        side = model.side
        along = norm * left[:, 0] if span is None else solve_upper(span[1], span[0].T @ left.T)
        rho = jnp.where(unique, coefficients * square, jnp.nan)
        gamma = jnp.where(unique, side * along, jnp.nan)
        same = side[:, None] * batch.label > 0
        return Decomposition(gamma, jnp.where(same, rho, 0 * rho), jnp.where(same, 0 * rho, rho))

    return recover


def _splitting(noise: Any, fixed: int, unique: Any) -> Callable[[Array], tuple[Array, Array]]:
    """From moves of the filters to the noise's coefficients in them, and what these leave on the fixed span."""
    if isinstance(noise, Diagonal):
        return lambda moved: (noise.coefficients(moved), moved[:, :fixed])
    n = noise.shape[0]
    width = max(noise.shape[1], fixed + n)

    def columns(rows: Array) -> Array:
        """The columns that the noise has; a frame of fewer than `fixed + n` is filled up: nothing is unique there."""
        return jnp.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))))

    # Off the fixed span the moves are combinations of the noise alone: V_perp = C Xi_perp, and Xi_perp^T = Q R.
    q, r = qr(columns(noise)[:, fixed:].T)
    r = jnp.where(unique, r, jnp.eye(n, dtype=r.dtype))

    def split(moved: Array) -> tuple[Array, Array]:
        moved = columns(moved)
        coefficients = solve_upper(r, (moved[:, fixed:] @ q).T).T
        return coefficients, (moved - coefficients @ columns(noise))[:, :fixed]

    return split

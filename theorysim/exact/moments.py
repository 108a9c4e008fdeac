"""Second moments of prompts, drawn at a cost free of the context's length."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ._chi import chi


class Moments(NamedTuple):
    """Sums over the examples of a prompt, not divided by their number.

    - `xx`: $X^\\top X$, shape `(b, d, d)`, or None where only sums with labels were drawn.
    - `xy`: $X^\\top y$, shape `(b, d)`.
    - `yy`: $y^\\top y$, shape `(b,)`.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> prompts = ts.laws.Prompts(jnp.array([[[1.0], [2.0], [5.0]]]), jnp.array([[3.0, 4.0, 9.0]]))
    >>> seen = moments_of(prompts)
    >>> seen.xx.tolist(), seen.xy.tolist(), seen.yy.tolist()
    ([[[5.0]]], [[11.0]], [25.0])
    """

    xx: Float[Array, "b d d"] | None
    xy: Float[Array, "b d"]
    yy: Float[Array, " b"]

    @property
    def tokens(self) -> Float[Array, "b e e"]:
        """The moments $\\sum_iz_iz_i^\\top$ of the tokens $z_i=(x_i,y_i)$."""
        if self.xx is None:
            raise InvalidArgument("xx", self.xx, "was not drawn: sums with labels alone give no moments of tokens")
        column = jnp.concatenate([self.xy, self.yy[:, None]], axis=1)
        return jnp.concatenate([jnp.concatenate([self.xx, self.xy[:, None]], axis=1), column[..., None]], axis=2)


def moments_of(prompts: Any) -> Moments:
    """The moments of explicit prompts.

    **Arguments:** `prompts`: `laws.Prompts`; the query is not counted.

    **Returns:** `Moments`.

    >>> import jax, theorysim as ts
    >>> moments_of(ts.laws.LinearPrompts(dim=3)(jax.random.key(0), count=5, context=4)).tokens.shape
    (5, 4, 4)
    """
    x, y = prompts.x[:, :-1], prompts.y[:, :-1]
    return Moments(jnp.einsum("bkd,bke->bde", x, x), jnp.einsum("bkd,bk->bd", x, y), jnp.sum(y * y, axis=1))


def moments(key: Array, task: Float[Array, "b d"], context: Any, *, root: Any = 1.0, noise: Any = 0.0) -> Moments:
    r"""Draw the second moments of Gaussian prompts: the same law as `moments_of` explicit ones, whatever their length.

    With $z=(R^{-1}x,\epsilon)$ standard Gaussian, $\sum_iz_iz_i^\top=T^\top T$ is a Wishart matrix: $T$ is upper triangular
    with standard Gaussian entries above a diagonal of independent $\chi_{N-j}$, $j=0..d$, and rows $j\ge N$ zero. Then $x=Rz_x$
    and $y=\langle w,x\rangle+\sqrt\rho\,z_\epsilon$.

    **Arguments:**

    - `key`: the stream of the draw.
    - `task`: $w$ of each prompt, shape `(b, d)`.
    - `context`: $N\ge1$, a whole number, traced or not: $10^6$ costs what 20 costs.
    - `root`: $R$, a number, the diagonal `(d,)`, or a matrix `(d, d)`.
    - `noise`: $\rho\ge0$, the variance of the labels.

    **Returns:** `Moments` of `b` prompts.

    Regime: Gaussian inputs and Gaussian noise of the labels; exact at every $N$. For a query that is a key too add its own
    token's moments.

    Source: Bartlett's decomposition of a Wishart matrix.

    >>> import jax, jax.numpy as jnp
    >>> drawn = moments(jax.random.key(0), jnp.ones((1000, 2)), 1e6)
    >>> bool(jnp.abs(drawn.xy / 1e6 - 1).max() < 0.01)
    True
    """
    b, d = task.shape
    triangle = _triangle(key, b, d + 1, context, task.dtype)
    root = _matrix(root, d, task.dtype)
    x = triangle[:, :, :d] @ root.T
    y = jnp.einsum("bjd,bd->bj", x, task) + jnp.sqrt(jnp.asarray(noise, task.dtype)) * triangle[:, :, d]
    return Moments(jnp.einsum("bjd,bje->bde", x, x), jnp.einsum("bjd,bj->bd", x, y), jnp.sum(y * y, axis=1))


def label_moments(key: Array, task: Float[Array, "b d"], context: Any, *, root: Any = 1.0, noise: Any = 0.0) -> Moments:
    r"""Draw those second moments of Gaussian prompts that have to do with labels, in $O(d)$ a prompt.

    $$ y^\top y=s^2\chi_N^2,\qquad X^\top y=R\Big(\frac u{s^2}\,y^\top y+\sqrt{y^\top y}\,
       \big(I-\tfrac{uu^\top}{s^2}\big)^{1/2}g\Big),\qquad u=R^\top w,\ s^2=\|u\|^2+\rho,\ g\sim N(0,I). $$

    **Arguments:** as `moments`.

    **Returns:** `Moments` without `xx`: all that a layer reads of which only the query's label is used.

    Regime: as `moments`.

    Source: the law of Gaussian vectors given their sum of products with one of them.

    >>> import jax, jax.numpy as jnp
    >>> drawn = label_moments(jax.random.key(0), jnp.ones((1000, 2)), 1e6)
    >>> drawn.xx is None, bool(jnp.abs(drawn.xy / 1e6 - 1).max() < 0.01)
    (True, True)
    """
    b, d = task.shape
    keys = streams(key, "length", "direction")
    root = _matrix(root, d, task.dtype)
    u = task @ root
    along = jnp.sum(u * u, axis=1)
    variance = along + jnp.asarray(noise, task.dtype)
    safe = jnp.where(variance > 0, variance, 1)  # a task that is zero, without noise: all labels are zero
    radius = chi(jax.random.split(keys.length, b), jnp.full(b, context, task.dtype)) * jnp.sqrt(variance)
    g = jax.random.normal(keys.direction, (b, d), task.dtype)
    shrink = jnp.sqrt(jnp.maximum(1 - along / safe, 0)) - 1
    share = jnp.sum(u * g, axis=1) / jnp.where(along > 0, along, 1)
    sideways = g + (shrink * share)[:, None] * u
    xy = (u * (radius**2 / safe)[:, None] + radius[:, None] * sideways) @ root.T
    return Moments(None, xy, radius**2)


def _matrix(root: Any, d: int, dtype: Any) -> Float[Array, "d d"]:
    """A root as a matrix."""
    root = jnp.asarray(root, dtype)
    return root if root.ndim == 2 else root * jnp.eye(d, dtype=dtype)


def _triangle(key: Array, b: int, size: int, context: Any, dtype: Any) -> Float[Array, "b s s"]:
    """Upper triangular factors of Wishart matrices with `context` degrees of freedom."""
    keys = streams(key, "pivots", "entries")
    degrees = jnp.broadcast_to(jnp.asarray(context, dtype) - jnp.arange(size, dtype=dtype), (b, size)).reshape(-1)
    pivots = chi(jax.random.split(keys.pivots, b * size), degrees).reshape(b, size)
    row, column = np.triu_indices(size, 1)
    # normal numbers are dear, so only those above the diagonal are drawn; `where` holds the place of each, and of a zero
    where = np.full((size, size), row.size + size)
    where[row, column], where[np.arange(size), np.arange(size)] = np.arange(row.size), row.size + np.arange(size)
    above = jnp.where(row < context, jax.random.normal(keys.entries, (b, row.size), dtype), 0)
    return jnp.concatenate([above, pivots, jnp.zeros((b, 1), dtype)], axis=1)[:, where]

r"""Rank collapse of attention: graphs, the two-token map with its equilibria and basins, the spectral gap of windows.

Wu, Ajorlou, Wang, Jegelka, Jadbabaie (NeurIPS 2024), arXiv 2405.18781; its theorems are recalled, not seen, and the formulas
are derived here. Tokens are rows, $X^{t+1}=D^tA^tX^tW_V$, and $\mu(X)$ is `observers.collapse_distance`. Functions of numbers
broadcast.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._bound import Bound


def equilibrium_b(shear: Any, side: int = -1) -> Any:
    r"""The second token's equilibria off the first one, $B=(-\frac1w,-\sqrt{1-1/w^2})$, and with the other sign the separatrix.

    Causal mask, $W_Q=W_K=0$, rows of unit length, $W_V=\begin{pmatrix}1&w\\0&1\end{pmatrix}$, first token $x_1=(0,1)$:
    $\frac12(x_1+x_2)W_V\propto x_2=(p,q)$ asks for $p=0$ or $p=-1/w$.

    **Arguments:** `shear`: $w\ge1$; `side`: -1 for $B$, which attracts, +1 for the separatrix, which repels.

    **Returns:** shape `(.., 2)`; NaN for $w<1$.

    Source: derived here.

    >>> equilibrium_b(2.0).round(4).tolist(), equilibrium_b(2.0, +1).round(4).tolist()
    ([-0.5, -0.866], [-0.5, 0.866])
    """
    p = -1 / np.asarray(shear, float)
    with np.errstate(invalid="ignore"):
        return np.stack([p, side * np.sqrt(1 - p**2)], axis=-1)


def slopes(shear: Any) -> tuple[Any, Any, Any]:
    r"""The slopes of the second token's map at $A=(0,1)$, at $B$ and at the separatrix: $\frac12,\ 1-s,\ 1+s$.

    $$ s=\sqrt{1-1/w^2};\qquad\text{at any point}\quad
       f'(\theta)=\frac{\det W_V\,(1+\langle x_1,x_2\rangle)}{\|(x_1+x_2)W_V\|^2}. $$

    **Arguments:** `shear`: $w\ge1$.

    **Returns:** three slopes; below 1 in size the equilibrium attracts.

    Source: derived here.

    >>> [round(float(s), 3) for s in slopes(2.0)]
    [0.5, 0.134, 1.866]
    """
    with np.errstate(invalid="ignore"):
        s = np.sqrt(1 - 1 / np.asarray(shear, float) ** 2)
    return 0.5 + 0 * s, 1 - s, 1 + s


def basin(shear: Any) -> Any:
    r"""The share of the circle from which the second token tends to $B$, $\frac12-\frac1{2\pi}\arcsin\frac1w$.

    The basin is the arc between the separatrix and $-x_1$, where the sum of both tokens vanishes.

    **Arguments:** `shear`: $w\ge1$; below 1 there is no $B$: NaN.

    Regime: the first token at rest. Source: derived here; the arc itself is in figure 1 of Wu et al. (2024).

    >>> float(basin(2.0).round(4)), float(basin(1.0))
    (0.4167, 0.25)
    """
    with np.errstate(invalid="ignore"):
        return 0.5 - np.arcsin(1 / shear) / (2 * np.pi)


def two_token_map(first: Any, second: Any, shear: Any) -> tuple[Any, Any]:
    r"""One layer for the angles of two tokens, $x=(\cos\theta,\sin\theta)$: $x_1W_V$ and $(x_1+x_2)W_V$, made unit.

    **Arguments:** `first`, `second`: $\theta_1,\theta_2$; `shear`: $w$.

    **Returns:** both angles, in $(-\pi,\pi]$.

    >>> [float(round(angle, 4)) for angle in two_token_map(np.pi / 2, np.pi / 2, 2.0)]
    [1.5708, 1.5708]
    """

    def turned(p: Any, q: Any) -> Any:
        return np.arctan2(q + shear * p, p)

    p, q = np.cos(first), np.sin(first)
    return turned(p, q), turned(p + np.cos(second), q + np.sin(second))


def equilibria(tokens: int, dim: int, shear: Any) -> Float[Array, "r k d"]:
    r"""Equilibria of every rank $1..\min(N,d)$ of one stack: causal mask, uniform attention, unit rows, $W_V=I+w\,U$.

    $U$ shifts coordinates by one, $e_jU=e_{j+1}$, $e_dU=0$. For the rank $r$ the first $N-r+1$ tokens are $e_d$; each later
    one solves $x_iW_V+\sum_{j<i}x_jW_V=x_i$, that is

    $$ x_iU=-\frac1w\sum_{j<i}x_jW_V, $$

    which gives all its coordinates but the last, and that is $-\sqrt{1-\ldots}$. For $N=d=2$ the second is $B$.

    **Arguments:** `tokens`: $N\ge1$; `dim`: $d\ge1$; `shear`: $w$, traced or not, large enough that the roots are real
    ($w\ge N-1$ is).

    **Returns:** shape `(min(N, d), N, d)`, for the ranks 1, 2, ..; NaN where a root is not real.

    Source: that equilibria of each rank coexist: Wu et al. (2024), theorem 4, as recalled; these are derived here.

    >>> equilibria(2, 2, 2.0)[1].round(4).tolist()
    [[0.0, 1.0], [-0.5, -0.866]]
    """
    value = jnp.eye(dim) + shear * jnp.eye(dim, k=1)
    found = []
    for rank in range(1, min(tokens, dim) + 1):
        rows = [jnp.eye(dim)[-1]] * (tokens - rank + 1)
        for _ in range(rank - 1):
            most = -(sum(rows) @ value)[1:] / shear
            rows.append(jnp.append(most, -jnp.sqrt(1 - jnp.sum(most**2))))
        found.append(jnp.stack(rows))
    return jnp.stack(found)


def radius(tokens: int, reach: Any) -> Any:
    r"""The radius of the graph of a two-sided window, $\lceil\lfloor N/2\rfloor/w\rceil$.

    In so many layers one token reaches all others.

    **Arguments:** `tokens`: $N$; `reach`: $w\ge1$, edges where $|i-j|\le w$.

    >>> radius(32, 4), radius(32, 31)
    (4, 1)
    """
    return -(-(tokens // 2) // reach)


def window_gap(tokens: int, reach: Any) -> Any:
    r"""The spectral gap $1-\lambda_2$ of uniform attention in a two-sided window, by its symmetric form.

    **Arguments:** `tokens`: $N$; `reach`: $w$, numbers, each at least 1.

    **Returns:** an array of the shape of `reach`; $\mu$ falls as $\lambda_2^t$ in the end.

    Source: derived here.

    >>> float(window_gap(32, 1).round(5)), float(window_gap(32, 31).round(5))
    (0.00335, 1.0)
    """
    apart = np.abs(np.arange(tokens)[:, None] - np.arange(tokens))

    def one(w: float) -> float:
        seen = 1.0 * (apart <= w)
        root = np.sqrt(seen.sum(axis=1))
        return float(1 - np.linalg.eigvalsh(seen / np.outer(root, root))[-2])

    return np.vectorize(one, otypes=[float])(np.asarray(reach, float))


def diffusive_gap(tokens: Any, reach: Any) -> Any:
    r"""The gap of a narrow window on a long sequence: diffusion with reflecting ends, $\frac{\pi^2}{6}\frac{w(w+1)}{N^2}$.

    A step has the variance $w(w+1)/3$. So the gap grows as the radius to the power -2, not exponentially.

    **Arguments:** `tokens`: $N$; `reach`: $w$.

    Regime: $1\le w\ll N$. Source: derived here.

    >>> round(diffusive_gap(32, 1), 5)
    0.00321
    """
    return np.pi**2 * reach * (reach + 1) / (6 * tokens**2)


def contraction(least: Any, radius: Any, depth: Any) -> Any:
    r"""How much the largest distance of two tokens shrinks at least, $(1-\epsilon^r)^{\lfloor t/r\rfloor}$.

    In $r$ layers all tokens draw at least $\epsilon^r$ of their weight on one common token.

    **Arguments:** `least`: $\epsilon$, the least weight of an edge; `radius`: $r\ge1$; `depth`: $t$.

    Regime: self-loops; $D=I$ and $W_V$ orthogonal. Source: Wu et al. (2024), theorem 1, as recalled; this constant by
    Dobrushin's coefficient.

    >>> round(contraction(0.5, 1, 10), 6)
    0.000977
    """
    return (1 - least**radius) ** (depth // radius)


def _uniform_windows(p: Any) -> dict[str, Any]:
    return {"uniform attention": 0.0 - p.gain, "no normalisation": 0.0 - p.normalised, "window of two sides": p.mask - 3.0}


CONTRACTION = Bound(
    "contraction",
    r"$\mu(X^t)\leq\sqrt{N/2}\,\max_{ij}\|x_i-x_j\|\,(1-\epsilon^r)^{\lfloor t/r\rfloor}$",
    "Wu et al. (2024), theorem 1, as recalled; constant derived here",
    left=lambda data: (data.distance / data.diameter.isel(time=0)).isel(time=-1),
    right=lambda p: np.sqrt(p.tokens / 2) * contraction(1 / (2 * p.reach + 1), radius(p.tokens, p.reach), p.depth),
    sense="<=",
    regime=_uniform_windows,
)
BOUNDS = (CONTRACTION,)

"""Sequences that are made by rotating each coordinate of a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ..exact import StartMoments


class Sequences(NamedTuple):
    """Sequences of complex states.

    - `states`: $x_1..x_T$, shape `(b, T, d)`.
    - `angles`: $\\theta$ of each sequence, shape `(b, d)`.

    >>> import jax.numpy as jnp
    >>> Sequences(jnp.array([[[1.0], [2.0]]]), jnp.zeros((1, 1))).tokens.tolist()
    [[[1.0, 0.0], [2.0, 1.0]]]
    """

    states: Any
    angles: Float[Array, "b d"]

    @property
    def tokens(self) -> Any:
        """A state and the one before it, $e_t=(x_t,x_{t-1})$ with $x_0=0$, shape `(b, T, 2d)`."""
        before = jnp.pad(self.states[:, :-1], ((0, 0), (1, 0), (0, 0)))
        return jnp.concatenate([self.states, before], axis=-1)


@dataclass(frozen=True)
class Rotations:
    r"""An autoregressive process with a diagonal unitary matrix, drawn anew for each sequence.

    $$ x_{t+1}=\operatorname{diag}(e^{i\theta_1},\dots,e^{i\theta_d})\,x_t,\qquad\theta_j\sim U[0,2\pi), $$

    from a real start of independent coordinates of variance $\sigma^2$, random signs $s_j$ and Gaussian $g_j$:

    $$ x_{1j}=\sigma\,s_j\,|g_j|^\gamma/\sqrt{E|g_j|^{2\gamma}}. $$

    $\gamma=1$ is a Gaussian start, $\gamma=0$ one of signs; larger $\gamma$ give heavier tails.

    **Arguments:**

    - `dim`: $d\ge1$. Static.
    - `scale`: $\sigma\ge0$.
    - `power`: $\gamma\ge0$.
    - `sparse`: 1 keeps one coordinate, drawn at random, and sets the others to 0; 0 keeps all.
    - `aligned`: 1 sets all signs to +1, 0 draws them. With $\gamma=0$ and 1 the start is the vector of ones times $\sigma$.

    Source: Zheng et al. (2024), arXiv 2405.16845, for Gaussian, sparse ($\gamma=0$) and full-one starts; $\gamma$ is ours.

    >>> import jax
    >>> drawn = Rotations(dim=2, power=0.0)(jax.random.key(0), count=3, length=4)
    >>> drawn.states.shape, bool(abs(abs(drawn.states) - 1).max() < 1e-6)
    ((3, 4, 2), True)
    """

    dim: int
    scale: Any = 1.0
    power: Any = 1.0
    sparse: Any = 0.0
    aligned: Any = 0.0

    def __post_init__(self):
        if not isinstance(self.dim, int) or self.dim < 1:
            raise InvalidArgument("dim", self.dim, "must be a whole number >= 1")

    def moments(self) -> StartMoments:
        """The moments of a start, in closed form; those of odd order vanish unless the signs are aligned."""
        each = [self.scale**p * jnp.exp(self._log_absolute(p) - p / 2 * self._log_absolute(2)) for p in (2, 4, 6)]
        kept = jnp.where(self.sparse, 1 / self.dim, 1.0)
        cross = jnp.where(self.sparse, 0.0, (self.dim - 1) * each[0] * each[1])
        second, fourth, sixth = (kept * moment for moment in each)
        return StartMoments(second, fourth, sixth, cross)

    def _log_absolute(self, p: float) -> Array:
        """The logarithm of the moment of order `p` of $|g|^\\gamma$."""
        u = p * jnp.asarray(self.power, jnp.result_type(float))
        return u / 2 * jnp.log(2.0) + jax.lax.lgamma((u + 1) / 2) - jnp.log(jnp.pi) / 2

    def starts(self, key: Array, count: int) -> Float[Array, "{count} {self.dim}"]:
        """Draw $x_1$ of `count` sequences."""
        keys = streams(key, "size", "sign", "place")
        shape = (count, self.dim)
        size = jnp.abs(jax.random.normal(keys.size, shape)) ** self.power * jnp.exp(-self._log_absolute(2) / 2)
        sign = jnp.where(self.aligned, 1, jax.random.rademacher(keys.sign, shape))
        kept = jax.nn.one_hot(jax.random.randint(keys.place, (count,), 0, self.dim), self.dim)
        return self.scale * sign * size * jnp.where(self.sparse, kept, 1)

    def __call__(self, key: Array, count: int, length: int) -> Sequences:
        """Draw `count` >= 1 `Sequences` of `length` $=T\\ge1$ states."""
        keys = streams(key, "start", "angle")
        angles = jax.random.uniform(keys.angle, (count, self.dim), maxval=2 * jnp.pi)
        turned = jnp.arange(length)[:, None] * angles[:, None]
        return Sequences(self.starts(keys.start, count)[:, None] * jnp.exp(1j * turned), angles)

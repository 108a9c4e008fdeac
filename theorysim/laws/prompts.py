"""Prompts of linear regression: examples of a task that is drawn anew for each prompt, then a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams


class Prompts(NamedTuple):
    """Prompts of `k` points, of which the last is the query.

    - `x`: inputs, shape `(b, k, d)`.
    - `y`: labels, shape `(b, k)`; the last one is what is to be predicted.
    - `task`: what makes the labels of a prompt, shape `(b, d)` for a linear one.

    >>> import jax.numpy as jnp
    >>> Prompts(jnp.ones((1, 2, 3)), jnp.array([[5.0, 7.0]]), jnp.ones((1, 3))).tokens[0].tolist()
    [[1.0, 1.0, 1.0, 5.0], [1.0, 1.0, 1.0, 0.0]]
    """

    x: Float[Array, "b k d"]
    y: Float[Array, "b k"]
    task: Any = None

    @property
    def tokens(self) -> Float[Array, "b k e"]:
        """Input and label of a point in one token; the query's label is 0."""
        return jnp.concatenate([self.x, self.y.at[:, -1].set(0)[..., None]], axis=-1)

    @property
    def target(self) -> Float[Array, " b"]:
        """The label of the query."""
        return self.y[:, -1]


def through(root: Any, z: Float[Array, "*s d"]) -> Float[Array, "*s d"]:
    """The vectors $Rz$ for a root that is a number, a diagonal or a matrix."""
    root = jnp.asarray(root, z.dtype)
    return z @ root.T if root.ndim == 2 else root * z


@dataclass(frozen=True)
class LinearPrompts:
    r"""Linear regression in context.

    $$ w=R_wz_w,\qquad x_i=Rz_i,\qquad y_i=\langle w,x_i\rangle+\sqrt\rho\,\epsilon_i,\qquad i=1..N+1, $$

    with standard Gaussian $z_w,z_i,\epsilon_i$; or, for `inputs="uniform"`, coordinates of $z_i$ uniform on
    $[-\frac12,\frac12]$. The label of the query, $i=N+1$, has noise too.

    **Arguments:**

    - `dim`: $d\ge1$. Static.
    - `root`, `task_root`: $R$ and $R_w$, roots of the covariances of inputs and tasks: a number, the diagonal `(d,)`, or a
      matrix `(d, d)`.
    - `noise`: the variance $\rho\ge0$ of the labels.
    - `inputs`: `"gaussian"` or `"uniform"`. Static.

    **Raises:** `InvalidArgument` for a number (not a traced one) out of range, or another word.

    Source: Garg, Tsipras, Liang, Valiant (2022); von Oswald et al. (2023) for uniform inputs.

    >>> import jax, jax.numpy as jnp
    >>> prompts = LinearPrompts(dim=3)(jax.random.key(0), count=4, context=10)
    >>> prompts.x.shape, bool(jnp.allclose(prompts.y, jnp.einsum("bkd,bd->bk", prompts.x, prompts.task)))
    ((4, 11, 3), True)
    """

    dim: int
    root: Any = 1.0
    task_root: Any = 1.0
    noise: Any = 0.0
    inputs: str = "gaussian"

    def __post_init__(self):
        if not isinstance(self.dim, int) or self.dim < 1:
            raise InvalidArgument("dim", self.dim, "must be a whole number >= 1")
        if self.inputs not in ("gaussian", "uniform"):
            raise InvalidArgument("inputs", self.inputs, "must be gaussian or uniform")
        if isinstance(self.noise, float | int) and not 0 <= self.noise < jnp.inf:
            raise InvalidArgument("noise", self.noise, "must be in [0, inf)")

    def tasks(self, key: Array, count: int) -> Float[Array, "{count} {self.dim}"]:
        """Draw tasks $w$."""
        return through(self.task_root, jax.random.normal(key, (count, self.dim)))

    def __call__(self, key: Array, count: int, context: int, task: Any = None) -> Prompts:
        """Draw prompts.

        **Arguments:** `key`; `count` >= 1 prompts of `context` $=N\\ge0$ examples and a query; `task`: the tasks, shape
        `(count, d)`, if they are not to be drawn.

        **Returns:** `Prompts` of $N+1$ points.
        """
        keys = streams(key, "task", "inputs", "noise")
        shape = (count, context + 1, self.dim)
        w = self.tasks(keys.task, count) if task is None else task
        draw = jax.random.normal if self.inputs == "gaussian" else lambda *a: jax.random.uniform(*a) - 0.5
        x = through(self.root, draw(keys.inputs, shape))
        y = jnp.einsum("bkd,bd->bk", x, w)
        if not isinstance(self.noise, float | int) or self.noise:  # nothing is drawn that is not needed
            y = y + jnp.sqrt(jnp.asarray(self.noise, y.dtype)) * jax.random.normal(keys.noise, y.shape, y.dtype)
        return Prompts(x, y, w)

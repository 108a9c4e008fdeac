"""Training in the coefficients of the data's span: the same run, with one matrix product a step in place of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxtyping import Array, Float

from .diagonal import Diagonal


class InSpan(nnx.Module):
    """A model whose filters are carried as coefficients of the data; made by `Span.enter`.

    - `coefficients`: shape `(k, f + n)`, trained in place of the filters; other parameters are trained as they are.
    - `model`: the ordinary model as it stands.

    >>> import jax.numpy as jnp, theorysim as ts
    >>> batch = ts.laws.Batch((jnp.ones((1, 1)), jnp.array([[0.0, 2.0]])), jnp.ones(1), jnp.ones(1))
    >>> inside = span(batch, fixed=1).enter(ts.models.TwoLayerCNN(jnp.eye(2)))
    >>> inside.coefficients.shape, inside.model.filters[...].tolist()
    ((2, 2), [[1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, model: Any, rows: Any, fixed: int, gram: Any):
        self.fixed = fixed
        self.rows, self.gram = nnx.data(rows), nnx.data(gram)
        start = model.filters[...]
        self.start = nnx.Variable(start)
        self.before = nnx.Variable(jnp.concatenate([start[:, :fixed], start[:, : rows.shape[1]] @ rows.T], axis=1))
        self.coefficients = nnx.Param(jnp.zeros_like(self.before[...]))
        self.body = _with_filters(model, None)

    def __call__(self, patches: tuple[Any, ...]) -> Float[Array, " n"]:
        """The output on the samples of the span, whose `batch` holds their patches in its coordinates."""
        moved = self.coefficients[...]
        if isinstance(self.gram, Diagonal):
            change = jnp.concatenate([moved[:, : self.fixed], moved[:, self.fixed :] @ self.gram], axis=1)
        else:
            change = moved @ self.gram
        # the value is that of the responses; their gradient, not multiplied by the Gram matrix, is that of the coefficients
        responses = lax.stop_gradient(self.before[...] + change) + (moved - lax.stop_gradient(moved))
        return _with_filters(self.body, responses)(patches)

    @property
    def model(self) -> Any:
        moved, start = self.coefficients[...], self.start[...]
        width = self.rows.shape[1]
        filters = start.at[:, : self.fixed].add(moved[:, : self.fixed])
        return _with_filters(self.body, filters.at[:, :width].add(moved[:, self.fixed :] @ self.rows))


def _with_filters(model: Any, filters: Any) -> Any:
    """A copy of a model with other filters; with None for filters it has no such parameter."""
    copy = nnx.merge(*nnx.split(model))
    copy.filters = None if filters is None else nnx.Param(filters)
    return copy


@dataclass(frozen=True)
class Span:
    """The span of a batch's patches; made by `span`.

    - `batch`: the same samples, their patches in coordinates in which filters are responses.
    - `enter(model)`: the model for training on that batch.

    >>> Span(batch=None, rows=None, fixed=1, gram=None).fixed
    1
    """

    batch: Any
    rows: Any
    fixed: int
    gram: Any

    def enter(self, model: Any) -> InSpan:
        return InSpan(model, self.rows, self.fixed, self.gram)


def span(batch: Any, fixed: int) -> Span:
    r"""Train filters through their coefficients: $W_t=W_0+C_tB$ with $B$ the fixed directions and the noise patches.

    A step of gradient descent on $W$ is one on $C$ with the gradient in the responses $U=WB^\top$, and $U_t=U_0+C_tBB^\top$:

    $$ C_{t+1} = C_t-\eta\,\frac{\partial L}{\partial U}(U_t). $$

    A step so needs one product with the Gram matrix $BB^\top$, made once, in place of one with $B^\top$ and one with $B$.

    **Arguments:**

    - `batch`: all samples that enter the gradient: patches of width `fixed` and one wider patch $\xi$.
    - `fixed`: dimension of the law's fixed span, `law.fixed`.

    **Returns:** a `Span`. Train `span.enter(model)` on `span.batch`; in an observer `state.model.model` is the ordinary model.

    Regime: models that see their patches through `filters` alone, and updates that are linear in the gradients, as those of
    `optax.sgd`, with momentum or without. Weight decay and clipping by norm would act on $C$, not on $W$.

    >>> import jax, jax.numpy as jnp, optax, theorysim as ts
    >>> batch = ts.laws.SignalNoise(signal=2.0)(jax.random.key(0), jax.random.normal(jax.random.key(1), (5, 8)))
    >>> model, inside = ts.models.TwoLayerCNN(0.1 * jnp.eye(4, 8)), span(batch, fixed=1)
    >>> def train(batch, model):
    ...     rule = ts.dynamics.gradient_descent(ts.objectives.logistic(batch), optax.sgd(0.5))
    ...     return ts.simulate(rule, model, key=jax.random.key(2), times=50, observe=lambda state: {}).state.model
    >>> filters, same = train(batch, model).filters, train(inside.batch, inside.enter(model)).model.filters
    >>> bool(jnp.allclose(filters[...], same[...], atol=1e-4))
    True
    """
    rows = max(batch.patches, key=lambda patch: patch.shape[1])
    n = rows.shape[0]
    picking = Diagonal(jnp.ones(n, rows.dtype), fixed)
    patches = tuple(picking if patch is rows else patch for patch in batch.patches)
    if isinstance(rows, Diagonal):
        gram = Diagonal(rows.lengths**2, 0)
    else:
        along = rows[:, :fixed]
        gram = jnp.block([[jnp.eye(fixed, dtype=rows.dtype), along.T], [along, rows @ rows.T]])
    return Span(batch._replace(patches=patches), rows, fixed, gram)

"""0-1 errors against true signs and against observed labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..laws import Batch


class Errors(NamedTuple):
    """0-1 errors of a model.

    - `clean`: against the true sign.
    - `noisy`: against the observed label.

    >>> Errors(clean=0.0, noisy=0.1).noisy
    0.1
    """

    clean: Float[Array, ""]
    noisy: Float[Array, ""]


def errors(model: Any, batch: Batch) -> Errors:
    r"""The mean 0-1 errors of a model on a batch, an output of exactly 0 counted as half an error.

    $$ \frac1n\sum_i \tfrac12\left(1-y_i\,\mathrm{sign} f(x_i)\right) $$

    **Arguments:** `model`: maps patches to outputs of shape `(n,)`; `batch`: `n` samples.

    **Returns:** `Errors`: `clean` (with the true sign as $y$) and `noisy` (with the observed label).

    >>> import jax.numpy as jnp
    >>> from theorysim.laws import Batch
    >>> batch = Batch((jnp.ones((2, 1)),), jnp.array([1.0, -1.0]), jnp.ones(2))
    >>> clean, noisy = errors(lambda patches: jnp.ones(2), batch)
    >>> float(clean), float(noisy)
    (0.5, 0.0)
    """
    guess = jnp.sign(model(batch.patches))
    return Errors(jnp.mean((1 - batch.sign * guess) / 2), jnp.mean((1 - batch.label * guess) / 2))


def on_fresh(measure: Callable[[Any, Batch], Any], law: Any, key: Array, count: int) -> Callable[[Any], Any]:
    """Any measure of a model on fresh points, drawn from the Gram matrix of the filters.

    The model is rewritten in its own basis (`exact.own_basis`), where a fresh point has no more than
    `fixed + 2 m` coordinates, whatever the frame; the same points are used at each call.

    **Arguments:** `measure`: of a model and a batch; `law`: such as `laws.SignalNoise`; `key`: the stream of the test points;
    `count` >= 1: how many.

    **Returns:** `model -> measure(model, fresh batch)`, for models with a method `in_own_basis(fixed)`.

    >>> import jax, jax.numpy as jnp, theorysim as ts
    >>> law, model = ts.laws.SignalNoise(signal=5.0, noise=0.1), ts.models.TwoLayerCNN(jnp.array([[1.0, 0.0], [-1.0, 0.0]]))
    >>> loss = on_fresh(lambda model, batch: ts.objectives.logistic(batch)(model, None), law, jax.random.key(0), 100)
    >>> bool(loss(model) < 0.02)
    True
    """

    def test(model: Any) -> Any:
        small = model.in_own_basis(law.fixed)
        points, rest = jax.random.split(key)
        vectors = jax.random.normal(points, (count, small.filters.shape[1]), small.filters.dtype)
        return measure(small, law(rest, vectors))

    return test


def fresh_errors(law: Any, key: Array, count: int) -> Callable[[Any], Errors]:
    """The errors on fresh points: `on_fresh` of `errors`.

    **Arguments:** as `on_fresh`.

    **Returns:** `model -> Errors`.

    >>> import jax, jax.numpy as jnp, theorysim as ts
    >>> filters = jnp.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> test = fresh_errors(ts.laws.SignalNoise(signal=5.0, noise=0.1), jax.random.key(0), 100)
    >>> float(test(ts.models.TwoLayerCNN(filters)).clean)
    0.0
    """
    return on_fresh(errors, law, key, count)

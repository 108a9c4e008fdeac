"""The two-layer linear network."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from ..exact import own_basis
from ..exact._one_by_one import qr

_TRAINED = ("both", "first")


class TwoLayerLinear(nnx.Module):
    r"""A first layer of filters and a second layer, without a nonlinearity between them.

    $$ f(x) = a^\top W\sum_kx^{(k)},\qquad W\in R^{m\times d},\ a\in R^m. $$

    **Arguments:**

    - `filters`: $W$, shape `(m, d)`; a row is a neuron.
    - `second`: $a$, shape `(m,)`.
    - `trained`: `"both"` layers or the `"first"` alone. Static.

    **Raises:** `InvalidArgument` for another shape or another word.

    >>> import jax.numpy as jnp
    >>> model = TwoLayerLinear(jnp.eye(2), jnp.array([1.0, -2.0]))
    >>> model((jnp.array([[3.0, 1.0]]),)).tolist()
    [1.0]
    """

    def __init__(self, filters: Float[Array, "m d"], second: Float[Array, " k"], *, trained: str = "both"):
        if second.shape != filters.shape[:1]:
            raise InvalidArgument("second", f"(shape {second.shape})", f"must be one for each of {filters.shape[0]} filters")
        if trained not in _TRAINED:
            raise InvalidArgument("trained", trained, f"must be {' or '.join(_TRAINED)}")
        self.filters = nnx.Param(filters)
        self.second = nnx.Param(second) if trained == "both" else nnx.Variable(second)
        self.trained = trained

    def __call__(self, patches: tuple[Float[Array, "n _"], ...]) -> Float[Array, " n"]:
        """The output $f$ on each sample; patches may be narrower than the filters."""
        filters = self.filters[...]
        return self.second[...] @ sum(filters[:, : patch.shape[1]] @ patch.T for patch in patches)

    def in_own_basis(self, fixed: int) -> TwoLayerLinear:
        """The same network in `fixed + m` coordinates, for fresh points: see `exact.own_basis`."""
        return TwoLayerLinear(own_basis(self.filters[...], fixed), self.second[...], trained=self.trained)

    def narrow(self) -> Narrow:
        r"""The same network with no more than $d+1$ neurons, from which all $m$ can be had back.

        With $[W,a]=Q\,[W',a']$, $Q^\top Q=I$, the network of $W',a'$ is the same function, and a step that is a combination of
        gradients with coefficients free of the choice of neurons (SGD, momentum, weight decay, SAM) moves $[W',a']$ so that
        $[W,a]=Q\,[W',a']$ at all times: the cost of a step does not grow with the width.

        **Returns:** a `Narrow`.

        Regime: not for a rule that looks at single weights or neurons, such as Adam or SignGD.
        """
        rows, small = qr(jnp.concatenate([self.filters[...], self.second[...][:, None]], axis=1))
        return Narrow(TwoLayerLinear(small[:, :-1], small[:, -1], trained=self.trained), rows)


class Narrow(NamedTuple):
    """A network with few neurons that stands for a wide one; made by `TwoLayerLinear.narrow`.

    - `model`: the narrow network.
    - `rows`: $Q$, shape `(m, k)`, with orthonormal columns.

    >>> import jax, jax.numpy as jnp
    >>> wide = TwoLayerLinear(jax.random.normal(jax.random.key(0), (50, 3)), jnp.ones(50))
    >>> small, rows = wide.narrow()
    >>> small.filters.shape, rows.shape, bool(abs(rows @ small.filters[...] - wide.filters[...]).max() < 1e-5)
    ((4, 3), (50, 4), True)
    """

    model: TwoLayerLinear
    rows: Float[Array, "m k"]

    def wide(self, model: TwoLayerLinear) -> TwoLayerLinear:
        """The wide network that a narrow one stands for, at any time of its run."""
        return TwoLayerLinear(self.rows @ model.filters[...], self.rows @ model.second[...], trained=model.trained)

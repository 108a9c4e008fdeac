"""The two-layer convolutional network of the signal-noise papers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from ..exact import Diagonal, own_basis

_KINDS = ("mean", "sum")
_ACTIVATIONS = {"relu": jax.nn.relu, "identity": lambda z: z}


class TwoLayerCNN(nnx.Module):
    r"""Shared filters on every patch, a power of ReLU, and a frozen second layer $\pm1$.

    $$ f(x) = F_{+1}(x) - F_{-1}(x),\qquad
       F_j(x) = \frac1m\sum_{r=1}^m\sum_k \sigma(\langle w_{j,r},x^{(k)}\rangle + b_{j,r}),\qquad \sigma(z)=\max(0,z)^q. $$

    **Arguments:**

    - `filters`: shape `(2 m, d)`; the first $m$ rows belong to the class $+1$, the others to $-1$.
    - `power`: $q\ge1$, a whole number. Static.
    - `activation`: `"relu"`, or `"identity"` for $\sigma(z)=z^q$. Static.
    - `over_filters`, `over_patches`: `"mean"` or `"sum"`. Static. Papers and their code differ here: the formula above
      is the mean over filters and the sum over patches.
    - `bias`: $b$, shape `(2 m,)`, trained; none by default.

    **Raises:** `InvalidArgument` for an odd number of rows, a power below 1 or another word than those above.

    Source: Cao, Chen, Belkin, Gu (2022), section 3; Kou, Chen, Chen, Gu (2023), section 3 ($q=1$).

    >>> import jax.numpy as jnp
    >>> model = TwoLayerCNN(jnp.eye(2))
    >>> model((jnp.array([[3.0]]), jnp.array([[0.0, 1.0]]))).tolist()
    [2.0]
    """

    def __init__(
        self,
        filters: Float[Array, "k d"],
        *,
        power: int = 1,
        activation: str = "relu",
        over_filters: str = "mean",
        over_patches: str = "sum",
        bias: Float[Array, " k"] | None = None,
    ):
        if filters.shape[0] % 2:
            raise InvalidArgument("filters", filters.shape, "needs as many rows for the class +1 as for -1")
        if not isinstance(power, int) or power < 1:
            raise InvalidArgument("power", power, "must be a whole number >= 1")
        for name, word in (("over_filters", over_filters), ("over_patches", over_patches)):
            if word not in _KINDS:
                raise InvalidArgument(name, word, "must be mean or sum")
        if activation not in _ACTIVATIONS:
            raise InvalidArgument("activation", activation, f"must be {' or '.join(_ACTIVATIONS)}")
        half = filters.shape[0] // 2
        scale = 1 / half if over_filters == "mean" else 1.0
        self.filters = nnx.Param(filters)
        self.bias = None if bias is None else nnx.Param(bias)
        self.second = nnx.Variable(scale * jnp.repeat(jnp.array([1.0, -1.0], filters.dtype), half))
        self.power, self.activation = power, activation
        self.over_filters, self.over_patches = over_filters, over_patches

    @property
    def side(self) -> Float[Array, " k"]:
        """The class $j=\\pm1$ of each filter."""
        return jnp.sign(self.second[...])

    def __call__(self, patches: tuple[Float[Array, "n _"] | Diagonal, ...]) -> Float[Array, " n"]:
        """The output $f$ on each sample; patches may be narrower than the filters."""
        return self.second[...] @ self.responses(patches)

    def responses(self, patches: tuple[Float[Array, "n _"] | Diagonal, ...]) -> Float[Array, "k n"]:
        """What each filter gives on each sample, $\\sum_k\\sigma(\\langle w_{j,r},x^{(k)}\\rangle+b_{j,r})$ (or the mean)."""
        filters, bias = self.filters[...], None if self.bias is None else self.bias[...][:, None]
        total: Any = 0
        for patch in patches:
            z = filters[:, : patch.shape[1]] @ patch.T
            z = _ACTIVATIONS[self.activation](z if bias is None else z + bias)
            total = total + (z if self.power == 1 else z**self.power)
        if self.over_patches == "mean":
            total = total / len(patches)
        return total

    def in_own_basis(self, fixed: int) -> TwoLayerCNN:
        """The same network in `fixed + 2 m` coordinates, for fresh points: see `exact.own_basis`."""
        return TwoLayerCNN(
            own_basis(self.filters[...], fixed),
            power=self.power,
            activation=self.activation,
            over_filters=self.over_filters,
            over_patches=self.over_patches,
            bias=None if self.bias is None else self.bias[...],
        )

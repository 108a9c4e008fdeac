"""A user's own data, with labels flipped by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._errors import InvalidArgument, Refused
from .._streams import streams
from ._batch import Batch


@dataclass(frozen=True)
class Arrays:
    r"""Real samples of two classes, one patch each; training labels are flipped, test labels never.

    **Arguments:**

    - `features`: shape `(N, d)`, finite.
    - `labels`: shape `(N,)`, two distinct values: the smaller becomes $-1$, the larger $+1$.
    - `flip_plus`, `flip_minus`: probabilities of a wrong training label for the class $+1$ and $-1$, in [0, 1/2].

    **Raises:** `InvalidArgument` for other shapes, values that are not finite, or another number of classes.

    Regime: no Gaussian law stands behind these vectors, so a run on them needs an ambient frame.

    >>> import jax, numpy as np, theorysim as ts
    >>> law = Arrays(np.eye(6), np.array([3, 5, 3, 5, 5, 3]))
    >>> space = ts.exact.frame(jax.random.key(0), 6, fixed=0, kind="ambient", filters=4)
    >>> train, test = law.split(jax.random.key(1), 4, space)
    >>> train.patches[0].shape, test.sign.shape
    ((4, 6), (2,))
    """

    features: Any
    labels: Any
    flip_plus: Any = 0.0
    flip_minus: Any = 0.0

    #: real data have no fixed direction that is known
    fixed = 0

    def __post_init__(self):
        shape, classes = np.shape(self.features), np.unique(np.asarray(self.labels))
        if len(shape) != 2:
            raise InvalidArgument("features", f"(shape {shape})", "must have two axes: samples, coordinates")
        if np.shape(self.labels) != shape[:1]:
            raise InvalidArgument("labels", f"(shape {np.shape(self.labels)})", f"must be one for each of {shape[0]} samples")
        try:
            finite = np.isfinite(np.asarray(self.features, float)).all()
        except (TypeError, ValueError):  # text
            finite = False
        if not finite:
            raise InvalidArgument("features", "(values)", "must be finite numbers")
        if len(classes) != 2 or (classes != classes).any():
            raise InvalidArgument("labels", f"({len(classes)} values)", "must have exactly two distinct values, none NaN")
        for name in ("flip_plus", "flip_minus"):
            value = getattr(self, name)
            if isinstance(value, float | int) and not 0 <= value <= 0.5:
                raise InvalidArgument(name, value, "must be in [0, 0.5]")

    @property
    def dim(self) -> int:
        """The number of coordinates, d."""
        return np.shape(self.features)[1]

    def split(self, key: Array, n: int, frame: Any) -> tuple[Batch, Batch]:
        """Draw `n` training samples with flipped labels; all others are the test samples, with true labels.

        **Arguments:** `key`: the stream of the choice and of the flips; `n`: from 1 to N - 1; `frame`: that of the run.

        **Returns:** a training and a test `Batch`.

        **Raises:** `Refused` in a reduced frame; `InvalidArgument` for another dimension or too many samples.
        """
        if frame.kind != "ambient":
            raise Refused("reduced frame: it draws Gaussian vectors, and these are a user's own data; use frame=ambient")
        if frame.size != self.dim:
            raise InvalidArgument("dim", frame.size, f"must be {self.dim}, the columns of the features")
        total = np.shape(self.features)[0]
        if not 1 <= n < total:
            raise InvalidArgument("n", n, f"must be in [1, {total - 1}], to leave something to test on")
        keys = streams(key, "choice", "flip")
        order = jax.random.permutation(keys.choice, total)
        features = jnp.asarray(self.features, jnp.result_type(float))[order]
        larger = np.unique(np.asarray(self.labels))[1]
        sign = jnp.where(jnp.asarray(np.asarray(self.labels) == larger), 1.0, -1.0)[order]
        flipped = jax.random.uniform(keys.flip, (n,)) < jnp.where(sign[:n] > 0, self.flip_plus, self.flip_minus)
        train = Batch((features[:n],), sign[:n], jnp.where(flipped, -sign[:n], sign[:n]))
        return train, Batch((features[n:],), sign[n:], sign[n:])

"""The noise patch of all signal-noise laws."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..exact import Diagonal


def noise_patch(vectors: Any, scale: Any, off: int = 0) -> Any:
    """Scaled Gaussian vectors of a frame, with no component along the first `off` directions."""
    if off and not isinstance(vectors, Diagonal):  # those of an infinite frame are off the fixed span as they are
        vectors = vectors.at[:, :off].set(0)
    return jnp.asarray(scale, vectors.dtype) * vectors

"""The noise patch of all signal-noise laws."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def noise_patch(vectors: Any, scale: Any, off: int = 0) -> Any:
    """Scaled Gaussian vectors of a frame, with no component along the first `off` directions."""
    return jnp.asarray(scale, vectors.dtype) * (vectors.at[:, :off].set(0) if off else vectors)

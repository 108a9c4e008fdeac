"""Factorisations that are made one by one, also under `vmap`.

Batched ones share the threads that run the program: two at once (two observers, or one on each of two devices) each wait
for a thread that the other holds, and the program stands still for ever (seen with jaxlib 0.10 on two cores).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import sequential_vmap


@sequential_vmap
def qr(rows: Array) -> tuple[Array, Array]:
    """The reduced QR factors of a matrix."""
    q, r = jnp.linalg.qr(rows)
    return q, r


@sequential_vmap
def upper(rows: Array) -> Array:
    """The triangular QR factor of a matrix."""
    return jnp.linalg.qr(rows, mode="r")


@sequential_vmap
def solve_upper(r: Array, b: Array) -> Array:
    """The solution of `r x = b` for an upper triangular `r`."""
    return jax.scipy.linalg.solve_triangular(r, b)


@sequential_vmap
def solve_positive(a: Array, b: Array) -> Array:
    """The solution of `a x = b` for a symmetric positive `a`."""
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b)

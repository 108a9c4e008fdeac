r"""Chi variables with traced degrees of freedom.

Marsaglia and Tsang's rejection for Gamma(a), a = k/2 >= 1: with $v=(1+t)^3$, $t = x/\sqrt{9b}$, $b=a-1/3$, accept
if $\log u < b\,(3\log(1+t) - 3t + \tfrac32 t^2 - t^3)$, the usual test with $x^2/2 = \tfrac92 b t^2$ put in. In this
form the bracket is $-\tfrac34t^4+\dots$, and its series keeps float32 exact at a billion degrees of freedom, where
the usual form subtracts numbers of size $b$. The whole vector is redrawn until every entry is accepted (nearly
always once); accepted entries stay.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

_SERIES = [3.0 * (-1) ** (k + 1) / k for k in range(10, 3, -1)]


def _log_ratio(t: Array) -> Array:
    series = t**4 * jnp.polyval(jnp.asarray(_SERIES, t.dtype), t)
    safe = jnp.maximum(t, -1 + jnp.finfo(t.dtype).eps)
    return jnp.where(jnp.abs(t) < 0.125, series, 3 * jnp.log1p(safe) - 3 * t + 1.5 * t**2 - t**3)


def chi(keys: Array, degrees: Array) -> Array:
    """Draw independent chi variables, each from its own key; zero where `degrees` (whole numbers) is not positive."""
    b, dtype = jnp.maximum(degrees, 2) / 2 - 1 / 3, degrees.dtype

    def draw(key):
        normal, uniform = jax.random.split(key)
        return jax.random.normal(normal, (), dtype), jax.random.uniform(uniform, (), dtype)

    def redraw(carry):
        turn, kept, accepted = carry
        x, u = jax.vmap(draw)(jax.vmap(jax.random.fold_in, (0, None))(keys, turn))
        t = x / jnp.sqrt(9 * b)
        # one degree of freedom is |N(0, 1)|; u is in [0, 1), so 1 - u is never 0
        good = (degrees <= 1) | ((t > -1) & (jnp.log1p(-u) < b * _log_ratio(t)))
        value = jnp.where(degrees <= 1, jnp.abs(x), jnp.sqrt(2 * b) * jnp.maximum(1 + t, 0) ** 1.5)
        return turn + 1, jnp.where(accepted, kept, value), accepted | good

    start = (jnp.uint32(0), jnp.zeros_like(b), jnp.zeros(b.shape, bool))
    _, drawn, _ = lax.while_loop(lambda carry: ~jnp.all(carry[2]), redraw, start)
    return jnp.where(degrees >= 1, drawn, 0)

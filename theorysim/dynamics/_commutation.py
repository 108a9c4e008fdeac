r"""Whether an optax transformation commutes with rotations: $u(gQ)=u(g)Q$, probed on concrete small arrays.

A trial is traced, so numbers inside the transformation (a swept learning rate) are tracers when it is probed. The probe is
therefore staged out first: tracers then stand as its constants, concrete numbers take their place, and it is evaluated.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from .._errors import Refused

#: gradient sizes: a clipping threshold bites at some of them
_SCALES = (1e-3, 1.0, 1e3)
_STEPS = 3
#: defects found in this process: a sweep traces its trial again, but need not compile the same probe again
_probed: dict[tuple[str, str], float] = {}


def _defect(transformation: optax.GradientTransformation, gradients: Array, bias: Array, rotation: Array) -> Array:
    """Largest relative difference between rotating before and after, over a few steps at each size."""

    def updates(turn: Array, scale: Array) -> Array:
        params = {"filters": 0.1 * gradients[0] @ turn, "bias": bias}
        memory, seen = transformation.init(params), []
        for g in gradients:
            update, memory = transformation.update({"filters": scale * g @ turn, "bias": bias}, memory, params)
            params = optax.apply_updates(params, update)
            seen.append(update["filters"])  # pyright: ignore[reportCallIssue, reportArgumentType, reportIndexIssue]
        return jnp.stack(seen)

    # all sizes and both turns side by side: a small program, since every trial compiles it
    turns = jnp.stack([jnp.eye(rotation.shape[0], dtype=rotation.dtype), rotation])
    plain, turned = jax.vmap(jax.vmap(updates, (None, 0)), (0, None))(turns, jnp.asarray(_SCALES, rotation.dtype))
    size = jnp.linalg.norm(plain, axis=(-2, -1)) + jnp.finfo(plain.dtype).tiny
    return jnp.max(jnp.linalg.norm(plain @ rotation - turned, axis=(-2, -1)) / size)


def require_commutation(transformation: optax.GradientTransformation) -> None:
    """Raise `Refused` unless the transformation provably passes the probe."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    arrays = [np.asarray(a, np.float32) for a in (rng.normal(size=(_STEPS, 4, 5)), rng.normal(size=4), rotation)]
    remedy = "use frame=ambient, or a rule that commutes with rotations"
    try:
        staged = jax.make_jaxpr(lambda *a: _defect(transformation, *a))(*arrays)
        filled = [c if not isinstance(c, Tracer) else np.full(c.shape, 0.1, c.dtype) for c in staged.consts]
        # the jaxpr prints its structure, the constants are its numbers: equal both, equal probe
        name = (str(staged.jaxpr), repr([np.asarray(c).tolist() for c in filled]))
        if name not in _probed:
            with jax.ensure_compile_time_eval():
                _probed[name] = float(jax.jit(jaxpr_as_fun(ClosedJaxpr(staged.jaxpr, filled)))(*arrays)[0])
        defect = _probed[name]
    except Exception as error:  # whatever an unknown transformation raises, it was not shown to commute
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise Refused(f"reduced frame: the transformation could not be probed ({reason}); {remedy}") from error
    if not defect < 1e-3:
        raise Refused(
            f"reduced frame: the transformation does not commute with rotations (relative defect {defect:.2g}); {remedy}"
        )

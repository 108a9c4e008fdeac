"""Running a rule: one compiled loop, observed at given times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax
from jax.core import Tracer

from ._errors import InvalidArgument
from ._named import Named
from .dynamics import Dynamics
from .exact import Frame


class Run(NamedTuple):
    """What a simulation gives.

    - `records`: what was observed, each with a leading `time` axis unless only the end was asked for.
    - `state`: where it stopped; a second simulation may start there.
    """

    records: dict[str, Any]
    state: Any


def log_times(steps: int, count: int) -> np.ndarray | int:
    """At most `count` distinct observation times from 0 to `steps`, even on a logarithmic axis after 0.

    **Arguments:** `steps` >= 1, the last time; `count` >= 1.

    **Returns:** increasing whole numbers that begin with 0 and end with `steps`; for a count of 1 the number `steps`, which
    observes the end only.

    **Raises:** `InvalidArgument` out of these ranges.

    >>> [int(t) for t in log_times(100, 6)], log_times(100, 1)
    ([0, 1, 3, 10, 32, 100], 100)
    """
    if not isinstance(steps, int | np.integer) or steps < 1:
        raise InvalidArgument("steps", steps, "must be a whole number >= 1")
    if not isinstance(count, int | np.integer) or count < 1:
        raise InvalidArgument("count", count, "must be a whole number >= 1")
    if count == 1:
        return int(steps)
    return np.unique(np.concatenate([[0], np.rint(np.geomspace(steps, 1, count - 1))]).astype(int))


def _checked_times(times: Any) -> np.ndarray:
    if isinstance(times, Tracer):
        raise InvalidArgument("times", "(traced)", "gives the shape of the records, so it must be static")
    array = np.atleast_1d(np.asarray(times))
    if array.ndim != 1 or not array.size or array[0] < 0 or np.any(array != np.rint(array)):
        raise InvalidArgument("times", times, "must be whole numbers >= 0")
    if np.any(np.diff(array) <= 0):
        raise InvalidArgument("times", times, "must increase")
    return array.astype(np.int32)


def simulate(
    rule: Dynamics,
    start: Any,
    *,
    key: Array,
    times: int | Sequence[int] | np.ndarray,
    observe: Callable[[Any], dict[str, Any]],
    frame: Frame | None = None,
) -> Run:
    """Run a rule and observe its state at given times.

    **Arguments:**

    - `rule`: a `Dynamics`.
    - `start`: a model, or the `state` of an earlier run.
    - `key`: the stream of the steps; step `t` uses `fold_in(key, t)`.
    - `times`: increasing step counts at which to observe; the run ends at the last. A single number observes the end
      only, and adds no axis.
    - `observe`: `observe(state) -> dict` of arrays (or `named` ones); a `Training` state has `.model`.
    - `frame`: the frame in which the data live. Unless it is ambient, a rule that does not commute with rotations is
      refused, since its run would not have the law of the ambient one.

    **Returns:** a `Run` of `records` and `state`.

    **Raises:** `InvalidArgument` for bad times, `Refused` for a rule that a reduced frame cannot carry.

    >>> import jax, optax, theorysim as ts
    >>> keys = ts.streams(jax.random.key(0), "space", "train", "run")
    >>> law = ts.laws.SignalNoise(signal=3.0)
    >>> space = ts.exact.frame(keys.space, 1e6, fixed=law.fixed, train=10, filters=8)
    >>> loss = ts.objectives.logistic(law(keys.train, space.train))
    >>> run = ts.simulate(ts.dynamics.gradient_descent(loss, optax.sgd(1e-4)), ts.models.TwoLayerCNN(1e-6 * space.filters),
    ...     key=keys.run, times=[0, 50], observe=lambda state: {"loss": loss(state.model, None)}, frame=space)
    >>> bool(run.records["loss"][1] < run.records["loss"][0])
    True
    """
    if frame is not None and frame.kind != "ambient":
        rule.commutes()
    moments = _checked_times(times)
    state = rule.init(start) if isinstance(start, nnx.Module) else start

    def step(t: Any, state: Any) -> Any:
        return rule.step(state, jax.random.fold_in(key, t))

    if np.ndim(times) == 0:
        state = lax.fori_loop(0, int(moments[0]), step, state)
        return Run(observe(state), state)

    def segment(carry: Any, until: Any) -> Any:
        now, state = carry
        state = lax.fori_loop(now, until, step, state)
        return (until, state), observe(state)

    (_, state), records = lax.scan(segment, (jnp.int32(0), state), moments)
    return Run({name: _along_time(value, moments) for name, value in records.items()}, state)


def _along_time(value: Any, moments: np.ndarray) -> Named:
    """The stacked observations with their time axis."""
    if not isinstance(value, Named):
        value = Named(value, tuple(f"axis_{i}" for i in range(jnp.ndim(value) - 1)))
    return replace(value, dims=("time", *value.dims), coords=(("time", tuple(moments.tolist())), *value.coords))

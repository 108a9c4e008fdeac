"""The search for a counterexample: evolution over the traced fields, confirmed on fresh seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import differential_evolution

from .._errors import InvalidArgument
from .._sweep.params import checked, fields_of
from .._sweep.population import Population
from ..theory import Bound, fields
from .assert_bound import LEVEL, worst
from .strategies import place

if TYPE_CHECKING:
    import xarray as xr

#: points of a generation, seeds of the search, seeds of the confirmation
POINTS, SEEDS, CONFIRM = 32, 16, 256


@dataclass(frozen=True)
class Hit:
    """What a hunt found.

    - `point`: the values of the varied fields at the worst point.
    - `margin`: the bound's mean slack there on fresh seeds (negative: violated).
    - `p_value`: of the bound on fresh seeds.
    - `refuted`: whether that is below the level of 0.001.
    - `depth`: how deep inside the regime, in decades.
    - `tried`: points that were tried.

    >>> Hit({"dim": 1e6}, margin=-0.1, p_value=1e-9, refuted=True, depth=0.5, tried=640).refuted
    True
    """

    point: dict[str, float]
    margin: float
    p_value: float
    refuted: bool
    depth: float
    tried: int


def hunt(
    bound: Bound,
    trial: Callable[[Any, Any], dict[str, Any]],
    params: Any,
    *,
    names: Sequence[str] | None = None,
    constants: dict[str, float] | None = None,
    budget: float = 60.0,
    seed: int = 0,
    x64: bool = False,
) -> Hit:
    """Look for the parameters at which a bound is violated most, and confirm the worst on fresh seeds.

    Differential evolution maximises the mean of the violation, relative to its spread over seeds, over the traced fields, each
    in its range (or within a factor 100 of its base value). A generation is one call of one compiled program. Points outside
    the regime are drawn back to it and never count.

    **Arguments:**

    - `bound`, `trial`, `params`: as for `assert_bound`; `params` is the base point.
    - `names`: the traced fields to vary; by default all whose base value is positive.
    - `constants`: values for the bound's open constants.
    - `budget`: seconds, from the first generation on.
    - `seed`: of the search.
    - `x64`: float64.

    **Returns:** a `Hit`.

    **Raises:** `InvalidArgument` for a field that cannot vary, or a constant without a value.

    Source: Storn and Price (1997), as scipy implements it.

    >>> import jax, theorysim as ts
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Params:
    ...     scale: float = ts.field(1.0, low=0)
    >>> trial = lambda p, key: {"size": abs(p.scale * jax.random.normal(key))}
    >>> wrong = ts.theory.Bound("wrong", "E|x| <= sqrt(s)", "planted", lambda ds: ds["size"], lambda p: p.scale**0.5)
    >>> hunt(wrong, trial, Params(), budget=5).refuted
    True
    """
    params, known = checked(params), fields_of(params)
    names = list(names) if names is not None else [n for n, f in known.items() if f.traced and getattr(params, n) > 0]
    for name in names:
        if name not in known or not known[name].traced:
            raise InvalidArgument("names", name, "must be a traced field of the params")
    missing = set(bound.constants) - set(constants or {})
    if missing:
        raise InvalidArgument("constants", ", ".join(sorted(missing)), f"{bound.name} leaves it open: give it a value")
    if not budget > 0:
        raise InvalidArgument("budget", budget, "must be a positive number of seconds")
    population = Population(trial, params, names, POINTS, SEEDS, x64)
    best: tuple[float, dict[str, float]] = (-np.inf, {})
    tried, stop = 0, time.perf_counter() + budget

    def points_at(shares: np.ndarray) -> dict[str, np.ndarray]:
        return {
            name: np.array([place(known[name], float(getattr(params, name)), s) for s in row])
            for name, row in zip(names, shares, strict=True)
        }

    def cost(shares: np.ndarray) -> np.ndarray:
        nonlocal best, tried
        shares = shares.reshape(len(names), -1)
        costs = []
        for start in range(0, shares.shape[1], POINTS):
            part = shares[:, start : start + POINTS]
            full = np.pad(part, ((0, 0), (0, POINTS - part.shape[1])), mode="edge")
            points = points_at(full)
            score = violation(bound, population(points), constants or {})[: part.shape[1]]
            tried += part.shape[1]
            k = int(np.argmax(score))
            if score[k] > best[0]:
                best = (float(score[k]), {name: float(values[k]) for name, values in points.items()})
            costs.append(-score)
        return np.concatenate(costs)

    differential_evolution(
        cost, [(0.0, 1.0)] * len(names), popsize=max(1, POINTS // len(names)), maxiter=10_000, tol=0, polish=False,
        vectorized=True, updating="deferred", rng=seed, callback=lambda *_, **__: time.perf_counter() > stop,
    )  # fmt: skip
    return _confirm(bound, trial, params, names, best[1], constants or {}, tried, x64)


def violation(bound: Bound, data: xr.Dataset, constants: dict[str, float]) -> np.ndarray:
    """How strongly each point speaks against the bound: a t value inside the regime, its depth minus a constant outside."""
    slack = np.asarray(bound.slack(data, **constants).transpose("point", "seed"), float)
    mean, spread = slack.mean(axis=1), slack.std(axis=1, ddof=1)
    scale = np.abs(np.asarray(bound.left(data).mean("seed"), float)) + np.finfo(float).tiny
    # a spread of nothing must not make rounding look like a proof
    score = -mean / np.sqrt(spread**2 / slack.shape[1] + (1e-6 * scale) ** 2)
    depth = np.broadcast_to(np.asarray(bound.depth(fields(data)), float), mean.shape)
    score = np.where(np.isfinite(score), score, -1e6)
    return np.where(depth >= 0, score, -1e9 + np.clip(np.nan_to_num(depth, neginf=-1e6), -1e6, 0))


def _confirm(
    bound: Bound,
    trial: Callable[[Any, Any], dict[str, Any]],
    params: Any,
    names: Sequence[str],
    point: dict[str, float],
    constants: dict[str, float],
    tried: int,
    x64: bool,
) -> Hit:
    fresh = Population(trial, params, names, 1, CONFIRM, x64)
    data = fresh({name: np.array([point[name]]) for name in names}, first_seed=10**6)
    slack = np.asarray(bound.slack(data, **constants).transpose("seed", "point"), float)
    _, p_value = worst(slack)
    depth = float(np.min(np.asarray(bound.depth(fields(data)), float)))
    refuted = bool(p_value <= LEVEL and depth >= 0 and np.isfinite(slack).all())
    return Hit(point, float(slack.mean()), p_value, refuted, depth, tried)

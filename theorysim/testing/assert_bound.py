"""Whether data refute a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from .._claims import inside_only
from .._errors import Refused
from .._sweep import sweep
from ..theory import Bound, tested
from ..theory._bound import LEAST_DELTA

if TYPE_CHECKING:
    import xarray as xr

#: chance that a true bound is called refuted by one call
LEVEL = 1e-3


def assert_bound(
    bound: Bound,
    trial: Callable[[Any, Any], dict[str, Any]],
    params: Any,
    over: Mapping[str, Any] | None = None,
    *,
    seeds: int = 20,
    along: str | None = None,
    x64: bool = False,
    seed: int = 0,
) -> xr.Dataset:
    """Run a trial and fail if it refutes a bound.

    Every cell inside the regime is tested by Student's t over seeds (a bound in probability by the share of runs for which it
    holds, at no less than `delta = 0.1`), with Bonferroni's correction at a total level of 0.001. An open constant is
    fitted on the lower half of the scale `along`, on half of the seeds, and tested on the upper half with the others.

    **Arguments:** `bound`; `trial`, `params`, `over`, `seeds`, `x64`, `seed`: as for `sweep`; `along`: the swept scale, of two
    decades or more, for a bound with an open constant.

    **Returns:** the Dataset that was tested.

    **Raises:** `AssertionError` that names the worst point, its margin and what was tested, if it is refuted; `Refused` if no
    cell is inside the regime: a bad regime is said, never silently tested.

    >>> import jax, theorysim as ts
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Params:
    ...     scale: float = 1.0
    >>> trial = lambda p, key: {"size": abs(p.scale * jax.random.normal(key))}
    >>> mean = ts.theory.Bound("mean", "E|x| <= s", "Jensen", lambda ds: ds["size"], lambda p: p.scale)
    >>> _ = assert_bound(mean, trial, Params(), {"scale": [1, 2]})
    """
    data = sweep(trial, params, over, seeds=seeds, x64=x64, seed=seed)
    refute(bound, data, along)
    return data


def refute(bound: Bound, data: xr.Dataset, along: str | None = None) -> None:
    """The test of `assert_bound` on data that are there already."""
    failing = bound.outside(data)
    if failing:
        words = "; ".join(f"{condition} fails by {-by:.3g} decades" for condition, by in failing.items())
        raise Refused(f"{bound.name} is not applicable here: {words}")
    data, constants = tested(bound, data, along)
    margins = inside_only(bound.slack(data, **constants), bound.inside(data))
    k, p_value = worst(np.asarray(margins))
    if p_value <= LEVEL:
        said = f"at {margins.cell.values[k]}" if str(margins.cell.values[k]) else "at the only point"
        fitted = "".join(f", {name} = {value:.4g} fitted" for name, value in constants.items())
        level = f" (tested at delta = {max(bound.delta, LEAST_DELTA)})" if bound.delta else ""
        raise AssertionError(
            f"{bound.name} ({bound.source}) is refuted {said}: mean margin {float(margins.isel(cell=k).mean()):.4g}"
            f"{fitted}, p = {p_value:.2g}, {margins.sizes['seed']} seeds{level}"
        )


def worst(margins: np.ndarray) -> tuple[int, float]:
    """The cell that speaks most against margins >= 0, of shape `(seeds, cells)`, and its corrected p-value."""
    count, cells = margins.shape
    mean, error = margins.mean(axis=0), margins.std(axis=0, ddof=1) / math.sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.sign(mean) * np.inf))
    # no number of agreeing seeds says more than the sign test
    p_values = np.maximum(stdtr(count - 1, t), 0.5**count)
    k = int(np.argmin(p_values))
    return k, float(min(1.0, cells * p_values[k]))

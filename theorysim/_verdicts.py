"""From margins per seed to verdicts, with one error rate for all claims of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from ._claims import Claim
from .theory import fields

if TYPE_CHECKING:
    import xarray as xr

#: chance that any verdict of a report is wrong
ALPHA = 1e-3


@dataclass(frozen=True)
class Evidence:
    """What the data say of one claim.

    - `mean`, `low`, `high`: the margin of the claim's weakest part, with a 99.9 % interval.
    - `part`: which part that is.
    - `p_holds`, `p_fails`: p-values against "some part does not hold" and against "all parts hold".
    - `seeds`: how many there are; `needed`: how many would decide (0 if it is decided or cannot be told).
    - `outside`: the condition of the regime that fails, and by how much; empty inside.
    - `depth`: how deep inside its regime the claim was tested, at the deepest cell, in decades; None without a regime.
    - `effect`: what was measured, beside what is stated.
    """

    mean: float
    low: float
    high: float
    part: str
    p_holds: float
    p_fails: float
    seeds: int
    needed: int
    outside: str = ""
    depth: float | None = None
    effect: str = ""


def _part_name(margins: xr.DataArray, index: int) -> str:
    """Coordinates of the weakest part, as `signal=6.0, dim=100.0`."""
    rest = [dim for dim in margins.dims if dim != "seed"]
    if not rest:
        return ""
    place = np.unravel_index(index, [margins.sizes[dim] for dim in rest])
    values = (margins[dim].values[k] if dim in margins.coords else k for dim, k in zip(rest, place, strict=True))
    # a label says what it is; a number needs its name
    return ", ".join(str(v) if isinstance(v, str) else f"{dim}={v:g}" for dim, v in zip(rest, values, strict=True))


def weigh(claim: Claim, data: xr.Dataset) -> Evidence:
    r"""Test a claim on the data of its study.

    Each part's mean margin is tested by Student's t over seeds. The claim holds if all parts do, so its p-value is the largest
    of theirs (an intersection-union test needs no correction); it fails if any part does, so there the smallest counts, times
    the number of parts (Bonferroni). No p-value is below that of the sign test, 2^-k for k seeds.
    """
    if outside := _outside(claim, data):
        return Evidence(math.nan, -math.inf, math.inf, "", 1.0, 1.0, data.sizes["seed"], 0, outside, _depth(claim, data))
    margins = claim.check(data)
    values = np.asarray(margins.transpose("seed", ...), float).reshape(margins.sizes["seed"], -1)
    count, parts = values.shape
    shown: Any = {"depth": _depth(claim, data), "effect": str(claim.effect(data)) if claim.effect else ""}
    if count < 2 or not np.isfinite(values).all():
        part = "" if np.isfinite(values).all() else "a margin is not a number"
        return Evidence(float(values.mean()), -math.inf, math.inf, part, 1.0, 1.0, count, 0, **shown)
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.sign(mean) * np.inf))
    # seeds that agree to the last digit make t infinite; no number of seeds can say more than all of their signs
    floor = 0.5**count
    p_holds = max(floor, float(np.max(stdtr(count - 1, -t))))
    p_fails = min(1.0, parts * max(floor, float(np.min(stdtr(count - 1, t)))))
    # the weakest part is the one with the least evidence for it
    k = int(np.argmin(t))
    half = float(stdtrit(count - 1, 1 - ALPHA / 2) * error[k])
    needed = _seeds_needed(float(mean[k]), float(error[k]) * math.sqrt(count), count)
    low, high = float(mean[k]) - half, float(mean[k]) + half
    return Evidence(float(mean[k]), low, high, _part_name(margins, k), p_holds, p_fails, count, needed, **shown)


def _outside(claim: Claim, data: xr.Dataset) -> str:
    """The conditions of the claim's regime that fail, in words; empty inside."""
    failing = {words: by for words, by in claim.regime(data).items() if not by >= 0} if claim.regime else {}
    return "; ".join(f"{words} fails by {-by:.3g}" for words, by in failing.items())


def _depth(claim: Claim, data: xr.Dataset) -> float | None:
    if claim.bound is not None and claim.bound.regime is not None:
        return float(np.max(claim.bound.depth(fields(data))))
    return min(map(float, claim.regime(data).values()), default=None) if claim.regime and claim.bound is None else None


def _seeds_needed(mean: float, deviation: float, count: int) -> int:
    """Seeds at which a margin of this mean and spread would exclude 0 at the report's level; 0 if it does already."""
    if mean == 0:
        return 0
    seeds = max(count, 2)
    while 2 * 0.5**seeds > ALPHA or abs(mean) <= stdtrit(seeds - 1, 1 - ALPHA / 2) * deviation / math.sqrt(seeds):
        if seeds > 10**7:
            return 0
        seeds = math.ceil(1.1 * seeds)
    return seeds if seeds > count else 0


def verdicts(evidence: Sequence[Evidence]) -> list[str]:
    """Verdicts of all claims of one report, by Holm's step-down at level `ALPHA` over the two-sided p-values."""
    sided = [min(1.0, 2 * min(e.p_holds, e.p_fails)) for e in evidence]
    order = sorted((i for i, e in enumerate(evidence) if not e.outside), key=lambda i: sided[i])
    result = ["not applicable" if e.outside else "undecided" for e in evidence]
    for rank, i in enumerate(order):
        if sided[i] > ALPHA / (len(order) - rank):
            break
        result[i] = "holds" if evidence[i].p_holds < evidence[i].p_fails else "fails"
    return result

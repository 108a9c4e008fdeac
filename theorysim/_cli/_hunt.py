"""`theorysim hunt`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from .._claims import Claim
from .._errors import InvalidArgument
from .._experiment import Experiment, load
from .._sweep.params import checked, fields_of
from ..testing import Hit
from ..testing import hunt as search
from ..theory import tested
from ._run import store_of, whole

#: seeds of the replay
REPLAY = 64


def seconds(text: str) -> float:
    """A time such as `60s`, `2m` or `90`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m)?", text.strip())
    if not match or float(match[1]) <= 0:
        raise InvalidArgument("budget", text, "must be a positive time such as 60s or 2m")
    return float(match[1]) * (60 if match[2] == "m" else 1)


def hunt(name: str, claim: str | None, budget: str, seed: str) -> int:
    paper, limit, start = load(name), seconds(budget), whole("seed", seed)
    bounded = {item.name: item for item in paper.claims if item.bound is not None}
    if claim is not None and claim not in bounded:
        raise InvalidArgument("claim", claim, f"states no bound; those that do are {', '.join(bounded) or 'none'}")
    if not bounded:
        raise InvalidArgument(
            "experiment", paper.name, "none of its claims states a bound; see ts.Claim.of and ts.theory.Bound"
        )
    refuted = False
    for item in [bounded[claim]] if claim else bounded.values():
        hit, replay = _one(paper, item, limit, start)
        verdict = "refuted" if hit.refuted else "not refuted"
        print(f"{item.name}: {verdict} after {hit.tried} points")
        print(f"  worst margin on fresh seeds {hit.margin:.4g} (p = {hit.p_value:.2g})")
        print(f"  at {', '.join(f'{k} = {v:g}' for k, v in hit.point.items())}, {hit.depth:.2g} decades inside the regime")
        print(f"  {replay}")
        refuted |= hit.refuted
    return int(refuted)


def _one(paper: Experiment, claim: Claim, limit: float, start: int) -> tuple[Hit, str]:
    """Hunt one bound over the fields that its study sweeps, from the middle of their ranges."""
    assert claim.bound is not None
    preset = claim.preset or next(size for size, studies in paper.presets.items() if claim.study in studies)
    study, known = paper.study(preset, claim.study), fields_of(paper.params)
    middle = {name: values[len(values) // 2] for name, values in study.over.items()}
    base = checked(paper.params, {**study.base, **middle})
    constants = {}
    if claim.bound.constants:
        store = store_of(paper.name, preset)
        data = paper.run(preset, claim.study, store=store, progress=True)[claim.study].to_dataset()
        _, constants = tested(claim.bound, data, claim.along)
    names = [name for name in study.over if known[name].traced] or None
    hit = search(claim.bound, paper.trial, base, names=names, constants=constants, budget=limit, seed=start, x64=study.x64)
    settings = " ".join(f"--set {name}={_plain(value)}" for name, value in hit.point.items())
    replay = f"theorysim run {paper.name} --preset {preset} --study {claim.study} {settings} --seeds {REPLAY}"
    _keep(paper, claim, hit, constants, replay)
    return hit, replay


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(np.float64(value)))


def _keep(paper: Experiment, claim: Claim, hit: Hit, constants: dict[str, float], replay: str) -> None:
    """Add the hit to the experiment's list of hunts."""
    path = Path("results") / paper.name / "hunts.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {
        "claim": claim.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "constants": constants,
        "replay": replay,
    }
    with path.open("a") as out:
        out.write(json.dumps({**line, **asdict(hit)}) + "\n")

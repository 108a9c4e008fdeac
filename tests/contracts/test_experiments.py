"""What every paper file must hold; all files that `theorysim list` finds are tested, at all their presets."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import jax
import numpy as np
import pytest
import xarray as xr

import theorysim as ts
from theorysim._find import names
from theorysim._sweep.params import checked, fields_of
from theorysim._sweep.plan import plan
from theorysim._sweep.study import MARKS
from theorysim._sweep.template import template_of
from theorysim._sweep.trace import _abstract

load = cache(ts.load)
STUDIES = [(name, preset, study) for name in names() for preset, studies in load(name).presets.items() for study in studies]
CLAIMS = [(name, claim.name) for name in names() for claim in load(name).claims]


def decided_at(name: str, claim: ts.Claim) -> str:
    """The preset at which a claim is decided: its own, or the first that has its study."""
    return claim.preset or next(preset for preset, studies in load(name).presets.items() if claim.study in studies)


@cache
def outline(name: str, preset: str, study: str):
    """The plan of a study, and the names, axes and types of what its trial gives, traced without running it."""
    paper, item = load(name), load(name).study(preset, study)
    planned = plan(checked(paper.params, dict(item.base)), item.over, item.seeds)
    with jax.enable_x64(item.x64):
        template = template_of(_abstract(paper.trial, planned.parts[0], item.x64)[-1], planned.parts[0])
    return planned, template


def synthetic(name: str, preset: str, study: str, rng: np.random.Generator) -> xr.Dataset:
    """Data of a study's dimensions, with numbers drawn at random."""
    planned, template = outline(name, preset, study)
    sizes, data = [len(values) for values in planned.over.values()], {}
    coords = {axis: list(values) for axis, values in planned.over.items()}
    for key, output in template.items():
        coords |= {axis: list(values) for axis, values in output.coords}
        data[key] = ((*planned.over, "seed", *output.dims), rng.uniform(size=(*sizes, planned.seeds, *output.shape)))
    attrs = {"params": json.dumps(dataclasses.asdict(planned.params))}
    return xr.Dataset(data, {**coords, "seed": np.arange(planned.seeds)}, attrs)


def test_there_are_experiments():
    assert "benign_relu" in names()
    assert CLAIMS


@pytest.mark.parametrize("name", names())
def test_contract(name):
    paper = load(name)
    assert {"quick", "paper"} <= set(paper.presets)
    assert paper.claims
    assert len({claim.name for claim in paper.claims}) == len(paper.claims)
    assert all(claim.statement and claim.source for claim in paper.claims)


@pytest.mark.parametrize(("name", "preset", "study"), STUDIES)
def test_trial_traces(name, preset, study):
    _, template = outline(name, preset, study)
    assert template
    assert all(output.dtype.kind in "fib" for output in template.values())


@pytest.mark.parametrize(("name", "preset", "study"), STUDIES)
def test_every_number_says_where_it_comes_from(name, preset, study):
    sources = load(name).study(preset, study).sources
    numbers = {field.name for field in fields_of(load(name).params).values() if field.kind in (int, float)}
    assert numbers | {"seeds"} <= set(sources)
    assert set(sources) <= {*fields_of(load(name).params), "seeds"}
    assert all(source.split(":")[0].split()[0] in MARKS for source in sources.values())


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_claims_give_margins_for_each_seed(name, claim):
    """On data of the right shape, of the study at which the claim is decided."""
    item = next(item for item in load(name).claims if item.name == claim)
    preset = decided_at(name, item)
    assert item.study in load(name).preset(preset)
    data = synthetic(name, preset, item.study, np.random.default_rng(0))
    margins = item.check(data)
    # a bound with an open constant spends half of the seeds on its fit
    used = data.sizes["seed"] // 2 if item.bound is not None and item.bound.constants else data.sizes["seed"]
    assert margins.sizes["seed"] == used
    assert margins.dtype.kind == "f"

"""Every paper runs: a few steps of its first quick study, two seeds, one program each."""

from __future__ import annotations

import numpy as np
import pytest

import theorysim as ts
from theorysim._find import names
from theorysim._sweep.params import fields_of

#: fields that make a run long, and what is enough here
FEW = {"steps": 4, "rounds": 2, "longest": 3, "longest_round": 2, "records": 2, "tests": 30}


@pytest.mark.parametrize("name", names())
def test_a_few_steps_run(name):
    paper = ts.load(name)
    study = next(iter(paper.preset("quick").values()))
    known = fields_of(paper.params)
    # the first value of each swept field, so that there is one program
    params = paper.params(**(dict(study.base) | {field: next(iter(values)) for field, values in study.over.items()}))
    small = {field: min(getattr(params, field), few) for field, few in FEW.items() if field in known}
    data = ts.sweep(paper.trial, type(params)(**(vars(params) | small)), seeds=2, x64=study.x64)
    assert (data.status == 1).all()  # nothing diverged
    drawn = [key for key in data.data_vars if data[key].dtype.kind == "f"]
    assert any(np.any(data[key].isel(seed=0) != data[key].isel(seed=1)) for key in drawn)  # seeds are not all one

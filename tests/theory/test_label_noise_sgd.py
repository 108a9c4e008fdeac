"""The formulas of label noise SGD: values, limits, inverses; and faults that turn a claim."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import label_noise_sgd as theory

positive = st.floats(0.1, 10)
small = st.floats(1e-5, 1e-2)


@given(positive, small, st.floats(10, 100), st.floats(1, 50), positive)
def test_the_derived_exit_is_where_the_shrinkage_is_the_edge(sigma, lr, width, dim, weakest):
    time = theory.exit_time(sigma, lr, width, dim, weakest)
    rate = theory.shrink_rate(lr, theory.square_residual(sigma, lr, width, dim))
    assert rate * time * weakest * np.sqrt(width) == pytest.approx(1)


@given(positive, small, st.floats(2, 1e6))
def test_scalings_of_the_bound(sigma, lr, width):
    bound = theory.exit_bound(sigma, lr, width)
    assert theory.exit_bound(2 * sigma, lr, width) == pytest.approx(bound / 4)
    assert theory.exit_bound(sigma, 2 * lr, width) == pytest.approx(bound / 4)
    assert theory.exit_bound(sigma, lr, width**2) == pytest.approx(bound * np.sqrt(2 / width))


def test_values():
    assert theory.exit_bound(4, 1e-3, 1000) == pytest.approx(384 * np.sqrt(np.log(1000)) / (16e-6 * np.sqrt(1000)))
    assert theory.square_residual(4, 0.0, 1000, 20) == 16
    assert theory.norm_change(1e-3, 2.0, 0.0, 3.0, 20.0) == pytest.approx(-36e-6)
    assert theory.norm_change(1e-3, 2.0, 1.0, 0.0, 20.0) == pytest.approx(80e-6)
    assert theory.oscillation_level(1e-4) == pytest.approx(1e-2)
    assert theory.oscillation_decay(1e-4, 1e6) == pytest.approx(np.exp(-1))
    assert theory.aligned_cosine(1e-3) == pytest.approx(1 - np.sqrt(1e-3) * np.log(1e3))


@given(small, positive)
def test_times_of_phase_two(lr, target):
    """In time eta t they grow with log(1/eta) alone; the second is the first over the target's norm."""
    first, second = theory.alignment_time(lr, target), theory.convergence_time(lr, target)
    assert second == pytest.approx(first / target)
    assert theory.alignment_time(lr**2, target) * lr**2 == pytest.approx(2 * first * lr)


def test_the_exit_is_read_off_where_it_is():
    """Interpolated in logarithms, also from a first record of 0; NaN if it is not reached; per cell of a sweep."""
    moved = np.array([[0, 0.1, 0.2, 0.4], [0, 1.0, 2.0, 3.0], [0, 0.1, 0.1, 0.1]]) / 10
    coords = {"seed": [0, 1, 2], "time": [0, 10, 100, 1000]}
    data = xr.Dataset({"moved_min": (("seed", "time"), moved)}, coords, {"params": json.dumps({"width": 1111.1111111})})
    found = theory.left_lazy(data).values
    expected = np.exp(np.log(100) + np.log(10) * np.log(0.3 / 0.2) / np.log(2))
    np.testing.assert_allclose(found[:2], [expected, 10], rtol=1e-6)
    assert np.isnan(found[2])


PAPER, SEEDS = ts.load("label_noise_sgd"), 40


def made_up(study, **records):
    """Records of a study as the theory has them, over its grid, 40 seeds and given times."""
    item = PAPER.presets["paper"][study]
    time = np.append(0, np.geomspace(1, 2e6, 500))
    coords = {name: np.asarray(values) for name, values in item.over.items()} | {"seed": np.arange(SEEDS), "time": time}
    params = asdict(PAPER.params(**item.base))
    data = xr.Dataset(coords=coords, attrs={"params": json.dumps(params)})
    spread = 1 + 0.01 * xr.DataArray(np.random.default_rng(0).normal(size=SEEDS), dims="seed")
    return data.assign({name: make(data, ts.theory.fields(data)) * spread for name, make in records.items()})


WEAKEST = 0.6
CASES = {
    "exit_time": lambda: made_up(
        "exit",
        moved_min=lambda data, p: data.time / theory.exit_time(p.sigma, p.lr, p.width, p.dim, WEAKEST) / np.sqrt(p.width),
        norm_min=lambda data, p: WEAKEST + 0 * data.time,
    ),
    "exit_bound": lambda: made_up(
        "in_regime", moved_min=lambda data, p: 2 * data.time / theory.exit_bound(p.sigma, p.lr, p.width) / np.sqrt(p.width)
    ),
    "oscillation": lambda: made_up("oscillation", mean_square=lambda data, p: theory.oscillation_decay(data.lr, data.time)),
    "aligned": lambda: made_up(
        "phase_two", cosine=lambda data, p: 1 - 0.9 * np.exp(-data.lr * data.time / np.log(1 / data.lr) * 3)
    ),
}
FAULTS = [
    ("exit_time", "square_residual", lambda sigma, lr, width, dim: sigma**2 / (1 - lr * (width + dim)) ** 4),
    ("exit_time", "shrink_rate", lambda lr, square: lr**2 * square),
    ("exit_bound", "exit_bound", lambda sigma, lr, width: 1 / (sigma**2 * lr**2 * np.sqrt(width))),
    ("oscillation", "oscillation_level", lambda lr: lr**2),
    ("aligned", "alignment_time", lambda lr, target: np.log(1 / lr) / target),
    ("aligned", "aligned_cosine", lambda lr: 1 - lr**2),
]


def verdict(name, data):
    item = next(claim for claim in PAPER.claims if claim.name == name)
    return verdicts([weigh(item, data)])[0]


@pytest.mark.parametrize("name", CASES)
def test_data_that_obey_the_theory_hold(name):
    assert verdict(name, CASES[name]()) == "holds"


@pytest.mark.parametrize(("name", "formula", "wrong"), FAULTS, ids=[f"{f[0]}-{f[1]}" for f in FAULTS])
def test_a_planted_fault_turns_the_row_red(monkeypatch, name, formula, wrong):
    data = CASES[name]()
    monkeypatch.setattr(theory, formula, wrong)
    assert verdict(name, data) != "holds"

"""The formulas of benign overfitting for XOR data: values, inverses, limits; and planted faults that claims see."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import benign_relu
from theorysim.theory import benign_xor as theory

positive = st.floats(0.1, 100)
angles = st.floats(-1, 0.99)


@given(st.integers(1, 10**4), positive, st.floats(2, 1e9), angles, positive)
def test_critical_signal_inverts_the_ratio(n, constant, dim, cosine, noise):
    signal = theory.critical_signal(n, dim, constant, cosine, noise)
    assert theory.signal_to_noise(n, signal, dim, cosine, noise) == pytest.approx(constant, rel=1e-9)


@given(st.integers(1, 10**4), positive, st.floats(2, 1e9), positive)
def test_signal_of_ratio_inverts_the_ratio(n, ratio, dim, noise):
    signal = theory.signal_of_ratio(ratio, n, dim, noise)
    assert benign_relu.signal_to_noise(n, signal, dim, noise) == pytest.approx(ratio, rel=1e-9)


@given(st.integers(1, 10**4), positive, st.floats(2, 1e9))
def test_orthogonal_features_are_the_linear_case(n, signal, dim):
    assert theory.signal_to_noise(n, signal, dim) == pytest.approx(benign_relu.signal_to_noise(n, signal, dim))


def test_values():
    assert theory.signal_to_noise(80, 5.0, 50000.0, cosine=1.0) == 0
    assert theory.critical_signal(80, 16 * 50000.0, 1.0) == pytest.approx(2 * theory.critical_signal(80, 50000.0, 1.0))
    assert theory.benign_error(0.1, 2.0, 1.0) == pytest.approx(0.1 + np.exp(-2))
    assert theory.harmful_error(0.1, 0.25) == pytest.approx(0.35)
    assert theory.linear_error() == 0.5


def test_balanced_samples_compare_the_two_parts():
    """|a|^4/|b|^4 of the law's own vectors."""
    cosine = np.linspace(-0.9, 0.9, 7)
    a, b = (1 + cosine) / 2, (1 - cosine) / 2
    np.testing.assert_allclose(theory.balanced_samples(cosine), (a / b) ** 2)


PAPER = ts.load("benign_xor")


def study(name):
    """Made-up errors 0.3 exp(-x (1 - cos)^2/60)/sqrt(1 + x/5) on the grid of a study, with a spread of a few percent."""
    item = PAPER.presets["asymptotic"][name]
    over = {"cosine": [0.0]} | dict(item.over)
    axes = [xr.DataArray(np.asarray(v, float), {k: np.asarray(v, float)}, (k,)) for k, v in over.items()]
    values = dict(zip(over, axes, strict=True))
    x = values["ratio"] * (1 - values["cosine"]) ** 2
    count = 40 if name == "above" else 20  # half of them go into the fit of a bound's constant
    seed = xr.DataArray(1 + 0.03 * np.random.default_rng(0).normal(size=count), {"seed": np.arange(count)}, ("seed",))
    error = 0.36 * np.exp(-x / 60) / np.sqrt(1 + x / 5) * seed
    if "dim" in values:
        error = error + 0 * values["dim"]
    return xr.Dataset({"test_error": error}, attrs={"params": json.dumps(vars(PAPER.params(**item.base)))})


CASES = {"exponent": "exponent", "benign": "above", "harmful": "below", "challenging_angles": "angle"}


def verdict(name):
    claim = next(item for item in PAPER.claims if item.name == name)
    return verdicts([weigh(claim, study(CASES[name]))])[0]


@pytest.mark.parametrize("name", CASES)
def test_data_that_obey_the_theory_give_the_expected_verdict(name):
    assert verdict(name) == "holds"


FAULTS = [
    ("exponent", "signal_of_ratio", lambda ratio, n, dim, noise=1.0: noise * (ratio * dim / n) ** 0.5),
    ("benign", "benign_error", lambda flip, ratio, constant: flip - np.exp(-ratio / constant)),
    ("benign", "signal_to_noise", lambda n, signal, dim, cosine=0.0, noise=1.0: n * signal**5 * (1 - cosine) ** 2 / dim),
    ("harmful", "harmful_error", lambda flip, constant: flip + 0.4),
    ("challenging_angles", "signal_of_ratio", lambda ratio, n, dim, noise=1.0: (ratio * dim / n) ** 0.5),
]


@pytest.mark.parametrize(("name", "formula", "wrong"), FAULTS, ids=[f"{f[0]}-{f[1]}" for f in FAULTS])
def test_a_planted_fault_turns_the_claim(monkeypatch, name, formula, wrong):
    monkeypatch.setattr(theory, formula, wrong)
    assert verdict(name) != "holds"

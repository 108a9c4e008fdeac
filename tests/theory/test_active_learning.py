"""The formulas of neural active learning: values, limits; and made-up data on which claims must turn."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import active_learning as theory

positive = st.floats(0.1, 100)
shares = st.floats(0.01, 1)


@given(shares, positive, st.sampled_from([2, 4]))
def test_features_of_equal_strength_have_equal_order(share, signal, power):
    """At n samples in all: n_1 |mu_1|^k = n_2 |mu_2|^k."""
    share = min(share, 0.99)
    rare = signal * theory.equal_strength(share, power)
    measure = {2: theory.growth, 4: lambda n, strength: theory.order(n, strength, 1000.0)}[power]
    assert measure(share * 50, rare) == pytest.approx(measure((1 - share) * 50, signal), rel=1e-9)


@given(positive, shares, st.integers(1, 100))
def test_labels(needed, share, initial):
    """A query never needs more hard labels than chance; without initial labels, or at p = 1, the two are equal."""
    active, passive = theory.active_labels(needed, share, initial), theory.passive_labels(needed, share)
    assert active <= max(passive, initial) * (1 + 1e-9) or active == initial
    assert theory.active_labels(needed, share, 0) == pytest.approx(needed)
    assert theory.active_labels(needed, 1.0, initial) == pytest.approx(max(needed, initial))
    assert theory.passive_labels(needed, share / 2) == pytest.approx(2 * passive)


def test_values():
    assert theory.order(20, 4.0, 1000.0) == pytest.approx(5.12)
    assert theory.growth(20, 4.0) == 320
    assert theory.equal_strength(0.2, 4) == pytest.approx(2**0.5)


PAPER, SEEDS = ts.load("active_learning"), 20


def made_up(name, random_power=1.0, gain=10.0, level=0.5):
    """Data of a study that follow the theory with n_2* = 14; the arguments plant faults."""
    item = PAPER.presets["paper"][name]
    axes = {k: xr.DataArray(np.asarray(v, float), {k: np.asarray(v, float)}, (k,)) for k, v in item.over.items()}
    spread = 1 + 0.02 * np.random.default_rng(0).normal(size=SEEDS)
    seed = xr.DataArray(spread, {"seed": np.arange(SEEDS)}, ("seed",))
    share, queried, chance = axes["share"], axes["queried"], axes["strategy"] == 0
    if name == "order":
        equal = 3.3 * ((1 - share) / share) ** level
        hard = 0.1 * (equal / axes["hard"]) ** 3 * seed + 0 * queried + 0 * axes["strategy"]
    else:
        first = 20 * share
        at_random = share**random_power * (20 + queried)
        found = xr.where(chance, at_random, first + np.minimum(gain * share, 1) * queried)
        hard = 0.5 * 0.1 ** (found / 14) * seed + 0 * axes["hard"]
    data = {"test_error_hard": hard, "test_error_easy": 0.1 + 0 * hard, "test_error": share * hard}
    return xr.Dataset(data, attrs={"params": json.dumps(vars(PAPER.params(**item.base)))})


def verdict(name, **faults):
    claim = next(item for item in PAPER.claims if item.name == name)
    return verdicts([weigh(claim, made_up(claim.study, **faults))])[0]


#: claim -> the planted fault that turns it
CASES = {
    "one_over_p": {"random_power": 0.5},
    "active_is_flat": {"gain": 1.0},
    "saves_when_rare": {"gain": 1.0},
    "uncertainty_wins": {"gain": 1.0},
    "order_of_weak_features": {"level": 0.25},
}


@pytest.mark.parametrize("name", CASES)
def test_data_that_obey_the_theory_hold_and_a_planted_fault_turns_them(name):
    assert verdict(name) == "holds"
    assert verdict(name, **CASES[name]) != "holds"


def test_the_contradicted_order_would_hold_if_it_were_true():
    assert verdict("order_by_fourth_power") == "fails"
    assert verdict("order_by_fourth_power", level=0.25) == "holds"

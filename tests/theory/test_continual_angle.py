"""The formulas of continual learning at an angle: values, limits, inverses; and faults in them that turn a verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import continual_angle as theory

PAPER = ts.load("continual_angle")
share = st.floats(0, 1)


@given(share)
def test_critical_angle_inverts_the_cosine(constant):
    assert -np.cos(np.radians(theory.critical_angle(constant))) == pytest.approx(constant, abs=1e-12)


@given(share)
def test_replay_widens_the_range_but_not_to_all(constant):
    assert constant <= theory.replay_constant(constant) <= 1
    assert theory.replay_constant(1.0) == 1.0


@given(st.floats(0, 180))
def test_shares_are_those_of_the_geometry(angle):
    """What is kept is the part of mu_1 off mu_2; what answers is its part along -mu_2: squares add up past 90 degrees."""
    mu_1, mu_2 = np.array([1.0, 0.0]), np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    pushed = mu_1 - min(0.0, mu_1 @ mu_2) * mu_2
    assert theory.kept(angle) == pytest.approx(pushed @ mu_1, abs=1e-12)
    assert theory.answered(angle) == pytest.approx(max(0.0, -(mu_2 @ mu_1)), abs=1e-12)
    if angle > 90:
        assert theory.kept(angle) + theory.answered(angle) ** 2 == pytest.approx(1)


@given(st.floats(0, 100))
def test_the_balance_is_where_the_responses_meet(ratio):
    angle = theory.critical_angle(theory.balance_constant(ratio))
    assert 90 < angle <= 180
    assert theory.kept(angle) == pytest.approx(ratio * theory.answered(angle), abs=1e-6)


def test_values():
    assert theory.balance_constant() == pytest.approx((5**0.5 - 1) / 2)
    assert theory.critical_angle(theory.balance_constant()) == pytest.approx(128.1727, abs=1e-4)
    assert theory.critical_angle(theory.replay_constant(theory.balance_constant())) == pytest.approx(144)
    assert theory.balance_constant(0.0) == 1.0
    assert theory.signal_strength(100, 8, 100, 3) == pytest.approx(51.2)
    assert theory.signal_strength(100, 16, 400, 3) == pytest.approx(51.2)


def test_each_bound_has_its_own_cells():
    """No cell is both benign and harmful; replay's range contains the benign one."""
    angle = np.linspace(0, 180, 181)
    point = PAPER.params(replayed=0.0)
    values = vars(point) | {"angle": angle}
    plain, replay = (ts.theory.continual_angle, values | {"replayed": 10.0})
    benign, harmful = (np.asarray(bound.depth(_at(values)) >= 0) for bound in (plain.BENIGN, plain.HARMFUL))
    assert not (benign & harmful).any()
    assert angle[benign].max() == 99
    assert angle[harmful].min() == 151
    assert angle[np.asarray(plain.REPLAY.depth(_at(replay)) >= 0)].max() == 144
    for wrong in ({"replayed": 5.0}, {"flip": 0.5}, {"signal": 1.0}, {"strength": 1.0}):
        assert np.all(plain.REPLAY.depth(_at(replay | wrong)) < 0)


def _at(values):
    from types import SimpleNamespace

    return SimpleNamespace(**values)


def made_up():
    """Forgetting that turns at 132 degrees without replay and at 162 with it, over 40 seeds; nothing is simulated."""
    study = PAPER.presets["paper"]["angles"]
    over = {name: np.asarray(values, float) for name, values in study.over.items()}
    seed = np.arange(40)
    turn = np.where(over["replayed"] > 0, 162.0, 132.0)[None, :, None, None] + np.random.default_rng(0).normal(size=40)
    error = 1 / (1 + np.exp(np.clip((turn - over["angle"][:, None, None, None]), -50, 50))) + 0 * over["strength"][:, None]
    attrs = {"params": json.dumps(vars(PAPER.params()))}
    return xr.Dataset({"forgetting": ((*over, "seed"), error)}, over | {"seed": seed}, attrs)


def verdict(name, data):
    return verdicts([weigh(next(claim for claim in PAPER.claims if claim.name == name), data)])[0]


ROWS = ("benign", "harmful", "replay", "crossing", "replay_reaches", "monotone")


@pytest.mark.parametrize("name", ROWS)
def test_data_that_obey_the_theory_hold(name):
    assert verdict(name, made_up()) == "holds"


@pytest.mark.parametrize(
    ("name", "formula", "wrong"),
    [
        ("replay", "replay_constant", lambda constant: (constant + 39) / 40),
        ("replay_reaches", "replay_constant", lambda constant: (constant + 9) / 10),
        ("replay_reaches", "critical_angle", lambda constant: 1.2 * np.degrees(np.arccos(-constant))),
        ("harmful", "HARMFUL_CONSTANT", 0.6),
        ("benign", "BENIGN_CONSTANT", 0.7),
    ],
)
def test_a_planted_fault_turns_the_row_red(monkeypatch, name, formula, wrong):
    monkeypatch.setattr(theory, formula, wrong)
    assert verdict(name, made_up()) != "holds"


@pytest.mark.parametrize("name", ["crossing", "inverts", "replay_extends", "benign", "harmful"])
def test_an_untrained_net_turns_it(name):
    """Chance everywhere: nothing crosses, nothing inverts."""
    data = made_up()
    data["forgetting"] = 0.5 + 0.02 * np.random.default_rng(1).normal(size=data.forgetting.shape) + 0 * data.forgetting
    assert verdict(name, data) != "holds"

"""The map of two numbers: against a run of the network, its limits and fixed points, and faults that turn a claim."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import spurious_features as theory

flip = st.floats(0.02, 0.48)
feature = st.floats(-2, 2)
SHARE = theory.shares(0.25, [0.1, 0.2])


def risk(share, invariant, spurious, strength):
    """The objective of IRMv1 by its definition, in $u=2\\gamma$."""
    margin = 2 * (theory.PATTERNS @ np.array([invariant, spurious]))
    loss, slope = share @ np.logaddexp(0, -margin), share @ (-margin / (1 + np.exp(margin)))
    return loss.mean() + strength * ((slope / len(share)) ** 2).sum()


@given(flip, flip, flip, feature, feature, st.sampled_from([0.0, 1.0, 50.0]))
def test_the_velocity_is_minus_the_gradient(alpha, first, second, invariant, spurious, strength):
    """By central differences; half of it as the risk is a function of twice the features."""
    share, h = theory.shares(alpha, [first, second]), 1e-5
    steps = ((h, 0.0), (0.0, h))
    slopes = [
        (risk(share, invariant + a, spurious + b, strength) - risk(share, invariant - a, spurious - b, strength)) / (2 * h)
        for a, b in steps
    ]
    found = theory.velocity(share, invariant, spurious, strength)
    np.testing.assert_allclose(found, -np.array(slopes) / 2, rtol=1e-5, atol=1e-7 * (1 + strength))


@given(flip, st.lists(flip, min_size=1, max_size=4))
def test_shares_are_the_law(alpha, betas):
    share = theory.shares(alpha, betas)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_allclose(share @ theory.PATTERNS, [[1 - 2 * alpha, 1 - 2 * b] for b in betas], atol=1e-12)


@given(flip, flip)
def test_the_first_step_and_the_last(alpha, beta):
    share = theory.shares(alpha, [beta])
    first = theory.path(share, [0.0, 0.0], [1], lr=0.3, width=4)[0]
    np.testing.assert_allclose(first, [theory.growth(alpha, 0.3, 4), theory.growth(beta, 0.3, 4)], rtol=1e-9)
    limit = theory.calibrated(alpha), theory.calibrated(beta)
    np.testing.assert_allclose(theory.velocity(share, *limit), 0, atol=1e-12)


@given(flip, flip, flip)
def test_the_invariant_predictor_has_no_gradient(alpha, first, second):
    share = theory.shares(alpha, [first, second])
    np.testing.assert_allclose(theory.gradients(share, theory.calibrated(alpha), 0.0), 0, atol=1e-12)
    assert np.abs(theory.gradients(share, theory.calibrated(alpha), 0.3)).max() > 1e-4


def test_where_it_rests():
    """After long training from scratch, to the next order in 1/lambda; and the rate of the way there."""
    times = [5_000, 15_000]
    path = theory.path(SHARE, [0.002, -0.001], times, 1e-3, 10, 1e4)
    assert path[-1] == pytest.approx([theory.rest_invariant(1e4, 0.25), 0.0], abs=5e-6)
    np.testing.assert_allclose(theory.gradients(SHARE, *path[-1]), theory.rest_gradient(1e4), rtol=5e-3)
    away = theory.path(SHARE, [0.002, -0.001], [1000, 1500], 1e-3, 10, 1e4) - path[-1]
    decay = np.log(np.linalg.norm(away[0]) / np.linalg.norm(away[1])) / 500
    assert decay == pytest.approx(theory.slow_rate(1e4, 1e-3, 10, 0.25, [0.1, 0.2]), rel=0.05)


def test_own_shares_for_each_point():
    many = np.stack([SHARE, theory.shares(0.1, [0.3, 0.4])])
    point = np.array([[0.3, 0.2], [0.5, -0.1]])
    for call in (lambda s, p: theory.velocity(s, p[..., 0], p[..., 1], 9.0), lambda s, p: theory.gradients(s, *p.T)):
        together = call(many, point)
        np.testing.assert_allclose(together, [call(many[k], point[k]) for k in (0, 1)], rtol=1e-12)


def test_accuracy_by_the_larger_feature():
    found = theory.ood_accuracy(np.array([0.5, 0.1, -0.5, 0.3]), np.array([0.1, -0.5, 0.1, 0.3]), 0.25, 0.9)
    np.testing.assert_allclose(found, [0.75, 0.9, 0.25, (0.75 + 0.1) / 2])


PAPER = ts.load("spurious_features")


def made(noise=1e-4):
    """ERM's two features as the map has them, and gradients at rest, with a small spread over seeds."""
    rng, times = np.random.default_rng(0), np.asarray(ts.log_times(1000, 30))
    params = PAPER.params(rate=0.5)
    path = theory.path(SHARE, [0.0, 0.0], times, 0.5, 10)
    path = path.T[:, None, None, None, None] * (1 + 0.01 * rng.normal(size=(2, 1, 1, 1, 20, 1)))
    dims = ("strength", "pretraining", "augmenting", "seed", "time")
    data = xr.Dataset({"invariant": (dims, path[0]), "spurious": (dims, path[1])})
    data["gradient"] = (*dims, "environment"), -1e-4 * (1 + 0.01 * rng.normal(size=(1, 1, 1, 20, len(times), 2)))
    data["share"] = (*dims[:4], "environment", "pattern"), np.broadcast_to(SHARE, (1, 1, 1, 20, 2, 4))
    coords = {"strength": [1e4], "pretraining": [0.0], "augmenting": [0.0], "time": times}
    return data.assign_coords(coords).assign_attrs(params=json.dumps(vars(params)))


def verdict(name):
    return verdicts([weigh(next(claim for claim in PAPER.claims if claim.name == name), made())])[0]


FAULTS = [
    ("growth", "growth", lambda flip, lr, width: lr * (1 - 2 * flip) / width),
    ("growth", "growth", lambda flip, lr, width: lr * (1 - flip) / (2 * width)),
    ("growth_ratio", "correlation", lambda flip: 1 - flip),
    ("both_learned", "calibrated", lambda flip: np.log((1 - flip) / flip)),
    ("rest_value", "rest_gradient", lambda strength, environments=2: -1 / (2 * strength)),
]


@pytest.mark.parametrize(("name", "formula", "wrong"), FAULTS, ids=[f"{f[0]}-{k}" for k, f in enumerate(FAULTS)])
def test_a_planted_fault_turns_the_claim(monkeypatch, name, formula, wrong):
    assert verdict(name) == "holds"
    monkeypatch.setattr(theory, formula, wrong)
    assert verdict(name) == "fails"

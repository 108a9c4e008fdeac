"""The two-token map, equilibria of each rank, the gap of windows: by iteration, and faults that turn a claim."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import rank_collapse as theory

shear = st.floats(1.02, 10)
angle = st.floats(-3.1, 3.1)


def angle_of(point):
    return np.arctan2(point[..., 1], point[..., 0])


def step(x, w):
    """One layer by its definition: causal uniform attention, W_V = I + w U, unit rows."""
    mixing = np.tril(np.ones((len(x), len(x)))) / np.arange(1, len(x) + 1)[:, None]
    moved = mixing @ x @ (np.eye(x.shape[1]) + w * np.eye(x.shape[1], k=1))
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


@given(angle, angle, shear)
def test_the_map_of_angles_is_a_layer(first, second, w):
    x = np.stack([np.cos([first, second]), np.sin([first, second])], axis=1)
    if np.linalg.norm(x.sum(axis=0)) < 1e-3:
        return
    found = theory.two_token_map(first, second, w)
    np.testing.assert_allclose(np.exp(1j * np.array(found)), np.exp(1j * angle_of(step(x, w))), atol=1e-9)


@given(shear)
def test_equilibria_and_their_slopes(w):
    at = [np.pi / 2, angle_of(theory.equilibrium_b(w)), angle_of(theory.equilibrium_b(w, +1))]
    for place, slope in zip(at, theory.slopes(w), strict=True):
        after, before = (theory.two_token_map(np.pi / 2, place + h, w)[1] for h in (1e-5, -1e-5))
        np.testing.assert_allclose(np.angle(np.exp(1j * (theory.two_token_map(np.pi / 2, place, w)[1] - place))), 0, atol=1e-7)
        assert np.angle(np.exp(1j * (after - before))) / 2e-5 == pytest.approx(slope, abs=1e-5)
    assert abs(np.linalg.det(np.stack([[0, 1], theory.equilibrium_b(w)]))) == pytest.approx(1 / w)


@pytest.mark.parametrize("w", [1.2, 2.0, 6.0])
def test_the_basin_by_iteration(w):
    start = np.linspace(-np.pi, np.pi, 4001)[:-1] + 1e-4
    end = start
    for _ in range(200):
        end = theory.two_token_map(np.pi / 2, end, w)[1]
    share = np.mean(abs(np.cos(end)) > 1 / (2 * w))
    assert share == pytest.approx(theory.basin(w), abs=1e-3)
    assert abs(share - (0.5 - np.arcsin(1 / w) / np.pi)) > 0.01  # planted: a factor 2


def test_below_one_there_is_no_b():
    assert np.isnan(theory.basin(0.9))
    assert np.isnan(theory.equilibrium_b(0.9)).any()
    end = np.linspace(-3, 3, 100)
    for _ in range(400):
        end = theory.two_token_map(np.pi / 2, end, 0.9)[1]
    np.testing.assert_allclose(end, np.pi / 2, atol=1e-6)


@pytest.mark.parametrize(("tokens", "dim", "w"), [(2, 2, 1.5), (4, 4, 4.0), (6, 4, 6.0), (3, 5, 4.0)])
def test_equilibria_of_each_rank(tokens, dim, w):
    with jax.enable_x64(True):
        found = np.asarray(theory.equilibria(tokens, dim, w))
    assert [np.linalg.matrix_rank(x, 1e-6) for x in found] == [*range(1, min(tokens, dim) + 1)]
    for x in found:
        np.testing.assert_allclose(step(x, w), x, atol=1e-13)
    # planted: another shear
    assert np.abs(step(found[-1], 1.1 * w) - found[-1]).max() > 1e-3


def test_of_two_tokens_it_is_b():
    np.testing.assert_allclose(theory.equilibria(2, 2, 3.0)[1, 1], theory.equilibrium_b(3.0), rtol=1e-6)


@pytest.mark.parametrize("reach", [1, 4, 15])
def test_the_gap_by_powers(reach):
    n = 16
    seen = abs(np.arange(n)[:, None] - np.arange(n)) <= reach
    mixing = seen / seen.sum(axis=1, keepdims=True)
    x = np.random.default_rng(0).normal(size=n)
    for _ in range(600):
        x = mixing @ x
        x -= x @ seen.sum(axis=1) / seen.sum()  # off the collapse
        x /= max(np.linalg.norm(x), 1e-300)
    after = mixing @ x
    assert 1 - np.linalg.norm(after) == pytest.approx(float(theory.window_gap(n, reach)), abs=1e-6)


def test_a_narrow_window_diffuses():
    np.testing.assert_allclose(theory.window_gap(200, [1, 3]), theory.diffusive_gap(200, np.array([1, 3])), rtol=0.05)


@given(st.integers(2, 20), st.integers(1, 5), st.integers(0, 6))
def test_the_contraction_holds_and_the_radius_is_that_of_the_graph(n, reach, rounds):
    seen = abs(np.arange(n)[:, None] - np.arange(n)) <= reach
    r = int(theory.radius(n, reach))
    reached = np.linalg.matrix_power(seen.astype(float), r) > 0
    assert reached.all(axis=0).any()  # some token reaches all in r layers
    assert r == 1 or not (np.linalg.matrix_power(seen.astype(float), r - 1) > 0).all(axis=0).any()
    mixing = np.linalg.matrix_power(seen / seen.sum(axis=1, keepdims=True), r * rounds)
    x = mixing @ np.random.default_rng(n).normal(size=n)
    before = np.random.default_rng(n).normal(size=n)
    assert np.ptp(x) <= np.ptp(before) * theory.contraction(1 / (2 * reach + 1), r, r * rounds) + 1e-12


PAPER = ts.load("rank_collapse")


def made():
    """Two tokens as the theory has them, and windows that collapse at the rate of the gap, with a small spread."""
    rng, over = np.random.default_rng(0), PAPER.presets["paper"]["pair"].over
    w = np.asarray(over["shear"])
    spread = 1e-4 * rng.normal(size=(len(w), 2, 20))
    share = np.where(w > 1, theory.basin(np.maximum(w, 1)), 0)[:, None, None] + spread
    slopes = np.moveaxis(np.stack(theory.slopes(w)), 0, -1)[:, None, None] + spread[..., None]
    dims = ("shear", "moving", "seed")
    data = {"fraction": (dims, share), "determinant": (dims, 1 / w[:, None, None] + spread)}
    data["slope"] = (*dims, "equilibrium"), slopes
    pair = xr.Dataset(data, {"shear": w, "moving": [0.0, 1.0], "seed": range(20)})
    study = PAPER.presets["paper"]["radius"]
    reach, time = np.asarray(study.over["reach"]), np.asarray(ts.log_times(1000, 60))
    decay = (1 - theory.window_gap(32, reach))[:, None, None] ** time * (1 + 1e-4 * rng.normal(size=(8, 20, 1)))
    radius = xr.Dataset({"distance": (("reach", "seed", "time"), 4 * decay), "diameter": (("reach", "seed", "time"), decay)})
    radius = radius.assign_coords(reach=reach, time=time).assign_attrs(params=json.dumps(vars(PAPER.params(**study.base))))
    return {"pair": pair, "radius": radius}


def verdict(name):
    claim = next(claim for claim in PAPER.claims if claim.name == name)
    return verdicts([weigh(claim, made()[claim.study])])[0]


FAULTS = [
    ("basin", "basin", lambda w: 0.5 - np.arcsin(1 / w) / np.pi),
    ("slopes", "slopes", lambda w: (0.5 + 0 * w, 1 - 1 / w, 1 + 1 / w)),
    ("gap", "window_gap", theory.diffusive_gap),
    ("contraction", "radius", lambda tokens, reach: 0 * reach + 1),
]


@pytest.mark.parametrize(("name", "formula", "wrong"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_turns_the_claim(monkeypatch, name, formula, wrong):
    assert verdict(name) == "holds"
    data = made()
    monkeypatch.setattr(theory, formula, wrong)
    monkeypatch.setitem(globals(), "made", lambda: data)
    assert verdict(name) == "fails"

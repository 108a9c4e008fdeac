"""Risks at an edge: against simulation, the integrals of the kernels, the correction, and faults that turn a claim."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import local_linear_attention as theory

CASES = [(order, place) for order in theory.ORDERS for place in theory.PLACES]
LOW = {"edge": 0.0, "inside": -9.0}
cases = pytest.mark.parametrize(("order", "place"), CASES)


def moment(order, place, power, square=1):
    return quad(lambda u: u**power * float(theory.equivalent_kernel(order, place, u)) ** square, LOW[place], 9)[0]


@cases
def test_constants_are_integrals_of_the_kernels(order, place):
    assert moment(order, place, 0) == pytest.approx(1, abs=1e-8)
    first = theory.bias(order, place, 1.0, 1.0, 0.0)
    assert moment(order, place, 1) == pytest.approx(first, abs=1e-8)
    if (order, place) != ("constant", "edge"):  # there the first order leads
        assert moment(order, place, 2) / 2 == pytest.approx(theory.bias(order, place, 1.0, 0.0, 1.0), abs=1e-8)
    assert moment(order, place, 0, 2) == pytest.approx(theory.risk(order, place, 1, 1.0, 0.0, 0.0, 1.0), abs=1e-8)


@cases
def test_the_risk_by_simulation(order, place):
    """Mean over designs of the exact risk, at a small bandwidth; within 4 standard errors and the next order."""
    rng, n, b, noise = np.random.default_rng(0), 4000, 0.04, 0.3
    query, slope, curvature = {"edge": (0.0, -4.0, 8.0), "inside": (0.5, 0.0, 8.0)}[place]
    found = []
    for _ in range(40):
        away = rng.uniform(size=n) - query
        value = slope * away + curvature * away**2 / 2
        weight = np.exp(-(away**2) / (2 * b * b))
        weight /= weight.sum()
        if order == "linear":
            mean = weight @ away
            weight = weight * (1 - (away - mean) * mean / (weight @ (away - mean) ** 2))
        found.append((weight @ value) ** 2 + noise**2 * weight @ weight)
    stated = theory.risk(order, place, n, b, slope, curvature, noise)
    assert abs(np.mean(found) - stated) < 4 * np.std(found) / np.sqrt(40) + 0.12 * stated
    # planted: the constants of the other place
    other = theory.risk(order, "inside" if place == "edge" else "edge", n, b, slope, curvature, noise)
    assert abs(np.mean(found) - other) > 0.2 * stated


@cases
def test_the_best_bandwidth_and_its_exponent(order, place):
    at = (1.0, 8.0, 0.3)
    n = np.array([1e3, 1e6])
    best = theory.best_bandwidth(order, place, n, *at)
    least = theory.risk(order, place, n, best, *at)
    grid = best * np.geomspace(0.5, 2, 101)[:, None]
    assert np.all(theory.risk(order, place, n, grid, *at) >= least * (1 - 1e-12))
    assert np.diff(np.log(least))[0] / np.diff(np.log(n))[0] == pytest.approx(theory.exponent(order, place))


def test_integrated_exponents():
    assert theory.integrated_exponent("constant", 3) == -0.5
    assert theory.integrated_exponent("linear", 4) == -0.5
    # between the exponents of the edge and of the inside, weighted by a layer of width b
    assert theory.exponent("constant", "edge") > theory.integrated_exponent("constant", 1) > -0.8


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_correction_is_local_linear_attention(ridge):
    rng = np.random.default_rng(0)
    query, key, value = rng.normal(size=3), rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    weights = rng.uniform(size=20)
    weights /= weights.sum()
    out, softmax, eta = theory.correction(query, key, value, weights, ridge)
    arrays = [jnp.asarray(a, jnp.float32) for a in (weights[None], query[None], key)]
    fit = ts.models.attention.local_linear(*arrays, ridge)
    np.testing.assert_allclose(fit[0] @ value, out, rtol=1e-3, atol=1e-4)
    assert eta > 0
    assert np.abs(out - softmax).max() > 0.01
    # farther from the keys the correction grows
    assert theory.correction(3 * query, key, value, weights, ridge)[2] > eta


def test_bad_words_are_told():
    for call in (lambda: theory.bias("cubic", "edge", 1, 1, 1), lambda: theory.exponent("linear", "middle")):
        with pytest.raises(ts.InvalidArgument):
            call()


PAPER = ts.load("local_linear_attention")


def made():
    """Risks of the leading order, and weights whose mean key is where it should be, with a spread over seeds."""
    rng, study = np.random.default_rng(0), PAPER.presets["asymptotic"]["edge"]
    n, b = np.asarray(study.over["n"]), np.geomspace(2e-3, 0.2, 28)
    slope = {"edge": -4.0, "inside": 0.0}
    risk = [
        [theory.risk(order, place, n[:, None], b, slope[place], 8.0, 0.3) for place in theory.PLACES] for order in theory.ORDERS
    ]
    risk = np.moveaxis(np.array(risk), 2, 0)[:, None] * (1 + 0.01 * rng.normal(size=(len(n), 40, 1, 1, 1)))
    data = xr.Dataset({"risk": (("n", "seed", "order", "place", "b"), risk)}, {"n": n, "b": b, "seed": range(40)})
    return data.assign_attrs(params=json.dumps(vars(PAPER.params(**study.base))))


def verdict(name, data):
    return verdicts([weigh(next(claim for claim in PAPER.claims if claim.name == name), data)])[0]


def test_claims_of_the_edge_hold_for_the_leading_order():
    data = made()
    found = {
        name: verdict(name, data) for name in ("edge_constant", "edge_linear", "constants", "edge_control", "inside_control")
    }
    assert [*found.values()] == ["holds", "holds", "holds", "fails", "fails"]


def test_swapped_fits_turn_the_claims():
    swapped = made().isel(order=[1, 0])
    assert [verdict(name, swapped) for name in ("edge_constant", "edge_linear", "constants")] == ["fails"] * 3


def test_a_fault_in_the_variance_turns_the_constants(monkeypatch):
    data = made()
    monkeypatch.setattr(theory, "_ONE_SIDED", 1 / np.sqrt(np.pi))
    assert verdict("constants", data) == "fails"

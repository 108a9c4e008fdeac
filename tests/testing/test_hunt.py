"""The hunt refutes planted mistakes on fresh seeds, and never a true statement."""

import dataclasses

import pytest

import theorysim as ts
from theorysim.testing import hunt

from .conftest import FALSE, TRUE, bound

BUDGET = 1.5


@pytest.mark.parametrize("name", FALSE)
def test_planted_mistakes_are_found(gaussian, name):
    trial, params = gaussian
    hit = hunt(FALSE[name], trial, params, budget=BUDGET)
    assert hit.refuted
    assert hit.margin < 0
    assert hit.depth >= 0
    assert set(hit.point) == {"n", "sigma"}


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("seed", [0, 1])
def test_true_statements_survive(gaussian, name, seed):
    """A true bound is confirmed refuted with probability 0.001 at most; fixed seeds."""
    trial, params = gaussian
    hit = hunt(TRUE[name], trial, params, budget=BUDGET, seed=seed)
    assert not hit.refuted


def test_a_mistake_outside_the_regime_does_not_count(gaussian):
    trial, params = gaussian
    right_inside = bound(lambda p: 1e3 * p.sigma * (p.n >= 10))
    hit = hunt(right_inside, trial, params, budget=BUDGET)
    assert not hit.refuted
    assert hit.depth >= 0


def test_the_point_is_in_range(gaussian):
    trial, params = gaussian
    hit = hunt(FALSE["a factor n is missing"], trial, params, names=["n"], budget=BUDGET)
    assert list(hit.point) == ["n"]
    assert hit.point["n"] == int(hit.point["n"])
    assert 1 <= hit.point["n"] <= 100 * params.n
    dataclasses.replace(params, **hit.point)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"names": ["width"]}, "names = width"), ({"budget": 0}, "budget = 0"), ({"budget": -1.0}, "budget")],
)
def test_bad_input(gaussian, options, said):
    trial, params = gaussian
    with pytest.raises(ts.InvalidArgument, match=said):
        hunt(TRUE["upper"], trial, params, **options)


def test_an_open_constant_needs_a_value(gaussian):
    trial, params = gaussian
    with pytest.raises(ts.InvalidArgument, match="leaves it open"):
        hunt(bound(lambda p, C: C * p.sigma, constants={"C": 1}), trial, params)

"""Parameters inside, at the edge of and outside a regime."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import theorysim as ts
from theorysim.testing import params_in
from theorysim.testing.strategies import NEAR
from theorysim.theory import benign_relu, label_noise_stages

RELU = ts.load("benign_relu").params(dim=1e6, signal=50.0)
STAGES = ts.load("label_noise_stages").params()
CASES = [
    (RELU, benign_relu.BENIGN, ["dim", "signal"]),
    (RELU, benign_relu.HARMFUL, ["dim", "signal", "noise"]),
    (STAGES, label_noise_stages.LATE, ["signal", "flip_plus", "dim"]),
]
quiet = settings(max_examples=20, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("where", ["inside", "edge", "outside"])
def test_points_are_where_they_should_be(case, where):
    params, bound, fields = CASES[case]

    @quiet
    @given(params_in(params, bound, where, fields))
    def check(point):
        depth = float(bound.depth(point))
        assert {"inside": depth >= NEAR, "edge": abs(depth) <= NEAR, "outside": depth <= -NEAR}[where]
        assert all(getattr(point, name) == getattr(params, name) for name in ("n", "width", "steps"))
        assert point.dim == math.floor(point.dim) >= 2

    check()


@given(st.sampled_from(["within", "", "Inside"]))
def test_another_word_is_refused(word):
    with pytest.raises(ts.InvalidArgument, match="where"):
        params_in(RELU, benign_relu.BENIGN, word)


@pytest.mark.parametrize("name", ["n", "nothing"])
def test_only_traced_fields_vary(name):
    with pytest.raises(ts.InvalidArgument, match="fields"):
        params_in(RELU, benign_relu.BENIGN, "inside", [name])

"""The two-layer CNN: its formula, its symmetries, and what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts

CNN = ts.models.TwoLayerCNN
N, DIM, WIDTH = 4, 6, 3
#: power, over filters, over patches, bias
KINDS = [(1, "mean", "sum", False), (3, "sum", "mean", True)]


@jax.jit
def outputs(filters, bias, first, second):
    models = [
        CNN(filters, power=power, over_filters=of, over_patches=op, bias=bias if biased else None)
        for power, of, op, biased in KINDS
    ]
    return [model((first, second)) for model in models]


def evaluate(*arrays):
    with jax.enable_x64(True):
        return [np.asarray(f) for f in outputs(*map(jnp.asarray, arrays))]


def draw(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2 * WIDTH, DIM)), rng.normal(size=2 * WIDTH), *rng.normal(size=(2, N, DIM)), rng


@given(st.integers(0, 2**31 - 1))
def test_formula(seed):
    filters, bias, first, second, _ = draw(seed)
    for found, (power, of, op, biased) in zip(evaluate(filters, bias, first, second), KINDS, strict=True):
        z = np.stack([filters @ patch.T + bias[:, None] * biased for patch in (first, second)])
        z = np.maximum(z, 0) ** power
        responses = getattr(z, op)(axis=0)
        plus, minus = (getattr(half, of)(axis=0) for half in (responses[:WIDTH], responses[WIDTH:]))
        np.testing.assert_allclose(found, plus - minus, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**31 - 1))
def test_swapping_patches(seed):
    filters, bias, first, second, _ = draw(seed)
    for one, other in zip(evaluate(filters, bias, first, second), evaluate(filters, bias, second, first), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@given(st.integers(0, 2**31 - 1))
def test_common_rotation(seed):
    """Rotating data and filters together changes nothing; rotating the data alone does."""
    filters, bias, first, second, rng = draw(seed)
    turn = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    plain = evaluate(filters, bias, first, second)
    turned = evaluate(filters @ turn, bias, first @ turn, second @ turn)
    alone = evaluate(filters, bias, first @ turn, second @ turn)
    for one, other, wrong in zip(plain, turned, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
        assert np.abs(one - wrong).max() > 1e-6


@given(st.integers(0, 2**31 - 1))
def test_a_narrow_patch_is_a_padded_one(seed):
    filters, bias, first, second, _ = draw(seed)
    padded = np.where(np.arange(DIM) < 2, first, 0)
    for one, other in zip(evaluate(filters, bias, first[:, :2], second), evaluate(filters, bias, padded, second), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@given(st.integers(0, 2**31 - 1), st.floats(0.1, 10))
def test_homogeneous_in_the_filters(seed, scale):
    """Without biases an output of power one is homogeneous of degree one."""
    filters, bias, first, second, _ = draw(seed)
    one, scaled = (evaluate(s * filters, bias, first, second)[0] for s in (1, scale))
    np.testing.assert_allclose(scaled, scale * one, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        (3, {}, "filters = "),
        (2, {"power": 0}, "power = 0: must be a whole number >= 1"),
        (2, {"over_filters": "max"}, "over_filters = max: must be mean or sum"),
        (2, {"over_patches": "max"}, "over_patches = max: must be mean or sum"),
    ],
)
def test_refused(rows, more, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        CNN(jnp.ones((rows, 2)), **more)
    assert "\n" not in str(refusal.value)

"""Training in the span of the data is the ordinary run, to rounding; a Gram matrix without its cross terms is seen."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import theorysim as ts
from theorysim.exact import Diagonal, span

#: name -> frame, projected noise, momentum, layers
CASES = {
    "reduced": ("reduced", True, None, 2),
    "noise along the signal": ("reduced", False, None, 2),
    "momentum": ("reduced", True, 0.9, 2),
    "three layers": ("reduced", False, None, 3),
    "ambient": ("ambient", False, None, 2),
    "infinite": ("infinite", True, None, 2),
}


def setting(case):
    kind, projected, momentum, layers = CASES[case]
    keys = ts.streams(jax.random.key(1), "space", "train", "second")
    law = ts.laws.SignalNoise(signal=2.0, noise=0.5, projected=projected)
    space = ts.exact.frame(keys.space, 60.0, fixed=1, kind=kind, train=8, filters=6)
    if layers == 2:
        model = ts.models.TwoLayerCNN(0.05 * space.filters, power=2, bias=0.01 * space.filters[:, 0])
    else:
        model = ts.models.ThreeLayerCNN(0.05 * space.filters, second=jax.random.normal(keys.second, (4, 6)))
    return law(keys.train, space.train), model, optax.sgd(0.1, momentum=momentum)


def train(batch, model, transformation):
    noisy = ts.objectives.with_label_noise(ts.objectives.logistic_loss, batch, ts.objectives.flips(0.1))
    rule = ts.dynamics.gradient_descent(noisy, transformation)
    return ts.simulate(rule, model, key=jax.random.key(2), times=100, observe=lambda state: {}).state.model


def leaves(model):
    return jax.tree.leaves(nnx.state(model, nnx.Param))


def without_cross_terms(found):
    """A planted defect: the noise taken to be orthogonal."""
    return replace(found, gram=jnp.diag(jnp.diagonal(found.gram)))


@pytest.fixture(scope="module")
def runs():
    """All cases and the defect in one program, in float64; and what is a parameter inside."""
    names = {}

    def every():
        found = {}
        for case in CASES:
            batch, model, transformation = setting(case)
            inside = span(batch, fixed=1)
            entered = inside.enter(model)
            assert isinstance(inside.batch.patches[1], Diagonal)
            names[case] = {path[-1] for path, _ in nnx.to_flat_state(nnx.state(entered, nnx.Param))}
            found[case] = {
                "start": (leaves(model), leaves(entered.model)),
                "output": (model(batch.patches), entered(inside.batch.patches)),
                "end": (
                    leaves(train(batch, model, transformation)),
                    leaves(train(inside.batch, entered, transformation).model),
                ),
            }
        batch, model, transformation = setting("reduced")
        wrong = without_cross_terms(span(batch, fixed=1))
        return found | {"defect": leaves(train(wrong.batch, wrong.enter(model), transformation).model)}

    with jax.enable_x64(True):
        return jax.device_get(jax.jit(every)()) | {"names": names}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_ordinary_run(runs, case):
    (start, same), (ordinary, inside) = runs[case]["start"], runs[case]["end"]
    assert len(ordinary) == len(inside) == 2
    for a, b, before, entered in zip(ordinary, inside, start, same, strict=True):
        assert np.array_equal(before, entered)
        assert np.abs(a - before).max() > 1e-3  # it moved
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("case", CASES)
def test_at_the_start_it_is_the_model(runs, case):
    np.testing.assert_allclose(*runs[case]["output"], rtol=1e-10)


def test_filters_are_no_parameter_inside(runs):
    assert runs["names"]["reduced"] == {"coefficients", "bias"}
    assert runs["names"]["three layers"] == {"coefficients", "second"}


def test_a_gram_matrix_without_cross_terms_is_rejected(runs):
    assert max(np.abs(a - b).max() for a, b in zip(runs["reduced"]["end"][0], runs["defect"], strict=True)) > 1e-3

"""Explicit ambient data, projected on their own span, give the trajectory of the ambient run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts

DIM, N, FILTERS, STEPS = 41, 8, 6, 400
TIMES = np.arange(0, STEPS + 1, 20)
RULES = {"sgd": optax.sgd(0.2), "momentum": optax.sgd(0.05, momentum=0.9), "sign_sgd": optax.sign_sgd(0.01)}


@jax.jit
def run(noise, filters, bias):
    """Trajectories of filters and loss, with the noise not projected off the signal, for each rule and with or without bias."""
    law, found = ts.laws.SignalNoise(signal=2.0, flip=0.25), {}
    batch = law(jax.random.key(8), noise)
    loss = ts.objectives.logistic(batch)
    for name, rule in RULES.items():
        for start in (None, bias):
            model = ts.models.TwoLayerCNN(filters, bias=start)
            gd = ts.dynamics.gradient_descent(loss, rule)
            look = lambda state: {"filters": state.model.filters[...], "loss": loss(state.model, None)}  # noqa: E731
            records = ts.simulate(gd, model, key=jax.random.key(0), times=TIMES, observe=look).records
            found[name, start is not None] = [records[key].value for key in ("filters", "loss")]
    return list(found.values())


def trajectories(noise, filters, bias):
    names = [(name, biased) for name in RULES for biased in (False, True)]
    return dict(zip(names, jax.device_get(run(noise, filters, bias)), strict=True))


def on_span(vectors: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the span of these rows, as the columns of a square matrix filled up with zeros."""
    q = np.linalg.qr(vectors.T)[0]
    q[:, 0] *= np.sign(q[0, 0])  # the first column is e_1 itself
    return np.pad(q, ((0, 0), (0, DIM - q.shape[1])))


@pytest.fixture(scope="module")
def runs():
    """The ambient run, its basis, the projected run, and a run projected on a span that lacks one noise vector."""
    rng = np.random.default_rng(1)
    noise, filters, bias = rng.normal(size=(N, DIM)), 0.05 * rng.normal(size=(FILTERS, DIM)), 0.1 * rng.normal(size=FILTERS)
    signal = np.eye(1, DIM)
    with jax.enable_x64(True):
        basis = on_span(np.concatenate([signal, noise, filters]))
        lacking = on_span(np.concatenate([signal, noise[1:], filters]))
        starts = ((noise, filters), (noise @ basis, filters @ basis), (noise @ lacking, filters @ lacking))
        ambient, projected, planted = (trajectories(*map(jnp.asarray, (*start, bias))) for start in starts)
    return basis, ambient, projected, planted


def distance(basis, ambient, other) -> float:
    """The largest relative difference of filters (in the basis) and losses along the trajectory."""
    (w, loss), (v, loss_too) = ambient, other
    return max(np.abs(w @ basis - v).max() / np.abs(w).max(), np.abs(loss - loss_too).max())


cases = pytest.mark.parametrize("case", [(name, bias) for name in ("sgd", "momentum") for bias in (False, True)], ids=str)


@cases
def test_same_trajectory(runs, case):
    """To float64 rounding over 400 steps, in a span of 15 of 41 dimensions."""
    basis, ambient, projected, _ = runs
    assert ambient[case][1][-1] < 0.1 * ambient[case][1][0], "the run must go somewhere"
    assert distance(basis, ambient[case], projected[case]) < 1e-12


@cases
def test_filters_never_leave_the_span(runs, case):
    basis, ambient, _, _ = runs
    w = ambient[case][0]
    assert np.abs(w @ basis @ basis.T - w).max() < 1e-12


@cases
def test_a_span_that_lacks_a_vector_is_rejected(runs, case):
    basis, ambient, _, planted = runs
    assert distance(basis, ambient[case], planted[case]) > 1e-3


@pytest.mark.parametrize("bias", [False, True])
def test_a_rule_that_does_not_commute_is_rejected(runs, bias):
    basis, ambient, projected, _ = runs
    assert distance(basis, ambient["sign_sgd", bias], projected["sign_sgd", bias]) > 1e-3

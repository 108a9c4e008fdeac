"""The formulas of label-noise gradient descent: values, scalings, limits, and planted faults."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim.theory import label_noise_gd as theory

positive = st.floats(0.05, 20)
PAPER = ts.load("label_noise_gd")


def test_values():
    assert theory.memorising_time(20, 10, 1e4, 0.01, 1e-4) == pytest.approx(2 * np.log(100))
    assert theory.label_noise_time(20, 10, 1.0, 1e4, 0.01, 1e-4) == pytest.approx(2 * np.log(100) + 1000 * np.log(6e4))
    assert theory.signal_rate(20, 2.0, 0.5) == pytest.approx(0.2)
    assert theory.gd_error() == 0.24
    assert theory.label_noise_error(10, 200.0, 0.5) == pytest.approx(2 * np.exp(-1))
    assert theory.stationary_margin(0.1) == pytest.approx(np.log(9))
    assert theory.drift(200, 20, 2.0, 2000, 0.5, 0.1, 0.5) == pytest.approx(5.625e-4)
    assert theory.learning_time(0.1, 1.0, 0.01) == pytest.approx(100 * np.log(10))
    # recipe B3 of the project's notes on the boundary: -.454, -.468, -.475
    found = [theory.boundary_slope(20, kappa, 0.12) for kappa in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(found, [-0.458, -0.469, -0.476], atol=0.002)


@given(positive, positive, positive, st.floats(0.01, 0.49))
def test_the_stationary_margin_has_no_mean_gradient(signal, lr, noise, flip):
    margin = theory.stationary_margin(flip)
    pull = (1 - flip) / (1 + np.exp(margin)) - flip / (1 + np.exp(-margin))
    assert abs(pull) < 1e-12
    # and the drift is c/2 times the second moment of the gradient there, times the signal's own factor
    second = (1 - flip) / (1 + np.exp(margin)) ** 2 + flip / (1 + np.exp(-margin)) ** 2
    c = 2 * lr * noise**2 * 500 / (100 * 20)
    expected = lr * signal**2 / 20 * c / 2 * second
    assert theory.drift(100, 20, signal, 500, lr, flip, noise) == pytest.approx(expected, rel=1e-9)


@given(positive, positive)
def test_scalings(signal, lr):
    base = theory.drift(100, 10, signal, 1e4, lr, 0.1)
    assert theory.drift(200, 10, signal, 1e4, lr, 0.1) == pytest.approx(base / 2)
    assert theory.drift(100, 10, signal, 1e4, 2 * lr, 0.1) == pytest.approx(4 * base)
    assert theory.drift(100, 10, 2 * signal, 1e4, lr, 0.1) == pytest.approx(4 * base)
    assert theory.drift(100, 10, signal, 1e4, lr, 0.0) == 0
    stated = theory.label_noise_time(100, 10, signal, 1e4, lr, 1e-6) - theory.memorising_time(100, 10, 1e4, lr, 1e-6)
    assert theory.label_noise_time(900, 10, signal, 1e4, lr, 1e-6) - theory.memorising_time(
        900, 10, 1e4, lr, 1e-6
    ) == pytest.approx(stated)


@given(st.floats(1e-6, 0.5), st.floats(1e-6, 0.5))
def test_the_boundary_is_never_of_slope_one_half(kappa, snr):
    slope = theory.boundary_slope(20, kappa, snr)
    assert -0.5 < slope < -1 / 3
    assert theory.boundary_slope(20, kappa / 10, snr) < slope


def at(**changes):
    return PAPER.params(**changes)


def test_the_published_settings_are_outside_the_assumption():
    conditions = theory.MEMORISES.conditions(at(flip=0.0))
    assert {words for words, by in conditions.items() if by < 0} >= {"d >= n^2", "eta <= 1/(sigma_p^2 d)"}


def test_the_study_inside_is_inside():
    assert theory.MEMORISES.depth(PAPER.params(**PAPER.presets["asymptotic"]["inside"].base)) >= 0


def test_label_noise_has_a_regime_of_its_own():
    assert theory.MEMORISES.conditions(at())["no label noise: p = 0"] < 0
    assert (
        theory.GENERALISES.conditions(at(flip=0.0))["p >= 1/sqrt(m n)"]
        < 0
        < theory.GENERALISES.conditions(at())["p >= 1/sqrt(m n)"]
    )
    assert theory.GROWTH.depth(at(gauss=1.0)) < 0 <= theory.GROWTH.depth(at())

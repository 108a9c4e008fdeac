"""The formulas of prompts under label noise: values, limits, and faults that turn a claim."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim import objectives
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import prompt_mae as theory

share = st.floats(0.01, 0.99)


def test_values():
    assert theory.error(0.5, 1.0, 0.5) == pytest.approx(0.15866, abs=1e-5)
    assert theory.error(-0.5, 1.0, 0.5) == pytest.approx(1 - 0.15866, abs=1e-5)
    assert theory.weight_ratio(0.05, theory.ce_weight) == pytest.approx(np.exp(0.1))
    assert theory.weight_ratio(0.7, theory.mae_weight) == pytest.approx(1)
    assert theory.precision(0.5, 0.5, 3) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("name", "loss"), [("ce_weight", "softmax_loss"), ("mae_weight", "mae_loss")])
def test_weights_are_slopes_of_the_losses(name, loss):
    margins, step = jnp.linspace(-4, 4, 33), 1e-2
    low, high = (np.asarray(getattr(objectives, loss)(margins + sign * step), float) for sign in (-1, 1))
    np.testing.assert_allclose(getattr(theory, name)(np.asarray(margins)), (low - high) / (2 * step), atol=1e-3)


def test_weight_of_the_absolute_error_is_that_of_cross_entropy_times_the_probability():
    margins = np.linspace(-30, 30, 61)
    probability = 1 / (1 + np.exp(-2 * margins))
    np.testing.assert_allclose(theory.mae_weight(margins), 2 * probability * theory.ce_weight(margins), rtol=1e-9)


@given(share, st.integers(2, 50))
def test_precision_of_pseudo_labels_by_chance(flip, classes):
    assert theory.precision(1 / classes, flip, classes) == pytest.approx(1 - flip)
    assert theory.precision(1.0, flip, classes) == pytest.approx(1)
    better = theory.precision(np.linspace(1 / classes, 1, 9), flip, classes)
    assert np.all(np.diff(better) > 0)


@given(st.integers(1, 1000), st.floats(0.1, 2), st.floats(0.01, 1))
def test_first_step_limits(n, noise, lr):
    """Half of the labels wrong and no first signal: no step along it; as many samples as features: noise of one step."""
    beta, square = theory.first_step(n, n, 0.5, noise, lr, 0.0, theory.ce_weight)
    assert beta == pytest.approx(0, abs=1e-12)
    assert square == pytest.approx((lr * noise) ** 2)


PAPER = ts.load("prompt_mae")
SEEDS = 40


def made_up():
    """Data that obey the formulas, with a spread of a few percent."""
    rng = np.random.default_rng(0)
    p = PAPER.params()
    time, flips = np.array([0, 1, 10, 2000]), np.array([0.0, 0.2, 0.4])
    data, dims = {}, ("flip", "seed", "time")
    for loss, size in (("ce", 1.0), ("mae", 2.0)):
        weight = getattr(theory, f"{loss}_weight")
        beta = np.full((3, SEEDS, 4), 0.5 * size)
        phi = np.exp(0.03 * rng.normal(size=(3, SEEDS, 4)))
        first = theory.first_step(p.n, p.dim - 1, flips, p.noise, p.lr, p.init, weight)
        beta[..., 1], phi[..., 1] = first[0][:, None], phi[..., 1] * np.sqrt(first[1])[:, None]
        error = theory.error(beta, phi, p.noise) + 1e-4 * rng.normal(size=beta.shape)
        ratio = np.full(beta.shape, theory.weight_ratio(p.init, weight))
        data |= {f"beta_{loss}": (dims, beta), f"phi_{loss}": (dims, phi), f"error_{loss}": (dims, error)}
        data |= {f"ratio_{loss}": (dims, ratio), f"share_{loss}": (dims, np.broadcast_to(flips[:, None, None], beta.shape))}
    attrs = {"params": json.dumps(vars(p))}
    return xr.Dataset(data, {"flip": flips, "seed": np.arange(SEEDS), "time": time}, attrs)


DATA = made_up()  # before any fault


def verdict(name):
    return verdicts([weigh(next(item for item in PAPER.claims if item.name == name), DATA)])[0]


FAULTS = [
    ("error_formula", "error", lambda beta, phi, noise: 1.02 * ts.theory.prompt_mae.ndtr(-1.05 * beta / (noise * phi))),
    ("alike_at_start", "weight_ratio", lambda beta, weight: weight(beta) / weight(-beta)),
    ("first_step", "first_step", lambda n, features, flip, noise, lr, beta, weight: (beta + lr, (lr * noise) ** 2)),
]


@pytest.mark.parametrize(("name", "formula", "wrong"), FAULTS)
def test_a_planted_fault_turns_the_row_red(monkeypatch, name, formula, wrong):
    assert verdict(name) == "holds"
    monkeypatch.setattr(theory, formula, wrong)
    assert verdict(name) != "holds"

"""A fault planted in a formula of the theory turns the verdict of a claim that uses it.

The data obey the theory by construction (they are made up, nothing is simulated), so every verdict here is due to the formulas.
"""

import json

import numpy as np
import pytest
import xarray as xr

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import benign_relu, label_noise_stages

RELU, STAGES = ts.load("benign_relu"), ts.load("label_noise_stages")
SEEDS = 40


def claim(paper, name):
    if name == "late_error":  # the paper's own claim of it also asks for a training loss that has converged
        return ts.Claim.of(label_noise_stages.LATE, "curves", expected="fails")
    return next(item for item in paper.claims if item.name == name)


def attrs(params):
    return {"params": json.dumps(vars(params))}


def boundary_data(strength=None):
    """Errors that are 0.16 exp(-x / 15) in x = n |mu|^4 / d, with a spread over seeds of a few percent."""
    study = RELU.presets["asymptotic"]["exponent"]
    dim = np.asarray(study.over["dim"])
    strength = np.asarray(study.over["strength"]) if strength is None else strength
    x = 20 * strength**4
    factor = 1 + 0.03 * np.random.default_rng(0).normal(size=SEEDS)
    error = np.broadcast_to(0.16 * np.exp(-x / 15)[:, None] * factor, (len(dim), len(strength), SEEDS))
    coords = {"dim": dim, "strength": strength, "seed": np.arange(SEEDS)}
    return xr.Dataset({"test_error": (("dim", "strength", "seed"), error)}, coords, attrs(RELU.params(**study.base)))


def stages_data():
    """Two stages: flipped samples are not fitted until step 100, the test error rises from 0 to .12."""
    time = ts.log_times(3000, 60)
    late = time > 100
    spread = 0.001 * np.random.default_rng(1).normal(size=(SEEDS, 1))
    data = {
        "accuracy_clean": np.where(time > 1, 1.0, 0.5) + 0 * spread,
        "accuracy_noisy": np.where(late, 1.0, np.where(time > 1, 0.0, 0.5)) + 0 * spread,
        "test_error": np.where(late, 0.12, 0.001) + np.abs(spread),
    }
    coords = {"time": time, "seed": np.arange(SEEDS)}
    return xr.Dataset({k: (("seed", "time"), v) for k, v in data.items()}, coords, attrs(STAGES.params()))


def clean_data():
    """Without flips: the test error falls below .001 and stays there."""
    data = stages_data()
    return data.assign(test_error=xr.where(data.time < 20, 0.2, 0.001) + 0 * data.test_error)


def verdict(item, data):
    return verdicts([weigh(item, data)])[0]


LOW = np.geomspace(0.15, 0.45, 6)  # below the threshold, where the lower bound speaks
CASES = {
    "threshold_is_constant": (RELU, boundary_data, "holds"),
    "predicts_the_boundary": (RELU, boundary_data, "holds"),
    "benign": (RELU, boundary_data, "holds"),
    "reaches_the_floor": (RELU, boundary_data, "holds"),
    "harmful": (RELU, lambda: boundary_data(LOW), "holds"),
    "noisy_as_true": (STAGES, stages_data, "holds"),
    "late_error": (STAGES, stages_data, "fails"),
    "early_stopping": (STAGES, stages_data, "holds"),
    "clean_labels_generalise": (STAGES, clean_data, "holds"),
}


@pytest.mark.parametrize("name", CASES)
def test_data_that_obey_the_theory_give_the_expected_verdict(name):
    paper, data, expected = CASES[name]
    assert claim(paper, name).expected == expected
    assert verdict(claim(paper, name), data()) == expected


FAULTS = [
    ("threshold_is_constant", benign_relu, "signal_to_noise", lambda n, signal, dim, noise=1.0: n * signal**3.5 / dim),
    ("threshold_is_constant", benign_relu, "signal_to_noise", lambda n, signal, dim, noise=1.0: n * signal**4 / dim**0.5),
    ("predicts_the_boundary", benign_relu, "critical_signal", lambda n, dim, constant: (constant * dim / n) ** 0.75),
    ("predicts_the_boundary", benign_relu, "critical_signal", lambda n, dim, constant: (constant * dim) ** 0.25),
    ("reaches_the_floor", benign_relu, "benign_error", lambda flip, ratio, constant: np.exp(-ratio / constant)),
    ("benign", benign_relu, "benign_error", lambda flip, ratio, constant: flip - np.exp(-ratio / constant)),
    ("benign", benign_relu, "signal_to_noise", lambda n, signal, dim, noise=1.0: n * signal**4.5 / dim),
    ("harmful", benign_relu, "harmful_error", lambda flip: flip + 0.3),
    ("noisy_as_true", label_noise_stages, "first_stage", lambda n, width, dim, lr, c, noise=1.0: 1e3 * c * n * width / dim),
    ("noisy_as_true", label_noise_stages, "first_stage", lambda n, width, dim, lr, c, noise=1.0: c * width / (lr * dim)),
    ("noisy_as_true", label_noise_stages, "signal_ratio", lambda n, signal, dim, noise=1.0: signal**2 / dim),
    ("early_stopping", label_noise_stages, "early_error", lambda n, dim, constant: np.exp(-dim / constant)),
    ("clean_labels_generalise", label_noise_stages, "clean_error", lambda n, signal, dim, c: np.exp(-n * signal**4 / c)),
    ("late_error", label_noise_stages, "late_error", lambda plus, minus: 0.5 * plus * minus),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "module", "formula", "wrong"), FAULTS, ids=[f"{f[0]}-{f[2]}-{k}" for k, f in enumerate(FAULTS)]
)
def test_a_planted_fault_turns_the_row_red(monkeypatch, name, module, formula, wrong):
    paper, data, expected = CASES[name]
    monkeypatch.setattr(module, formula, wrong)
    assert verdict(claim(paper, name), data()) != expected

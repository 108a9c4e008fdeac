"""The formulas of federated learning: values, inverses, limits, and a planted fault that turns a claim."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._verdicts import verdicts, weigh
from theorysim.theory import federated as theory

positive, power = st.floats(0.1, 100), st.integers(3, 6)


@given(st.integers(1, 1000), positive, power, positive)
def test_critical_snr_inverts_the_ratio(n, sharing, q, constant):
    snr = theory.critical_snr(n, sharing, q, constant)
    assert theory.signal_ratio(n, sharing, snr, q) == pytest.approx(constant, rel=1e-9)


@given(st.integers(1, 1000), positive, power)
def test_samples_and_clients_count_alike(n, sharing, q):
    """Twice the clients of one's signal are as good as twice the samples: exponent -1/q in both."""
    one = theory.critical_snr(n, sharing, q, 1.0)
    assert theory.critical_snr(n, 2 * sharing, q, 1.0) == pytest.approx(theory.critical_snr(2 * n, sharing, q, 1.0))
    assert theory.critical_snr(n, 2**q * sharing, q, 1.0) == pytest.approx(one / 2)


def test_values():
    assert theory.shared(20, 4) == 5
    assert theory.shared(20, 20) == 1
    assert theory.signal_ratio(50, 1, 0.2, 3) == pytest.approx(0.4)
    assert theory.drift(5, 0.5, 1000, 50, 10) == 5
    assert theory.drift(5, 0.5, 1000, 50, 10, noise=2.0) == 20
    assert theory.slowdown(20, theory.shared(20, 1)) == 1  # one signal: nothing to gain from weights
    assert theory.slowdown(20, theory.shared(20, 20)) == 20


SEEDS = 40
PAPER = ts.load("federated")


def data_of_the_theory(sharpness=40.0):
    """Classes learn their signal as n K SNR^3 passes 2, for every K."""
    study = PAPER.presets["asymptotic"]["exponent"]
    clients, ratio = np.asarray(study.over["clients"]), np.asarray(study.over["ratio"])
    shift = 0.02 * np.random.default_rng(0).normal(size=(SEEDS, len(clients)))
    share = 1 / (1 + np.exp(-sharpness * (np.log(ratio / 2)[None, None] + shift[..., None])))
    return xr.Dataset(
        {"signal_learnt": (("seed", "clients", "ratio", "average"), share[..., None])},
        {"seed": np.arange(SEEDS), "clients": clients, "ratio": ratio, "average": [1]},
        {"params": json.dumps(vars(PAPER.params(**study.base)))},
    )


def predicts():
    return next(item for item in PAPER.claims if item.name == "predicts_the_boundary")


def test_data_that_obey_the_theory():
    assert verdicts([weigh(predicts(), data_of_the_theory())]) == ["holds"]


SOUND = theory.critical_snr
FAULTS = {
    "without the clients": ("critical_snr", lambda n, sharing, q, c: SOUND(n, 1, q, c)),
    "another power": ("critical_snr", lambda n, sharing, q, c: SOUND(n, sharing, q + 1, c)),
    "all clients twice": ("signal_ratio", lambda n, sharing, snr, q: n * (2 * sharing) * snr**q),
    "no samples": ("signal_ratio", lambda n, sharing, snr, q: sharing * snr**q),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_turns_the_claim(monkeypatch, fault):
    monkeypatch.setattr(theory, *FAULTS[fault])
    assert verdicts([weigh(predicts(), data_of_the_theory())]) == ["fails"]


def test_another_law_of_the_data_turns_the_exponent():
    """Data whose boundary does not fall with K at all."""
    claim = next(item for item in PAPER.claims if item.name == "exponent")
    data = data_of_the_theory()
    assert verdicts([weigh(claim, data)]) == ["holds"]
    flat = data.copy()
    for k, clients in enumerate(data.clients.values):
        x = np.log(data.ratio.values / (0.5 * clients))  # n K SNR^3 at the boundary grows like K
        flat.signal_learnt[:, k, :, 0] = 1 / (1 + np.exp(-40 * x))
    assert verdicts([weigh(claim, flat)]) != ["holds"]

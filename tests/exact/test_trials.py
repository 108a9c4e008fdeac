"""Trials of a paper in ambient and in reduced frames agree in law, on both sides of the number of vectors."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import theorysim as ts

MODULE = sys.modules[ts.exact.Frame.__module__]
PAPER = ts.load("benign_relu")
SEEDS = 3000
#: 11 vectors: the signal, 6 samples, 4 filters
SIZES = {"n": 6, "width": 2, "steps": 30, "tests": 50, "signal": 2.0}
DIMS = (2, 24)
OUTPUTS = ("train_loss", "margin_min", "margin_max", "test_error", "test_error_noisy")
LEVEL = 1e-3


def trials(kind: str, dims: tuple[int, ...]) -> dict[int, dict[str, np.ndarray]]:
    """What `SEEDS` trials give at each dimension; in a reduced frame the dimension is traced, so one program does all."""

    def one(key, dim):
        ran = PAPER.trial(PAPER.params(**SIZES, frame=kind, dim=dim), key)
        return {name: ran[name] for name in OUTPUTS}

    keys, found = jax.random.split(jax.random.key(["ambient", "reduced"].index(kind)), SEEDS), {}
    # one trial after the other: a program for one is compiled in a third of the time
    reduced = jax.jit(lambda keys, dim: jax.lax.map(lambda key: one(key, dim), keys))
    for dim in dims:
        ambient = jax.jit(lambda keys, dim=dim: jax.lax.map(lambda key: one(key, dim), keys))
        ran = reduced(keys, jnp.float32(dim)) if kind == "reduced" else ambient(keys)
        found[dim] = {name: np.asarray(values, float) for name, values in ran.items()}
    return found


def rejected(ambient: dict[int, dict], reduced: dict[int, dict]) -> list[str]:
    """Outputs whose laws differ: Kolmogorov-Smirnov for continuous ones, a z-test of the mean for errors."""
    found = {}
    for dim in DIMS:
        for name in OUTPUTS:
            a, b = ambient[dim][name], reduced[dim][name]
            test = stats.ttest_ind(a, b, equal_var=False) if "error" in name else stats.ks_2samp(a, b, method="asymp")
            found[f"dim {dim}: {name}"] = test.pvalue
    return [name for name, p in found.items() if not p > LEVEL / len(found)]


@pytest.fixture(scope="module")
def ambient():
    return trials("ambient", DIMS)


def test_same_law(ambient):
    """Two samples of 3000 seeds, ten tests, level 1e-3 together (Bonferroni)."""
    assert rejected(ambient, trials("reduced", DIMS)) == []


def test_a_missing_column_mask_is_rejected(ambient, monkeypatch):
    """Planted: vectors of 2 dimensions have entries in all 11 coordinates of the frame."""
    unmasked = SimpleNamespace(**{**vars(jnp), "minimum": lambda pivot, dim: pivot})
    monkeypatch.setattr(MODULE, "jnp", unmasked)
    assert any("dim 2" in name for name in rejected(ambient, trials("reduced", DIMS)))


def test_numbers_differ_from_seed_to_seed(ambient):
    """Laws of constants would agree whatever the frame."""
    for outputs in ambient.values():
        assert all(len(np.unique(outputs[name])) > 10 for name in OUTPUTS)

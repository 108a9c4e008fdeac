"""The denoiser's loss in closed form against Monte Carlo of the explicit one, and the reduced frame against the ambient one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

ALPHA, BETA, DIM = 0.8, 0.6, 6


def explicit(filters, patch, noise):
    """The square error on one sample of added noise, for each row."""
    seen = ALPHA * patch + BETA * noise
    said = (seen @ filters.T) ** 2 @ filters / np.sqrt(len(filters))
    return np.sum((said - noise) ** 2, axis=1)


@pytest.fixture
def drawn():
    rng = np.random.default_rng(5)
    return rng, 0.5 * rng.normal(size=(3, DIM)), rng.normal(size=(2, 4, DIM))


def test_it_is_the_mean_over_the_added_noise(drawn):
    """Within 3 standard errors, of 200 000 draws a patch."""
    rng, filters, patches = drawn
    with jax.enable_x64(True):
        exact = float(ts.exact.denoising_loss(jnp.asarray(filters), tuple(map(jnp.asarray, patches)), ALPHA, BETA, DIM))
    draws = 0.0
    for patch in patches:
        rows = np.repeat(patch, 50_000, axis=0)
        draws = draws + explicit(filters, rows, rng.normal(size=rows.shape)) / 2
    error = draws.std() / np.sqrt(draws.size)
    assert abs(draws.mean() - exact) < 3 * error
    assert abs(draws.mean() - exact * 1.02) > 3 * error  # it can fail


def test_a_rotation_changes_nothing(drawn):
    rng, filters, patches = drawn
    turn = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    with jax.enable_x64(True):
        first, second = (
            ts.exact.denoising_loss(jnp.asarray(filters @ q), tuple(jnp.asarray(p @ q) for p in patches), ALPHA, BETA, DIM)
            for q in (np.eye(DIM), turn)
        )
    assert np.isclose(first, second, rtol=1e-13)


def test_reduced_and_ambient_runs_agree():
    """Mean products after a first stage, 200 seeds of each frame, 4 standard errors; a wrong dimension is seen."""
    paper = ts.load("diffusion_features")
    size = {"n": 4, "width": 3, "steps": 60, "records": 2, "init": 0.05}

    def mean(**options):
        data = ts.sweep(paper.trial, paper.params(**size, **options), seeds=200).isel(time=-1)
        return np.array([float(data[k].mean()) for k in ("signal", "noise_learned")]), np.array(
            [float(data[k].std()) / np.sqrt(200) for k in ("signal", "noise_learned")]
        )

    (reduced, error), (ambient, other) = mean(dim=12.0), mean(dim=12.0, frame="ambient")
    assert np.all(np.abs(reduced - ambient) < 4 * np.hypot(error, other))
    assert np.any(np.abs(mean(dim=30.0)[0] - ambient) > 4 * np.hypot(error, other))

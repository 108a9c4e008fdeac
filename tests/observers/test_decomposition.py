"""The signal-noise decomposition recovers planted coefficients, and is refused where it is not unique."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts

FIXED, N, WIDTH = 1, 5, 2
#: ambient frames have static dimensions: the smallest where the coefficients are unique, and one less
AMBIENT = (FIXED + N, FIXED + N - 1)
law = ts.laws.SignalNoise(signal=3.0, noise=0.5, flip=0.3)


def planted(space, key, gamma, rho):
    """Move small filters by planted coefficients, and what is recovered from the weights."""
    batch, filters = law(key, space.train), space.filters * space.dim**-0.5
    start, (signal, noise) = ts.models.TwoLayerCNN(filters), batch.patches
    size = noise.shape[1]
    steps = (rho / jnp.sum(noise**2, axis=1)) @ noise
    steps = steps.at[:, 0].add(start.side * gamma / jnp.max(jnp.abs(signal)))
    moved = ts.models.TwoLayerCNN(filters.at[:, :size].add(steps))
    found = ts.observers.decomposition(space, batch, start)(moved)
    return {
        "found": found, "label": batch.label, "noise": noise,
        "largest": (found.signal_learning, found.noise_memorization),
        # a planted defect: gamma read off along the signal, as if the noise were orthogonal to it
        "careless": start.side * steps[:, 0] * jnp.max(jnp.abs(signal)),
    }  # fmt: skip


@jax.jit
def recovered(seed, dim, gamma, rho):
    keys = ts.streams(jax.random.key(seed), "space", "law")
    blocks = {"train": N, "filters": 2 * WIDTH}
    spaces = [ts.exact.frame(keys.space, dim, fixed=FIXED, **blocks)]
    spaces += [ts.exact.frame(keys.space, d, fixed=FIXED, kind="ambient", **blocks) for d in AMBIENT]
    return [planted(space, keys.law, gamma, rho) for space in spaces]


def run(seed: int, dim: float, scale: float = 1.0):
    rng = np.random.default_rng(seed)
    gamma, rho = scale * rng.normal(size=2 * WIDTH), scale * rng.normal(size=(2 * WIDTH, N))
    with jax.enable_x64(True):
        return gamma, rho, jax.device_get(recovered(seed, dim, jnp.asarray(gamma), jnp.asarray(rho)))


@given(st.integers(0, 2**31 - 1), st.integers(FIXED + N, 30) | st.integers(31, 10**9), st.floats(1e-3, 1e3))
def test_recovers_planted_coefficients(seed, dim, scale):
    """In reduced frames of any dimension, and in an ambient one; to rounding times the condition of the noise."""
    gamma, rho, (reduced, *ambient, _) = run(seed, float(dim), scale)
    side = np.repeat([1, -1], WIDTH)
    for out in (reduced, *ambient):
        found, noise = out["found"], out["noise"]
        size = scale + np.linalg.norm(noise)
        close = {"rtol": 0, "atol": 1e-13 * size * np.linalg.cond(noise[:, FIXED:])}
        same = side[:, None] * out["label"] > 0
        np.testing.assert_allclose(found.gamma, gamma, **close)
        np.testing.assert_allclose(found.rho_bar, np.where(same, rho, 0), **close)
        np.testing.assert_allclose(found.rho_underbar, np.where(same, 0, rho), **close)
        np.testing.assert_allclose(out["largest"], (gamma.max(), np.where(same, rho, 0).max()), **close)


@given(st.integers(0, 2**31 - 1), st.integers(FIXED, FIXED + N - 1))
def test_nan_where_not_unique(seed, dim):
    """Below `fixed + n` dimensions, in a reduced and in an ambient frame."""
    *_, (reduced, _, ambient) = run(seed, float(dim))
    for out in (reduced, ambient):
        assert all(np.isnan(part).all() for part in out["found"])
        assert np.isnan(out["largest"]).all()


def test_leaving_out_the_overlap_is_rejected():
    gamma, _, outs = run(3, 40.0)
    for out in outs[:-1]:
        assert np.abs(out["careless"] - gamma).max() > 0.1
        assert np.abs(out["found"].gamma - gamma).max() < 1e-9

"""The first stage's rates against one step of gradient descent on the loss in closed form."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import theorysim as ts

theory = ts.theory.diffusion_features


def test_the_rates_are_those_of_the_gradient():
    n, d, m, signal, init, alpha, beta = 6, 20_000, 4, 40.0, 1e-4, 0.8, 0.6
    rng = np.random.default_rng(2)
    sign = np.tile([1.0, -1.0], n // 2)
    clean = signal * np.stack([sign > 0, sign < 0], axis=1)
    noise = rng.normal(size=(n, d))
    noise[:, :2] = 0
    with jax.enable_x64(True):
        patches = (jnp.asarray(clean, jnp.float64), jnp.asarray(noise))
        filters = jnp.asarray(init * rng.normal(size=(m, d)))
        step = -np.asarray(jax.grad(lambda w: ts.exact.denoising_loss(w, patches, alpha, beta, d))(filters))
    of_signal, of_noise = theory.growth(n, signal, 1.0, d, init, width=m, alpha=alpha, beta=beta)
    assert np.isclose(signal * step[:, :2].mean(), of_signal, rtol=0.03)
    assert np.isclose((step @ noise.T).mean(), of_noise, rtol=0.03)
    assert np.isclose(of_signal / of_noise, theory.plateau(theory.strength(n, signal, 1.0, d)), rtol=1e-12)
    assert not np.isclose(of_noise, (step @ noise.T).mean() / 2, rtol=0.3)

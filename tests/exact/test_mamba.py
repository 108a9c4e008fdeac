"""The closed population loss of the selective layer against the layer itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

D, H, N, PROMPTS = 3, 5, 6, 100_000
NAMES = ("write", "read", "write_bias", "read_bias", "prompts")


def layer(keys, retained, biases):
    write, read = (0.5 * jax.random.normal(k, (H, D + 1)) for k in keys[:2])
    model = ts.models.S6(write, read, step_bias=jnp.full(D + 1, jnp.log(jnp.expm1(-jnp.log(retained) / N))))
    if biases:
        model.write_bias[...], model.read_bias[...] = (jax.random.normal(k, (H,)) for k in keys[2:4])
    return model


def estimate(model, law, key):
    """The mean loss of the explicit scan, and its standard error."""
    prompts = law(key, PROMPTS, N)
    said = model(prompts.tokens, channel=-1)[:, -1, 0]
    off = (said - jnp.einsum("bd,bd->b", prompts.x[:, -1], prompts.task)) ** 2 / 2
    return float(off.mean()), float(off.std() / PROMPTS**0.5)


ROOT = np.array([[1.0, 0.0, 0.0], [0.4, 0.7, 0.0], [0.0, -0.2, 1.2]])
CASES = {
    "plain": ({}, False, 0.5),
    "biases": ({}, True, 0.5),
    "noise and another step size": ({"noise": 0.5}, True, 0.2),
    "covariances": ({"root": ROOT, "task_root": ROOT.T}, False, 0.5),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_to_the_layer(case):
    setting, biases, retained = CASES[case]
    keys = jax.random.split(jax.random.key(4), 5)
    model, law = layer(keys, retained, biases), ts.laws.LinearPrompts(D, **setting)
    options = {"noise": setting.get("noise", 0.0), "retained": retained}
    if "root" in setting:
        options |= {"covariance": ROOT @ ROOT.T, "task": ROOT.T @ ROOT}
    own = {"write_bias": model.write_bias[...], "read_bias": model.read_bias[...]}
    exact = float(ts.exact.mamba_loss(model.write[...], model.read[...], N, **own, **options))
    mean, error = estimate(model, law, keys[4])
    assert abs(mean - exact) < 4 * error
    wrong = float(ts.exact.mamba_loss(model.write[...], model.read[...], N, **own, **(options | {"retained": 0.4 * retained})))
    assert abs(mean - wrong) > 4 * error  # planted: another step size


def test_gradients_are_those_of_the_paper():
    """B <- B - eta C G with G = beta_1 M - beta_3 I, and no gradient of the last column of W_C or of biases that are 0."""
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 2)
        write, read = (jax.random.normal(k, (H, D + 1)) for k in keys)
        zero = jnp.zeros(H)
        loss = lambda w, r, p, q: ts.exact.mamba_loss(w, r, N, write_bias=p, read_bias=q)  # noqa: E731
        of_write, of_read, *of_biases = jax.grad(loss, argnums=(0, 1, 2, 3))(write, read, zero, zero)
        first, second, third = ts.theory.mamba_icl.betas(D, N)
        b, c, last = write[:, :D], read[:, :D], write[:, D]
        pull, label = first * c.T @ b - third * jnp.eye(D), c.T @ last
        np.testing.assert_allclose(of_write[:, :D], c @ pull, rtol=1e-9)
        np.testing.assert_allclose(of_write[:, D], second * c @ label, rtol=1e-9)
        np.testing.assert_allclose(of_read[:, :D], b @ pull.T + second * jnp.outer(last, label), rtol=1e-9)
        assert not np.any(of_read[:, D])
        assert all(np.all(abs(part) < 1e-12) for part in of_biases)

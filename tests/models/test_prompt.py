"""A prompt behind a frozen encoder: its formula, its gradient, and what observers see of it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

Prompt = ts.models.Prompt
DIM, FEATURES, N = 5, 7, 4
encoders = {
    "none": lambda rng: None,
    "lengths": lambda rng: rng.normal(size=DIM),
    "matrix": lambda rng: rng.normal(size=(FEATURES, DIM)),
}
rows = pytest.mark.parametrize("kind", encoders)


def draw(kind, seed=0):
    rng = np.random.default_rng(seed)
    encoder, prompt = encoders[kind](rng), rng.normal(size=DIM)
    size = FEATURES if kind == "matrix" else DIM
    return prompt, encoder, (rng.normal(size=(N, 2)), rng.normal(size=(N, size)))


def model_of(prompt, encoder):
    return Prompt(jnp.asarray(prompt), None if encoder is None else jnp.asarray(encoder))


@rows
def test_formula_with_both_relus(kind):
    with jax.enable_x64(True):
        prompt, encoder, (signal, noise) = draw(kind)
        found = model_of(prompt, encoder)((jnp.asarray(signal), jnp.asarray(noise)))
    w = np.eye(DIM) if encoder is None else np.diag(encoder) if encoder.ndim == 1 else encoder
    feature = np.maximum(w @ prompt, 0) - np.maximum(-w @ prompt, 0)
    np.testing.assert_allclose(found, signal @ feature[:2] + noise @ feature, rtol=1e-12)


def test_prompts_that_start_at_zero_move():
    """Written with two ReLUs the gradient at zero would be zero, and irrelevant features would never be learned."""
    x = jnp.arange(1.0, 6.0)[None]

    def score(prompt, relus):
        h = jax.nn.relu(prompt) - jax.nn.relu(-prompt) if relus else Prompt(prompt).feature
        return (x @ h)[0]

    assert jax.grad(score)(jnp.zeros(5), False).tolist() == [1, 2, 3, 4, 5]
    assert jax.grad(score)(jnp.zeros(5), True).tolist() == [0] * 5


@pytest.mark.parametrize("seed", range(3))
def test_errors_of_fresh_points_are_the_closed_form(seed):
    """In its own basis a prompt has two coordinates, and the error is that of a Gaussian score."""
    rng = np.random.default_rng(seed)
    prompt = jnp.asarray(np.concatenate([rng.uniform(0, 2, 1), rng.normal(size=30)]), jnp.float32)
    law = ts.laws.Features([1.0], noise=0.5, projected=True)
    count = 4000
    found = ts.observers.fresh_errors(law, jax.random.key(seed), count)(Prompt(prompt)).clean
    exact = ts.theory.prompt_mae.error(prompt[0], jnp.linalg.norm(prompt[1:]), 0.5)
    assert abs(float(found) - float(exact)) < 5 * (0.25 / count) ** 0.5
    assert Prompt(prompt).in_own_basis(1).prompt.shape == (2,)


def test_the_decomposition_of_a_prompt():
    """The coefficients that put it together are recovered."""
    law, keys = ts.laws.Features([2.0], noise=1.0, projected=True), ts.streams(jax.random.key(0), "space", "train")
    space = ts.exact.frame(keys.space, 40.0, fixed=1, train=3)
    batch, start = law(keys.train, space.train), Prompt(jnp.zeros(space.size))
    noise = batch.patches[1]
    moved = 0.7 * jnp.eye(space.size)[0] / 2 + 0.3 * noise[1] / jnp.sum(noise[1] ** 2)
    found = ts.observers.decomposition(space, batch, start)(Prompt(moved))
    np.testing.assert_allclose(found.gamma, [0.7], rtol=1e-5)
    np.testing.assert_allclose((found.rho_bar + found.rho_underbar)[0], [0, 0.3, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("prompt", "encoder", "said"),
    [(np.ones((2, 2)), None, "prompt = "), (np.ones(3), np.ones(2), "encoder = "), (np.ones(3), np.ones((3, 2)), "encoder = ")],
)
def test_refused(prompt, encoder, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        model_of(prompt, encoder)
    assert "\n" not in str(refusal.value)

"""Norm identities along real runs of SGD and of SAM, in float64; and that a wrong one is seen."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts

see = ts.observers
WIDTH, DIM, STEPS, LR = 12, 5, 60, 0.02


def run(rho, size):
    """The model, the samples and the balance at each step of a noisy run."""
    rng = np.random.default_rng(1)
    model = ts.models.TwoLayerLinear(jnp.asarray(rng.normal(size=(WIDTH, DIM))), jnp.asarray(rng.normal(size=WIDTH)) / 3)
    batch = ts.laws.LinearRegression(1.0)(jax.random.key(0), jnp.asarray(rng.normal(size=(20, DIM))))
    loss = ts.objectives.on_sample(ts.objectives.regression, batch, size, ts.objectives.additive_noise(1.0))
    rule, models, samples = ts.dynamics.sam(loss, optax.sgd(LR), rho), [model], []
    state, step = rule.init(model), jax.jit(rule.step)
    for key in jax.random.split(jax.random.key(2), STEPS):
        samples.append(loss.draw(key))
        state = step(state, key)
        models.append(state.model)
    return models, samples


def errors(models, samples, rho, change=see.balance_change):
    """The worst error of the identity at a step, over all pairs of neurons."""
    after = [np.asarray(see.balance(model)) for model in models]
    stated = [np.asarray(change(model, sample, LR, rho)) for model, sample in zip(models[:-1], samples, strict=True)]
    return max(np.abs(b - a - d).max() for a, b, d in zip(after[:-1], after[1:], stated, strict=True))


@pytest.fixture(scope="module", params=[(0.0, 1), (0.3, 1), (0.3, 3), (0.0, 3)], ids=str)
def case(request):
    with jax.enable_x64(True):
        yield (*run(*request.param), *request.param)


def test_the_identity_is_exact(case):
    models, samples, rho, _ = case
    assert errors(models, samples, rho) < 1e-13
    assert np.abs(np.asarray(see.balance(models[-1]) - see.balance(models[0]))).max() > 0.1


def test_a_wrong_identity_is_seen(case):
    """A sign turned round, a factor lost, another sample, the other rule's identity."""
    models, samples, rho, _ = case
    wrong = [
        lambda model, sample, lr, rho: -see.balance_change(model, sample, lr, rho),
        lambda model, sample, lr, rho: see.balance_change(model, sample, lr, rho) / lr,
        lambda model, sample, lr, rho: see.balance_change(model, samples[0], lr, rho),
        lambda model, sample, lr, rho: see.balance_change(model, sample, lr, 0.3 - rho),
    ]
    assert all(errors(models, samples, rho, defect) > 1e-4 for defect in wrong)


def test_the_diagonal_is_the_formula_of_the_paper(case):
    models, samples, rho, size = case
    if size != 1 or rho:
        pytest.skip("one sample, SGD")
    model, x = models[5], np.asarray(samples[5].patches[0][0])
    w, a = np.asarray(model.filters[...]), np.asarray(model.second[...])
    stated = ts.theory.label_noise_sgd.norm_change(LR, a @ w @ x - float(samples[5].label[0]), a, w @ x, x @ x)
    np.testing.assert_allclose(np.diagonal(see.balance_change(model, samples[5], LR)), stated, rtol=1e-12)
    after = models[6]
    np.testing.assert_allclose(np.diagonal(see.balance(after)), see.norms(after) ** 2 - after.second[...] ** 2, rtol=1e-12)


def test_the_diagonal_for_sam_is_the_stated_one(case):
    r"""$-2\eta\rho\,(r r_2/\|g\|)((w x)^2-a^2\|x\|^2)+\eta^2r_2^2(a_2^2\|x\|^2-(w_2x)^2)$, the point uphill made by hand."""
    models, samples, rho, size = case
    if size != 1 or not rho:
        pytest.skip("one sample, SAM")
    model, x, y = models[7], np.asarray(samples[7].patches[0][0]), float(samples[7].label[0])
    w, a = np.asarray(model.filters[...]), np.asarray(model.second[...])
    r = a @ w @ x - y
    size = abs(r) * np.sqrt((a @ a) * (x @ x) + (w @ x) @ (w @ x))
    w2, a2 = w + rho * r * np.outer(a, x) / size, a + rho * r * (w @ x) / size
    r2 = a2 @ w2 @ x - y
    stated = -2 * LR * rho * (r * r2 / size) * ((w @ x) ** 2 - a**2 * (x @ x))
    stated = stated + LR**2 * r2**2 * (a2**2 * (x @ x) - (w2 @ x) ** 2)
    np.testing.assert_allclose(np.diagonal(see.balance_change(model, samples[7], LR, rho)), stated, rtol=1e-10)


def test_norms_alignment_and_way():
    one, two = (ts.models.TwoLayerLinear(jnp.array([[3.0, 4.0], [0.0, k]]), jnp.ones(2)) for k in (1.0, 3.0))
    assert see.norms(two).tolist() == [5.0, 3.0]
    assert see.alignment(two).tolist() == [3.0, 0.0]
    assert see.alignment(two, 1).tolist() == [4.0, 3.0]
    assert see.moved(one)(two).tolist() == [0.0, 2.0]

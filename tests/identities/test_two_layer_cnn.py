"""Identities of gradient descent on the two-layer CNN, to rounding in float64."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import theorysim as ts

N, WIDTH, STEPS = 8, 4, 40


def run(power, projected):
    """A short run from the same start in float64: the model at each step, its data, its frame."""
    keys = ts.streams(jax.random.key(3, impl="threefry2x32"), "space", "train", "steps")
    law = ts.laws.SignalNoise(signal=3.0, flip=0.2, projected=projected)
    space = ts.exact.frame(keys.space, 60.0, fixed=1, train=N, filters=2 * WIDTH)
    train = law(keys.train, space.train)
    start = ts.models.TwoLayerCNN(0.05 * space.filters, power=power)
    loss = ts.objectives.logistic(train)
    rule = ts.dynamics.gradient_descent(loss, optax.sgd(0.05))
    seen = ts.simulate(
        rule, start, key=keys.steps, times=range(STEPS + 1), observe=lambda s: {"w": s.model.filters[...]}, frame=space
    )
    return np.asarray(seen.records["w"]), train, space, start, loss


@pytest.fixture(scope="module", params=[(1, False), (1, True), (3, False)], ids=str)
def path(request):
    with jax.enable_x64(True):
        yield (*run(*request.param), request.param[0])


def test_weights_are_rebuilt_from_their_coefficients(path):
    r"""$w(t) = w(0) + j\gamma\mu/\|\mu\|^2 + \sum_i\rho_i\xi_i/\|\xi_i\|^2$."""
    weights, train, space, start, _, _ = path
    found = ts.observers.decomposition(space, train, start)(ts.models.TwoLayerCNN(jnp.asarray(weights[-1])))
    rho, noise = np.asarray(found.rho_bar + found.rho_underbar), np.asarray(train.patches[1])
    rebuilt = weights[0].copy()
    rebuilt[:, 0] += np.asarray(start.side) * np.asarray(found.gamma) / 3.0
    rebuilt[:, : noise.shape[1]] += (rho / (noise**2).sum(axis=1)) @ noise
    np.testing.assert_allclose(rebuilt, weights[-1], atol=1e-13)


def test_euler(path):
    r"""The network is homogeneous: $\langle W,\nabla L\rangle = \frac qn\sum_i\ell'(y_if_i)\,y_if_i$."""
    weights, train, _, _, loss, power = path
    for w in map(jnp.asarray, weights[::10]):
        gradient = jax.grad(lambda w: loss(ts.models.TwoLayerCNN(w, power=power), None))(w)
        margin = train.label * ts.models.TwoLayerCNN(w, power=power)(train.patches)
        slope = -1 / (1 + jnp.exp(margin))
        np.testing.assert_allclose(jnp.vdot(w, gradient), power * jnp.mean(slope * margin), rtol=1e-12, atol=1e-15)


def test_what_is_off_the_span_of_the_data_never_moves(path):
    weights, train, _, _, _, _ = path
    width = train.patches[1].shape[1]
    np.testing.assert_array_equal(weights[-1][:, width:], weights[0][:, width:])
    assert np.abs(weights[-1][:, :width] - weights[0][:, :width]).max() > 1e-3


def test_the_norm_grows_as_the_margins_say(path):
    r"""$\|W_{t+1}\|^2-\|W_t\|^2 = -2\eta\langle W_t,\nabla L\rangle+\eta^2\|\nabla L\|^2$, with Euler's identity put in."""
    weights, train, _, _, loss, power = path
    for before, after in pairwise(weights[:11]):
        w = jnp.asarray(before)
        gradient = jax.grad(lambda w: loss(ts.models.TwoLayerCNN(w, power=power), None))(w)
        margin = train.label * ts.models.TwoLayerCNN(w, power=power)(train.patches)
        inner = power * jnp.mean(-margin / (1 + jnp.exp(margin)))
        grown = -2 * 0.05 * inner + 0.05**2 * jnp.sum(gradient**2)
        np.testing.assert_allclose((after**2).sum() - (before**2).sum(), grown, rtol=1e-9, atol=1e-13)

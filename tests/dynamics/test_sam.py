"""SAM is the gradient uphill, GD at radius 0, and sees one sample at both of its points."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

import theorysim as ts

Linear, regression = ts.models.TwoLayerLinear, ts.objectives.regression


def setting(seed=0, sigma=1.0):
    rng = np.random.default_rng(seed)
    batch = ts.laws.LinearRegression(1.0)(jax.random.key(0), jnp.asarray(rng.normal(size=(9, 4))))
    model = Linear(jnp.asarray(rng.normal(size=(6, 4))), jnp.asarray(rng.normal(size=6)))
    return model, ts.objectives.on_sample(regression, batch, perturb=ts.objectives.additive_noise(sigma))


def end(rule, model, steps=200):
    run = ts.simulate(rule, model, key=jax.random.key(3), times=steps, observe=lambda state: {})
    return [np.asarray(leaf) for leaf in jax.tree.leaves(run.state.params)]


def test_radius_zero_is_gradient_descent():
    """To the bit, with momentum as well, over 200 noisy steps in float64."""
    with jax.enable_x64(True):
        model, loss = setting()
        for step in (optax.sgd(0.02), optax.sgd(0.005, momentum=0.9)):
            plain, sharp = ts.dynamics.gradient_descent(loss, step), ts.dynamics.sam(loss, step, 0.0)
            for one, other in zip(end(plain, model), end(sharp, model), strict=True):
                np.testing.assert_array_equal(one, other)
        far = end(ts.dynamics.sam(loss, optax.sgd(0.02), 0.1), model)
        assert np.abs(far[0] - end(ts.dynamics.gradient_descent(loss, optax.sgd(0.02)), model)[0]).max() > 1e-3


def by_hand(w, a, x, y, lr, rho, x2=None, y2=None):
    r = a @ w @ x - y
    size = abs(r) * np.sqrt(a @ a * (x @ x) + (w @ x) @ (w @ x))
    up = (w + rho * r * np.outer(a, x) / size, a + rho * r * w @ x / size)
    x2, y2 = (x, y) if x2 is None else (x2, y2)
    r2 = up[1] @ up[0] @ x2 - y2
    return w - lr * r2 * np.outer(up[1], x2), a - lr * r2 * up[0] @ x2


def test_one_step_is_the_formula():
    """With the same sample at both points; another sample at the second point is a defect that this sees."""
    with jax.enable_x64(True):
        model, loss = setting()
        key, lr, rho = jax.random.key(8), 0.1, 0.3
        rule = ts.dynamics.sam(loss, optax.sgd(lr), rho)
        found = rule.step(rule.init(model), key).model
        drawn, other = loss.draw(key), loss.draw(jax.random.key(9))
        w, a = np.asarray(model.filters[...]), np.asarray(model.second[...])
        first, second = ((np.asarray(s.patches[0][0]), float(s.label[0])) for s in (drawn, other))
        exact, wrong = by_hand(w, a, *first, lr, rho), by_hand(w, a, *first, lr, rho, *second)
        for value, right, defect in zip((found.filters[...], found.second[...]), exact, wrong, strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-12, atol=1e-12)
            assert np.abs(np.asarray(value) - defect).max() > 1e-3


def test_at_a_stationary_point_it_stays():
    model = Linear(jnp.zeros((2, 3)), jnp.zeros(2))
    batch = ts.laws.Batch((jnp.ones((1, 3)),), jnp.ones(1), jnp.ones(1))
    moved = end(ts.dynamics.sam(regression(batch), optax.sgd(0.1), 0.5), model, steps=3)
    assert all(np.array_equal(leaf, 0 * leaf) for leaf in moved)

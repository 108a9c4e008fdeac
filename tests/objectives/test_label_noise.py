"""Label noise: the law of the factors, fresh ones at each step, and gradient descent where there is none."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

import theorysim as ts
from theorysim import objectives

N = 40_000
LEVEL = 1e-4
#: name -> the noise and its law
NOISES = {
    "gaussian": (objectives.gaussian(0.6, 1.0), stats.norm(0.6, 1.0)),
    "uniform": (objectives.uniform(-1.0, 2.0), stats.uniform(-1.0, 3.0)),
}


def batch(n):
    label = jnp.where(jnp.arange(n) % 2, 1.0, -1.0)
    return ts.laws.Batch((label[:, None],), label, label)


def constant(margin):
    """A model whose margin is the same on every sample of `batch`."""
    return lambda patches: margin * patches[0][:, 0]


@pytest.mark.parametrize("name", NOISES)
def test_the_factors_have_their_law(name):
    noise, expected = NOISES[name]
    drawn = np.asarray(noise(jax.random.key(1), jnp.ones(N)))
    assert stats.kstest(drawn, expected.cdf).pvalue > LEVEL
    # a law that is a little off is seen
    assert stats.kstest(drawn + 0.05, expected.cdf).pvalue < LEVEL


def test_flips_have_their_rate():
    drawn = np.asarray(objectives.flips(0.1)(jax.random.key(2), jnp.ones(N)))
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    assert stats.binomtest(int((drawn < 0).sum()), N, 0.1).pvalue > LEVEL


def test_the_loss_is_that_of_flipped_margins():
    flipped = objectives.with_label_noise(objectives.hinge_loss, batch(N), objectives.flips(1.0))
    mixed = objectives.with_label_noise(objectives.hinge_loss, batch(N), objectives.flips(0.25))
    assert float(flipped(constant(0.5), jax.random.key(0))) == 1.5
    assert float(mixed(constant(0.5), jax.random.key(0))) == pytest.approx(0.75 * 0.5 + 0.25 * 1.5, abs=0.02)


def test_numbers_may_be_traced_and_keep_the_type():
    for made in (objectives.flips, lambda p: objectives.gaussian(p, p), lambda p: objectives.uniform(-p, p)):
        drawn = jax.jit(lambda p, made=made: made(p)(jax.random.key(0), jnp.ones(3)))(0.5)
        assert drawn.dtype == jnp.float32
    with jax.enable_x64(True):
        assert objectives.flips(0.5)(jax.random.key(0), jnp.ones(3)).dtype == jnp.float64


@pytest.mark.parametrize(
    ("make", "argument"),
    [(lambda: objectives.flips(1.5), "p"), (lambda: objectives.gaussian(1.0, -1.0), "std"),
     (lambda: objectives.uniform(2.0, 1.0), "low")],
)  # fmt: skip
def test_bad_numbers_are_named(make, argument):
    with pytest.raises(ts.InvalidArgument, match=argument):
        make()


def test_without_a_key_it_is_refused():
    objective = objectives.with_label_noise(objectives.logistic_loss, batch(4), objectives.flips(0.1))
    with pytest.raises(ts.InvalidArgument, match="key"):
        objective(constant(1.0), None)


def train_on(objective_of, steps):
    """A batch, and a CNN after some steps on what `objective_of` makes of it."""
    keys = ts.streams(jax.random.key(7), "space", "train", "steps")
    law = ts.laws.SignalNoise(signal=2.0, projected=True)
    space = ts.exact.frame(keys.space, 200.0, fixed=1, kind="ambient", train=20, filters=8)
    train = law(keys.train, space.train)
    model = ts.models.TwoLayerCNN(0.05 * space.filters, power=2)
    rule = ts.dynamics.gradient_descent(objective_of(train), optax.sgd(0.05))
    return train, ts.simulate(rule, model, key=keys.steps, times=steps, observe=lambda state: {}).state.model


def noisy(noise):
    return lambda train: objectives.with_label_noise(objectives.logistic_loss, train, noise)


@pytest.fixture(scope="module")
def filters():
    """Filters after fifty steps on several objectives, in one program for each precision."""
    makers = {
        "plain": objectives.logistic,
        "opposite": lambda train: objectives.logistic(train._replace(label=-train.label)),
        "none": noisy(objectives.flips(0.0)),
        "some": noisy(objectives.flips(0.1)),
        "all": noisy(objectives.flips(1.0)),
    }

    def make(x64):
        with jax.enable_x64(x64):
            run = jax.jit(lambda: {name: train_on(make, 50)[1].filters[...] for name, make in makers.items()})
            return jax.device_get(run())

    return {x64: make(x64) for x64 in (False, True)}


@pytest.mark.parametrize("x64", [False, True])
def test_without_flips_it_is_gradient_descent_to_the_bit(filters, x64):
    assert np.array_equal(filters[x64]["plain"], filters[x64]["none"])
    assert not np.allclose(filters[x64]["plain"], filters[x64]["some"], rtol=1e-3)


def test_all_flipped_it_is_gradient_descent_on_opposite_labels(filters):
    np.testing.assert_allclose(filters[True]["all"], filters[True]["opposite"], rtol=1e-12)


def frozen(noise, key):
    """A planted defect: the factors of step 0, at every step."""
    return lambda _, label: noise(key, label)


def shares(noise, steps=40, n=400):
    """How often each sample was flipped in these steps, as the rule hands out keys."""
    keys = jax.vmap(lambda t: jax.random.fold_in(jax.random.key(3), t))(jnp.arange(steps))
    return np.asarray((jax.vmap(lambda key: noise(key, jnp.ones(n)))(keys) < 0).sum(axis=0))


def fits(counts, steps=40, p=0.1):
    """Whether the counts are spread over the samples as independent flips would be: a chi-squared test of their variance."""
    score = counts.var(ddof=1) * (len(counts) - 1) / (steps * p * (1 - p))
    return min(stats.chi2.cdf(score, len(counts) - 1), stats.chi2.sf(score, len(counts) - 1)) > LEVEL / 2


def test_flips_are_fresh_at_each_step():
    assert fits(shares(objectives.flips(0.1)))


def test_flips_that_are_frozen_are_rejected():
    assert not fits(shares(frozen(objectives.flips(0.1), jax.random.key(0))))


def test_frozen_flips_are_told_from_fresh_ones_by_the_run():
    """Fresh flips of every label hinder the fit; frozen ones are fitted as any label is."""
    key, flips = jax.random.key(0), objectives.flips(0.3)

    def end(noise):
        train, model = train_on(noisy(noise), 400)
        return jnp.mean(objectives.logistic_loss(noise(key, train.label) * train.label * model(train.patches)))

    fresh, held = jax.jit(lambda: (end(flips), end(frozen(flips, key))))()
    assert fresh > 0.4
    assert held < 0.2

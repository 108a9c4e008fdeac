"""The compiled loop: its times, its records, and where it may start again."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim.dynamics import Dynamics

#: a function without the check of its annotations, which users do not have
unchecked = inspect.unwrap


@given(st.integers(1, 10**6), st.integers(2, 80))
def test_log_times(steps, count):
    times = ts.log_times(steps, count)
    assert times[0] == 0
    assert times[-1] == steps
    assert len(times) <= count
    assert np.all(np.diff(times) > 0)
    if steps >= 10 * count**2 and count > 3:
        ratios = times[2:] / times[1:-1]
        assert ratios[-1] == pytest.approx(steps ** (1 / (count - 2)), rel=0.05)


@pytest.mark.parametrize(("steps", "count", "name"), [(0, 5, "steps"), (2.5, 5, "steps"), (10, 0, "count"), (10, 2.5, "count")])
def test_log_times_refuses(steps, count, name):
    with pytest.raises(ts.InvalidArgument, match=f"{name} = .*must be a whole number"):
        unchecked(ts.log_times)(steps, count)


#: a state of two numbers: how many steps, and the sum of what their keys drew
walk = Dynamics(
    init=lambda model: model,
    step=lambda state, key: (state[0] + 1, state[1] + jax.random.normal(key)),
    commutes=lambda: None,
)
TIMES = (0, 1, 5, 6, 20)


def look(state):
    return {"steps": state[0], "sum": state[1], "pair": ts.named(jnp.stack([state[1], -state[1]]), "side", side=[1, -1])}


@pytest.fixture(scope="module")
def runs():
    """One program: many times and the end alone, of a rule with keys and of gradient descent in one and in two phases."""
    seen = {}

    def run(key, start):
        seen["many"] = many = ts.simulate(walk, start, key=key, times=TIMES, observe=look)
        seen["last"] = last = ts.simulate(walk, start, key=key, times=TIMES[-1], observe=look)
        batch = ts.laws.SignalNoise(signal=2.0)(key, jax.random.normal(key, (4, 3)))
        loss = ts.objectives.logistic(batch)
        rule = ts.dynamics.gradient_descent(loss, optax.sgd(0.2, momentum=0.5))
        record = lambda state: {"loss": loss(state.model, None)}  # noqa: E731
        model = ts.models.TwoLayerCNN(0.3 * jax.random.normal(jax.random.fold_in(key, 1), (4, 3)))
        whole = ts.simulate(rule, model, key=key, times=[7, 20], observe=record)
        first = ts.simulate(rule, model, key=key, times=[7], observe=record)
        second = ts.simulate(rule, first.state, key=key, times=13, observe=record)
        kept = {"many": many.records, "last": last.records, "state": many.state}
        kept |= {"whole": whole.records["loss"], "first": first.records["loss"], "second": second.records["loss"]}
        kept["filters"] = [r.state.model.filters[...] for r in (whole, second)]
        return jax.tree.map(jnp.asarray, {k: jax.tree.map(lambda leaf: leaf, v) for k, v in kept.items()})

    out = jax.device_get(jax.jit(run)(jax.random.key(3), (jnp.int32(0), jnp.float32(0))))
    return out, seen


def test_records_have_times(runs):
    records = runs[0]["many"]
    assert records["steps"].value.tolist() == list(TIMES)
    assert records["steps"].dims == ("time",)
    assert records["pair"].dims == ("time", "side")
    assert dict(records["pair"].coords) == {"time": TIMES, "side": (1, -1)}
    assert records["pair"].value.shape == (len(TIMES), 2)


def test_each_step_has_its_own_key(runs):
    draws = [float(jax.random.normal(jax.random.fold_in(jax.random.key(3), t))) for t in range(TIMES[-1])]
    expected = [sum(draws[:t]) for t in TIMES]
    np.testing.assert_allclose(runs[0]["many"]["sum"].value, expected, rtol=1e-5, atol=1e-5)


def test_the_end_alone_is_the_last_of_many(runs):
    many, last = runs[0]["many"], runs[0]["last"]
    assert last["steps"] == TIMES[-1]
    assert last["sum"] == many["sum"].value[-1]
    assert last["pair"].dims == ("side",)
    assert np.array_equal(last["pair"].value, many["pair"].value[-1])


def test_the_state_is_where_it_stopped(runs):
    assert runs[0]["state"][0] == TIMES[-1]
    assert runs[0]["state"][1] == runs[0]["many"]["sum"].value[-1]


def test_a_second_phase_continues(runs):
    """Momentum is remembered: 7 steps and 13 more are 20 steps, for a rule that uses no key."""
    out = runs[0]
    assert out["first"].value[0] == out["whole"].value[0]
    np.testing.assert_allclose(out["second"], out["whole"].value[-1], rtol=1e-6)
    np.testing.assert_allclose(out["filters"][1], out["filters"][0], rtol=1e-6)


@pytest.mark.parametrize("times", [[], [-1, 2], [0.5, 1], [3, 3], [4, 2], [[1, 2]], -1, 2.5, [0, float("nan")]])
def test_bad_times_are_refused(times):
    with pytest.raises(ts.InvalidArgument, match="times = ") as refusal:
        unchecked(ts.simulate)(walk, (0, 0.0), key=jax.random.key(0), times=times, observe=look)
    assert "\n" not in str(refusal.value)


def test_traced_times_are_refused():
    def run(until):
        return unchecked(ts.simulate)(walk, (0, 0.0), key=jax.random.key(0), times=until, observe=look).records

    with pytest.raises(ts.InvalidArgument, match="static"):
        jax.eval_shape(run, 5)


@pytest.mark.parametrize(("kind", "carried"), [("reduced", False), ("ambient", True)])
def test_a_reduced_frame_refuses_adam(kind, carried):
    """In one line, when it is traced; an ambient frame carries any rule."""

    def run(key):
        law = ts.laws.SignalNoise(signal=2.0)
        space = ts.exact.frame(key, 9, fixed=law.fixed, kind=kind, train=4, filters=2)
        rule = ts.dynamics.gradient_descent(ts.objectives.logistic(law(key, space.train)), optax.adam(0.1))
        start = ts.models.TwoLayerCNN(space.filters)
        observe = lambda state: {"f": state.model.filters[...]}  # noqa: E731
        return ts.simulate(rule, start, frame=space, key=key, times=3, observe=observe).records

    if carried:
        assert jax.eval_shape(run, jax.random.key(0))["f"].shape == (2, 9)
        return
    with pytest.raises(ts.Refused, match="does not commute with rotations") as refusal:
        jax.eval_shape(run, jax.random.key(0))
    assert "\n" not in str(refusal.value)

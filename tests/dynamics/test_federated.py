"""Federated training against what it must equal: pooled data, one client, no communication. In float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import theorysim as ts
from theorysim.dynamics import each_client, federated, gradient_descent, weights_by_group, weights_by_similarity

CLIENTS, N, DIM, ROUNDS = 3, 4, 6, 7
LR = 0.3


def one(batch, client=0):
    return jax.tree.map(lambda leaf: leaf[client], batch)


def pooled(batches):
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batches)


def draw(clients=CLIENTS):
    """Clients with signals of their own."""
    keys = ts.streams(jax.random.key(5), "filters", "batch", "noise")
    vectors = jax.random.normal(keys.noise, (clients, N, DIM))

    def law(own, key, rows):
        return ts.laws.Features(signals=2.0 * jnp.ones(clients), shares=own)(key, rows)

    batches = jax.vmap(law)(jnp.eye(clients), jax.random.split(keys.batch, clients), vectors)
    return batches, ts.models.TwoLayerCNN(0.3 * jax.random.normal(keys.filters, (4, DIM)), power=2)


def run(rule, model, steps=ROUNDS):
    return ts.simulate(rule, model, key=jax.random.key(0), times=steps, observe=lambda state: {}).state


def federate(batches, model, *, local_steps, weights, transformation=None, rounds=ROUNDS, make=ts.objectives.logistic):
    rule = federated(make, batches, transformation or optax.sgd(LR), local_steps=local_steps, weights=weights)
    return each_client(run(rule, model, rounds), lambda net: net.filters[...])


def descend(batch, model, steps, transformation=None):
    rule = gradient_descent(ts.objectives.logistic(batch), transformation or optax.sgd(LR))
    return run(rule, model, steps).model.filters[...]


def same(found, wanted):
    return np.allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.fixture(autouse=True)
def _in_float64():
    with jax.enable_x64(True):
        yield


def average(clients=CLIENTS):
    return jnp.full((clients, clients), 1 / clients)


def test_one_local_step_is_gradient_descent_on_the_pooled_data():
    batches, model = draw()
    found = federate(batches, model, local_steps=1, weights=average())
    assert same(found, descend(pooled(batches), model, ROUNDS)[None])


def test_more_local_steps_are_not():
    """The identity has power: it fails where it should."""
    batches, model = draw()
    found = federate(batches, model, local_steps=2, weights=average())
    assert not same(found, descend(pooled(batches), model, 2 * ROUNDS)[None])


def test_one_client_trains_alone():
    batches, model = draw(1)
    transformation = optax.adam(0.01)  # its memory outlives the rounds
    found = federate(batches, model, local_steps=3, weights=jnp.ones((1, 1)), transformation=transformation)
    assert same(found[0], descend(one(batches), model, 3 * ROUNDS, transformation))


def test_without_communication_each_trains_alone():
    batches, model = draw()
    transformation = optax.sgd(0.1, momentum=0.9)
    found = federate(batches, model, local_steps=3, weights=jnp.eye(CLIENTS), transformation=transformation)
    assert same(found, jax.vmap(lambda batch: descend(batch, model, 3 * ROUNDS, transformation))(batches))


def test_groups_are_federations_of_their_own():
    """Clients 0 and 2 share; client 1 neither hears nor is heard."""
    batches, model = draw()
    found = federate(batches, model, local_steps=3, weights=weights_by_group(jnp.array([0, 1, 0])))
    pair = jax.tree.map(lambda leaf: leaf[jnp.array([0, 2])], batches)
    wanted = federate(pair, model, local_steps=3, weights=average(2))
    assert same(found[jnp.array([0, 2])], wanted)
    assert same(found[1], descend(one(batches, 1), model, 3 * ROUNDS))


def test_a_client_receives_its_own_row():
    """One round, rows and columns told apart by weights that are not symmetric."""
    batches, model = draw()
    weights = jnp.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8]])
    local = federate(batches, model, local_steps=2, weights=jnp.eye(CLIENTS), rounds=1)
    found = federate(batches, model, local_steps=2, weights=weights, rounds=1)
    assert same(found, np.einsum("kl,lrd->krd", weights, local))
    assert not same(found, np.einsum("lk,lrd->krd", weights, local))


def test_numbers_may_be_traced():
    batches, model = draw()

    def filters(steps, weights):
        return federate(batches, model, local_steps=steps, weights=weights)

    assert same(jax.jit(filters)(2.0, average()), filters(2, average()))
    runs = jax.vmap(filters, (None, 0))(2, jnp.stack([average(), jnp.eye(CLIENTS)]))
    assert same(runs[1], filters(2, jnp.eye(CLIENTS)))


def test_no_local_steps_only_average():
    batches, model = draw()
    assert same(federate(batches, model, local_steps=0, weights=average()), model.filters[...][None])


def test_clients_and_steps_draw_apart():
    """Each local step of each client has a key of its own."""
    batches, model = draw()

    def pushed(batch):
        return lambda net, key: jnp.vdot(jax.random.normal(key, net.filters[...].shape), net.filters[...])

    once, twice = (federate(batches, model, local_steps=e, weights=jnp.eye(CLIENTS), rounds=1, make=pushed) for e in (1, 2))
    moves = jnp.concatenate([once - model.filters[...], twice - once])
    assert len(np.unique(np.round(moves[:, 0, 0], 9))) == 2 * CLIENTS


def test_each_client_sees_its_own_arguments():
    batches, model = draw()
    rule = federated(ts.objectives.logistic, batches, optax.sgd(LR), local_steps=1, weights=jnp.eye(CLIENTS))
    margins = each_client(rule.init(model), lambda net, batch: batch.label * net(batch.patches), batches)
    for client in range(CLIENTS):
        own = one(batches, client)
        assert same(margins[client], own.label * model(own.patches))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("weights", {"weights": jnp.ones((3, 3))}),  # a sum over clients in place of an average
        ("weights", {"weights": jnp.zeros((3, 3))}),  # a missing average
        ("weights", {"weights": jnp.full((2, 2), 0.5)}),
        ("weights", {"weights": jnp.array([[1.0, 0, 0], [0.5, 0, 0], [0.5, 1, 1]])}),  # columns have the sum 1, more or less
        ("local_steps", {"local_steps": -1}),
    ],
)
def test_bad_arguments_are_told(name, options):
    batches, _ = draw()
    with pytest.raises(ts.InvalidArgument, match=name):
        federated(ts.objectives.logistic, batches, optax.sgd(LR), **{"local_steps": 1, "weights": jnp.eye(3)} | options)


@given(hnp.arrays(int, 6, elements=st.integers(0, 3)))
def test_weights_by_group(groups):
    weights = np.asarray(weights_by_group(jnp.asarray(groups)))
    assert np.allclose(weights.sum(axis=1), 1)
    assert np.array_equal(weights > 0, groups[:, None] == groups[None, :])
    assert np.allclose(weights @ weights, weights)


def test_weights_by_similarity_lie_between_local_and_fedavg():
    features = jax.random.normal(jax.random.key(0), (5, 3))
    assert np.allclose(weights_by_similarity(features, 1e-4), np.eye(5), atol=1e-6)
    assert np.allclose(weights_by_similarity(features, 1e6), 1 / 5, atol=1e-5)
    weights = weights_by_similarity(features, 0.5)
    assert np.allclose(weights.sum(axis=1), 1)
    assert np.allclose(weights, weights_by_similarity(features * jnp.arange(1.0, 6)[:, None], 0.5))  # lengths do not matter

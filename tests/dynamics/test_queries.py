"""Query strategies: against brute force, on a model whose outputs are known, and under jit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts
from theorysim.dynamics import queries

POOL = ts.laws.Features([5.0, 2.0])(jax.random.key(0), jax.random.normal(jax.random.key(1), (30, 8)))
MODEL = ts.models.TwoLayerCNN(jax.random.normal(jax.random.key(2), (6, 8)))
FEATURES = np.random.default_rng(0).normal(size=(40, 5))
LABELLED, REST = jnp.asarray(FEATURES[:6]), jnp.asarray(FEATURES[6:])


def by_hand(labelled: np.ndarray, pool: np.ndarray, count: int) -> list[int]:
    """Greedy k-centre, one pair at a time."""

    def distance(a, b):
        return 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    chosen: list[int] = []
    for _ in range(count):
        centres = [*labelled, *(pool[i] for i in chosen)]
        nearest = [-np.inf if i in chosen else min(distance(h, c) for c in centres) for i, h in enumerate(pool)]
        chosen.append(int(np.argmax(nearest)))
    return chosen


def coldest(labelled, pool, count):
    """A planted defect: distances to the labelled samples alone, never to those just asked for."""
    unit = [h / jnp.linalg.norm(h, axis=1, keepdims=True) for h in (pool, labelled)]
    return jnp.argsort(-jnp.min(1 - unit[0] @ unit[1].T, axis=1))[:count]


@pytest.mark.parametrize("count", [1, 7, 34])
def test_k_centre_is_the_greedy_rule(count):
    wanted = by_hand(np.asarray(LABELLED), np.asarray(REST), count)
    assert queries.k_centre(LABELLED, REST, count).tolist() == wanted
    if count == 7:
        assert coldest(LABELLED, REST, count).tolist() != wanted


def test_k_centre_sees_directions_alone():
    scaled = REST * jnp.linspace(0.1, 9, len(REST))[:, None]
    assert queries.k_centre(3 * LABELLED, scaled, 9).tolist() == queries.k_centre(LABELLED, REST, 9).tolist()


def test_k_centre_copes_with_silent_filters():
    """A sample that no filter responds to is at distance 1 from all."""
    silent = jnp.concatenate([jnp.ones((2, 3)), jnp.zeros((1, 3))])
    assert queries.k_centre(jnp.ones((1, 3)), silent, 3).tolist()[0] == 2


def test_uncertainty_asks_for_the_least_outputs():
    size = np.abs(np.asarray(MODEL(POOL.patches)))
    asked = np.asarray(queries.uncertainty(MODEL, POOL, 10))
    assert size[asked].tolist() == sorted(size)[:10]


def test_labels_are_not_looked_at():
    hidden = POOL._replace(label=-POOL.label, sign=-POOL.sign)
    assert queries.uncertainty(MODEL, hidden, 10).tolist() == queries.uncertainty(MODEL, POOL, 10).tolist()


def test_chance_is_uniform():
    asked = jax.vmap(lambda key: queries.at_random(key, 10, 3))(jax.random.split(jax.random.key(0), 4000))
    share = np.bincount(np.asarray(asked).ravel(), minlength=10) / 4000
    np.testing.assert_allclose(share, 0.3, atol=0.03)


STRATEGIES = {
    "at_random": lambda count: queries.at_random(jax.random.key(0), 30, count),
    "uncertainty": lambda count: queries.uncertainty(MODEL, POOL, count),
    "k_centre": lambda count: queries.k_centre(MODEL.responses(POOL.patches).T[:3], MODEL.responses(POOL.patches).T, count),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_sample_twice_and_short_queries_begin_long_ones(name):
    ask = STRATEGIES[name]
    everything = np.asarray(jax.jit(ask, static_argnums=0)(30))
    assert sorted(everything) == list(range(30))
    assert ask(4).tolist() == everything[:4].tolist()


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("count", [0, 31, -3])
def test_a_bad_count_is_refused(name, count):
    with pytest.raises(ts.InvalidArgument, match="count"):
        STRATEGIES[name](count)


def test_the_output_is_read_from_the_responses():
    np.testing.assert_allclose(MODEL.second[...] @ MODEL.responses(POOL.patches), MODEL(POOL.patches), rtol=1e-6)
    assert MODEL.responses(POOL.patches).shape == (6, 30)
    assert float(MODEL.responses(POOL.patches).min()) >= 0
